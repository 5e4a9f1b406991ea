// SPDX-License-Identifier: Apache-2.0
#pragma once
// Accounts: the users and API tokens of a store, in its file auth.json (mode 0600). Passwords and tokens are
// stored as hashes. The file is replaced as a whole; who changes it holds the lock of auth.lock, so that two
// processes never lose each other's change. Thread rule: functions without shared state.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "serve/auth/role.h"

namespace nl::auth {

struct User {
  std::string name;
  Role role = Role::kViewer;
  std::string password_hash;
  int64_t created_at_ns = 0;
};

struct Token {
  std::string name;
  Role role = Role::kViewer;
  std::string digest;  // of the secret
  int64_t created_at_ns = 0;
  std::optional<int64_t> expires_at_ns;

  bool Expired(int64_t now_ns) const { return expires_at_ns && *expires_at_ns <= now_ns; }
};

struct Accounts {
  std::vector<User> users;
  std::vector<Token> tokens;

  bool empty() const { return users.empty() && tokens.empty(); }
  const User* FindUser(std::string_view name) const;  // null: there is none
  const Token* FindToken(std::string_view name) const;
};

std::string AccountsPath(const std::string& store);

// None when the file does not exist. InvalidInput when it is damaged or when other users can read it.
Result<Accounts> ReadAccounts(const std::string& store);

// Reads, lets `change` change, and writes when that succeeds; the store's folder is made when it is missing.
Status ChangeAccounts(const std::string& store, const std::function<Status(Accounts&)>& change);

// The changes. Names have 1 to 64 letters, digits or any of . _ @ - and are unique among users, or tokens.
Status AddUser(Accounts& accounts, const std::string& name, Role role, std::string_view password,
               int64_t now_ns);
Status SetPassword(Accounts& accounts, std::string_view name, std::string_view password);
Status SetRole(Accounts& accounts, std::string_view name, Role role);
Status RemoveUser(Accounts& accounts, std::string_view name);
// The secret, which is not stored.
Result<std::string> AddToken(Accounts& accounts, const std::string& name, Role role, int64_t now_ns,
                             std::optional<int64_t> expires_at_ns);
Status RevokeToken(Accounts& accounts, std::string_view name);

}  // namespace nl::auth
