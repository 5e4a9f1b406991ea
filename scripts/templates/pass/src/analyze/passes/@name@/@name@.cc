// SPDX-License-Identifier: Apache-2.0
#include "analyze/facts/@name@.h"

#include "analyze/facts/timeline.h"
#include "analyze/pass.h"

namespace nl::passes::@name@ {

namespace {

constexpr Reads kReads = NL_READS(Memcpy, bytes);

class @Name@Pass final : public Pass {
 public:
  PassInfo Info() const override {
    return {@Name@Facts::kName, "How much work the devices executed", {TimelineFacts::kName}, kReads};
  }

  Status Run(const RunData& data, const AnalysisOptions&, FactBoard& facts) const override {
    @Name@Facts out;
    out.work_items = static_cast<int64_t>(facts.Get<TimelineFacts>().work.size());
    for (const int64_t bytes : data.memcpy.bytes) {
      if (!IsNull(bytes)) out.copied_bytes += bytes;
    }
    facts.Put(std::move(out));
    return {};
  }

  Described Section(const RunData&, const FactBoard& facts) const override {
    const @Name@Facts& made = facts.Get<@Name@Facts>();
    return Described::Of(@Name@Section{made.work_items, made.copied_bytes});
  }
};

}  // namespace

const Pass& Describe() {
  static const @Name@Pass pass;
  return pass;
}

}  // namespace nl::passes::@name@
