// SPDX-License-Identifier: Apache-2.0
#include "base/sha256_lanes.h"

#include <cassert>
#include <cstring>
#include <vector>

// clang before 16 declares the instructions only where the whole program may use them.
#if defined(__aarch64__) && (!defined(__clang__) || __clang_major__ >= 16 || defined(__ARM_FEATURE_SHA2))
#define NL_SHA256_ARMV8 1
#include <arm_neon.h>
#include <sys/auxv.h>
#elif defined(__x86_64__)
#define NL_SHA256_X86 1
#include <cpuid.h>
#include <immintrin.h>
#endif

namespace nl {

namespace {

constexpr size_t kBlockBytes = 64, kMostLanes = 8;

[[maybe_unused]] alignas(64) constexpr uint32_t kRound[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};
constexpr uint32_t kInitial[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                  0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};

#if NL_SHA256_ARMV8

// Neoverse V1: 1 lane 1.3 GB/s, 2 lanes 2.5, 3 and 4 lanes 2.9, 8 lanes 2.4 (registers run out).
constexpr int kArmLanes = 4;

__attribute__((target("+crypto"))) void CompressArmv8(uint32_t (*states)[8], const uint8_t* const* texts,
                                                      size_t blocks) {
  constexpr int kLanes = kArmLanes;
  uint32x4_t low[kLanes], high[kLanes];
  for (int i = 0; i < kLanes; ++i) {
    low[i] = vld1q_u32(states[i]);
    high[i] = vld1q_u32(states[i] + 4);
  }
  for (size_t b = 0; b < blocks; ++b) {
    uint32x4_t abcd[kLanes], efgh[kLanes], words[4][kLanes];
    for (int i = 0; i < kLanes; ++i) {
      abcd[i] = low[i];
      efgh[i] = high[i];
      for (int j = 0; j < 4; ++j)
        words[j][i] = vreinterpretq_u32_u8(vrev32q_u8(vld1q_u8(texts[i] + b * kBlockBytes + 16 * j)));
    }
#pragma GCC unroll 16
    for (int r = 0; r < 16; ++r) {  // four rounds each
      const uint32x4_t constants = vld1q_u32(kRound + 4 * r);
#pragma GCC unroll 4
      for (int i = 0; i < kLanes; ++i) {
        uint32x4_t& next = words[r & 3][i];
        const uint32x4_t sum = vaddq_u32(next, constants);
        if (r < 12)
          next = vsha256su1q_u32(vsha256su0q_u32(next, words[(r + 1) & 3][i]), words[(r + 2) & 3][i],
                                 words[(r + 3) & 3][i]);
        const uint32x4_t before = abcd[i];
        abcd[i] = vsha256hq_u32(before, efgh[i], sum);
        efgh[i] = vsha256h2q_u32(efgh[i], before, sum);
      }
    }
    for (int i = 0; i < kLanes; ++i) {
      low[i] = vaddq_u32(low[i], abcd[i]);
      high[i] = vaddq_u32(high[i], efgh[i]);
    }
  }
  for (int i = 0; i < kLanes; ++i) {
    vst1q_u32(states[i], low[i]);
    vst1q_u32(states[i] + 4, high[i]);
  }
}

std::span<const Sha256Kernel> KernelsOfThisProcessor() {
  static constexpr Sha256Kernel kKernels[] = {{"armv8 x4", kArmLanes, CompressArmv8}};
  static const bool has = (getauxval(AT_HWCAP) & (1ul << 6)) != 0;  // HWCAP_SHA2
  return std::span<const Sha256Kernel>(kKernels, has ? 1 : 0);
}

#elif NL_SHA256_X86

constexpr int kShaNiLanes = 2;  // 16 registers

__attribute__((target("sha,sse4.1,ssse3"))) void CompressShaNi(uint32_t (*states)[8],
                                                               const uint8_t* const* texts, size_t blocks) {
  constexpr int kLanes = kShaNiLanes;
  const __m128i swap = _mm_set_epi64x(0x0c0d0e0f08090a0b, 0x0405060700010203);
  __m128i abef[kLanes], cdgh[kLanes];
  for (int i = 0; i < kLanes; ++i) {
    const auto word = [&](int k) { return static_cast<int>(states[i][k]); };
    abef[i] = _mm_set_epi32(word(0), word(1), word(4), word(5));
    cdgh[i] = _mm_set_epi32(word(2), word(3), word(6), word(7));
  }
  for (size_t b = 0; b < blocks; ++b) {
    __m128i before[2][kLanes], words[4][kLanes];
    for (int i = 0; i < kLanes; ++i) {
      before[0][i] = abef[i];
      before[1][i] = cdgh[i];
      for (int j = 0; j < 4; ++j) {
        const auto* from = reinterpret_cast<const __m128i*>(texts[i] + b * kBlockBytes + 16 * j);
        words[j][i] = _mm_shuffle_epi8(_mm_loadu_si128(from), swap);
      }
    }
#pragma GCC unroll 16
    for (int r = 0; r < 16; ++r) {  // four rounds each
      const __m128i constants = _mm_load_si128(reinterpret_cast<const __m128i*>(kRound + 4 * r));
#pragma GCC unroll 2
      for (int i = 0; i < kLanes; ++i) {
        __m128i& next = words[r & 3][i];
        const __m128i sum = _mm_add_epi32(next, constants);
        cdgh[i] = _mm_sha256rnds2_epu32(cdgh[i], abef[i], sum);
        abef[i] = _mm_sha256rnds2_epu32(abef[i], cdgh[i], _mm_shuffle_epi32(sum, 0x0e));
        if (r < 12) {
          const __m128i last = words[(r + 3) & 3][i];
          const __m128i mixed = _mm_add_epi32(_mm_sha256msg1_epu32(next, words[(r + 1) & 3][i]),
                                              _mm_alignr_epi8(last, words[(r + 2) & 3][i], 4));
          next = _mm_sha256msg2_epu32(mixed, last);
        }
      }
    }
    for (int i = 0; i < kLanes; ++i) {
      abef[i] = _mm_add_epi32(abef[i], before[0][i]);
      cdgh[i] = _mm_add_epi32(cdgh[i], before[1][i]);
    }
  }
  for (int i = 0; i < kLanes; ++i) {
    alignas(16) uint32_t words[8];
    _mm_store_si128(reinterpret_cast<__m128i*>(words), abef[i]);
    _mm_store_si128(reinterpret_cast<__m128i*>(words + 4), cdgh[i]);
    const uint32_t ordered[8] = {words[3], words[2], words[7], words[6],
                                 words[1], words[0], words[5], words[4]};
    std::memcpy(states[i], ordered, sizeof(ordered));
  }
}

// One text in each of eight columns: for processors without SHA instructions.
constexpr int kAvx2Lanes = 8;

#define NL_AVX2 __attribute__((target("avx2"), always_inline)) inline
using Column = uint32_t __attribute__((vector_size(32)));

// Words 8 * half to 8 * half + 7 of a block of each text, as columns.
NL_AVX2 void LoadColumns(const uint8_t* const* texts, size_t at, Column* to) {
  const __m256i swap =
      _mm256_set_epi64x(0x0c0d0e0f08090a0b, 0x0405060700010203, 0x0c0d0e0f08090a0b, 0x0405060700010203);
  __m256i row[8], pair[8], four[8];
  for (int i = 0; i < 8; ++i)
    row[i] = _mm256_shuffle_epi8(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(texts[i] + at)), swap);
  for (int i = 0; i < 8; i += 2) {
    pair[i] = _mm256_unpacklo_epi32(row[i], row[i + 1]);
    pair[i + 1] = _mm256_unpackhi_epi32(row[i], row[i + 1]);
  }
  for (int i = 0; i < 8; i += 4) {
    four[i] = _mm256_unpacklo_epi64(pair[i], pair[i + 2]);
    four[i + 1] = _mm256_unpackhi_epi64(pair[i], pair[i + 2]);
    four[i + 2] = _mm256_unpacklo_epi64(pair[i + 1], pair[i + 3]);
    four[i + 3] = _mm256_unpackhi_epi64(pair[i + 1], pair[i + 3]);
  }
  for (int i = 0; i < 4; ++i) {
    to[i] = reinterpret_cast<Column>(_mm256_permute2x128_si256(four[i], four[i + 4], 0x20));
    to[i + 4] = reinterpret_cast<Column>(_mm256_permute2x128_si256(four[i], four[i + 4], 0x31));
  }
}

// Rotation; a macro, since clang warns of a function that takes such vectors in a program for any processor.
#define NL_TURN(x, by) (((x) >> (by)) | ((x) << (32 - (by))))

// For two instruction sets, of which each caller has one.
__attribute__((always_inline)) inline void CompressColumns(uint32_t (*states)[8], const uint8_t* const* texts,
                                                           size_t blocks,
                                                           void (*load)(const uint8_t* const* texts,
                                                                        size_t at, Column* to)) {
  Column state[8];
  for (int k = 0; k < 8; ++k) {
    for (int i = 0; i < kAvx2Lanes; ++i) state[k][i] = states[i][k];
  }
  for (size_t b = 0; b < blocks; ++b) {
    Column w[16];
    load(texts, b * kBlockBytes, w);
    load(texts, b * kBlockBytes + 32, w + 8);
    Column s[8];
    for (int k = 0; k < 8; ++k) s[k] = state[k];
#pragma GCC unroll 64
    for (int r = 0; r < 64; ++r) {
      Column& word = w[r & 15];
      if (r >= 16) {
        const Column early = w[(r + 1) & 15], late = w[(r + 14) & 15];
        word += (NL_TURN(early, 7) ^ NL_TURN(early, 18) ^ (early >> 3)) + w[(r + 9) & 15] +
                (NL_TURN(late, 17) ^ NL_TURN(late, 19) ^ (late >> 10));
      }
      // The letters move by one place a round: their names do instead.
      const auto at = [r](int k) { return static_cast<size_t>((k - r) & 7); };
      const Column a = s[at(0)], e = s[at(4)], f = s[at(5)], g = s[at(6)], bb = s[at(1)], c = s[at(2)];
      const Column first = s[at(7)] + (NL_TURN(e, 6) ^ NL_TURN(e, 11) ^ NL_TURN(e, 25)) +
                           (g ^ (e & (f ^ g))) + kRound[r] + word;
      s[at(3)] += first;
      s[at(7)] = first + (NL_TURN(a, 2) ^ NL_TURN(a, 13) ^ NL_TURN(a, 22)) + ((a & bb) | (c & (a | bb)));
    }
    for (int k = 0; k < 8; ++k) state[k] += s[k];
  }
  for (int k = 0; k < 8; ++k) {
    for (int i = 0; i < kAvx2Lanes; ++i) states[i][k] = state[k][i];
  }
}
#undef NL_TURN

__attribute__((target("avx2"))) void CompressAvx2(uint32_t (*states)[8], const uint8_t* const* texts,
                                                  size_t blocks) {
  CompressColumns(states, texts, blocks, LoadColumns);
}

// Here compilers use rotations and logic of three operands, which halve the instructions, and 32 registers,
// which hold all columns of a block. 512 bits at once would slow down the clock of many processors.
__attribute__((target("avx512f,avx512vl,avx2"))) void CompressAvx512(uint32_t (*states)[8],
                                                                     const uint8_t* const* texts,
                                                                     size_t blocks) {
  CompressColumns(states, texts, blocks, LoadColumns);
}

bool HasShaNi() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __builtin_cpu_supports("sse4.1") && __builtin_cpu_supports("ssse3") &&
         __get_cpuid_count(7, 0, &a, &b, &c, &d) != 0 && (b & (1u << 29)) != 0;
}

std::span<const Sha256Kernel> KernelsOfThisProcessor() {
  static const std::vector<Sha256Kernel> found = [] {
    std::vector<Sha256Kernel> kernels;
    if (HasShaNi()) kernels.push_back({"sha-ni x2", kShaNiLanes, CompressShaNi});
    if (__builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx2"))
      kernels.push_back({"avx512 x8", kAvx2Lanes, CompressAvx512});
    if (__builtin_cpu_supports("avx2")) kernels.push_back({"avx2 x8", kAvx2Lanes, CompressAvx2});
    return kernels;
  }();
  return found;
}

#else

std::span<const Sha256Kernel> KernelsOfThisProcessor() { return {}; }

#endif

}  // namespace

std::span<const Sha256Kernel> Sha256Kernels() { return KernelsOfThisProcessor(); }

void Sha256Each(const Sha256Kernel& kernel, const uint8_t* texts, size_t bytes, size_t count,
                uint8_t* digests) {
  assert(kernel.lanes <= kMostLanes && bytes % kBlockBytes == 0 && count % kernel.lanes == 0);
  uint8_t end[kBlockBytes] = {0x80};  // behind every text: its length in bits
  const uint64_t bits = uint64_t{bytes} * 8;
  for (size_t i = 0; i < 8; ++i) end[kBlockBytes - 1 - i] = static_cast<uint8_t>(bits >> (8 * i));
  for (size_t first = 0; first < count; first += kernel.lanes) {
    uint32_t states[kMostLanes][8];
    const uint8_t *lanes[kMostLanes], *ends[kMostLanes];
    for (size_t i = 0; i < kernel.lanes; ++i) {
      std::memcpy(states[i], kInitial, sizeof(kInitial));
      lanes[i] = texts + (first + i) * bytes;
      ends[i] = end;
    }
    kernel.compress(states, lanes, bytes / kBlockBytes);
    kernel.compress(states, ends, 1);
    for (size_t i = 0; i < kernel.lanes; ++i) {
      uint8_t* to = digests + (first + i) * kSha256Bytes;
      for (size_t k = 0; k < 8; ++k) {
        const uint32_t word = __builtin_bswap32(states[i][k]);
        std::memcpy(to + 4 * k, &word, sizeof(word));
      }
    }
  }
}

}  // namespace nl
