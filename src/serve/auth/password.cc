// SPDX-License-Identifier: Apache-2.0
#include "serve/auth/password.h"

#include <sodium.h>

#include <fmt/format.h>

#include "base/check.h"
#include "base/file_ops.h"
#include "base/sha256.h"

namespace nl::auth {

namespace {

void StartSodium() {
  static const int ready = sodium_init();
  NL_CHECK(ready >= 0);
}

}  // namespace

Result<std::string> HashPassword(std::string_view password) {
  if (password.size() < kLeastPasswordBytes || password.size() > kMostPasswordBytes) {
    return InvalidInput(
        fmt::format("a password has {} to {} bytes", kLeastPasswordBytes, kMostPasswordBytes));
  }
  StartSodium();
  char out[crypto_pwhash_STRBYTES];
  if (crypto_pwhash_str_alg(out, password.data(), password.size(), crypto_pwhash_OPSLIMIT_INTERACTIVE,
                            crypto_pwhash_MEMLIMIT_INTERACTIVE, crypto_pwhash_ALG_ARGON2ID13) != 0)
    return Limit("not enough memory to hash a password");
  return std::string(out);
}

bool PasswordMatches(const std::string& hash, std::string_view password) {
  StartSodium();
  if (password.size() > kMostPasswordBytes || hash.size() >= crypto_pwhash_STRBYTES) return false;
  return crypto_pwhash_str_verify(hash.c_str(), password.data(), password.size()) == 0;
}

const std::string& UnknownUserHash() {
  static const std::string hash =
      "$argon2id$v=19$m=65536,t=2,p=1$AAAAAAAAAAAAAAAAAAAAAA$AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";
  return hash;
}

bool SameSecret(std::string_view a, std::string_view b) {
  return a.size() == b.size() && sodium_memcmp(a.data(), b.data(), a.size()) == 0;
}

std::string NewSecret(std::string_view prefix) { return std::string(prefix) + RandomHex(64); }

std::string SecretDigest(std::string_view secret) { return Sha256Hex(secret); }

}  // namespace nl::auth
