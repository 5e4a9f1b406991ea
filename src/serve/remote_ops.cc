// SPDX-License-Identifier: Apache-2.0
#include "serve/remote_ops.h"

#include <algorithm>

namespace nl {

namespace {

RemoteOp ForRemote(const OpEntry& entry, bool& needs_path, bool with_paths = false) {
  const std::unique_ptr<Op> op = entry.make();
  RemoteOp out;
  out.info = op->Info();
  out.make = entry.make;
  ParamBinder binder;
  op->Bind(binder);
  for (const ParamInfo& param : binder.params()) {
    if (!param.local_only || (with_paths && param.kind == ParamKind::kPath)) out.params.push_back(param);
    needs_path = needs_path || (param.local_only && param.required);
  }
  return out;
}

}  // namespace

const ParamInfo* RemoteOp::Param(std::string_view name) const {
  const auto it =
      std::find_if(params.begin(), params.end(), [&](const ParamInfo& p) { return p.name == name; });
  return it == params.end() ? nullptr : &*it;
}

const ParamInfo* RemoteOp::RunParam() const {
  const auto it = std::find_if(params.begin(), params.end(),
                               [](const ParamInfo& p) { return p.positional && p.names_run; });
  return it == params.end() ? nullptr : &*it;
}

RemoteOps::RemoteOps(const std::vector<OpEntry>& ops, const AllowedRoots* roots) : roots_(roots) {
  for (const OpEntry& entry : ops) {
    bool needs_path = false;
    RemoteOp op = ForRemote(entry, needs_path);
    if (op.info.role == ServerRole::kUpload) {
      upload_ = std::move(op);
      if (roots_ != nullptr) ops_.push_back(ForRemote(entry, needs_path, true));
    } else if (op.info.role != ServerRole::kJobs && !op.info.local && !op.info.hidden && !needs_path) {
      ops_.push_back(std::move(op));
    }
  }
}

const RemoteOp* RemoteOps::Find(std::string_view name) const {
  const auto it = std::find_if(ops_.begin(), ops_.end(),
                               [&](const RemoteOp& op) { return IsNameOf(name, op.info.name); });
  return it == ops_.end() ? nullptr : &*it;
}

const RemoteOp& RemoteOps::WithRole(ServerRole role) const {
  const auto it =
      std::find_if(ops_.begin(), ops_.end(), [&](const RemoteOp& op) { return op.info.role == role; });
  NL_CHECK(it != ops_.end());
  return *it;
}

}  // namespace nl
