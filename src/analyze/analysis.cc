// SPDX-License-Identifier: Apache-2.0
#include "analyze/analysis.h"

#include <algorithm>

#include <fmt/format.h>

#include "analyze/facts/phases.h"
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

Reads ReadsOf(const std::vector<const Pass*>& passes) {
  Reads out;
  for (const Pass* pass : passes) out |= pass->Info().reads;
  return out;
}

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
  return LoadReads(reads | ReadsOf(needed));
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
  NL_TRY(LoadReads(ReadsOf(needed)));
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

Result<FactBoard> Analysis::FactsOf(const Interval& part, const std::string& name) {
  FactBoard board;
  // A part has no phases of its own: what is a steady step is decided by all of them.
  if (facts_.Has(PhasesFacts::kName)) board.Put(facts_.Get<PhasesFacts>());
  std::optional<Interval> other = part;
  std::swap(facts_, board);
  std::swap(options_.part, other);
  Status status = Run(name);
  std::swap(facts_, board);
  std::swap(options_.part, other);
  NL_TRY(std::move(status));
  return board;
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
