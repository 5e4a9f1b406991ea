// SPDX-License-Identifier: Apache-2.0
// The tables of a run, as they are stored (docs/tables.md).
#include "report/renderer.h"

namespace nl::renderers::parquet {

namespace {

class ParquetRenderer final : public Renderer {
 public:
  RendererInfo Info() const override {
    return {.name = "parquet", .summary = "a folder of tables", .extension = "-parquet", .is_folder = true};
  }

  Result<RenderCounts> Render(RunReader& run, const RenderOptions& options,
                              const RenderTarget& target) const override {
    NL_ASSIGN(const std::vector<RunReader::File> files, run.TableFiles());
    for (const RunReader::File& file : files) {
      if (options.Cancelled()) return Cancelled();
      NL_TRY(target.copy(file));
    }
    return RenderCounts{};
  }
};

}  // namespace

const Renderer& Describe() {
  static const ParquetRenderer renderer;
  return renderer;
}

}  // namespace nl::renderers::parquet
