// SPDX-License-Identifier: Apache-2.0
#include "serve/auth/accounts.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>

#include <fmt/format.h>

#include "base/file_ops.h"
#include "base/json.h"
#include "base/near_names.h"
#include "base/terminal.h"
#include "base/time_text.h"
#include "serve/auth/password.h"

namespace nl::auth {

namespace {

constexpr int kFormat = 1;
constexpr size_t kMostNameBytes = 64;
constexpr int64_t kMostFileBytes = 16 << 20;
constexpr unsigned kOwnerOnly = 0600;

Status CheckName(std::string_view name) {
  constexpr std::string_view kAllowed = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._@-";
  const bool good = !name.empty() && name.size() <= kMostNameBytes && name[0] != '-' &&
                    name.find_first_not_of(kAllowed) == std::string_view::npos;
  if (good) return {};
  return InvalidInput(fmt::format("'{}' cannot be a name", PrintableName(name, 80)))
      .Hint("use 1 to 64 letters, digits, or any of . _ @ -");
}

template <class List>
auto Named(List& list, std::string_view name) {
  return std::find_if(list.begin(), list.end(), [&](const auto& one) { return one.name == name; });
}

template <class List>
Error Missing(const List& list, std::string_view kind, std::string_view name) {
  std::vector<std::string> names;
  for (const auto& one : list) names.push_back(one.name);
  const std::string guess = DidYouMean(Nearest(std::string(name), names));
  return NotFound(fmt::format("no such {}: '{}'", kind, PrintableName(name, 80)))
      .Hint(guess.empty() ? "`neurolens auth ls` lists users and tokens" : guess);
}

Json ToJson(const Accounts& accounts) {
  Json users = Json::array(), tokens = Json::array();
  for (const User& user : accounts.users) {
    users.push_back({{"name", user.name},
                     {"role", RoleName(user.role)},
                     {"password_hash", user.password_hash},
                     {"created_at_ns", user.created_at_ns}});
  }
  for (const Token& token : accounts.tokens) {
    tokens.push_back({{"name", token.name},
                      {"role", RoleName(token.role)},
                      {"digest", token.digest},
                      {"created_at_ns", token.created_at_ns},
                      {"expires_at_ns", token.expires_at_ns ? Json(*token.expires_at_ns) : Json()}});
  }
  return {{"format", kFormat}, {"users", std::move(users)}, {"tokens", std::move(tokens)}};
}

// The members that both kinds have, or false.
template <class Account>
bool ReadCommon(const Json& from, const char* secret_name, Account& to, std::string& secret) {
  if (!from.is_object()) return false;
  const auto text = [&](const char* name) {
    const auto it = from.find(name);
    return it != from.end() && it->is_string() ? it->get<std::string>() : std::string();
  };
  const std::optional<Role> role = RoleOf(text("role"));
  to.name = text("name");
  secret = text(secret_name);
  if (!role || secret.empty() || !CheckName(to.name).ok()) return false;
  to.role = *role;
  if (const auto it = from.find("created_at_ns"); it != from.end() && it->is_number_integer())
    to.created_at_ns = it->get<int64_t>();
  return true;
}

bool ReadToken(const Json& from, Token& to) {
  if (!ReadCommon(from, "digest", to, to.digest)) return false;
  const auto expires = from.find("expires_at_ns");
  if (expires == from.end() || expires->is_null()) return true;
  if (!expires->is_number_integer()) return false;
  to.expires_at_ns = expires->get<int64_t>();
  return true;
}

Result<Accounts> FromJson(const Json& document, const std::string& path) {
  const auto damaged = [&] {
    return InvalidInput("not a list of users and tokens")
        .At(path)
        .Hint("restore it from a backup, or move it away and add the users again");
  };
  if (!document.is_object() || !document.contains("users") || !document.contains("tokens")) return damaged();
  if (const auto format = document.find("format"); format == document.end() || *format != kFormat)
    return Unsupported("written by another version of neurolens").At(path);
  Accounts out;
  for (const Json& user : document["users"]) {
    User read;
    if (!ReadCommon(user, "password_hash", read, read.password_hash)) return damaged();
    out.users.push_back(std::move(read));
  }
  for (const Json& token : document["tokens"]) {
    Token read;
    if (!ReadToken(token, read)) return damaged();
    out.tokens.push_back(std::move(read));
  }
  return out;
}

}  // namespace

const User* Accounts::FindUser(std::string_view name) const {
  const auto it = Named(users, name);
  return it == users.end() ? nullptr : &*it;
}

const Token* Accounts::FindToken(std::string_view name) const {
  const auto it = Named(tokens, name);
  return it == tokens.end() ? nullptr : &*it;
}

std::string AccountsPath(const std::string& store) { return store + "/auth.json"; }

Result<Accounts> ReadAccounts(const std::string& store) {
  const std::string path = AccountsPath(store);
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0) {
    if (errno == ENOENT || errno == ENOTDIR) return Accounts{};
    return FileError("read", path);
  }
  if ((info.st_mode & 077) != 0) {
    return InvalidInput("other users of this machine can read or change the accounts")
        .At(path)
        .Hint("chmod 600 the file; change the passwords when others may have read it");
  }
  NL_ASSIGN(const std::string text, ReadWholeFile(path, kMostFileBytes));
  Result<Json> document = ParseJson(text);
  if (!document.ok()) return std::move(document).error().At(path);
  return FromJson(*document, path);
}

Status ChangeAccounts(const std::string& store, const std::function<Status(Accounts&)>& change) {
  NL_TRY(MakeDirectories(store));
  const std::string lock_path = store + "/auth.lock";
  const UniqueFd lock(::open(lock_path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, kOwnerOnly));
  if (!lock.valid()) return FileError("open", lock_path);
  while (::flock(lock.get(), LOCK_EX) != 0) {
    if (errno != EINTR) return FileError("lock", lock_path);
  }
  NL_ASSIGN(Accounts accounts, ReadAccounts(store));
  NL_TRY(change(accounts));
  return WriteFileAtomically(AccountsPath(store), DumpJson(ToJson(accounts), 1) + "\n", kOwnerOnly);
}

Status AddUser(Accounts& accounts, const std::string& name, Role role, std::string_view password,
               int64_t now_ns) {
  NL_TRY(CheckName(name));
  if (accounts.FindUser(name) != nullptr)
    return InvalidInput(fmt::format("the user '{}' exists already", name))
        .Hint("`neurolens auth passwd` changes a password, `neurolens auth set-role` a role");
  NL_ASSIGN(std::string hash, HashPassword(password));
  accounts.users.push_back({name, role, std::move(hash), now_ns});
  return {};
}

Status SetPassword(Accounts& accounts, std::string_view name, std::string_view password) {
  const auto user = Named(accounts.users, name);
  if (user == accounts.users.end()) return Missing(accounts.users, "user", name);
  NL_ASSIGN(user->password_hash, HashPassword(password));
  return {};
}

Status SetRole(Accounts& accounts, std::string_view name, Role role) {
  const auto user = Named(accounts.users, name);
  if (user == accounts.users.end()) return Missing(accounts.users, "user", name);
  user->role = role;
  return {};
}

Status RemoveUser(Accounts& accounts, std::string_view name) {
  const auto user = Named(accounts.users, name);
  if (user == accounts.users.end()) return Missing(accounts.users, "user", name);
  accounts.users.erase(user);
  return {};
}

Result<std::string> AddToken(Accounts& accounts, const std::string& name, Role role, int64_t now_ns,
                             std::optional<int64_t> expires_at_ns) {
  NL_TRY(CheckName(name));
  if (accounts.FindToken(name) != nullptr)
    return InvalidInput(fmt::format("the token '{}' exists already", name))
        .Hint("revoke it first, or choose another name");
  std::string secret = NewSecret("nl_");
  accounts.tokens.push_back({name, role, SecretDigest(secret), now_ns, expires_at_ns});
  return secret;
}

Status RevokeToken(Accounts& accounts, std::string_view name) {
  const auto token = Named(accounts.tokens, name);
  if (token == accounts.tokens.end()) return Missing(accounts.tokens, "token", name);
  accounts.tokens.erase(token);
  return {};
}

}  // namespace nl::auth
