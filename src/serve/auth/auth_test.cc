// SPDX-License-Identifier: Apache-2.0
#include <sys/stat.h>

#include <fstream>
#include <thread>

#include <gtest/gtest.h>

#include "base/file_ops.h"
#include "base/json.h"
#include "serve/auth/audit_log.h"
#include "serve/auth/authority.h"
#include "serve/auth/password.h"

namespace nl::auth {
namespace {

constexpr int64_t kSecond_ns = 1'000'000'000;

// Stores hash with the cost that users pay: tests hash as rarely as they can.
const std::string& HashOfCorrect() {
  static const std::string hash = *HashPassword("correct horse");
  return hash;
}

class AuthorityTest : public ::testing::Test {
 protected:
  AuthorityTest() : folder_(*TempDir::Make("auth")) {}

  const std::string& store() const { return folder_.path(); }
  void Change(const std::function<Status(Accounts&)>& change) {
    const Status done = ChangeAccounts(store(), change);
    ASSERT_TRUE(done.ok()) << done.error().ToString();
  }
  void AddAda(Role role) {
    Change([&](Accounts& accounts) -> Status {
      accounts.users.push_back({"ada", role, HashOfCorrect(), 1});
      return {};
    });
  }
  std::string TokenOf(const std::string& name, Role role, std::optional<int64_t> expires_at_ns = {}) {
    std::string secret;
    Change([&](Accounts& accounts) -> Status {
      NL_ASSIGN(secret, AddToken(accounts, name, role, 1, expires_at_ns));
      return {};
    });
    return secret;
  }
  AuthorityOptions Options() {
    AuthorityOptions options;
    options.now_ns = [this] { return now_ns_; };
    return options;
  }

  TempDir folder_;
  int64_t now_ns_ = 1000 * kSecond_ns;
};

TEST(Password, IsHashedWithArgon2idAndSalt) {
  const std::string& hash = HashOfCorrect();
  EXPECT_EQ(hash.rfind("$argon2id$", 0), 0u);
  EXPECT_TRUE(PasswordMatches(hash, "correct horse"));
  EXPECT_FALSE(PasswordMatches(hash, "correct horsf"));
  EXPECT_FALSE(PasswordMatches(hash, ""));
  EXPECT_FALSE(PasswordMatches("", "correct horse"));
  EXPECT_FALSE(PasswordMatches("not a hash", "correct horse"));
  EXPECT_NE(*HashPassword("correct horse"), hash);
  EXPECT_EQ(HashPassword("short").error().code, ErrorCode::kInvalidInput);
  EXPECT_EQ(HashPassword(std::string(2000, 'x')).error().code, ErrorCode::kInvalidInput);
}

TEST(Password, AnUnknownUserCostsAsMuchAsAKnownOne) {
  const auto parameters = [](const std::string& hash) { return hash.substr(0, hash.find("p=1$")); };
  EXPECT_EQ(parameters(UnknownUserHash()), parameters(HashOfCorrect()));
  EXPECT_EQ(UnknownUserHash().size(), HashOfCorrect().size());
  EXPECT_FALSE(PasswordMatches(UnknownUserHash(), "correct horse"));
}

TEST(Password, SecretsAreLongAndDifferent) {
  const std::string secret = NewSecret("nl_");
  EXPECT_EQ(secret.size(), 3 + 64u);
  EXPECT_NE(secret, NewSecret("nl_"));
  EXPECT_TRUE(SameSecret("abc", "abc"));
  EXPECT_FALSE(SameSecret("abc", "abd"));
  EXPECT_FALSE(SameSecret("abc", "abcd"));
}

TEST(Roles, FollowFromTheEffect) {
  EXPECT_EQ(RoleForEffect(true), Role::kViewer);
  EXPECT_EQ(RoleForEffect(false), Role::kEditor);
  EXPECT_TRUE(Allows(Role::kAdmin, Role::kEditor));
  EXPECT_FALSE(Allows(Role::kViewer, Role::kEditor));
  EXPECT_EQ(RoleOf("root"), std::nullopt);
}

TEST(ThrottleTest, WaitsDoubleAfterTheFreeFailures) {
  Throttle throttle({3, 10, 100, 10});
  int64_t now_ns = 0;
  std::vector<int64_t> waits;
  for (int i = 0; i < 7; ++i) {
    throttle.Fail("ada", now_ns);
    waits.push_back(throttle.WaitSeconds("ada", now_ns));
    now_ns += waits.back() * kSecond_ns;
    EXPECT_EQ(throttle.WaitSeconds("ada", now_ns), 0);
  }
  EXPECT_EQ(waits, (std::vector<int64_t>{0, 0, 1, 2, 4, 8, 10}));
  EXPECT_EQ(throttle.WaitSeconds("bob", now_ns), 0);
  throttle.Fail("ada", now_ns + 101 * kSecond_ns);
  EXPECT_EQ(throttle.WaitSeconds("ada", now_ns + 101 * kSecond_ns), 0) << "old failures are forgotten";
  throttle.Succeed("ada");
  EXPECT_EQ(throttle.keys(), 0u);
}

TEST(ThrottleTest, ManyNamesDoNotGrowItNorPushOutTheOneUnderAttack) {
  Throttle throttle({1, 60, 1000, 100});
  int64_t now_ns = kSecond_ns;
  for (int i = 0; i < 1000; ++i) {
    throttle.Fail("ada", ++now_ns);
    throttle.Fail("name" + std::to_string(i), ++now_ns);
  }
  EXPECT_LE(throttle.keys(), 100u);
  EXPECT_GT(throttle.WaitSeconds("ada", now_ns), 0);
}

TEST_F(AuthorityTest, AccountsAreWrittenForTheirOwnerOnlyAndReadBack) {
  AddAda(Role::kEditor);
  const std::string secret = TokenOf("ci", Role::kViewer, 5);
  struct stat info {};
  ASSERT_EQ(::stat(AccountsPath(store()).c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600u);
  const Result<Accounts> read = ReadAccounts(store());
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(read->users[0].role, Role::kEditor);
  EXPECT_EQ(read->tokens[0].expires_at_ns, 5);
  EXPECT_EQ(ReadWholeFile(AccountsPath(store()))->find(secret), std::string::npos) << "stored hashed";
  ASSERT_EQ(::chmod(AccountsPath(store()).c_str(), 0640), 0);
  EXPECT_EQ(ReadAccounts(store()).error().code, ErrorCode::kInvalidInput);
}

TEST_F(AuthorityTest, WrongChangesAreRefusedAndChangeNothing) {
  AddAda(Role::kViewer);
  Accounts accounts = *ReadAccounts(store());
  EXPECT_FALSE(AddUser(accounts, "ada", Role::kAdmin, "correct horse", 1).ok());
  for (const char* name : {"", "-x", "a b", "a/b", "a\nb", "\xc3\xa9", "x:y"})
    EXPECT_FALSE(AddUser(accounts, name, Role::kAdmin, "correct horse", 1).ok()) << name;
  EXPECT_FALSE(AddUser(accounts, "bob", Role::kAdmin, "short", 1).ok());
  EXPECT_EQ(SetRole(accounts, "adb", Role::kAdmin).error().hint, "did you mean 'ada'?");
  EXPECT_EQ(RemoveUser(accounts, "zzz").error().code, ErrorCode::kNotFound);
  EXPECT_EQ(RevokeToken(accounts, "zzz").error().code, ErrorCode::kNotFound);
  EXPECT_EQ(accounts.users.size(), 1u);
}

TEST_F(AuthorityTest, ADamagedFileLetsNobodyIn) {
  const std::string secret = TokenOf("ci", Role::kAdmin);
  Authority authority(store(), Options());
  ASSERT_TRUE(authority.ByToken(secret));
  for (const char* text :
       {"", "{", "[]", R"({"format":1,"users":[{}],"tokens":[]})", R"({"format":2,"users":[],"tokens":[]})",
        R"({"format":1,"users":7,"tokens":[]})"}) {
    ASSERT_TRUE(WriteFileAtomically(AccountsPath(store()), text, 0600).ok());
    EXPECT_FALSE(authority.Check().ok()) << text;
    EXPECT_TRUE(authority.LoginNeeded()) << text;
    EXPECT_FALSE(authority.ByToken(secret)) << text;
  }
}

TEST_F(AuthorityTest, TokensWorkUntilTheyExpireOrAreRevoked) {
  Authority authority(store(), Options());
  EXPECT_FALSE(authority.LoginNeeded());
  const std::string forever = TokenOf("ci", Role::kEditor);
  const std::string brief = TokenOf("brief", Role::kViewer, now_ns_ + kSecond_ns);
  EXPECT_TRUE(authority.LoginNeeded());
  ASSERT_TRUE(authority.ByToken(forever));
  EXPECT_EQ(authority.ByToken(forever)->Label(), "token:ci");
  EXPECT_EQ(authority.ByToken(forever)->role, Role::kEditor);
  EXPECT_TRUE(authority.ByToken(brief));
  EXPECT_FALSE(authority.ByToken(forever + "0"));
  EXPECT_FALSE(authority.ByToken(""));
  EXPECT_FALSE(authority.BySession(forever)) << "a token is not a session";
  now_ns_ += kSecond_ns;
  EXPECT_FALSE(authority.ByToken(brief));
  Change([](Accounts& accounts) { return RevokeToken(accounts, "ci"); });
  EXPECT_FALSE(authority.ByToken(forever));
  Change([](Accounts& accounts) { return RevokeToken(accounts, "brief"); });
  EXPECT_TRUE(authority.LoginNeeded()) << "the last account being removed does not open the server";
}

TEST_F(AuthorityTest, SessionsEndWithTheirTimeTheUserOrThePassword) {
  AddAda(Role::kEditor);
  Authority authority(store(), Options());
  const auto login = [&] { return authority.Login("ada", "correct horse", "::1"); };
  const LoginResult first = login();
  ASSERT_TRUE(first.identity);
  ASSERT_TRUE(authority.BySession(first.session));
  EXPECT_EQ(authority.BySession(first.session)->Label(), "user:ada");
  EXPECT_FALSE(authority.ByToken(first.session)) << "a session is not a token";
  authority.Logout(first.session);
  EXPECT_FALSE(authority.BySession(first.session));

  const LoginResult second = login();
  Change([](Accounts& accounts) { return SetRole(accounts, "ada", Role::kViewer); });
  EXPECT_EQ(authority.BySession(second.session)->role, Role::kViewer) << "roles change at once";
  now_ns_ += 12 * 3600 * kSecond_ns;
  EXPECT_FALSE(authority.BySession(second.session));

  const LoginResult third = login();
  Change([](Accounts& accounts) -> Status {
    accounts.users[0].password_hash = *HashPassword("another horse");
    return {};
  });
  EXPECT_FALSE(authority.BySession(third.session));
  EXPECT_FALSE(login().identity);
}

TEST_F(AuthorityTest, LoginsThatFailHaveToWaitWhetherTheUserExistsOrNot) {
  AddAda(Role::kViewer);
  AuthorityOptions options = Options();
  options.by_name.free_failures = 2;
  options.by_address.free_failures = 1000;
  for (const char* name : {"ada", "nobody"}) {
    Authority authority(store(), options);
    for (int i = 0; i < 2; ++i) {
      const LoginResult failed = authority.Login(name, "wrong password", "::1");
      EXPECT_FALSE(failed.identity);
      EXPECT_EQ(failed.wait_s, 0);
    }
    const LoginResult refused = authority.Login(name, "correct horse", "::2");
    EXPECT_FALSE(refused.identity) << "the right password does not help while waiting";
    EXPECT_EQ(refused.wait_s, 1);
    now_ns_ += kSecond_ns;
    EXPECT_EQ(authority.Login(name, "correct horse", "::1").identity.has_value(), std::string(name) == "ada");
  }
}

TEST_F(AuthorityTest, OneAddressCannotTryManyNames) {
  AddAda(Role::kViewer);
  AuthorityOptions options = Options();
  options.by_address.free_failures = 3;
  Authority authority(store(), options);
  EXPECT_FALSE(authority.Login("a", "wrong password", "::1").identity);
  EXPECT_TRUE(authority.Login("ada", "correct horse", "::1").identity);
  EXPECT_FALSE(authority.Login("b", "wrong password", "::1").identity);
  EXPECT_FALSE(authority.Login("c", "wrong password", "::1").identity);
  EXPECT_EQ(authority.Login("ada", "correct horse", "::1").wait_s, 1)
      << "a login that succeeds does not make the failures of its address free";
  EXPECT_TRUE(authority.Login("ada", "correct horse", "::2").identity);
}

TEST_F(AuthorityTest, SessionsOfAUserAreBounded) {
  AddAda(Role::kViewer);
  AuthorityOptions options = Options();
  options.most_sessions_per_user = 2;
  Authority authority(store(), options);
  std::vector<std::string> sessions;
  for (int i = 0; i < 3; ++i) {
    now_ns_ += kSecond_ns;
    sessions.push_back(authority.Login("ada", "correct horse", "::1").session);
  }
  EXPECT_EQ(authority.sessions(), 2u);
  EXPECT_FALSE(authority.BySession(sessions[0]));
  EXPECT_TRUE(authority.BySession(sessions[2]));
}

TEST_F(AuthorityTest, ThreadsThatChangeTheAccountsLoseNothing) {
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back([this, thread] {
      for (int i = 0; i < 5; ++i)
        TokenOf("t" + std::to_string(thread) + "-" + std::to_string(i), Role::kViewer);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(ReadAccounts(store())->tokens.size(), 20u);
}

TEST_F(AuthorityTest, TheAuditLogIsOneObjectALineWhateverNamesHold) {
  const AuditLog log(store());
  ASSERT_TRUE(log.Append({"user:ada", "::1", "rm", "a\n{\"time\":\"x\"}\r\x1b[31m\xe2\x80\xae", "ok"}).ok());
  ASSERT_TRUE(log.Append({"nobody", "", "login", std::string(100'000, 'x'), "invalid_input"}).ok());
  std::ifstream file(store() + "/audit.log");
  std::vector<Json> lines;
  for (std::string line; std::getline(file, line);) {
    EXPECT_EQ(line.find_first_of("\x1b\r"), std::string::npos);
    EXPECT_EQ(line.find("\xe2\x80\xae"), std::string::npos);
    lines.push_back(*ParseJson(line));
  }
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_EQ(lines[0]["actor"], "user:ada");
  EXPECT_LT(DumpJson(lines[1]).size(), 1500u);
  struct stat info {};
  ASSERT_EQ(::stat((store() + "/audit.log").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600u);
}

}  // namespace
}  // namespace nl::auth
