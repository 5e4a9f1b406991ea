// SPDX-License-Identifier: Apache-2.0
#pragma once
// Access: whether the one who asks may have what a route does, and the routes of logins. A request carries a
// token (Authorization: Bearer) or the cookie of a session. Thread rule: Check on the thread of the server,
// Login on a worker (it takes 0.1 s on purpose); the rest on any thread.

#include <optional>
#include <string>

#include "base/record.h"
#include "serve/auth/audit_log.h"
#include "serve/auth/authority.h"
#include "serve/http/guard.h"
#include "serve/http/router.h"

namespace nl::http {

inline constexpr char kSessionCookie[] = "neurolens_session";

// Who the one who asks is.
struct MeReply {
  bool login_needed = false;
  auth::Identity::Kind kind = auth::Identity::Kind::kNobody;
  std::optional<std::string> name;
  auth::Role role = auth::Role::kViewer;
  std::optional<std::string> expires_at;
};
void Describe(Record<MeReply>& r);

// The role that a route needs, from the effect of its operation; none: it is open to everybody.
std::optional<auth::Role> RoleNeeded(const Routed& routed, const Request& request);

class Access {
 public:
  Access(auth::Authority& authority, const Exposure& exposure) : authority_(authority), exposure_(exposure) {}

  // Fills request.identity, and request.client when a proxy knows better; or returns the refusal.
  std::optional<Response> Check(Request& request, const Routed& routed) const;
  // Whether the same request would still be let in: for streams, which last.
  bool StillAllowed(Request request, const Routed& routed) const { return !Check(request, routed); }

  Response Login(const Request& request, const auth::AuditLog& log) const;
  Response Logout(const Request& request) const;
  Response Me(const Request& request) const;

 private:
  Response Refusal(bool had_credentials) const;
  std::string Cookie(std::string_view session, int64_t seconds) const;

  auth::Authority& authority_;
  const Exposure& exposure_;
};

// Appends to the log; when that fails, standard error gets the line instead.
void Audit(const auth::AuditLog& log, const auth::AuditEntry& entry);

}  // namespace nl::http
