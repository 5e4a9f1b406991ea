// SPDX-License-Identifier: Apache-2.0
#include "ops/open_snapshot.h"

#include <fmt/format.h>

#include "base/file_ops.h"
#include "ledger/run_files.h"
#include "ops/settings.h"

namespace nl {

Result<OpenRun> OpenSnapshot(const OpContext& context, const std::string& ref) {
  OpenRun out;
  NL_ASSIGN(FoundRun found, FindRun(context, ref));
  out.store = std::move(found.store);
  out.run = std::move(found.run);
  out.in_use = std::move(found.in_use);
  NL_ASSIGN(out.snapshot, SnapshotOf(context, *out.store, out.run));
  return out;
}

Result<std::unique_ptr<Snapshot>> SnapshotOf(const OpContext& context, Store& store, const CatalogRun& run) {
  NL_ASSIGN(std::string label, store.catalog().ShortId(run.run_id));
  SnapshotOptions options;
  options.cancelled = context.cancelled;
  if (context.settings != nullptr) options.threads = context.settings->GetInt("threads");
  return Snapshot::Open({std::move(label), store.RunPath(run.run_id), {}}, options);
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
