// SPDX-License-Identifier: Apache-2.0
// The merged call tree as collapsed stacks, for flame graph tools: device time, or host time in a run without
// device work.
#include "report/flame_forms.h"
#include "report/renderer.h"

namespace nl::renderers::collapsed {

namespace {

class CollapsedRenderer final : public Renderer {
 public:
  RendererInfo Info() const override {
    return {.name = "collapsed",
            .summary = "the merged call tree as collapsed stacks, for flame graph tools",
            .extension = ".collapsed"};
  }

  Result<RenderCounts> Render(RunReader& run, const RenderOptions&,
                              const RenderTarget& target) const override {
    NL_ASSIGN(Analysis* const analysis, run.Analyzed());
    NL_ASSIGN(const RunFlame flame, FlameOfRun(*analysis));
    NL_TRY(target.append(CollapsedText(flame.tree, analysis->data(), *flame.timeline,
                                       flame.tree.nodes[0].device_total_ns > 0)));
    return RenderCounts{{"frames", static_cast<int64_t>(flame.tree.nodes.size()) - 1}};
  }
};

}  // namespace

const Renderer& Describe() {
  static const CollapsedRenderer renderer;
  return renderer;
}

}  // namespace nl::renderers::collapsed
