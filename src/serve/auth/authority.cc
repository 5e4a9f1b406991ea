// SPDX-License-Identifier: Apache-2.0
#include "serve/auth/authority.h"

#include <sys/stat.h>

#include <algorithm>

#include "base/time_text.h"
#include "serve/auth/password.h"

namespace nl::auth {

std::string Identity::Label() const {
  switch (kind) {
    case Kind::kUser: return "user:" + name;
    case Kind::kToken: return "token:" + name;
    case Kind::kNobody: break;
  }
  return "nobody";
}

Authority::Authority(std::string store, AuthorityOptions options)
    : store_(std::move(store)),
      options_(std::move(options)),
      needed_(options_.always),
      by_name_(options_.by_name),
      by_address_(options_.by_address) {}

int64_t Authority::Now() const { return options_.now_ns ? options_.now_ns() : UnixNowNs(); }

Authority::FileState Authority::Look() const {
  struct stat info {};
  if (::stat(AccountsPath(store_).c_str(), &info) != 0) return {};
  return {true, info.st_ino, info.st_size, info.st_ctim.tv_sec * 1'000'000'000 + info.st_ctim.tv_nsec};
}

// The file is looked at for every request: a revoked token must not work for another second.
void Authority::Refresh() {
  const FileState now = Look();
  if (seen_ && *seen_ == now) return;
  seen_ = now;
  Result<Accounts> read = ReadAccounts(store_);
  status_ = read.ok() ? Status() : Status(read.error());
  accounts_ = read.ok() ? *std::move(read) : Accounts{};
  needed_ = needed_ || !status_.ok() || !accounts_.empty();
}

Status Authority::Check() {
  const std::lock_guard lock(mutex_);
  Refresh();
  return status_;
}

bool Authority::LoginNeeded() {
  const std::lock_guard lock(mutex_);
  Refresh();
  return needed_;
}

bool Authority::HasAccounts() {
  const std::lock_guard lock(mutex_);
  Refresh();
  return !accounts_.empty();
}

std::optional<Identity> Authority::ByToken(std::string_view secret) {
  const std::string digest = SecretDigest(secret);
  const std::lock_guard lock(mutex_);
  Refresh();
  const Token* found = nullptr;
  for (const Token& token : accounts_.tokens) {
    if (SameSecret(token.digest, digest)) found = &token;
  }
  if (found == nullptr || found->Expired(Now())) return std::nullopt;
  return Identity{Identity::Kind::kToken, found->name, found->role, found->expires_at_ns};
}

std::optional<Identity> Authority::BySession(std::string_view secret) {
  const std::string digest = SecretDigest(secret);
  const std::lock_guard lock(mutex_);
  Refresh();
  const auto session = sessions_.find(digest);
  if (session == sessions_.end()) return std::nullopt;
  const User* user = accounts_.FindUser(session->second.user);
  if (user == nullptr || user->password_hash != session->second.password_hash ||
      session->second.expires_at_ns <= Now()) {
    sessions_.erase(session);
    return std::nullopt;
  }
  return Identity{Identity::Kind::kUser, user->name, user->role, session->second.expires_at_ns};
}

LoginResult Authority::Login(const std::string& name, std::string_view password, const std::string& address) {
  LoginResult out;
  std::string hash = UnknownUserHash();
  {
    const std::lock_guard lock(mutex_);
    Refresh();
    const int64_t now_ns = Now();
    out.wait_s = std::max(by_name_.WaitSeconds(name, now_ns), by_address_.WaitSeconds(address, now_ns));
    if (out.wait_s > 0) return out;
    // Counted before it is known: attempts at the same time must not all be free.
    by_name_.Fail(name, now_ns);
    by_address_.Fail(address, now_ns);
    if (const User* user = accounts_.FindUser(name)) hash = user->password_hash;
  }
  const bool matches = PasswordMatches(hash, password);
  const std::lock_guard lock(mutex_);
  const User* user = accounts_.FindUser(name);
  if (!matches || user == nullptr || user->password_hash != hash) return out;
  by_name_.Succeed(name);
  by_address_.Forgive(address);  // one account must not make room for guessing others
  const int64_t now_ns = Now();
  out.session = BeginSession(*user, now_ns);
  out.identity =
      Identity{Identity::Kind::kUser, user->name, user->role, now_ns + options_.session_s * 1'000'000'000};
  return out;
}

// A user's oldest session makes room for a new one, as does the oldest of all.
std::string Authority::BeginSession(const User& user, int64_t now_ns) {
  std::erase_if(sessions_, [&](const auto& one) { return one.second.expires_at_ns <= now_ns; });
  const auto make_room = [&](size_t most, auto counts) {
    const auto count = static_cast<size_t>(std::count_if(sessions_.begin(), sessions_.end(), counts));
    if (count < most) return;
    auto oldest = sessions_.end();
    for (auto it = sessions_.begin(); it != sessions_.end(); ++it) {
      const bool older = oldest == sessions_.end() || it->second.expires_at_ns < oldest->second.expires_at_ns;
      if (counts(*it) && older) oldest = it;
    }
    sessions_.erase(oldest);
  };
  make_room(options_.most_sessions_per_user, [&](const auto& one) { return one.second.user == user.name; });
  make_room(options_.most_sessions, [](const auto&) { return true; });
  std::string secret = NewSecret("nls_");
  sessions_[SecretDigest(secret)] = {user.name, user.password_hash,
                                     now_ns + options_.session_s * 1'000'000'000};
  return secret;
}

void Authority::Logout(std::string_view session) {
  const std::lock_guard lock(mutex_);
  sessions_.erase(SecretDigest(session));
}

size_t Authority::sessions() {
  const std::lock_guard lock(mutex_);
  return sessions_.size();
}

}  // namespace nl::auth
