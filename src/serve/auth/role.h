// SPDX-License-Identifier: Apache-2.0
#pragma once
// Roles of users and tokens. What an operation needs follows from its effect, never from its name.
// Thread rule: pure functions.

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace nl::auth {

enum class Role : uint8_t {
  kViewer,  // operations that only read
  kEditor,  // also those that change the store: uploads, rm, tag
  kAdmin,   // everything that is offered
};

inline std::span<const std::string_view> NamesOf(Role) {
  static constexpr std::string_view kNames[] = {"viewer", "editor", "admin"};
  return kNames;
}

inline std::string_view RoleName(Role role) { return NamesOf(role)[static_cast<size_t>(role)]; }

inline std::optional<Role> RoleOf(std::string_view name) {
  for (const Role role : {Role::kViewer, Role::kEditor, Role::kAdmin}) {
    if (RoleName(role) == name) return role;
  }
  return std::nullopt;
}

inline Role RoleForEffect(bool reads_only) { return reads_only ? Role::kViewer : Role::kEditor; }

inline bool Allows(Role has, Role needs) { return has >= needs; }

}  // namespace nl::auth
