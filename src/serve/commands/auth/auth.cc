// SPDX-License-Identifier: Apache-2.0
// `neurolens auth`: the users and API tokens of a store, for `neurolens serve`.

#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include <fmt/format.h>

#include "base/human.h"
#include "base/terminal.h"
#include "base/time_text.h"
#include "ops/op.h"
#include "ops/settings.h"
#include "serve/auth/accounts.h"
#include "serve/auth/audit_log.h"
#include "serve/auth/password.h"

namespace nl::ops::auth {

namespace {

using nl::auth::Accounts;
using nl::auth::Role;

enum class AuthAction : uint8_t { kLs, kAddUser, kPasswd, kSetRole, kRmUser, kTokenAdd, kTokenRevoke };
std::span<const std::string_view> NamesOf(AuthAction) {
  static constexpr std::string_view kNames[] = {"ls",      "add-user",  "passwd",      "set-role",
                                                "rm-user", "token-add", "token-revoke"};
  return kNames;
}

struct AuthUser {
  std::string name;
  Role role = Role::kViewer;
  std::string created_at;
};
void Describe(Record<AuthUser>& r) {
  r.Name("AuthUser", "A user who can log in");
  r.Field("name", &AuthUser::name, "Name");
  r.Field("role", &AuthUser::role, "What the user may do");
  r.Field("created_at", &AuthUser::created_at, "Time when it was added (RFC 3339, UTC)");
}

struct AuthToken {
  std::string name;
  Role role = Role::kViewer;
  std::string created_at;
  std::optional<std::string> expires_at;
  bool expired = false;
};
void Describe(Record<AuthToken>& r) {
  r.Name("AuthToken", "An API token, without its secret");
  r.Field("name", &AuthToken::name, "Name");
  r.Field("role", &AuthToken::role, "What its holder may do");
  r.Field("created_at", &AuthToken::created_at, "Time when it was made (RFC 3339, UTC)");
  r.Field("expires_at", &AuthToken::expires_at, "Time from which it is refused; null: never");
  r.Field("expired", &AuthToken::expired, "That time has passed");
}

struct AuthReply {
  AuthAction action = AuthAction::kLs;
  std::vector<AuthUser> users;
  std::vector<AuthToken> tokens;
  std::optional<std::string> secret;
};
void Describe(Record<AuthReply>& r) {
  r.Name("AuthReply", "Reply of `neurolens auth`");
  r.Field("action", &AuthReply::action, "What was done");
  r.Field("users", &AuthReply::users, "The users after that");
  r.Field("tokens", &AuthReply::tokens, "The tokens after that");
  r.Field("secret", &AuthReply::secret, "The new token, shown only this once; null unless one was made");
}

// Switches the echo of a terminal off while a password is typed.
class NoEcho {
 public:
  NoEcho() : known_(tcgetattr(STDIN_FILENO, &before_) == 0) {
    if (!known_) return;
    termios quiet = before_;
    quiet.c_lflag &= ~static_cast<tcflag_t>(ECHO);
    tcsetattr(STDIN_FILENO, TCSAFLUSH, &quiet);
  }
  ~NoEcho() {
    if (known_) tcsetattr(STDIN_FILENO, TCSAFLUSH, &before_);
  }
  NoEcho(const NoEcho&) = delete;
  NoEcho& operator=(const NoEcho&) = delete;

 private:
  termios before_{};
  const bool known_;
};

// A line of stdin without its end; byte by byte, because what follows belongs to others.
std::string ReadLine() {
  std::string out;
  char c = 0;
  while (out.size() <= nl::auth::kMostPasswordBytes && read(STDIN_FILENO, &c, 1) == 1 && c != '\n') out += c;
  if (!out.empty() && out.back() == '\r') out.pop_back();
  return out;
}

void Prompt(std::string_view text) { static_cast<void>(!write(STDERR_FILENO, text.data(), text.size())); }

Result<std::string> AskPassword(const std::string& name) {
  if (!IsTerminal(STDIN_FILENO)) {
    std::string given = ReadLine();
    if (given.empty())
      return InvalidInput("no password on stdin").Hint("write it as the first line of stdin");
    return given;
  }
  const NoEcho quiet;
  Prompt(fmt::format("Password for {}: ", name));
  std::string first = ReadLine();
  Prompt("\nAgain: ");
  const std::string second = ReadLine();
  Prompt("\n");
  if (first != second) return InvalidInput("the two passwords differ");
  return first;
}

std::string LocalActor() {
  const char* user = getenv("USER");
  return fmt::format("local:{}", user != nullptr && *user != 0 ? user : std::to_string(getuid()));
}

class AuthOp final : public Op {
 public:
  OpInfo Info() const override {
    OpInfo info;
    info.name = "auth";
    info.summary = "Manage the users and API tokens that `serve` accepts";
    info.choose_when =
        "Choose it before `serve` listens on an address that other machines reach: from the first user or "
        "token on, every request needs a login or a token. Passwords are read from the terminal or from "
        "stdin.";
    info.example = "neurolens auth token-add ci --role editor --expires 90d";
    info.local = true;
    info.writes = true;
    info.reply = ReplyOf<AuthReply>();
    return info;
  }

  void Bind(ParamBinder& b) override {
    const auto names = NamesOf(AuthAction());
    b.Add("action", action_, "What to do").Positional().Choices({names.begin(), names.end()});
    b.Add("name", name_, "Name of the user or token").Positional();
    b.Add("role", role_,
          "With add-user, set-role, token-add: viewer reads, editor also changes the store, admin may do all")
        .Choices({"viewer", "editor", "admin"});
    b.Add("expires", expires_,
          "With token-add: when the token ends, as an age from now (90d, 12h) or a time (2027-01-31)");
  }

  Result<Reply> Run(OpContext& context) override {
    NL_TRY(CheckWords());
    const std::string store = context.settings->Get("store");
    AuthReply reply;
    reply.action = Action();
    if (reply.action != AuthAction::kLs) {
      const Status done = Change(store, reply.secret);
      NL_TRY(nl::auth::AuditLog(store).Append(
          {LocalActor(), "", "auth " + action_, name_,
           done.ok() ? "ok" : std::string(ErrorCodeName(done.error().code))}));
      if (!done.ok()) return done.error();
    }
    NL_ASSIGN(const Accounts accounts, nl::auth::ReadAccounts(store));
    FillLists(accounts, reply);
    return Reply::Of(std::move(reply));
  }

  std::string Text(const Reply& any, const TextStyle&) const override {
    const auto& reply = any.As<AuthReply>();
    if (reply.secret) {
      return fmt::format("{}\n\nThis is the token '{}'. It is not stored: copy it now.\n", *reply.secret,
                         name_);
    }
    std::string out = DoneText(reply.action);
    for (const AuthUser& user : reply.users)
      out += fmt::format("user   {:<24} {:<7} added {}\n", user.name, RoleName(user.role), user.created_at);
    for (const AuthToken& token : reply.tokens) {
      out += fmt::format("token  {:<24} {:<7} added {}, {}\n", token.name, RoleName(token.role),
                         token.created_at,
                         !token.expires_at ? "does not expire"
                         : token.expired   ? "expired " + *token.expires_at
                                           : "expires " + *token.expires_at);
    }
    if (reply.users.empty() && reply.tokens.empty()) out += "no users and no tokens\n";
    return out;
  }

 private:
  AuthAction Action() const {
    const auto names = NamesOf(AuthAction());
    return static_cast<AuthAction>(std::find(names.begin(), names.end(), action_) - names.begin());
  }

  Status CheckWords() const {
    const AuthAction action = Action();
    if ((action == AuthAction::kLs) != name_.empty()) {
      return InvalidInput(name_.empty() ? fmt::format("`auth {}` needs a name", action_)
                                        : "`auth ls` does not take a name")
          .Hint("for example: neurolens auth add-user ada --role editor");
    }
    const bool takes_role =
        action == AuthAction::kAddUser || action == AuthAction::kSetRole || action == AuthAction::kTokenAdd;
    if (!role_.empty() && !takes_role)
      return InvalidInput(fmt::format("`auth {}` does not take --role", action_));
    if (role_.empty() && action == AuthAction::kSetRole) return InvalidInput("`auth set-role` needs --role");
    if (!expires_.empty() && action != AuthAction::kTokenAdd)
      return InvalidInput(fmt::format("`auth {}` does not take --expires", action_));
    return {};
  }

  Result<std::optional<int64_t>> Expiry(int64_t now_ns) const {
    if (expires_.empty()) return std::optional<int64_t>();
    NL_ASSIGN(int64_t at_ns, ParseTimePoint(expires_, now_ns));
    // An age counts back from now; here it counts forward.
    const bool is_age = expires_.find_first_not_of("0123456789smhdw") == std::string::npos;
    if (is_age) at_ns = now_ns + (now_ns - at_ns);
    if (at_ns <= now_ns) return InvalidInput(fmt::format("--expires {} is in the past", expires_));
    return std::optional<int64_t>(at_ns);
  }

  Status Change(const std::string& store, std::optional<std::string>& secret) const {
    using namespace nl::auth;
    const Role role = nl::auth::RoleOf(role_).value_or(Role::kViewer);
    const int64_t now_ns = UnixNowNs();
    NL_ASSIGN(const std::optional<int64_t> expires_at_ns, Expiry(now_ns));
    std::string password;
    if (Action() == AuthAction::kAddUser || Action() == AuthAction::kPasswd) {
      NL_ASSIGN(password, AskPassword(name_));
    }
    return ChangeAccounts(store, [&](Accounts& accounts) -> Status {
      switch (Action()) {
        case AuthAction::kAddUser: return AddUser(accounts, name_, role, password, now_ns);
        case AuthAction::kPasswd: return SetPassword(accounts, name_, password);
        case AuthAction::kSetRole: return SetRole(accounts, name_, role);
        case AuthAction::kRmUser: return RemoveUser(accounts, name_);
        case AuthAction::kTokenRevoke: return RevokeToken(accounts, name_);
        case AuthAction::kTokenAdd: {
          NL_ASSIGN(secret, AddToken(accounts, name_, role, now_ns, expires_at_ns));
          return {};
        }
        case AuthAction::kLs: break;
      }
      return {};
    });
  }

  static void FillLists(const Accounts& accounts, AuthReply& reply) {
    const int64_t now_ns = UnixNowNs();
    for (const nl::auth::User& user : accounts.users)
      reply.users.push_back({user.name, user.role, Rfc3339Utc(user.created_at_ns / kSecond * kSecond)});
    for (const nl::auth::Token& token : accounts.tokens) {
      AuthToken out{token.name, token.role, Rfc3339Utc(token.created_at_ns / kSecond * kSecond), {}, false};
      if (token.expires_at_ns) out.expires_at = Rfc3339Utc(*token.expires_at_ns / kSecond * kSecond);
      out.expired = token.Expired(now_ns);
      reply.tokens.push_back(std::move(out));
    }
  }

  std::string DoneText(AuthAction action) const {
    switch (action) {
      case AuthAction::kAddUser: return fmt::format("added user {}\n", name_);
      case AuthAction::kPasswd: return fmt::format("changed the password of {}; its sessions end\n", name_);
      case AuthAction::kSetRole: return fmt::format("{} is now {}\n", name_, role_);
      case AuthAction::kRmUser: return fmt::format("removed user {}\n", name_);
      case AuthAction::kTokenRevoke: return fmt::format("revoked token {}\n", name_);
      default: return "";
    }
  }

  static constexpr int64_t kSecond = 1'000'000'000;
  std::string action_ = "ls", name_, role_, expires_;
};

}  // namespace

std::unique_ptr<Op> Describe() { return std::make_unique<AuthOp>(); }

}  // namespace nl::ops::auth
