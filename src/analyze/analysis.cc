// SPDX-License-Identifier: Apache-2.0
#include "analyze/analysis.h"

#include <algorithm>

#include <fmt/format.h>

namespace nl {

namespace {
constexpr int kMaxPassDepth = 32;  // a circle of passes is our own mistake; a test finds it
}

Result<std::unique_ptr<Analysis>> Analysis::Open(Snapshot& snapshot, Json document, AnalysisOptions options) {
  RunData data;
  NL_TRY(LoadRunData(snapshot, data));
  data.document = std::move(document);
  return std::make_unique<Analysis>(std::move(data), std::move(options));
}

Status Analysis::Make(const std::string& name, int depth) {
  if (facts_.Has(name)) return {};
  if (depth > kMaxPassDepth)
    return Internal(fmt::format("analysis passes need each other in a circle, at {}", name));
  for (const auto& describe : AllPasses()) {
    const Pass& pass = describe();
    const PassInfo info = pass.Info();
    if (info.name != name) continue;
    for (const std::string& need : info.needs) NL_TRY(Make(need, depth + 1));
    if (options_.cancelled != nullptr && options_.cancelled->load(std::memory_order_relaxed))
      return Cancelled();
    return pass.Run(data_, options_, facts_);
  }
  return Internal(fmt::format("no analysis pass makes {}", name));
}

Status Analysis::RunAll() {
  for (const auto& describe : AllPasses()) NL_TRY(Make(describe().Info().name, 0));
  return {};
}

Described Analysis::Section(const std::string& name) const {
  if (!facts_.Has(name)) return {};
  for (const auto& describe : AllPasses()) {
    if (describe().Info().name == name) return describe().Section(data_, facts_);
  }
  return {};
}

}  // namespace nl
