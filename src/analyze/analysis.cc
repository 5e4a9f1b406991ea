// SPDX-License-Identifier: Apache-2.0
#include "analyze/analysis.h"

#include <fmt/format.h>

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
  Reads all = reads;
  for (const char* name : passes) NL_TRY(AddReads(name, 0, all));
  if (columns_->loaded.Covers(all)) return {};
  NL_TRY(columns_->Load(*snapshot_, all));
  data_.Show(*columns_, columns_->loaded, kReaderOfAll);
  return {};
}

Status Analysis::AddReads(const std::string& name, int depth, Reads& reads) const {
  if (facts_.Has(name)) return {};
  if (depth > kMaxPassDepth)
    return Internal(fmt::format("analysis passes need each other in a circle, at {}", name));
  const Pass* const pass = FindPass(name);
  if (pass == nullptr) return Internal(fmt::format("no analysis pass makes {}", name));
  const PassInfo info = pass->Info();
  reads |= info.reads;
  for (const std::string& need : info.needs) NL_TRY(AddReads(need, depth + 1, reads));
  return {};
}

Status Analysis::Make(const std::string& name) {
  if (facts_.Has(name)) return {};
  for (const std::string& need : FindPass(name)->Info().needs) NL_TRY(Make(need));
  if (options_.cancelled != nullptr && options_.cancelled->load(std::memory_order_relaxed))
    return Cancelled();
  return RunOver(name, facts_);
}

Status Analysis::Run(const std::string& name) {
  NL_TRY(Load({}, {name.c_str()}));
  return Make(name);
}

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
  Reads reads;
  for (const auto& describe : AllPasses()) NL_TRY(AddReads(describe().Info().name, 0, reads));
  NL_TRY(Load(reads));
  for (const auto& describe : AllPasses()) NL_TRY(Make(describe().Info().name));
  return {};
}

Described Analysis::Section(const std::string& name) const {
  const Pass* const pass = FindPass(name);
  if (pass == nullptr || !facts_.Has(name)) return {};
  return pass->Section(*PassData(*columns_, pass->Info()), facts_);
}

}  // namespace nl
