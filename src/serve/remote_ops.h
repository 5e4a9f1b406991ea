// SPDX-License-Identifier: Apache-2.0
#pragma once
// The operations that callers of other machines may use, as they may use them: operations that are `local`,
// and parameters that name paths of this machine, are left out. An operation that requires such a parameter
// is left out too. With allowed roots, the operation that imports is offered with its paths as well.
// Thread rule: built once, then constant; the roots outlive it.

#include <string_view>
#include <vector>

#include "ops/allowed_roots.h"
#include "ops/op.h"

namespace nl {

struct RemoteOp {
  OpInfo info;
  std::vector<ParamInfo> params;
  std::unique_ptr<Op> (*make)() = nullptr;

  bool reads_only() const { return !info.writes || info.writes_by_import; }
  const ParamInfo* Param(std::string_view name) const;
  // The parameter that takes the run of a resource such as /runs/ID/idle; null: it is not about a run.
  const ParamInfo* RunParam() const;
};

class RemoteOps {
 public:
  // `roots`: where callers may name files; null: nowhere.
  explicit RemoteOps(const std::vector<OpEntry>& ops, const AllowedRoots* roots = nullptr);
  const std::vector<RemoteOp>& all() const { return ops_; }
  const RemoteOp* Find(std::string_view name) const;  // null: not offered
  // The operation with this role, which every build has.
  const RemoteOp& WithRole(ServerRole role) const;
  // The operation that imports, without its paths: what an upload may say of itself.
  const RemoteOp& upload() const { return upload_; }
  const AllowedRoots* roots() const { return roots_; }

 private:
  std::vector<RemoteOp> ops_;
  RemoteOp upload_;
  const AllowedRoots* const roots_;
};

}  // namespace nl
