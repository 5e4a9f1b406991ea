// SPDX-License-Identifier: Apache-2.0
#include "import/rows/run_facts.h"

#include <algorithm>
#include <cfloat>
#include <optional>
#include <thread>
#include <utility>

#include <fmt/format.h>

namespace nl {

namespace {

const CounterInfo kLaunchNotRecorded{
    "launch_not_recorded", Severity::kInfo, "Device work whose launching API call is not in the trace",
    "Usual at the start of a recording window and for graph launches; start recording a little earlier"};
const CounterInfo kDuplicateId{"duplicate_id", Severity::kNotice,
                               "Two events carry one correlation or external id; links go to the first",
                               "Check how the trace was merged: ids must be unique within one file"};

const CounterInfo kTimeOutOfRange{
    "time_out_of_range", Severity::kDataLoss,
    "A start or a duration of more than 73 years, or a duration below zero; now null",
    "Check the clock of the program that wrote the file"};
const CounterInfo kValueOutOfRange{
    "value_out_of_range", Severity::kNotice,
    "A size, an extent or a count that cannot be, such as one below zero; now null",
    "Nothing else is lost; the first value of each column is in import_log"};
const CounterInfo kExternalIdDisagrees{
    "external_id_disagrees", Severity::kInfo,
    "API calls whose external id names another operator than the one they ran in",
    "Nothing to do: device work belongs to the operator around its launch"};

constexpr uint32_t kNoRow = 0xffffffffu;
constexpr int64_t kNull = NullOf<int64_t>::value;

// A null duration adds nothing; a sum of absurd durations stops at the end of the range.
void AddNs(int64_t& sum, int64_t dur_ns) {
  if (dur_ns == kNull) return;
  if (__builtin_add_overflow(sum, dur_ns, &sum)) sum = INT64_MAX;
}

}  // namespace

template <class Entry>
void IdIndex::Sort(std::vector<Entry>& entries) {
  if (!std::is_sorted(entries.begin(), entries.end())) std::sort(entries.begin(), entries.end());
  const auto last = std::unique(entries.begin(), entries.end(),
                                [](const Entry& a, const Entry& b) { return a.first == b.first; });
  duplicates_ += entries.end() - last;
  entries.erase(last, entries.end());
}

IdIndex::IdIndex(const PackedColumn& ids, int64_t first_row) : first_row_(first_row) {
  int64_t low = INT64_MAX, high = INT64_MIN;
  for (size_t i = 0; i < ids.size(); ++i) {
    const int64_t id = ids.At(i);
    if (id == kNull) continue;
    low = std::min(low, id);
    high = std::max(high, id);
  }
  if (low > high) return;
  const auto range = static_cast<uint64_t>(high) - static_cast<uint64_t>(low);
  const bool dense = range < ids.size() * 2 + 4096;  // 4 bytes an id against 8 a pair
  const bool narrow = range < kNoRow;
  low_ = low;
  if (dense)
    dense_.assign(range + 1, kNoRow);
  else if (narrow)
    narrow_.reserve(ids.size());
  else
    wide_.reserve(ids.size());
  for (size_t i = 0; i < ids.size(); ++i) {
    const int64_t id = ids.At(i);
    if (id == kNull) continue;
    const auto row = static_cast<uint32_t>(i);
    const auto offset = static_cast<uint64_t>(id) - static_cast<uint64_t>(low);
    if (dense) {
      uint32_t& slot = dense_[offset];
      if (slot == kNoRow)
        slot = row;
      else
        ++duplicates_;
    } else if (narrow) {
      narrow_.emplace_back(static_cast<uint32_t>(offset), row);
    } else {
      wide_.emplace_back(offset, row);
    }
  }
  Sort(narrow_);
  Sort(wide_);
}

template <class Entry>
int64_t IdIndex::FindSorted(const std::vector<Entry>& sorted, uint64_t offset, size_t& hint) const {
  const auto less = [](const Entry& entry, uint64_t wanted) { return entry.first < wanted; };
  const auto at = [&sorted](size_t i) { return sorted.begin() + static_cast<ptrdiff_t>(i); };
  // Look a little ahead of the last hit before searching everything.
  const size_t from = hint < sorted.size() && sorted[hint].first <= offset ? hint : 0;
  const size_t to = std::min(sorted.size(), from + 64);
  auto it = std::lower_bound(at(from), at(to), offset, less);
  if (it == at(to) && to < sorted.size()) it = std::lower_bound(it, sorted.end(), offset, less);
  if (it == sorted.end() || it->first != offset) return kNull;
  hint = static_cast<size_t>(it - sorted.begin());
  return first_row_ + it->second;
}

int64_t IdIndex::Find(int64_t id, size_t& hint) const {
  if (id == kNull) return kNull;
  const auto offset = static_cast<uint64_t>(id) - static_cast<uint64_t>(low_);
  if (!dense_.empty()) {
    if (offset >= dense_.size() || dense_[offset] == kNoRow) return kNull;
    return first_row_ + dense_[offset];
  }
  return narrow_.empty() ? FindSorted(wide_, offset, hint) : FindSorted(narrow_, offset, hint);
}

std::vector<Interval> RunFacts::DeviceSpans::Intervals() const {
  std::vector<Interval> out(start_ns.size());
  for (size_t i = 0; i < out.size(); ++i) out[i] = {start_ns.At(i), start_ns.At(i) + dur_ns.At(i)};
  return out;
}

template <class T>
void RunFacts::BoundColumn(const TableInfo& table, const ColumnInfo& column, T least, T most,
                           std::vector<T>& values) {
  size_t bad = 0;  // nulls among them; without a branch, since there is hardly ever one
  for (const T v : values) bad += !(v >= least && v <= most);
  if (bad == 0) return;
  for (T& v : values) {
    if ((v >= least && v <= most) || IsNull(v)) continue;
    OutOfRange& found = out_of_range_[fmt::format("{}.{}", table.name, column.name)];
    if (++found.count == 1) found.first = fmt::format("{}", v);
    found.time = IsTime(column);
    v = NullOf<T>::value;
  }
}

void RunFacts::BoundValues(EventBatch& b) {
  for (ColumnSet* set : b.Tables()) {
    if (set->size() == 0) continue;
    const TableInfo& table = set->info();
    for (size_t c = 0; c < table.columns.size(); ++c) {
      const ColumnInfo& column = table.columns[c];
      void* values = set->VectorOf(c);
      if (IsTime(column)) {
        BoundColumn<int64_t>(table, column, LeastTime_ns(column), kMostTime_ns,
                             *static_cast<std::vector<int64_t>*>(values));
      } else if (!IsAmount(table, column)) {
        continue;
      } else if (column.type == ColumnType::kInt64) {
        BoundColumn<int64_t>(table, column, 0, kMostAmount, *static_cast<std::vector<int64_t>*>(values));
      } else if (column.type == ColumnType::kInt32) {
        BoundColumn<int32_t>(table, column, 0, INT32_MAX, *static_cast<std::vector<int32_t>*>(values));
      } else {
        BoundColumn<double>(table, column, 0, DBL_MAX, *static_cast<std::vector<double>*>(values));
      }
    }
  }
}

template <class Columns>
void RunFacts::ObserveSpans(const Columns& t) {
  for (size_t i = 0; i < t.start_ns.size(); ++i) {
    if (IsNull(t.dur_ns[i]) || IsNull(t.start_ns[i])) continue;
    first_start_ns_ = std::min(first_start_ns_, t.start_ns[i]);
    last_end_ns_ = std::max(last_end_ns_, t.start_ns[i] + t.dur_ns[i]);
  }
}

// A damaged trace can name several lanes for one stream. The lowest is kept: which comes first depends on
// where the file was cut.
static ThreadId Lower(ThreadId a, ThreadId b) {
  if (IsNull(a) || IsNull(b)) return IsNull(a) ? b : a;
  return std::min(a, b);
}

template <class Columns>
void RunFacts::ObserveDeviceWork(const Columns& t) {
  StreamKey last_key{};
  StreamTotal* stream = nullptr;
  DeviceSpans* spans = nullptr;
  int32_t device = 0;
  for (size_t i = 0; i < t.start_ns.size(); ++i) {
    ++gpu_rows_;
    const StreamKey key{t.device[i], t.context[i], t.stream[i]};
    if (stream == nullptr || key != last_key) {
      last_key = key;
      stream = &streams_[key];
    }
    ++stream->events;
    if (t.thread_id[i] != stream->thread) stream->thread = Lower(stream->thread, t.thread_id[i]);
    if (spans == nullptr || device != t.device[i]) {
      device = t.device[i];
      spans = &device_spans_[device];
    }
    if (IsNull(t.dur_ns[i]) || IsNull(t.start_ns[i])) continue;
    spans->start_ns.Add(t.start_ns[i]);
    spans->dur_ns.Add(t.dur_ns[i]);
  }
}

template <class Columns>
void RunFacts::ObserveIds(const Columns& t, Links& links) {
  if (!t.op_id.empty()) {
    for (size_t i = 0; i < t.op_id.size(); ++i) {
      links.op_id.Add(static_cast<int64_t>(t.op_id[i]));
      if constexpr (requires { t.api_call_id; }) {
        links.api_call_id.Add(static_cast<int64_t>(t.api_call_id[i]));
        known_unresolved_ += IsNull(t.api_call_id[i]) && !IsNull(t.correlation[i]);
      }
    }
    return;
  }
  for (size_t i = 0; i < t.start_ns.size(); ++i) {
    links.correlation.Add(t.correlation[i]);
    links.external.Add(t.external_id[i]);
  }
}

void RunFacts::ObserveKernels(const KernelColumns& t) {
  for (size_t i = 0; i < t.size(); ++i) {
    NameTotal& total = kernels_[static_cast<uint32_t>(t.name[i])];
    ++total.calls;
    AddNs(total.total_ns, t.dur_ns[i]);
    kernel_dur_ns_.Add(t.dur_ns[i]);
    kernel_name_.Add(static_cast<int64_t>(t.name[i]));
    if (IsNull(t.graph_id[i])) continue;
    GraphTotal& graph = graphs_[{t.device[i], t.graph_id[i]}];
    ++graph.kernels;
    if (!IsNull(t.start_ns[i])) graph.first_start_ns = std::min(graph.first_start_ns, t.start_ns[i]);
    if (!IsNull(t.correlation[i])) graph.launches[t.correlation[i]] = true;
  }
}

uint32_t RunFacts::SiteOf(const OpColumns& t, size_t row) {
  const uint64_t key = (static_cast<uint64_t>(t.name[row]) * 0x9e3779b97f4a7c15ull) ^
                       (static_cast<uint64_t>(t.input_dims[row]) * 0xc2b2ae3d27d4eb4full) ^
                       (static_cast<uint64_t>(t.input_types[row]) * 0x165667b19e3779f9ull);
  auto& recent = recent_sites_[(key >> 20) % recent_sites_.size()];
  if (recent.first == key && key != 0) return recent.second;
  const auto [it, added] = site_of_.emplace(key, static_cast<uint32_t>(sites_.size()));
  if (added) {
    OpSite site;
    site.name = t.name[row];
    site.input_dims = t.input_dims[row];
    site.input_types = t.input_types[row];
    site.first_start_ns = t.start_ns[row];
    site.thread = t.thread_id[row];
    sites_.push_back(site);
  }
  recent = {key, it->second};
  return it->second;
}

void RunFacts::ObserveOps(const OpColumns& t) {
  for (size_t i = 0; i < t.size(); ++i) {
    const uint32_t index = SiteOf(t, i);
    OpSite& site = sites_[index];
    ++site.calls;
    AddNs(site.total_ns, t.dur_ns[i]);
    site.first_start_ns = std::min(site.first_start_ns, t.start_ns[i]);
    op_external_.Add(t.external_id[i]);
    op_site_.Add(index);
  }
}

void RunFacts::ObserveNesting(const EventBatch& b, int64_t first_op) {
  for (size_t i = 0; i < b.op.size(); ++i) {
    if (IsNull(b.op.dur_ns[i]) || IsNull(b.op.start_ns[i])) continue;
    nesting_.Add(b.op.thread_id[i], b.op.start_ns[i], b.op.start_ns[i] + b.op.dur_ns[i],
                 static_cast<RowId>(first_op + static_cast<int64_t>(i)));
  }
  for (size_t i = 0; i < b.api_call.size(); ++i) {
    api_thread_.Add(static_cast<int64_t>(b.api_call.thread_id[i]));
    api_start_ns_.Add(b.api_call.start_ns[i]);
    api_dur_ns_.Add(b.api_call.dur_ns[i]);
  }
}

void RunFacts::ObserveTypes(const EventBatch& b, int64_t first_op) {
  for (size_t i = 0; i < b.args.size(); ++i) {
    if (b.args.key[i] != type_key_ || b.args.owner[i] != type_owner_) continue;
    const int64_t row = static_cast<int64_t>(b.args.owner_id[i]) - first_op;
    if (row >= 0 && row < static_cast<int64_t>(b.op.size()))
      op_types_.try_emplace(static_cast<uint32_t>(b.op.name[static_cast<size_t>(row)]), b.args.value[i]);
  }
}

namespace {
template <class Columns>
void AddSpans(const Columns& t, std::unordered_map<uint32_t, NameTotal>& totals) {
  for (size_t i = 0; i < t.size(); ++i) {
    NameTotal& total = totals[static_cast<uint32_t>(t.name[i])];
    ++total.calls;
    AddNs(total.total_ns, t.dur_ns[i]);
  }
}
}  // namespace

void RunFacts::Observe(EventBatch& b, const EventSink& sink) {
  if (api_.correlation.size() == 0) first_api_row_ = sink.rows(Table::kApiCall);
  if (op_external_.size() == 0) first_op_row_ = sink.rows(Table::kOp);
  BoundValues(b);
  ObserveSpans(b.kernel);
  ObserveSpans(b.memcpy);
  ObserveSpans(b.memset);
  ObserveSpans(b.sync);
  ObserveSpans(b.api_call);
  ObserveSpans(b.op);
  ObserveSpans(b.python_call);
  ObserveSpans(b.range);
  ObserveDeviceWork(b.kernel);
  ObserveDeviceWork(b.memcpy);
  ObserveDeviceWork(b.memset);
  ObserveIds(b.kernel, kernel_);
  ObserveIds(b.memcpy, memcpy_);
  ObserveIds(b.memset, memset_);
  ObserveIds(b.sync, sync_);
  ObserveIds(b.api_call, api_);
  ObserveKernels(b.kernel);
  for (size_t i = 0; i < b.memcpy.size(); ++i) {
    NameTotal& total = memcpys_[static_cast<uint32_t>(b.memcpy.kind[i])];
    ++total.calls;
    AddNs(total.total_ns, b.memcpy.dur_ns[i]);
  }
  ObserveOps(b.op);
  if (by_calls_) ObserveNesting(b, sink.rows(Table::kOp));
  if (!IsNull(type_key_)) ObserveTypes(b, sink.rows(Table::kOp));
  AddSpans(b.range, spans_);
  AddSpans(b.python_call, spans_);
  AddSpans(b.api_call, spans_);
  ObserveSamples(b.cpu_sample);
  ObserveLives(b.thread_life);
  if (listed_) List(b);
}

void RunFacts::ObserveSamples(const CpuSampleColumns& t) {
  for (size_t i = 0; i < t.size(); ++i) {
    const int64_t weight_ns = IsNull(t.weight_ns[i]) ? 0 : t.weight_ns[i];
    if (IsNull(t.start_ns[i])) {
      AddNs(sampled_ns_[static_cast<uint32_t>(t.thread_id[i])], weight_ns);
      continue;
    }
    int64_t end_ns = t.start_ns[i];
    AddNs(end_ns, weight_ns);
    first_sample_ns_ = std::min(first_sample_ns_, t.start_ns[i]);
    last_sample_ns_ = std::max(last_sample_ns_, end_ns);
  }
}

void RunFacts::ObserveLives(const ThreadLifeColumns& t) {
  for (size_t i = 0; i < t.size(); ++i) {
    if (IsNull(t.start_ns[i]) || IsNull(t.dur_ns[i])) continue;
    first_sample_ns_ = std::min(first_sample_ns_, t.start_ns[i]);
    last_sample_ns_ = std::max(last_sample_ns_, t.start_ns[i] + t.dur_ns[i]);
  }
}

void RunFacts::UseSamplesWithoutDevices() {
  if (gpu_rows_ > 0) return;
  if (first_sample_ns_ <= last_sample_ns_) {
    first_start_ns_ = std::min(first_start_ns_, first_sample_ns_);
    last_end_ns_ = std::max(last_end_ns_, last_sample_ns_);
    return;
  }
  if (!empty()) return;
  int64_t busiest_ns = 0;
  for (const auto& [thread, ns] : sampled_ns_) busiest_ns = std::max(busiest_ns, ns);
  if (busiest_ns == 0) return;
  first_start_ns_ = 0;
  last_end_ns_ = busiest_ns;
}

void RunFacts::List(const EventBatch& b) {
  if (listed_ops_.size() + b.op.size() > kMaxListedOps ||
      listed_kernels_.size() + b.kernel.size() > kMaxListedKernels) {
    return Unlist();
  }
  for (size_t i = 0; i < b.op.size(); ++i) listed_ops_.push_back(b.op.Row(i));
  for (size_t i = 0; i < b.kernel.size(); ++i) listed_kernels_.push_back({b.kernel.Row(i)});
}

void RunFacts::Unlist() {
  listed_ = false;
  listed_ops_ = {};
  listed_kernels_ = {};
}

bool RunFacts::ExternalIsCorrelation() const {
  int64_t same = 0, both = 0;
  for (const Links* links : {&kernel_, &memcpy_, &memset_}) {
    for (size_t i = 0; i < links->correlation.size(); ++i) {
      const int64_t correlation = links->correlation.At(i), external = links->external.At(i);
      if (correlation == kNull || external == kNull) continue;
      ++both;
      same += correlation == external;
    }
  }
  return both > 0 && same * 2 > both;
}

RunFacts::CallOps RunFacts::FindCallOps(const IdIndex& ops, CounterSet& counters) {
  CallOps out;
  if (!by_calls_) return out;
  constexpr int64_t kRounding_ns = 1000;  // older traces have times of whole microseconds
  out.op.assign(api_start_ns_.size(), kNull);
  std::vector<int64_t> if_trusted(out.op.size(), kNull);  // where it is not the innermost op
  int64_t both = 0, same = 0;
  size_t hint = 0;
  for (size_t i = 0; i < out.op.size(); ++i) {
    const auto lane = static_cast<ThreadId>(api_thread_.At(i));
    const int64_t start = api_start_ns_.At(i), dur = api_dur_ns_.At(i);
    if (start == kNull) continue;
    const int64_t end = start + (dur == kNull ? 0 : std::max<int64_t>(dur - kRounding_ns, 0));
    out.op[i] = static_cast<int64_t>(nesting_.Enclosing(lane, start, end));
    const int64_t external = ops.Find(api_.external.At(i), hint);
    if (external == kNull) continue;
    both += out.op[i] != kNull;
    same += out.op[i] == external;
    if (out.op[i] == kNull || nesting_.AroundLast(static_cast<RowId>(external))) if_trusted[i] = external;
  }
  out.trust_external = both > 0 ? same * 10 >= both * 9 : !ExternalIsCorrelation();
  if (both > same) counters.Add(kExternalIdDisagrees, -1, {}, both - same);
  for (size_t i = 0; out.trust_external && i < out.op.size(); ++i) {
    if (if_trusted[i] != kNull) out.op[i] = if_trusted[i];
  }
  return out;
}

void RunFacts::ResolveCalls(const IdIndex& ops, const CallOps& known) {
  size_t hint = 0;
  for (size_t i = 0; i < api_.correlation.size(); ++i)
    api_.op_id.Add(known.op.empty() ? ops.Find(api_.external.At(i), hint) : known.op[i]);
  api_.correlation.Clear();
  api_.external.Clear();
}

int64_t RunFacts::ResolveTable(Links& links, const IdIndex& api, const IdIndex& ops,
                               const CallOps& known) const {
  int64_t unresolved = 0;
  size_t api_hint = 0, op_hint = 0;
  for (size_t i = 0; i < links.correlation.size(); ++i) {
    const int64_t correlation = links.correlation.At(i);
    const int64_t row = api.Find(correlation, api_hint);
    links.api_call_id.Add(row);
    unresolved += correlation != kNull && row == kNull;
    int64_t op = kNull;
    if (row != kNull && !known.op.empty()) op = known.op[static_cast<size_t>(row - first_api_row_)];
    if (op == kNull && known.trust_external) op = ops.Find(links.external.At(i), op_hint);
    links.op_id.Add(op);
  }
  links.correlation.Clear();
  links.external.Clear();
  return unresolved;
}

void RunFacts::AddDeviceTime(size_t first_kernel) {
  for (size_t i = 0; i < kernel_dur_ns_.size(); ++i) {
    const int64_t op = kernel_.op_id.At(first_kernel + i);
    if (op == kNull) continue;
    const auto index = static_cast<uint32_t>(op_site_.At(static_cast<size_t>(op - first_op_row_)));
    const int64_t dur = kernel_dur_ns_.At(i);
    OpSite& site = sites_[index];
    ++site.kernels;
    AddNs(site.device_ns, dur);
    const auto name = static_cast<uint32_t>(kernel_name_.At(i));
    SiteKernel& kernel = site_kernels_[(uint64_t{index} << 32) | name];
    kernel.site = index;
    kernel.name = static_cast<StringId>(name);
    ++kernel.calls;
    AddNs(kernel.total_ns, dur);
    if (listed_) {
      listed_kernels_[file_first_listed_kernel_ + i].op =
          static_cast<int64_t>(file_first_listed_op_) + op - first_op_row_;
    }
  }
  file_first_listed_op_ = listed_ops_.size();
  file_first_listed_kernel_ = listed_kernels_.size();
}

void RunFacts::ResolveLinks(CounterSet& counters) {
  // Two halves that share nothing but the finished indexes, so that two cores are used.
  std::optional<IdIndex> ops, api;
  std::thread ops_builder([&] { ops.emplace(op_external_, first_op_row_); });
  api.emplace(api_.correlation, first_api_row_);
  ops_builder.join();
  const int64_t duplicates = ops->duplicates() + api->duplicates() + std::exchange(known_duplicates_, 0);
  if (duplicates > 0) counters.Add(kDuplicateId, -1, {}, duplicates);
  const CallOps known = FindCallOps(*ops, counters);
  for (const auto& [place, found] : std::exchange(out_of_range_, {})) {
    counters.Add(found.time ? kTimeOutOfRange : kValueOutOfRange, -1,
                 fmt::format("{}: {}", place, found.first), found.count);
  }
  int64_t unresolved = std::exchange(known_unresolved_, 0);
  std::thread others([&] {
    for (Links* links : {&memcpy_, &memset_, &sync_}) unresolved += ResolveTable(*links, *api, *ops, known);
    ResolveCalls(*ops, known);
  });
  const int64_t kernels_unresolved = ResolveTable(kernel_, *api, *ops, known);
  AddDeviceTime(kernel_.op_id.size() - kernel_dur_ns_.size());
  others.join();
  unresolved += kernels_unresolved;
  if (unresolved > 0) counters.Add(kLaunchNotRecorded, -1, {}, unresolved);
  for (PackedColumn* column :
       {&op_external_, &op_site_, &kernel_dur_ns_, &kernel_name_, &api_thread_, &api_start_ns_, &api_dur_ns_})
    column->Clear();
  nesting_ = {};
}

Status RunFacts::WriteLinks(EventSink& sink) {
  std::vector<int64_t> values;
  const auto write = [&](Table table, const char* column, const PackedColumn& links) {
    values.resize(links.size());
    for (size_t i = 0; i < values.size(); ++i) values[i] = links.At(i);
    return sink.SetLate(table, column, values);
  };
  const std::pair<Table, Links*> tables[] = {{Table::kKernel, &kernel_},
                                             {Table::kMemcpy, &memcpy_},
                                             {Table::kMemset, &memset_},
                                             {Table::kSync, &sync_}};
  for (const auto& [table, links] : tables) {
    NL_TRY(write(table, "api_call_id", links->api_call_id));
    NL_TRY(write(table, "op_id", links->op_id));
  }
  return write(Table::kApiCall, "op_id", api_.op_id);
}

}  // namespace nl
