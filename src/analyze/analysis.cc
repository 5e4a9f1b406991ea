// SPDX-License-Identifier: Apache-2.0
#include "analyze/analysis.h"

#include <algorithm>

#include <fmt/format.h>

#include "analyze/pass_runner.h"
#include "base/check.h"

namespace nl {

namespace {

constexpr int kMaxPassDepth = 32;  // a circle of passes is our own mistake; a test finds it
constexpr const char* kReaderOfAll = "a reader of Analysis::data()";

const Pass* FindPass(std::string_view name) {
  for (const auto& describe : AllPasses()) {
    if (describe().Info().name == name) return &describe();
  }
  return nullptr;
}

// Gives a pass the columns that it declares, whatever else is loaded.
class PassData {
 public:
  PassData(const RunColumns& columns, const PassInfo& info)
      : reader_("pass " + info.name), data_(columns, info.reads, reader_.c_str()) {}
  const RunData& operator*() const { return data_; }

 private:
  std::string reader_;
  RunData data_;
};

}  // namespace

Analysis::Analysis(RunColumns columns, AnalysisOptions options)
    : columns_(std::make_unique<RunColumns>(std::move(columns))),
      data_(*columns_, Reads::All(), kReaderOfAll),
      options_(std::move(options)) {
  columns_->loaded = Reads::All();
}

Analysis::Analysis(Snapshot& snapshot, Json document, AnalysisOptions options)
    : snapshot_(&snapshot),
      columns_(std::make_unique<RunColumns>()),
      data_(*columns_, {}, kReaderOfAll),
      options_(std::move(options)) {
  columns_->document = std::move(document);
}

Status Analysis::Load(const Reads& reads, std::initializer_list<const char*> passes) {
  std::vector<const Pass*> needed;
  for (const char* name : passes) NL_TRY(AddNeeded(name, 0, needed));
  Reads all = reads;
  for (const Pass* pass : needed) all |= pass->Info().reads;
  return LoadReads(all);
}

Status Analysis::LoadReads(const Reads& reads) {
  if (columns_->loaded.Covers(reads)) return {};
  NL_TRY(columns_->Load(*snapshot_, reads));
  data_.Show(*columns_, columns_->loaded, kReaderOfAll);
  return {};
}

Status Analysis::AddNeeded(const std::string& name, int depth, std::vector<const Pass*>& passes) const {
  if (facts_.Has(name)) return {};
  if (depth > kMaxPassDepth)
    return Internal(fmt::format("analysis passes need each other in a circle, at {}", name));
  const Pass* const pass = FindPass(name);
  if (pass == nullptr) return Internal(fmt::format("no analysis pass makes {}", name));
  if (std::find(passes.begin(), passes.end(), pass) != passes.end()) return {};
  for (const std::string& need : pass->Info().needs) NL_TRY(AddNeeded(need, depth + 1, passes));
  passes.push_back(pass);
  return {};
}

Status Analysis::RunPasses(const std::vector<std::string>& names) {
  std::vector<const Pass*> needed;
  for (const std::string& name : names) NL_TRY(AddNeeded(name, 0, needed));
  Reads reads;
  for (const Pass* pass : needed) reads |= pass->Info().reads;
  NL_TRY(LoadReads(reads));
  return PassRunner(*columns_, options_, facts_).Run(needed);
}

Status Analysis::Run(const std::string& name) { return RunPasses({name}); }

Status Analysis::RunOver(const std::string& name, FactBoard& facts) {
  const Pass* const pass = FindPass(name);
  NL_CHECK(pass != nullptr);
  const PassInfo info = pass->Info();
  NL_TRY(Load(info.reads));
  return pass->Run(*PassData(*columns_, info), options_, facts);
}

void Analysis::LookAt(const Interval& part) {
  facts_ = {};
  options_.part = part;
}

Status Analysis::RunAll() {
  std::vector<std::string> names;
  for (const auto& describe : AllPasses()) names.push_back(describe().Info().name);
  return RunPasses(names);
}

Described Analysis::Section(const std::string& name) const {
  const Pass* const pass = FindPass(name);
  if (pass == nullptr || !facts_.Has(name)) return {};
  return pass->Section(*PassData(*columns_, pass->Info()), facts_);
}

}  // namespace nl
