// SPDX-License-Identifier: Apache-2.0
#pragma once
// Authority: who a request comes from. Checks tokens, logins and the sessions that logins begin against the
// accounts of a store. A change of the accounts by a command counts from the next request on: a revoked
// token, a removed user, another role or password. When the accounts cannot be read, nobody is let in.
// Thread rule: any thread. Login takes about 0.1 s and 64 MiB; the rest is quick.

#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "base/result.h"
#include "serve/auth/accounts.h"
#include "serve/auth/identity.h"
#include "serve/auth/throttle.h"

namespace nl::auth {

struct AuthorityOptions {
  bool always = false;  // a login is needed even while there are no accounts
  int64_t session_s = 12 * 3600;
  size_t most_sessions = 10'000, most_sessions_per_user = 50;
  ThrottleLimits by_name{5, 60, 3600, 10'000};
  // Several people may share an address.
  ThrottleLimits by_address{20, 900, 3600, 10'000};
  std::function<int64_t()> now_ns;  // empty: the clock
};

struct LoginResult {
  std::optional<Identity> identity;  // empty: refused
  std::string session;               // the secret of the new session
  int64_t wait_s = 0;                // refused because of earlier failures: not even checked
};

class Authority {
 public:
  Authority(std::string store, AuthorityOptions options);

  // Reads the accounts; an error says why they cannot be used.
  Status Check();
  // Once there were accounts, a login stays needed: removing the last one must not open the server.
  bool LoginNeeded();
  bool HasAccounts();

  std::optional<Identity> ByToken(std::string_view secret);
  std::optional<Identity> BySession(std::string_view secret);
  LoginResult Login(const std::string& name, std::string_view password, const std::string& address);
  void Logout(std::string_view session);
  size_t sessions();

 private:
  struct Session {
    std::string user;
    std::string password_hash;  // another password ends the session
    int64_t expires_at_ns = 0;
  };
  struct FileState {
    bool exists = false;
    uint64_t inode = 0;
    int64_t size = 0, changed_ns = 0;
    bool operator==(const FileState&) const = default;
  };
  int64_t Now() const;
  FileState Look() const;
  void Refresh();
  std::string BeginSession(const User& user, int64_t now_ns);

  const std::string store_;
  const AuthorityOptions options_;
  std::mutex mutex_;
  std::optional<FileState> seen_;
  Status status_;
  Accounts accounts_;
  bool needed_ = false;
  std::unordered_map<std::string, Session> sessions_;  // by the digest of the secret
  Throttle by_name_, by_address_;
};

}  // namespace nl::auth
