// SPDX-License-Identifier: Apache-2.0
#pragma once
// Runs passes as soon as those they need have run, several at a time where the machine has the cores.
// Thread rule: Run() blocks its caller and starts threads of its own. Each pass works on a board of its own,
// which holds the facts made so far; what it makes is shared when it is done.

#include <condition_variable>
#include <mutex>
#include <string>
#include <vector>

#include "analyze/pass.h"

namespace nl {

// What a pass sees of the columns: those that it declares, whatever else is loaded.
class PassData {
 public:
  PassData(const RunColumns& columns, const PassInfo& info)
      : reader_("pass " + info.name), data_(columns, info.reads, reader_.c_str()) {}
  const RunData& operator*() const { return data_; }

 private:
  std::string reader_;
  RunData data_;
};

class PassRunner {
 public:
  // The columns that the passes declare must be loaded.
  PassRunner(const RunColumns& columns, const AnalysisOptions& options, FactBoard& facts)
      : columns_(columns), options_(options), facts_(facts) {}

  // Those of `passes` that have not run. What they need must be among them or on the board. The first error
  // ends it.
  Status Run(const std::vector<const Pass*>& passes);

 private:
  struct Task {
    const Pass* pass;
    PassInfo info;
    size_t needed_by = 0;  // other tasks, directly or not
    bool started = false;
  };
  void Work();
  Task* NextTask();
  size_t CountNeeds(size_t task, std::vector<bool>& seen) const;
  bool Over() const { return !status_.ok() || unstarted_ == 0; }

  const RunColumns& columns_;
  const AnalysisOptions& options_;
  FactBoard& facts_;
  std::vector<Task> tasks_;
  std::mutex mutex_;  // of everything below, facts_ and Task::started
  std::condition_variable changed_;
  size_t unstarted_ = 0;
  Status status_;
};

}  // namespace nl
