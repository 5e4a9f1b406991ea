// SPDX-License-Identifier: Apache-2.0
#pragma once
// StoredRun: a run of the store as renderers read it. The tables are opened when a renderer loads columns.
// Thread rule: one request, one thread. Ownership: refers to the store and the request.

#include <string>
#include <vector>

#include "ops/open_analysis.h"
#include "ops/open_snapshot.h"
#include "report/renderer.h"

namespace nl::ops::export_run {

class StoredRun final : public RunReader {
 public:
  StoredRun(const OpContext& context, Store& store, CatalogRun run)
      : context_(context), store_(store), run_(std::move(run)) {}

  Status Load(ColumnSet& to, std::initializer_list<const char*> columns) override;
  const StringPool& strings() const override { return open_.snapshot ? open_.snapshot->strings() : none_; }
  Result<std::string> Document() override;
  Result<std::vector<File>> TableFiles() override;
  Result<Analysis*> Analyzed() override;
  Status WriteArchive(const RenderOptions& options, const ByteSink& sink) override;

 private:
  const OpContext& context_;
  Store& store_;
  CatalogRun run_;
  OpenRun open_;
  OpenAnalysis analyzed_;
  StringPool none_;
};

}  // namespace nl::ops::export_run
