// SPDX-License-Identifier: Apache-2.0
// The merged call tree with host and device time, for https://www.speedscope.app.
#include "report/flame_forms.h"
#include "report/renderer.h"

namespace nl::renderers::speedscope {

namespace {

class SpeedscopeRenderer final : public Renderer {
 public:
  RendererInfo Info() const override {
    return {.name = "speedscope",
            .summary = "the merged call tree, for www.speedscope.app",
            .extension = ".speedscope.json",
            .next_step = "drop PATH on https://www.speedscope.app"};
  }

  Result<RenderCounts> Render(RunReader& run, const RenderOptions&,
                              const RenderTarget& target) const override {
    NL_ASSIGN(Analysis* const analysis, run.Analyzed());
    NL_ASSIGN(const RunFlame flame, FlameOfRun(*analysis));
    NL_TRY(target.append(SpeedscopeText(flame.tree, analysis->data(), *flame.timeline,
                                        std::string(analysis->data().Noted("/model/name")))));
    return RenderCounts{{"frames", static_cast<int64_t>(flame.tree.nodes.size()) - 1}};
  }
};

}  // namespace

const Renderer& Describe() {
  static const SpeedscopeRenderer renderer;
  return renderer;
}

}  // namespace nl::renderers::speedscope
