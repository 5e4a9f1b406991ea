// SPDX-License-Identifier: Apache-2.0
#pragma once
// Renderer: writes one run in a form for other eyes or tools (a Perfetto trace, a folder of tables, ...).
// One folder per form under report/renderers/, each with `const Renderer& Describe()`; CMake
// generates the list and `neurolens export --format` offers it.
// Thread rule: renderers are constant and shared; one call of Render, one thread.

#include <atomic>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "analyze/analysis.h"
#include "base/byte_sink.h"
#include "base/result.h"
#include "model/string_pool.h"
#include "model/table.h"

namespace nl {

struct RenderOptions {
  const std::atomic<bool>* cancelled = nullptr;                           // may be null
  std::function<void(int64_t done_bytes, int64_t total_bytes)> progress;  // may be empty

  bool Cancelled() const { return cancelled != nullptr && cancelled->load(std::memory_order_relaxed); }
};

// One stored run, read on demand. Implemented by who opened it.
class RunReader {
 public:
  virtual ~RunReader() = default;
  // The named columns of the set's table in row order (row number = id); the others stay empty.
  virtual Status Load(ColumnSet& to, std::initializer_list<const char*> columns) = 0;
  // Owns the text of every StringId loaded so far.
  virtual const StringPool& strings() const = 0;

  // The run document as it is stored.
  virtual Result<std::string> Document() = 0;
  struct File {
    std::string path, name;  // where it is, and a name that no other file of the run has
  };
  // The Parquet files of the run and of what was attached to it.
  virtual Result<std::vector<File>> TableFiles() = 0;
  // The facts of the run, computed when asked for; stays owned by the reader.
  virtual Result<Analysis*> Analyzed() = 0;
  // Everything stored, as one archive (docs/formats/bundle.md).
  virtual Status WriteArchive(const RenderOptions& options, const ByteSink& sink) = 0;
};

struct RendererInfo {
  std::string name;            // stable, as in --format
  std::string summary;         // one line for --help
  std::string extension = {};  // of its files, with the dot; empty: standard output unless a file is named
  std::string next_step = {};  // for who wrote one; PATH stands for what was written; may be empty
  bool is_folder = false;      // writes files into a folder
  bool is_document = false;    // one JSON document, short enough to be part of the reply
};

// Where a renderer writes: bytes to one file, or files into a folder, as its description says.
struct RenderTarget {
  ByteSink append;
  std::function<Status(const RunReader::File& file)> copy;
};

// What was written, for the reply: how many of which ("slices", 1200).
using RenderCounts = std::vector<std::pair<std::string, int64_t>>;

class Renderer {
 public:
  virtual ~Renderer() = default;
  virtual RendererInfo Info() const = 0;
  virtual Result<RenderCounts> Render(RunReader& run, const RenderOptions& options,
                                      const RenderTarget& target) const = 0;
};

using RendererFn = const Renderer& (*)();
// Every renderer, in the order of their folders.
const std::vector<RendererFn>& AllRenderers();

}  // namespace nl
