// SPDX-License-Identifier: Apache-2.0
#pragma once
// Analysis: the facts of one run, computed when asked for. Need<IdleFacts>() loads the columns
// that the pass which makes them and those it depends on declare, and runs each once.
// Thread rule: one thread (several passes may run at the same time inside of a call). Ownership: owns the
// columns and the facts; the snapshot must outlive it.

#include <initializer_list>
#include <memory>
#include <string>

#include "analyze/pass.h"

namespace nl {

class Analysis {
 public:
  // Over columns that are loaded already (tests).
  Analysis(RunColumns columns, AnalysisOptions options);
  // Of a stored run: columns are loaded when a reader declares them, each once.
  Analysis(Snapshot& snapshot, Json document, AnalysisOptions options);

  template <class T>
  Result<const T*> Need() {
    NL_TRY(Run(T::kName));
    return facts_.Find<T>();
  }
  // Runs one pass by name, after those it needs.
  Status Run(const std::string& name);
  // Runs one pass over facts of the caller, which must hold those it needs.
  Status RunOver(const std::string& name, FactBoard& facts);
  // From now on facts are those of this part of the run; columns stay loaded.
  void LookAt(const Interval& part);
  // Facts of one pass and of those it needs over a part of the run; those of the run stay.
  Result<FactBoard> FactsOf(const Interval& part, const std::string& name);
  // Every pass there is.
  Status RunAll();
  // Loads what `reads` declares, for a reader of data() that is not a pass, and what these passes and
  // those they need declare. Need() loads what it needs; one load for several passes is faster.
  Status Load(const Reads& reads, std::initializer_list<const char*> passes = {});

  // The section of one pass; empty when the pass has not run or has nothing to show.
  Described Section(const std::string& name) const;

  // Every column that is loaded so far. Reading another one ends the program, so the first test of a
  // reader that declares too little fails.
  const RunData& data() const { return data_; }
  size_t loaded_bytes() const { return columns_->Bytes(); }
  const AnalysisOptions& options() const { return options_; }
  const FactBoard& facts() const { return facts_; }

 private:
  // The pass and those it needs, unless they have run.
  Status AddNeeded(const std::string& name, int depth, std::vector<const Pass*>& passes) const;
  Status LoadReads(const Reads& reads);
  // Those that have not run, and what they need.
  Status RunPasses(const std::vector<std::string>& names);

  Snapshot* snapshot_ = nullptr;         // null: everything is loaded
  std::unique_ptr<RunColumns> columns_;  // stays in place when this moves
  RunData data_;
  AnalysisOptions options_;
  FactBoard facts_;
};

}  // namespace nl
