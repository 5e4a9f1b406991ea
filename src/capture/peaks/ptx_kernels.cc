// SPDX-License-Identifier: Apache-2.0
#include "capture/peaks/ptx_kernels.h"

namespace nl::capture {

namespace {

std::string Num(int value) { return std::to_string(value); }

// %at: byte offset of this thread's first vector; %step: bytes between the chunks of one block;
// %row: bytes between the vectors of one thread.
std::string ChunkAddresses(int unroll) {
  return "  mov.u32 %t, %tid.x;\n"
         "  mov.u32 %n, %ntid.x;\n"
         "  mov.u32 %b, %ctaid.x;\n"
         "  mov.u32 %g, %nctaid.x;\n"
         "  mul.wide.u32 %row, %n, 16;\n"
         "  mul.lo.u64 %chunk, %row, " +
         Num(unroll) +
         ";\n"
         "  cvt.u64.u32 %wide, %b;\n"
         "  mul.lo.u64 %first, %chunk, %wide;\n"
         "  mul.wide.u32 %wide, %t, 16;\n"
         "  add.u64 %first, %first, %wide;\n"
         "  cvt.u64.u32 %wide, %g;\n"
         "  mul.lo.u64 %step, %chunk, %wide;\n";
}

std::string StreamRegisters(int unroll) {
  return "  .reg .pred %p;\n"
         "  .reg .b32 %t, %n, %b, %g, %left, %x;\n"
         "  .reg .b64 %row, %chunk, %wide, %first, %at, %step, %from, %to, %bytes, %out, %address;\n"
         "  .reg .b32 %v<" +
         Num(4 * unroll) + ">;\n  .reg .b32 %s<4>;\n";
}

std::string Vector(int i) {
  return "{%v" + Num(4 * i) + ", %v" + Num(4 * i + 1) + ", %v" + Num(4 * i + 2) + ", %v" + Num(4 * i + 3) +
         "}";
}

// `unroll` loads (or stores) one row apart, from `base` + %at on.
std::string Accesses(const char* base, int unroll, bool store) {
  std::string out = std::string("  add.u64 %address, ") + base + ", %at;\n";
  for (int i = 0; i < unroll; ++i) {
    if (i > 0) out += "  add.u64 %address, %address, %row;\n";
    out += store ? "  st.global.v4.b32 [%address], " + Vector(i) + ";\n"
                 : "  ld.global.cg.v4.b32 " + Vector(i) + ", [%address];\n";
  }
  return out;
}

constexpr char kNextChunk[] =
    "  add.u64 %at, %at, %step;\n"
    "  setp.lt.u64 %p, %at, %bytes;\n"
    "  @%p bra LOOP;\n";
// A value that no data of ours gives; see the header on `out`.
constexpr char kKeepResult[] =
    "  setp.eq.u32 %p, %x, 0x9e3779b9;\n"
    "  @%p st.global.u32 [%out], %x;\n";

std::string ReadKernel(int unroll) {
  std::string out =
      ".visible .entry read_" + Num(unroll) +
      "(.param .u64 p_from, .param .u64 p_bytes, .param .u32 p_passes, .param .u64 p_out)\n{\n" +
      StreamRegisters(unroll) +
      "  ld.param.u64 %from, [p_from];\n"
      "  ld.param.u64 %bytes, [p_bytes];\n"
      "  ld.param.u32 %left, [p_passes];\n"
      "  ld.param.u64 %out, [p_out];\n" +
      ChunkAddresses(unroll) +
      "  setp.ge.u64 %p, %first, %bytes;\n"
      "  @%p bra END;\n";
  for (int i = 0; i < 4; ++i) out += "  mov.u32 %s" + Num(i) + ", 0;\n";
  out += "PASS:\n  mov.u64 %at, %first;\nLOOP:\n" + Accesses("%from", unroll, false);
  for (int i = 0; i < unroll; ++i) {
    for (int lane = 0; lane < 4; ++lane) {
      const std::string sum = "%s" + Num(lane);
      out += "  xor.b32 " + sum + ", " + sum + ", %v" + Num(4 * i + lane) + ";\n";
    }
  }
  out += kNextChunk;
  out +=
      "  sub.u32 %left, %left, 1;\n"
      "  setp.ne.u32 %p, %left, 0;\n"
      "  @%p bra PASS;\n"
      "  xor.b32 %x, %s0, %s1;\n"
      "  xor.b32 %x, %x, %s2;\n"
      "  xor.b32 %x, %x, %s3;\n";
  return out + kKeepResult + "END:\n  ret;\n}\n";
}

std::string WriteKernel(int unroll) {
  std::string out = ".visible .entry write_" + Num(unroll) + "(.param .u64 p_to, .param .u64 p_bytes)\n{\n" +
                    StreamRegisters(unroll) +
                    "  ld.param.u64 %to, [p_to];\n"
                    "  ld.param.u64 %bytes, [p_bytes];\n" +
                    ChunkAddresses(unroll) +
                    "  mov.u64 %at, %first;\n"
                    "  setp.ge.u64 %p, %at, %bytes;\n"
                    "  @%p bra END;\n";
  for (int i = 0; i < 4 * unroll; ++i) out += "  add.u32 %v" + Num(i) + ", %t, " + Num(i) + ";\n";
  return out + "LOOP:\n" + Accesses("%to", unroll, true) + kNextChunk + "END:\n  ret;\n}\n";
}

std::string CopyKernel(int unroll) {
  return ".visible .entry copy_" + Num(unroll) +
         "(.param .u64 p_to, .param .u64 p_from, .param .u64 p_bytes)\n{\n" + StreamRegisters(unroll) +
         "  ld.param.u64 %to, [p_to];\n"
         "  ld.param.u64 %from, [p_from];\n"
         "  ld.param.u64 %bytes, [p_bytes];\n" +
         ChunkAddresses(unroll) +
         "  mov.u64 %at, %first;\n"
         "  setp.ge.u64 %p, %at, %bytes;\n"
         "  @%p bra END;\n"
         "LOOP:\n" +
         Accesses("%from", unroll, false) + Accesses("%to", unroll, true) + kNextChunk + "END:\n  ret;\n}\n";
}

// The rows of a warp are 512 contiguous bytes: no bank conflicts. The start moves in every iteration, so
// that no load can be taken out of the loop.
std::string SharedKernel() {
  std::string out =
      ".visible .entry shared_read(.param .u32 p_iterations, .param .u64 p_out)\n{\n"
      "  .shared .align 16 .b8 words[32768];\n"
      "  .reg .pred %p;\n"
      "  .reg .b32 %t, %left, %x, %at, %base, %address;\n"
      "  .reg .b64 %out;\n"
      "  .reg .b32 %v<32>;\n"
      "  .reg .b32 %s<4>;\n"
      "  ld.param.u32 %left, [p_iterations];\n"
      "  ld.param.u64 %out, [p_out];\n"
      "  mov.u32 %t, %tid.x;\n"
      "  mov.u32 %base, words;\n"
      "  shl.b32 %at, %t, 4;\n"
      "  and.b32 %at, %at, 16383;\n"
      "  add.u32 %address, %base, %at;\n"
      "  st.shared.v4.b32 [%address], {%t, %at, %t, %at};\n"
      "  st.shared.v4.b32 [%address+16384], {%at, %t, %at, %t};\n"
      "  bar.sync 0;\n";
  for (int i = 0; i < 4; ++i) out += "  mov.u32 %s" + Num(i) + ", 0;\n";
  out += "LOOP:\n  add.u32 %address, %base, %at;\n";
  for (int i = 0; i < kSharedLoads; ++i)
    out += "  ld.shared.v4.b32 " + Vector(i) + ", [%address+" + Num(2048 * i) + "];\n";
  for (int i = 0; i < kSharedLoads; ++i) {
    for (int lane = 0; lane < 4; ++lane) {
      const std::string sum = "%s" + Num(lane);
      out += "  xor.b32 " + sum + ", " + sum + ", %v" + Num(4 * i + lane) + ";\n";
    }
  }
  out +=
      "  add.u32 %at, %at, 512;\n"
      "  and.b32 %at, %at, 16383;\n"
      "  sub.u32 %left, %left, 1;\n"
      "  setp.ne.u32 %p, %left, 0;\n"
      "  @%p bra LOOP;\n"
      "  xor.b32 %x, %s0, %s1;\n"
      "  xor.b32 %x, %x, %s2;\n"
      "  xor.b32 %x, %x, %s3;\n";
  return out + kKeepResult + "  ret;\n}\n";
}

// Sixteen chains, so that one thread alone hides the latency of an addition.
std::string FmaKernel(const char* type, const char* factor, const char* term) {
  constexpr int kChains = 16;
  const std::string t = type;
  std::string out = ".visible .entry fma_" + t +
                    "(.param .u32 p_iterations, .param .u64 p_out)\n{\n"
                    "  .reg .pred %p;\n"
                    "  .reg .b32 %left, %t;\n"
                    "  .reg .b64 %out;\n"
                    "  .reg ." +
                    t + " %a<" + Num(kChains) + ">, %factor, %term;\n" +
                    "  ld.param.u32 %left, [p_iterations];\n"
                    "  ld.param.u64 %out, [p_out];\n"
                    "  mov.u32 %t, %tid.x;\n"
                    "  mov." +
                    t + " %factor, " + factor + ";\n  mov." + t + " %term, " + term + ";\n";
  for (int i = 0; i < kChains; ++i) {
    out += "  add.u32 %t, %t, 1;\n  cvt.rn." + t + ".u32 %a" + Num(i) + ", %t;\n";
  }
  out += "LOOP:\n";
  for (int i = 0; i < kFmaPerIteration; ++i) {
    const std::string a = "%a" + Num(i % kChains);
    out += "  fma.rn." + t + " " + a + ", " + a + ", %factor, %term;\n";
  }
  out +=
      "  sub.u32 %left, %left, 1;\n"
      "  setp.ne.u32 %p, %left, 0;\n"
      "  @%p bra LOOP;\n";
  for (int i = 1; i < kChains; ++i) out += "  add." + t + " %a0, %a0, %a" + Num(i) + ";\n";
  // The chains end near 2: their sum is never negative.
  return out + "  setp.lt." + t + " %p, %a0, " + (t == "f32" ? "0f00000000" : "0d0000000000000000") +
         ";\n  @%p st.global." + t + " [%out], %a0;\n  ret;\n}\n";
}

}  // namespace

std::string PtxText() {
  std::string out =
      ".version 7.0\n.target sm_70\n.address_size 64\n\n.visible .entry empty()\n{\n  ret;\n}\n";
  for (const int unroll : kUnrolls) out += ReadKernel(unroll) + WriteKernel(unroll) + CopyKernel(unroll);
  out += SharedKernel();
  // x = x / 2 + 1: neither overflows nor dies out.
  out += FmaKernel("f32", "0f3F000000", "0f3F800000");
  out += FmaKernel("f64", "0d3FE0000000000000", "0d3FF0000000000000");
  return out;
}

}  // namespace nl::capture
