// SPDX-License-Identifier: Apache-2.0
#pragma once
// RunFacts: what the importer learns of a run while its rows pass by once, enough for
// the run document, the one-screen summary and the links between tables, without
// reading anything back. Grows by a few bytes per event, not with the text.
// Thread rule: fed by the ordered stage, one thread at a time.

#include <array>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/counter.h"
#include "base/intervals.h"
#include "base/packed_column.h"
#include "import/rows/op_nesting.h"
#include "ledger/event_sink.h"

namespace nl {

// Row of each id: an array where the ids are dense, a sorted list where they are not.
class IdIndex {
 public:
  // Null ids are left out; an id met twice keeps its first row and counts as a duplicate.
  IdIndex(const PackedColumn& ids, int64_t first_row);
  // NullOf<int64_t> when there is none.
  int64_t Find(int64_t id) const {
    size_t hint = 0;
    return Find(id, hint);
  }
  // Quicker for neighbours, one after the other: `hint` remembers where the last was found.
  int64_t Find(int64_t id, size_t& hint) const;
  int64_t duplicates() const { return duplicates_; }

 private:
  int64_t low_ = 0, first_row_ = 0, duplicates_ = 0;
  std::vector<uint32_t> dense_;
  std::vector<std::pair<uint64_t, uint32_t>> wide_;    // id - low, row; sorted
  std::vector<std::pair<uint32_t, uint32_t>> narrow_;  // the same where the ids span less than 2^32
  template <class Entry>
  int64_t FindSorted(const std::vector<Entry>& sorted, uint64_t offset, size_t& hint) const;
  template <class Entry>
  void Sort(std::vector<Entry>& entries);
};

struct NameTotal {
  int64_t calls = 0;
  int64_t total_ns = 0;
  int64_t device_ns = 0;  // of the kernels an op launched itself
};

class RunFacts {
 public:
  // The rows of a batch that is about to be appended (ids already the run's). An adapter
  // that reads its file in any order may know the links itself (ids that are unique per
  // process only, ops found by nesting): it fills the late columns of the batch, for every
  // row of that table in the file, and they are taken as they are.
  void Observe(EventBatch& batch, const EventSink& sink);
  // An adapter whose ops are named by the nodes of a model's graph keeps their types in args;
  // called before the first row. Of ops of one name the first counts.
  static constexpr const char* kOpTypeKey = "op_type";
  void TakeOpTypes(StringPool& strings) {
    type_key_ = strings.Add(kOpTypeKey);
    type_owner_ = strings.Add(OpColumns::kInfo.name);
  }
  // JSON text of the type of the ops of this name; null: the name gives it.
  StringId OpType(StringId name) const {
    const auto it = op_types_.find(static_cast<uint32_t>(name));
    return it == op_types_.end() ? StringId::kNull : it->second;
  }
  // External ids of this source may name the wrong op (older Kineto writes the correlation id there): the op
  // of a call is the innermost one around it on its thread, that of device work is the op of its launch, and
  // external ids count where they agree with that. Called before the first row.
  void FindOpsByCalls() { by_calls_ = true; }
  // Ids that such an adapter met twice.
  void NoteDuplicateIds(int64_t count) { known_duplicates_ += count; }

  // Resolves correlation and external ids of the rows seen since the last call (one
  // file: ids do not reach over files) and adds to the link columns.
  void ResolveLinks(CounterSet& counters);
  // Writes the link columns; after the sink's last row group was encoded.
  Status WriteLinks(EventSink& sink);

  // Kernels of one call site by name.
  struct SiteKernel {
    uint32_t site;
    StringId name;
    int64_t calls = 0, total_ns = 0;
  };
  const std::unordered_map<uint64_t, SiteKernel>& site_kernels() const { return site_kernels_; }

  // Single ops and their kernels, kept only while the run is small enough to list them.
  static constexpr size_t kMaxListedOps = 5000, kMaxListedKernels = 20000;
  struct ListedKernel {
    KernelRow row;
    int64_t op = -1;  // index into listed_ops()
  };
  bool listed() const { return listed_; }
  const std::vector<OpRow>& listed_ops() const { return listed_ops_; }
  const std::vector<ListedKernel>& listed_kernels() const { return listed_kernels_; }

  // Call sites of ops: same name, shapes and types.
  struct OpSite {
    StringId name, input_dims, input_types;
    int64_t calls = 0, total_ns = 0, device_ns = 0, kernels = 0, first_start_ns = 0;
    ThreadId thread = ThreadId::kNull;
  };
  const std::vector<OpSite>& op_sites() const { return sites_; }
  const std::unordered_map<uint32_t, NameTotal>& kernel_totals() const { return kernels_; }
  const std::unordered_map<uint32_t, NameTotal>& memcpy_totals() const { return memcpys_; }  // by kind
  // Ranges, Python and API calls by name: what a run without ops and kernels consists of.
  const std::unordered_map<uint32_t, NameTotal>& span_totals() const { return spans_; }
  // Kernels, copies and memsets per device, in file order.
  struct DeviceSpans {
    PackedColumn start_ns, dur_ns;
    std::vector<Interval> Intervals() const;
  };
  const std::map<int32_t, DeviceSpans>& device_spans() const { return device_spans_; }
  // A run without device work is as long as its program, its CPU samples and its spans: from the first start
  // to the last end, or where samples have no times, what those of the busiest thread add up to. Called once,
  // after the last row.
  void UseSamplesWithoutDevices();
  int64_t first_start_ns() const { return first_start_ns_; }
  int64_t last_end_ns() const { return last_end_ns_; }
  bool empty() const { return last_end_ns_ < first_start_ns_; }
  int64_t gpu_rows() const { return gpu_rows_; }

  struct StreamTotal {
    int64_t events = 0;
    ThreadId thread = ThreadId::kNull;
  };
  using StreamKey = std::array<int64_t, 3>;  // device, context, stream
  const std::map<StreamKey, StreamTotal>& streams() const { return streams_; }
  struct GraphTotal {
    int64_t kernels = 0, first_start_ns = INT64_MAX;
    std::unordered_map<int64_t, bool> launches;
  };
  const std::map<std::array<int64_t, 2>, GraphTotal>& graphs() const { return graphs_; }  // device, graph

 private:
  struct Links {  // of one table with work caused by others
    PackedColumn correlation, external;
    PackedColumn api_call_id, op_id;
  };
  // Times and amounts that cannot be become null.
  void BoundValues(EventBatch& batch);
  template <class T>
  void BoundColumn(const TableInfo& table, const ColumnInfo& column, T least, T most, std::vector<T>& values);
  template <class Columns>
  void ObserveSpans(const Columns& t);
  template <class Columns>
  void ObserveDeviceWork(const Columns& t);
  template <class Columns>
  void ObserveIds(const Columns& t, Links& links);
  void ObserveKernels(const KernelColumns& t);
  void ObserveOps(const OpColumns& t);
  void ObserveNesting(const EventBatch& batch, int64_t first_op);
  void ObserveSamples(const CpuSampleColumns& t);
  void ObserveLives(const ThreadLifeColumns& t);
  void ObserveTypes(const EventBatch& batch, int64_t first_op);
  uint32_t SiteOf(const OpColumns& t, size_t row);
  // The op of each API call of the file, by its row there (see FindOpsByCalls), and whether external ids can
  // be relied on where no op is found so.
  struct CallOps {
    std::vector<int64_t> op;
    bool trust_external = true;
  };
  CallOps FindCallOps(const IdIndex& ops, CounterSet& counters);
  // Do device rows carry their correlation id in place of an external id?
  bool ExternalIsCorrelation() const;
  void ResolveCalls(const IdIndex& ops, const CallOps& known);
  // Gives how many correlations have no API call.
  int64_t ResolveTable(Links& links, const IdIndex& api, const IdIndex& ops, const CallOps& known) const;
  void AddDeviceTime(size_t first_kernel);
  void List(const EventBatch& batch);
  void Unlist();

  PackedColumn op_external_, op_site_, kernel_dur_ns_,
      kernel_name_;  // rows of the present file
  bool by_calls_ = false;
  OpNesting nesting_;  // of the present file, as are these
  PackedColumn api_thread_, api_start_ns_, api_dur_ns_;
  int64_t first_api_row_ = 0, first_op_row_ = 0;
  struct OutOfRange {
    bool time = false;
    int64_t count = 0;
    std::string first;  // the first value, as text
  };
  std::map<std::string, OutOfRange> out_of_range_;       // of the present file, by table and column
  int64_t known_duplicates_ = 0, known_unresolved_ = 0;  // of links the adapter knew
  Links kernel_, memcpy_, memset_, sync_, api_;
  std::vector<OpSite> sites_;
  std::unordered_map<uint64_t, uint32_t> site_of_;
  std::array<std::pair<uint64_t, uint32_t>, 1024> recent_sites_{};  // before it; key 0 is empty
  std::unordered_map<uint32_t, NameTotal> kernels_, memcpys_, spans_;
  std::unordered_map<uint64_t, SiteKernel> site_kernels_;
  std::vector<OpRow> listed_ops_;
  std::vector<ListedKernel> listed_kernels_;
  size_t file_first_listed_op_ = 0, file_first_listed_kernel_ = 0;
  bool listed_ = true;
  std::map<int32_t, DeviceSpans> device_spans_;
  std::map<StreamKey, StreamTotal> streams_;
  std::map<std::array<int64_t, 2>, GraphTotal> graphs_;
  StringId type_key_ = StringId::kNull, type_owner_ = StringId::kNull;
  std::unordered_map<uint32_t, StringId> op_types_;  // by name
  int64_t first_start_ns_ = INT64_MAX, last_end_ns_ = INT64_MIN, gpu_rows_ = 0;
  int64_t first_sample_ns_ = INT64_MAX, last_sample_ns_ = INT64_MIN;
  std::unordered_map<uint32_t, int64_t> sampled_ns_;  // of samples without times, by thread
};

}  // namespace nl
