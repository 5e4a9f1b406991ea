// SPDX-License-Identifier: Apache-2.0
#include "ops/open_snapshot.h"

#include <fmt/format.h>

#include "base/file_ops.h"
#include "ledger/run_files.h"

namespace nl {

Result<OpenRun> OpenSnapshot(const OpContext& context, const std::string& ref) {
  OpenRun out;
  NL_ASSIGN(FoundRun found, FindRun(context, ref));
  out.store = std::move(found.store);
  out.run = std::move(found.run);
  out.in_use = std::move(found.in_use);
  NL_ASSIGN(std::unique_ptr<SqlSession> session, OpenSql(context, *out.store, {out.run}));
  out.snapshot = std::make_unique<Snapshot>(std::move(session), context.cancelled);
  return out;
}

Result<Json> ReadJsonFile(const std::string& path) {
  NL_ASSIGN(const std::string text, ReadWholeFile(path));
  Result<Json> json = ParseJson(text);
  if (!json.ok()) return std::move(json).error().At(path);
  return json;
}

Result<Json> ReadDocument(const OpenRun& run) {
  const std::string folder = run.store->RunPath(run.run.run_id);
  NL_ASSIGN(const std::string text, ReadRunFile(folder, kRunDocumentFile));
  Result<Json> json = ParseJson(text);
  if (!json.ok()) return std::move(json).error().At(fmt::format("{}/{}", folder, kRunDocumentFile));
  return json;
}

}  // namespace nl
