// SPDX-License-Identifier: Apache-2.0
#pragma once
// AuditLog: who changed what, in audit.log of the store: one JSON object a line, appended, mode 0600.
// Reading is not logged. Thread rule: any thread, and any number of processes: a line is one write.

#include <string>

#include "base/result.h"

namespace nl::auth {

struct AuditEntry {
  std::string actor;    // "user:ada", "token:ci", "nobody", "local:ada" for commands on the machine itself
  std::string address;  // of the client; empty: none
  std::string action;   // an operation, or login, logout, token-add, ...
  std::string target;   // what it was about: run, name; cut to 1,000 bytes
  std::string outcome;  // "ok", or the code of the error: "not_found"
};

class AuditLog {
 public:
  explicit AuditLog(std::string store) : store_(std::move(store)) {}
  // Io when the line cannot be written; the folder of the store is made when it is missing.
  Status Append(const AuditEntry& entry) const;

 private:
  const std::string store_;
};

}  // namespace nl::auth
