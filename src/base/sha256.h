// SPDX-License-Identifier: Apache-2.0
#pragma once
// SHA-256 (OpenSSL), incremental: of the files of bundles, and the parts of Sha256Tree.
// Thread rule: one object, one thread at a time.

#include <cstddef>
#include <string>
#include <string_view>

#include "base/result.h"

struct evp_md_ctx_st;

namespace nl {

class Sha256 {
 public:
  Sha256();
  ~Sha256();
  Sha256(const Sha256&) = delete;
  Sha256& operator=(const Sha256&) = delete;

  void Update(const void* bytes, size_t size);
  void Update(std::string_view bytes) { Update(bytes.data(), bytes.size()); }
  // 64 lower-case hexadecimal digits, or 32 bytes; the object then starts over.
  std::string FinishHex();
  void Finish(unsigned char* to);

 private:
  evp_md_ctx_st* context_;
};

std::string Sha256Hex(std::string_view bytes);
Result<std::string> FileSha256Hex(const std::string& path);

}  // namespace nl
