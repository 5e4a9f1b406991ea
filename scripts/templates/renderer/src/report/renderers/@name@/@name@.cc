// SPDX-License-Identifier: Apache-2.0
// Kernels of a run, one a line: start and duration in ns, tab-separated.
#include <fmt/format.h>

#include "model/tables/kernel.h"
#include "report/renderer.h"

namespace nl::renderers::@name@ {

namespace {

class @Name@Renderer final : public Renderer {
 public:
  RendererInfo Info() const override {
    return {.name = "@name@", .summary = "start and duration of every kernel", .extension = ".tsv"};
  }

  Result<RenderCounts> Render(RunReader& run, const RenderOptions& options,
                              const RenderTarget& target) const override {
    KernelColumns kernels;
    NL_TRY(run.Load(kernels, {"thread_id", "start_ns", "dur_ns"}));
    for (size_t i = 0; i < kernels.size(); ++i) {
      if (options.Cancelled()) return Cancelled();
      NL_TRY(target.append(fmt::format("{}\t{}\n", kernels.start_ns[i], kernels.dur_ns[i])));
    }
    return RenderCounts{{"kernels", static_cast<int64_t>(kernels.size())}};
  }
};

}  // namespace

const Renderer& Describe() {
  static const @Name@Renderer renderer;
  return renderer;
}

}  // namespace nl::renderers::@name@
