// SPDX-License-Identifier: Apache-2.0
#pragma once
// Pass: one section of the analysis. It reads the run's columns and the facts of other
// passes, and makes facts of its own. One folder per pass under passes/, with
// `const Pass& Describe()`; CMake generates the registry. Passes are ordered by what
// they need and make, so adding one is adding a folder (and its facts/<name>.h).
// Thread rule: a pass has no state; passes that do not need each other may run at the same time, each with a
// board of its own.

#include <atomic>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analyze/cost_model/measured_peaks.h"
#include "analyze/run_data.h"
#include "base/intervals.h"
#include "base/json.h"
#include "base/record.h"
#include "base/result.h"

namespace nl {

// Which peaks shares are computed with.
enum class PeakChoice : uint8_t { kDatasheet, kMeasured };

// Options of the analysis that the run itself does not hold.
struct AnalysisOptions {
  std::map<std::string, double>
      peaks;               // --peaks k=v: peak_dram_gbps, peak_tflops, sm_count, bf16_tflops, ...
  std::string peaks_file;  // devices to add to the peaks table; empty: none
  PeakChoice peak_choice = PeakChoice::kDatasheet;
  std::vector<MeasuredPeaks> measured;   // devices whose peaks were measured, of the store
  Json model_config;                     // a Hugging Face config.json, or null
  std::vector<std::string> rules_files;  // beside the shipped rules, in order
  std::optional<Interval> part;          // of the run, to look at alone
  const std::atomic<bool>* cancelled = nullptr;
};

// Facts by type. A fact type has `static constexpr const char* kName`.
class FactBoard {
 public:
  template <class T>
  void Put(T facts) {
    facts_[T::kName] = std::make_shared<T>(std::move(facts));
  }
  // Null when no pass has made it.
  template <class T>
  const T* Find() const {
    const auto it = facts_.find(T::kName);
    return it == facts_.end() ? nullptr : static_cast<const T*>(it->second.get());
  }
  // Only for facts that the pass's `needs` name.
  template <class T>
  const T& Get() const {
    return *Find<T>();
  }
  bool Has(std::string_view name) const { return facts_.find(name) != facts_.end(); }
  // Shares the facts of this name with another board, which must have them.
  void Take(const std::string& name, const FactBoard& from) { facts_[name] = from.facts_.at(name); }

 private:
  std::map<std::string, std::shared_ptr<void>, std::less<>> facts_;
};

struct PassInfo {
  std::string name;                          // also of the facts it makes
  std::string title;                         // what it answers
  std::vector<std::string> needs;            // facts of other passes
  Reads reads;                               // columns that Run and Section read
  const RecordInfo& (*section)() = nullptr;  // description of its section; null: it has none
};

class Pass {
 public:
  virtual ~Pass() = default;
  virtual PassInfo Info() const = 0;
  // `data` has the columns that the pass declares; reading another ends the program.
  // Must put the facts named like the pass. What cannot be assessed is null with a
  // reason inside the facts, not an error.
  virtual Status Run(const RunData& data, const AnalysisOptions& options, FactBoard& facts) const = 0;
  // Its facts as a section of reports, a described struct; empty when there is nothing to show.
  virtual Described Section(const RunData&, const FactBoard&) const { return {}; }
};

// Every pass (generated from the folders of passes/).
const std::vector<const Pass& (*)()>& AllPasses();

}  // namespace nl
