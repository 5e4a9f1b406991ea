// SPDX-License-Identifier: Apache-2.0
#include "base/sha256_tree.h"

#include <algorithm>
#include <cstring>

namespace nl {

namespace {

// Does it give what OpenSSL gives? A wrong one would make every identity wrong without a sign.
bool IsRight(const Sha256Kernel& kernel) {
  uint8_t text[8 * 128], digests[8 * kSha256Bytes], expected[kSha256Bytes];
  for (size_t i = 0; i < sizeof(text); ++i) text[i] = static_cast<uint8_t>(i * 131 + (i >> 3));
  Sha256Each(kernel, text, 128, kernel.lanes, digests);
  Sha256 hash;
  for (size_t i = 0; i < kernel.lanes; ++i) {
    hash.Update(text + 128 * i, 128);
    hash.Finish(expected);
    if (std::memcmp(expected, digests + i * kSha256Bytes, kSha256Bytes) != 0) return false;
  }
  return true;
}

const Sha256Kernel* Fastest() {
  static const Sha256Kernel* const found = []() -> const Sha256Kernel* {
    for (const Sha256Kernel& kernel : Sha256Kernels()) {
      if (IsRight(kernel)) return &kernel;
    }
    return nullptr;
  }();
  return found;
}

}  // namespace

Sha256Tree::Sha256Tree() : Sha256Tree(Fastest()) {}
Sha256Tree::Sha256Tree(const Sha256Kernel* kernel) : kernel_(kernel) { Begin(); }

void Sha256Tree::Begin() {
  bytes_ = 0;
  pending_.clear();
  root_.Update(kName);
  root_.Update("\n");
}

void Sha256Tree::Update(const void* bytes, size_t size) {
  const auto* at = static_cast<const uint8_t*>(bytes);
  bytes_ += size;
  if (!pending_.empty()) {
    const size_t n = std::min(size, kGroupBytes - pending_.size());
    pending_.append(reinterpret_cast<const char*>(at), n);
    at += n;
    size -= n;
    if (pending_.size() < kGroupBytes) return;
    HashLeaves(reinterpret_cast<const uint8_t*>(pending_.data()), kGroupBytes);
    pending_.clear();
  }
  const size_t whole = size - size % kGroupBytes;
  HashLeaves(at, whole);
  pending_.append(reinterpret_cast<const char*>(at) + whole, size - whole);
}

void Sha256Tree::HashLeaves(const uint8_t* bytes, size_t size) {
  uint8_t digests[8 * kSha256Bytes];
  while (size > 0) {
    const size_t lanes = kernel_ != nullptr ? kernel_->lanes : 1;
    if (lanes > 1 && size >= lanes * kLeafBytes) {
      Sha256Each(*kernel_, bytes, kLeafBytes, lanes, digests);
      root_.Update(digests, lanes * kSha256Bytes);
      bytes += lanes * kLeafBytes;
      size -= lanes * kLeafBytes;
      continue;
    }
    const size_t n = std::min(size, kLeafBytes);
    leaf_.Update(bytes, n);
    leaf_.Finish(digests);
    root_.Update(digests, kSha256Bytes);
    bytes += n;
    size -= n;
  }
}

std::string Sha256Tree::FinishHex() {
  HashLeaves(reinterpret_cast<const uint8_t*>(pending_.data()), pending_.size());
  uint8_t length[8];
  for (size_t i = 0; i < sizeof(length); ++i) length[i] = static_cast<uint8_t>(bytes_ >> (8 * i));
  root_.Update(length, sizeof(length));
  std::string out = root_.FinishHex();
  Begin();
  return out;
}

std::string Sha256TreeHex(std::string_view bytes) {
  Sha256Tree hash;
  hash.Update(bytes);
  return hash.FinishHex();
}

}  // namespace nl
