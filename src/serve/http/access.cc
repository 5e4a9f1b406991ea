// SPDX-License-Identifier: Apache-2.0
#include "serve/http/access.h"

#include <unistd.h>

#include <fmt/format.h>

#include "base/ascii.h"
#include "base/record_json.h"
#include "base/terminal.h"
#include "base/time_text.h"
#include "serve/http/problem.h"

namespace nl::http {

namespace {

constexpr int64_t kNsPerSecond = 1'000'000'000;
constexpr size_t kMostNameBytes = 64;

// The token of "Authorization: Bearer TOKEN"; none: another scheme, or no header.
std::optional<std::string_view> BearerOf(const Request& request) {
  const std::string_view header = request.Header("authorization");
  const size_t space = header.find(' ');
  if (space == std::string_view::npos || ToLower(header.substr(0, space)) != "bearer") return std::nullopt;
  return Trimmed(header.substr(space + 1));
}

std::optional<std::string_view> SessionCookie(const Request& request) {
  std::string_view rest = request.Header("cookie");
  while (!rest.empty()) {
    const size_t end = rest.find(';');
    const std::string_view pair = Trimmed(rest.substr(0, end));
    rest = end == std::string_view::npos ? "" : rest.substr(end + 1);
    const size_t equals = pair.find('=');
    if (equals != std::string_view::npos && pair.substr(0, equals) == kSessionCookie)
      return pair.substr(equals + 1);
  }
  return std::nullopt;
}

bool OnlyReads(const Request& request) { return request.method == "GET" || request.method == "HEAD"; }

// A browser sends the cookie of a user with every request, whoever made the page; SameSite prevents that, and
// this does not depend on it: a request that changes something says where it comes from.
std::optional<Response> CheckCookieOrigin(const Request& request) {
  if (OnlyReads(request) || !request.Header("origin").empty()) return std::nullopt;
  return ProblemOf(403, InvalidInput("a request with the cookie of a session needs an Origin header")
                            .Hint("programs use a token: Authorization: Bearer TOKEN"));
}

// The address that the proxy saw: the last one of the list, as clients can write the others.
std::string ForwardedFor(const Request& request) {
  std::string_view list = request.Header("x-forwarded-for");
  if (const size_t comma = list.rfind(','); comma != std::string_view::npos) list.remove_prefix(comma + 1);
  list = Trimmed(list);
  constexpr size_t kLongestAddress = 45;
  const bool good = !list.empty() && list.size() <= kLongestAddress &&
                    list.find_first_not_of("0123456789abcdefABCDEF:.") == std::string_view::npos;
  return good ? std::string(list) : request.client;
}

Response JsonReply(const MeReply& reply) {
  Response out;
  out.body = ToJsonText(reply, 2) + "\n";
  out.headers.emplace_back("Cache-Control", "no-store");
  return out;
}

MeReply MeOf(const auth::Identity& identity, bool login_needed) {
  MeReply out;
  out.login_needed = login_needed;
  out.kind = identity.kind;
  if (!identity.name.empty()) out.name = identity.name;
  out.role = identity.role;
  if (identity.expires_at_ns)
    out.expires_at = Rfc3339Utc(*identity.expires_at_ns / kNsPerSecond * kNsPerSecond);
  return out;
}

Response NoContent() {
  Response out;
  out.status = 204;
  return out;
}

}  // namespace

void Describe(Record<MeReply>& r) {
  r.Name("MeReply", "Who the one who asks is, as the server sees it");
  r.Field("login_needed", &MeReply::login_needed, "Requests without a login or a token are refused");
  r.Field("kind", &MeReply::kind, "A user, a token, or nobody where no login is needed");
  r.Field("name", &MeReply::name, "Name of the user or the token; null for nobody");
  r.Field("role", &MeReply::role, "viewer reads, editor also changes the store, admin may do all");
  r.Field("expires_at", &MeReply::expires_at, "Time when the session or the token ends; null: it does not");
}

std::optional<auth::Role> RoleNeeded(const Routed& routed, const Request& request) {
  if (!routed.ok) return auth::Role::kViewer;  // it has no effect
  switch (routed.route.endpoint) {
    case Endpoint::kHealth:
    case Endpoint::kReady:
    case Endpoint::kApp:  // it shows the login
    case Endpoint::kAppAsset:
    case Endpoint::kDocs:
    case Endpoint::kDocsScript:
    case Endpoint::kDocsStyle:
    case Endpoint::kLogin:
    case Endpoint::kLogout: return std::nullopt;
    case Endpoint::kMcp: return auth::Role::kViewer;  // a session has the tools of its role
    default: break;
  }
  if (routed.route.op != nullptr) return auth::RoleForEffect(routed.route.op->reads_only());
  return auth::RoleForEffect(OnlyReads(request));
}

std::optional<Response> Access::Check(Request& request, const Routed& routed) const {
  if (exposure_.behind_proxy) request.client = ForwardedFor(request);
  const std::optional<std::string_view> bearer = BearerOf(request);
  const std::optional<std::string_view> cookie = bearer ? std::nullopt : SessionCookie(request);
  if (cookie) {
    if (std::optional<Response> refusal = CheckCookieOrigin(request)) return refusal;
  }
  std::optional<auth::Identity> found;
  if (bearer) found = authority_.ByToken(*bearer);
  if (cookie) found = authority_.BySession(*cookie);
  if (!authority_.LoginNeeded() && !found) found = auth::Identity{.role = auth::Role::kAdmin};
  if (found) request.identity = *found;
  const std::optional<auth::Role> needed = RoleNeeded(routed, request);
  if (!needed) return std::nullopt;
  if (!found) return Refusal(bearer || cookie);
  if (auth::Allows(found->role, *needed)) return std::nullopt;
  return ProblemOf(403, InvalidInput(fmt::format("this needs the role {}; the {} '{}' has the role {}",
                                                 auth::RoleName(*needed),
                                                 NamesOf(found->kind)[static_cast<size_t>(found->kind)],
                                                 found->name, auth::RoleName(found->role)))
                            .Hint("an administrator changes roles with `neurolens auth`"));
}

Response Access::Refusal(bool had_credentials) const {
  Response out =
      had_credentials
          ? ProblemOf(
                401, InvalidInput("the token or session is unknown, expired or revoked").Hint("log in again"))
          : ProblemOf(401, InvalidInput("this server needs a login or a token")
                               .Hint("send Authorization: Bearer TOKEN, or log in: POST /api/v1/login"));
  out.headers.emplace_back("WWW-Authenticate", had_credentials
                                                   ? "Bearer realm=\"neurolens\", error=\"invalid_token\""
                                                   : "Bearer realm=\"neurolens\"");
  return out;
}

std::string Access::Cookie(std::string_view session, int64_t seconds) const {
  const bool secure = exposure_.address.tls || exposure_.behind_proxy;
  return fmt::format("{}={}; Path=/; Max-Age={}; HttpOnly; SameSite=Strict{}", kSessionCookie, session,
                     seconds, secure ? "; Secure" : "");
}

Response Access::Login(const Request& request, const auth::AuditLog& log) const {
  const Result<Json> body = ParseJson(request.body);
  const auto text = [&](const char* name) -> std::optional<std::string> {
    if (!body.ok() || !body->is_object() || !body->contains(name) || !(*body)[name].is_string()) return {};
    return (*body)[name].get<std::string>();
  };
  const std::optional<std::string> name = text("name"), password = text("password");
  if (!name || !password)
    return ProblemOf(InvalidInput("the body must be {\"name\": ..., \"password\": ...}"));
  const std::string known_as = name->substr(0, kMostNameBytes + 1);  // longer ones do not exist
  const auth::LoginResult result = authority_.Login(known_as, *password, request.client);
  if (result.wait_s > 0) {
    Response out =
        ProblemOf(429, Limit("too many logins failed").Hint(fmt::format("try again in {} s", result.wait_s)));
    out.headers.emplace_back("Retry-After", std::to_string(result.wait_s));
    return out;
  }
  if (!result.identity) {
    Audit(log, {"nobody", request.client, "login", known_as, "refused"});
    Response out = ProblemOf(401, InvalidInput("wrong name or password"));
    out.headers.emplace_back("WWW-Authenticate", "Bearer realm=\"neurolens\"");
    return out;
  }
  Audit(log, {result.identity->Label(), request.client, "login", known_as, "ok"});
  Response out = JsonReply(MeOf(*result.identity, true));
  const int64_t seconds = (*result.identity->expires_at_ns - UnixNowNs()) / kNsPerSecond;
  out.headers.emplace_back("Set-Cookie", Cookie(result.session, seconds));
  return out;
}

Response Access::Logout(const Request& request) const {
  if (const std::optional<std::string_view> cookie = SessionCookie(request)) authority_.Logout(*cookie);
  Response out = NoContent();
  out.headers.emplace_back("Set-Cookie", Cookie("", 0));
  return out;
}

Response Access::Me(const Request& request) const {
  return JsonReply(MeOf(request.identity, authority_.LoginNeeded()));
}

void Audit(const auth::AuditLog& log, const auth::AuditEntry& entry) {
  const Status done = log.Append(entry);
  if (done.ok()) return;
  const std::string line =
      fmt::format("neurolens: cannot write the audit log ({}): {} {} {} {} {}\n", done.error().message,
                  entry.actor, entry.address, entry.action, PrintableName(entry.target, 200), entry.outcome);
  static_cast<void>(!write(STDERR_FILENO, line.data(), line.size()));
}

}  // namespace nl::http
