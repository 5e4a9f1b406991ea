// SPDX-License-Identifier: Apache-2.0
#pragma once
// Secrets: passwords as argon2id hashes (libsodium), and comparisons that take the same time whatever
// differs. Thread rule: any thread. Hashing and checking a password take about 0.1 s and 64 MiB each.

#include <string>
#include <string_view>

#include "base/result.h"

namespace nl::auth {

inline constexpr size_t kLeastPasswordBytes = 10, kMostPasswordBytes = 1024;

// "$argon2id$..." with a random salt. InvalidInput when it is too short or too long.
Result<std::string> HashPassword(std::string_view password);
bool PasswordMatches(const std::string& hash, std::string_view password);

// The hash of no password, with the parameters of HashPassword: checking it takes as long as checking a real
// one, so that the time of an answer does not show whether a user exists.
const std::string& UnknownUserHash();

// Whether two secrets are equal; the time depends on their lengths only.
bool SameSecret(std::string_view a, std::string_view b);

// 256 random bits as text; `prefix` says what it is, for people and for scanners that look for leaked
// secrets.
std::string NewSecret(std::string_view prefix);
// What is stored of such a secret. It has 256 random bits: a fast hash is enough.
std::string SecretDigest(std::string_view secret);

}  // namespace nl::auth
