// SPDX-License-Identifier: Apache-2.0
// What rules speak about, as far as it needs no critical path: the two are made at the same time.
#include "analyze/features/features.h"

#include "analyze/facts/ranks.h"
#include "analyze/facts/roofline.h"
#include "analyze/facts/samples.h"
#include "analyze/features/parts.h"
#include "analyze/pass.h"
#include "base/units.h"

namespace nl::passes::features {

namespace {

class FeaturesPass final : public Pass {
 public:
  PassInfo Info() const override {
    return {Features::kName,
            "The named values that rules speak about",
            {TimelineFacts::kName, IdleFacts::kName, PhasesFacts::kName, RanksFacts::kName,
             SamplesFacts::kName, RooflineFacts::kName},
            FeatureReads()};
  }
  Status Run(const RunData& data, const AnalysisOptions&, FactBoard& facts) const override {
    const auto& timeline = facts.Get<TimelineFacts>();
    const auto& roofline = facts.Get<RooflineFacts>();
    Features out = ComputeFeatures(data, timeline, facts.Get<IdleFacts>(), &facts.Get<PhasesFacts>());
    AddRankFeatures(facts.Get<RanksFacts>(), timeline.wall_ns(), out);
    AddSampleFeatures(facts.Get<SamplesFacts>(), Ms(timeline.wall_ns()), out);
    nl::features::AddRoofline(roofline, data, out);
    nl::features::AddTensorCores(roofline, timeline, out);
    facts.Put(std::move(out));
    return {};
  }
};

}  // namespace

const Pass& Describe() {
  static const FeaturesPass pass;
  return pass;
}

}  // namespace nl::passes::features
