// SPDX-License-Identifier: Apache-2.0
// The run document, byte for byte as it is stored (schemas/run.schema.json).
#include "report/renderer.h"

namespace nl::renderers::run_json {

namespace {

class RunJsonRenderer final : public Renderer {
 public:
  RendererInfo Info() const override {
    return {.name = "run-json", .summary = "the run document", .is_document = true};
  }

  Result<RenderCounts> Render(RunReader& run, const RenderOptions&,
                              const RenderTarget& target) const override {
    NL_ASSIGN(const std::string text, run.Document());
    NL_TRY(target.append(text));
    return RenderCounts{};
  }
};

}  // namespace

const Renderer& Describe() {
  static const RunJsonRenderer renderer;
  return renderer;
}

}  // namespace nl::renderers::run_json
