// SPDX-License-Identifier: Apache-2.0
#include "analyze/facts/@name@.h"

#include "analyze/facts/timeline.h"
#include "analyze/pass.h"

namespace nl::passes::@name@ {

namespace {

class @Name@Pass final : public Pass {
 public:
  PassInfo Info() const override {
    return {@Name@Facts::kName, "How much work the devices executed", {TimelineFacts::kName}};
  }

  Status Run(const RunData&, const AnalysisOptions&, FactBoard& facts) const override {
    @Name@Facts out;
    out.work_items = static_cast<int64_t>(facts.Get<TimelineFacts>().work.size());
    facts.Put(std::move(out));
    return {};
  }

  Described Section(const RunData&, const FactBoard& facts) const override {
    return Described::Of(@Name@Section{facts.Get<@Name@Facts>().work_items});
  }
};

}  // namespace

const Pass& Describe() {
  static const @Name@Pass pass;
  return pass;
}

}  // namespace nl::passes::@name@
