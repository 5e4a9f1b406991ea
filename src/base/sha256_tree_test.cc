// SPDX-License-Identifier: Apache-2.0
#include "base/sha256_tree.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace nl {
namespace {

constexpr size_t kLeaf = Sha256Tree::kLeafBytes, kGroup = Sha256Tree::kGroupBytes;

std::string RandomBytes(size_t size) {
  std::mt19937_64 random(size);
  std::string out(size, '\0');
  for (char& c : out) c = static_cast<char>(random());
  return out;
}

std::string FromHex(std::string_view hex) {
  std::string out;
  for (size_t i = 0; i < hex.size(); i += 2)
    out += static_cast<char>(std::stoi(std::string(hex.substr(i, 2)), nullptr, 16));
  return out;
}

// As the header defines it, in the obvious way.
std::string Reference(const std::string& bytes) {
  std::string root = "sha256-tree-32k\n";
  for (size_t at = 0; at < bytes.size(); at += kLeaf) root += FromHex(Sha256Hex(bytes.substr(at, kLeaf)));
  uint64_t length = bytes.size();
  for (int i = 0; i < 8; ++i, length >>= 8) root += static_cast<char>(length & 0xff);
  return Sha256Hex(root);
}

// Every way this processor can compute it; null is OpenSSL's.
std::vector<const Sha256Kernel*> Ways() {
  std::vector<const Sha256Kernel*> out{nullptr};
  for (const Sha256Kernel& kernel : Sha256Kernels()) out.push_back(&kernel);
  return out;
}

TEST(Sha256Lanes, EveryKernelGivesWhatOpenSslGives) {
  const std::string bytes = RandomBytes(8 * 640);
  for (const Sha256Kernel& kernel : Sha256Kernels()) {
    for (const size_t size : {0u, 64u, 128u, 640u}) {
      std::vector<uint8_t> digests(8 * kSha256Bytes);
      Sha256Each(kernel, reinterpret_cast<const uint8_t*>(bytes.data()), size, 8, digests.data());
      for (size_t i = 0; i < 8; ++i) {
        const std::string digest(reinterpret_cast<const char*>(&digests[i * kSha256Bytes]), kSha256Bytes);
        EXPECT_EQ(digest, FromHex(Sha256Hex(bytes.substr(i * size, size)))) << kernel.name << ' ' << size;
      }
    }
  }
}

TEST(Sha256Tree, EveryKernelGivesTheHashAsDefined) {
  for (const size_t size : {size_t{0}, size_t{1}, kLeaf - 1, kLeaf, kLeaf + 1, 5 * kLeaf, kGroup - 1, kGroup,
                            kGroup + 1, 3 * kGroup + 2 * kLeaf + 17}) {
    const std::string bytes = RandomBytes(size);
    for (const Sha256Kernel* kernel : Ways()) {
      Sha256Tree hash(kernel);
      hash.Update(bytes);
      EXPECT_EQ(hash.FinishHex(), Reference(bytes)) << size << ' ' << (kernel != nullptr ? kernel->name : "");
      hash.Update("abc");
      EXPECT_EQ(hash.FinishHex(), Reference("abc")) << "starts over after FinishHex";
    }
  }
}

TEST(Sha256Tree, PiecewiseEqualsWhole) {
  const std::string bytes = RandomBytes(3 * kGroup + 12345);
  const std::string whole = Sha256TreeHex(bytes);
  for (const size_t piece : {size_t{4}, size_t{1000}, kLeaf + 1, kGroup, kGroup + 7}) {
    Sha256Tree hash;
    for (size_t at = 0; at < bytes.size(); at += piece)
      hash.Update(std::string_view(bytes).substr(at, piece));
    EXPECT_EQ(hash.FinishHex(), whole) << piece;
  }
}

TEST(Sha256Tree, DiffersWhereTheBytesDo) {
  std::string bytes = RandomBytes(kGroup + kLeaf);
  const std::string before = Sha256TreeHex(bytes);
  EXPECT_NE(before, Sha256Hex(bytes));
  for (const size_t at : {size_t{0}, kLeaf, kGroup, bytes.size() - 1}) {
    bytes[at] = static_cast<char>(bytes[at] ^ 1);
    EXPECT_NE(Sha256TreeHex(bytes), before) << at;
    bytes[at] = static_cast<char>(bytes[at] ^ 1);
  }
  // Equal leaves, another length; zeros at the end.
  EXPECT_NE(Sha256TreeHex(std::string(kLeaf, '\0')), Sha256TreeHex(std::string(2 * kLeaf, '\0')));
  EXPECT_NE(Sha256TreeHex(std::string(5, '\0')), Sha256TreeHex(std::string(6, '\0')));
}

}  // namespace
}  // namespace nl
