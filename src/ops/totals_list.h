// SPDX-License-Identifier: Apache-2.0
#pragma once
// What `operators`, `kernels` and `summary` share: parameters, order and tables of totals by name.
// Thread rule: one request, one thread.

#include <string>
#include <vector>

#include "analyze/totals.h"
#include "ops/open_analysis.h"

namespace nl {

enum class TotalsKind { kOperators, kKernels };

struct TotalsParams {
  AnalysisParams run;
  std::string sort = "gpu";
  int64_t limit = 20, device = -1, stream = -1;
  bool by_shape = false, by_type = false, md = false, csv = false;

  // The first of `sorts` is the default.
  void Bind(ParamBinder& binder, const std::vector<std::string>& sorts);
  TotalsFilter Filter() const;
};

// The run, and what of it the parameters ask for.
struct TotalsRun {
  OpenRun run;
  TotalsFilter filter;
  std::optional<PhaseTime> phase;  // null: the whole run
};
Result<TotalsRun> OpenTotals(const OpContext& context, const TotalsParams& params);

// The rows that the parameters ask for, in their order. Shares are of all rows.
std::vector<NameTotals> ListOf(std::vector<NameStats> stats, TotalsKind kind, const TotalsParams& params);
// CSV or Markdown where the parameters ask for it, else empty.
std::string TotalsRaw(const std::vector<NameTotals>& rows, TotalsKind kind, const TotalsParams& params);
std::string TotalsText(const std::vector<NameTotals>& rows, int64_t rows_total, TotalsKind kind,
                       const TextStyle& style);

}  // namespace nl
