// SPDX-License-Identifier: Apache-2.0
#pragma once
// Who a request comes from. Thread rule: plain values.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "serve/auth/role.h"

namespace nl::auth {

struct Identity {
  enum class Kind : uint8_t { kNobody, kUser, kToken };  // kNobody: no login is needed here
  Kind kind = Kind::kNobody;
  std::string name;  // of the user or the token
  Role role = Role::kViewer;
  std::optional<int64_t> expires_at_ns;  // of the session or the token

  // For logs: "user:ada", "token:ci", "nobody".
  std::string Label() const;
};

inline std::span<const std::string_view> NamesOf(Identity::Kind) {
  static constexpr std::string_view kNames[] = {"nobody", "user", "token"};
  return kNames;
}

}  // namespace nl::auth
