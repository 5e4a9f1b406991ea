// SPDX-License-Identifier: Apache-2.0
// Everything of a run in one file (docs/formats/bundle.md).
#include "report/renderer.h"

namespace nl::renderers::bundle {

namespace {

class BundleRenderer final : public Renderer {
 public:
  RendererInfo Info() const override {
    return {.name = "bundle",
            .summary = "one .zip that `import` restores",
            .extension = ".zip",
            .next_step = "restore it with: neurolens import PATH"};
  }

  Result<RenderCounts> Render(RunReader& run, const RenderOptions& options,
                              const RenderTarget& target) const override {
    NL_TRY(run.WriteArchive(options, target.append));
    return RenderCounts{};
  }
};

}  // namespace

const Renderer& Describe() {
  static const BundleRenderer renderer;
  return renderer;
}

}  // namespace nl::renderers::bundle
