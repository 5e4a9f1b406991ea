// SPDX-License-Identifier: Apache-2.0
#pragma once
// From trtexec's exports to rows: the average run, layer by layer, and the timed queries.
// A layer is a row of `op` and, where it took time, one of `kernel`, named by its tactic:
// TensorRT times a layer as a whole, whatever it launches.
// Thread rule: one thread. Ownership: writes through the first file's sink.

#include "import/adapters/tensorrt/export_files.h"
#include "import/rows/row_writer.h"

namespace nl::adapters::tensorrt {

class EngineRows {
 public:
  explicit EngineRows(ImportFile& file);

  // One average run: the layers end to end in engine order. `info` may be null.
  Status PutLayers(const Profile& profile, const std::vector<const LayerInfo*>& info);
  // Queries as they ran: copies, execution, enqueueing; each is a step.
  Status PutQueries(const std::vector<Query>& queries);
  // Queries of another recording than the layers: values of a counter.
  Status PutQuerySamples(const std::vector<Query>& queries);
  Status Finish();

 private:
  ThreadId Lane(const char* name);
  void PutLayer(const ProfiledLayer& layer, const LayerInfo* info, int64_t index, int64_t start_ns);
  void PutCopy(const char* kind, int64_t start_ns, int64_t dur_ns);
  void PutStep(ThreadId lane, std::string_view name, const char* category, int64_t number, int64_t start_ns,
               int64_t dur_ns);

  RowWriter writer_;
  StringPool& strings_;
  std::vector<std::pair<std::string, ThreadId>> lanes_;
  RowId process_;
};

}  // namespace nl::adapters::tensorrt
