// SPDX-License-Identifier: Apache-2.0
#include "base/sha256.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <vector>

#include <fmt/format.h>
#include <openssl/evp.h>

#include "base/file_ops.h"

namespace nl {

Sha256::Sha256() : context_(EVP_MD_CTX_new()) { EVP_DigestInit_ex(context_, EVP_sha256(), nullptr); }
Sha256::~Sha256() { EVP_MD_CTX_free(context_); }

void Sha256::Update(const void* bytes, size_t size) { EVP_DigestUpdate(context_, bytes, size); }

void Sha256::Finish(unsigned char* to) {
  unsigned int size = 0;
  EVP_DigestFinal_ex(context_, to, &size);
  EVP_DigestInit_ex(context_, nullptr, nullptr);
}

std::string Sha256::FinishHex() {
  unsigned char digest[32];
  Finish(digest);
  std::string out;
  for (const unsigned char byte : digest) out += fmt::format("{:02x}", byte);
  return out;
}

std::string Sha256Hex(std::string_view bytes) {
  Sha256 hash;
  hash.Update(bytes);
  return hash.FinishHex();
}

Result<std::string> FileSha256Hex(const std::string& path) {
  UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd.valid()) {
    if (errno == ENOENT) return NotFound(fmt::format("{} does not exist", path));
    return FileError("open", path);
  }
  Sha256 hash;
  std::vector<char> buffer(1 << 20);
  for (;;) {
    const ssize_t count = ::read(fd.get(), buffer.data(), buffer.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return FileError("read", path);
    if (count == 0) return hash.FinishHex();
    hash.Update(buffer.data(), static_cast<size_t>(count));
  }
}

}  // namespace nl
