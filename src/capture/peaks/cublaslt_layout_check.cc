// SPDX-License-Identifier: Apache-2.0
// Our declarations of cuBLASLt and of the driver, held against NVIDIA's where those are installed.
#ifdef NL_HAVE_CUBLASLT_HEADERS

#include <cublasLt.h>
#include <cuda.h>

#include "capture/peaks/cublaslt.h"

namespace nl::capture {

static_assert(kLt32F == int{CUDA_R_32F} && kLt16F == int{CUDA_R_16F} && kLt8I == int{CUDA_R_8I} &&
              kLt32I == int{CUDA_R_32I});
static_assert(kLt16BF == int{CUDA_R_16BF} && kLtE4M3 == int{CUDA_R_8F_E4M3});
static_assert(kLtCompute32F == int{CUBLAS_COMPUTE_32F} && kLtCompute32I == int{CUBLAS_COMPUTE_32I});
static_assert(kLtComputeTf32 == int{CUBLAS_COMPUTE_32F_FAST_TF32});
static_assert(kLtTransA == int{CUBLASLT_MATMUL_DESC_TRANSA} && kLtTransB == int{CUBLASLT_MATMUL_DESC_TRANSB});
static_assert(kLtFastAccumulate == int{CUBLASLT_MATMUL_DESC_FAST_ACCUM});
static_assert(kLtMaxWorkspace == int{CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES});
static_assert(CUBLAS_OP_N == 0 && CUBLAS_OP_T == 1);
static_assert(sizeof(LtHeuristic) == sizeof(cublasLtMatmulHeuristicResult_t));
static_assert(sizeof(LtAlgorithm) == sizeof(cublasLtMatmulAlgo_t));
static_assert(offsetof(LtHeuristic, workspace_bytes) ==
              offsetof(cublasLtMatmulHeuristicResult_t, workspaceSize));
static_assert(offsetof(LtHeuristic, status) == offsetof(cublasLtMatmulHeuristicResult_t, state));

static_assert(kCuMultiprocessors == int{CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT});
static_assert(kCuL2Bytes == int{CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE});
static_assert(kCuThreadsPerMultiprocessor == int{CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR});
static_assert(kCuOutOfMemory == CUDA_ERROR_OUT_OF_MEMORY);
static_assert(kCuPeerAlreadyEnabled == CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED);
static_assert(sizeof(CuUuid) == sizeof(CUuuid) && sizeof(CuPointer) == sizeof(CUdeviceptr));
static_assert(CU_JIT_ERROR_LOG_BUFFER == 5 && CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES == 6);
static_assert(CU_STREAM_NON_BLOCKING == 1 && CU_STREAM_CAPTURE_MODE_THREAD_LOCAL == 1);

}  // namespace nl::capture

#endif
