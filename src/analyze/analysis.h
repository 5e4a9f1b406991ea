// SPDX-License-Identifier: Apache-2.0
#pragma once
// Analysis: the facts of one run, computed when asked for. Need<IdleFacts>() runs the
// pass that makes them and those it depends on, each once.
// Thread rule: one thread. Ownership: owns the columns and the facts; the snapshot must
// outlive it.

#include <memory>
#include <string>

#include "analyze/pass.h"

namespace nl {

class Analysis {
 public:
  // Over columns that are loaded already (tests).
  Analysis(RunData data, AnalysisOptions options) : data_(std::move(data)), options_(std::move(options)) {}
  // Loads the columns of a stored run.
  static Result<std::unique_ptr<Analysis>> Open(Snapshot& snapshot, Json document, AnalysisOptions options);

  template <class T>
  Result<const T*> Need() {
    NL_TRY(Make(T::kName, 0));
    return facts_.Find<T>();
  }
  // Runs one pass by name, after those it needs.
  Status Run(const std::string& name) { return Make(name, 0); }
  // Every pass there is.
  Status RunAll();

  // The section of one pass; empty when the pass has not run or has nothing to show.
  Described Section(const std::string& name) const;

  const RunData& data() const { return data_; }
  const AnalysisOptions& options() const { return options_; }
  const FactBoard& facts() const { return facts_; }

 private:
  Status Make(const std::string& name, int depth);

  RunData data_;
  AnalysisOptions options_;
  FactBoard facts_;
};

}  // namespace nl
