// SPDX-License-Identifier: Apache-2.0
#pragma once
// Renderer: writes one run in a form for other eyes or tools (a Perfetto trace, ...). One
// folder per form under report/renderers/, each with `const Renderer& Describe()`; CMake
// generates the list and `neurolens export --format` offers it.
// Thread rule: renderers are constant and shared; one call of Render, one thread.

#include <atomic>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "base/byte_sink.h"
#include "base/result.h"
#include "model/string_pool.h"
#include "model/table.h"

namespace nl {

// The tables of the run, read on demand. Implemented by who opened the run.
class TableReader {
 public:
  virtual ~TableReader() = default;
  // The named columns of the set's table in row order (row number = id); the others stay empty.
  virtual Status Load(ColumnSet& to, std::initializer_list<const char*> columns) = 0;
  // Owns the text of every StringId loaded so far.
  virtual const StringPool& strings() const = 0;
};

struct RendererInfo {
  std::string name;       // stable, as in --format
  std::string summary;    // one line for --help
  std::string extension;  // of its files, with the dot
};

struct RenderOptions {
  const std::atomic<bool>* cancelled = nullptr;  // may be null

  bool Cancelled() const { return cancelled != nullptr && cancelled->load(std::memory_order_relaxed); }
};

// What was written, for the reply: how many of which ("slices", 1200).
using RenderCounts = std::vector<std::pair<std::string, int64_t>>;

class Renderer {
 public:
  virtual ~Renderer() = default;
  virtual RendererInfo Info() const = 0;
  virtual Result<RenderCounts> Render(TableReader& run, const RenderOptions& options,
                                      const ByteSink& sink) const = 0;
};

using RendererFn = const Renderer& (*)();
// Every renderer, in the order of their folders.
const std::vector<RendererFn>& AllRenderers();

}  // namespace nl
