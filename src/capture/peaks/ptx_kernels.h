// SPDX-License-Identifier: Apache-2.0
#pragma once
// The kernels that measure, as PTX text that the driver compiles for its device: streaming reads, writes
// and copies of global memory, reads of shared memory, chains of multiply-adds, and a kernel that does
// nothing. PTX 7.0 for sm_70: every driver from CUDA 11 on takes it, for every device from Volta on.
//
//   read_U(from, bytes, passes, out)    blocks take chunks of U x 16 bytes per thread; L1 is not used
//   write_U(to, bytes)
//   copy_U(to, from, bytes)             `bytes` is a multiple of U x 16 x threads of a block
//   shared_read(iterations, out)        kSharedLoads x 16 bytes per thread and iteration
//   fma_f32, fma_f64(iterations, out)   kFmaPerIteration per thread and iteration
//   empty()
// `out` is written in a case that does not happen: the work cannot be removed by the compiler.
// Thread rule: pure functions.

#include <string>

namespace nl::capture {

inline constexpr int kUnrolls[] = {1, 2, 4, 8};
inline constexpr int kVectorBytes = 16;
inline constexpr int kSharedLoads = 8;
inline constexpr int kFmaPerIteration = 256;

std::string PtxText();

}  // namespace nl::capture
