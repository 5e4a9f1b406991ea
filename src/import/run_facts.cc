// SPDX-License-Identifier: Apache-2.0
#include "import/run_facts.h"

#include <algorithm>

namespace nl {

namespace {

const CounterInfo kLaunchNotRecorded{
    "launch_not_recorded", Severity::kInfo, "Device work whose launching API call is not in the trace",
    "Usual at the start of a recording window and for graph launches; start recording a little earlier"};
const CounterInfo kDuplicateId{"duplicate_id", Severity::kNotice,
                               "Two events carry one correlation or external id; links go to the first",
                               "Check how the trace was merged: ids must be unique within one file"};

constexpr uint32_t kNoRow = 0xffffffffu;
constexpr int64_t kNull = NullOf<int64_t>::value;

}  // namespace

void CompactColumn::AddSlow(int64_t value) {
  if (value == NullOf<int64_t>::value) {
    offsets_.push_back(CompactColumn::kNull);
    return;
  }
  if (!has_base_) {
    has_base_ = true;
    base_ = static_cast<int64_t>(static_cast<uint64_t>(value) -
                                 (uint64_t{1} << 20));  // room for ids a little smaller than the first
    Add(value);
    return;
  }
  far_[offsets_.size()] = value;
  offsets_.push_back(kFar);
}

int64_t CompactColumn::At(size_t row) const {
  const uint32_t offset = offsets_[row];
  if (offset < kFar) return static_cast<int64_t>(static_cast<uint64_t>(base_) + offset);
  return offset == CompactColumn::kNull ? NullOf<int64_t>::value : far_.at(row);
}

void CompactColumn::Clear() { *this = CompactColumn(); }

IdIndex::IdIndex(const CompactColumn& ids, int64_t first_row) : first_row_(first_row) {
  int64_t low = INT64_MAX, high = INT64_MIN;
  for (size_t i = 0; i < ids.size(); ++i) {
    const int64_t id = ids.At(i);
    if (id == kNull) continue;
    low = std::min(low, id);
    high = std::max(high, id);
  }
  if (low > high) return;
  const auto range = static_cast<uint64_t>(high) - static_cast<uint64_t>(low);
  const bool dense = range < ids.size() * 8 + 4096;
  low_ = low;
  if (dense) dense_.assign(range + 1, kNoRow);
  for (size_t i = 0; i < ids.size(); ++i) {
    const int64_t id = ids.At(i);
    if (id == kNull) continue;
    const auto row = static_cast<uint32_t>(i);
    if (dense) {
      uint32_t& slot = dense_[static_cast<size_t>(id - low)];
      if (slot == kNoRow)
        slot = row;
      else
        ++duplicates_;
    } else {
      sorted_.emplace_back(id, row);
    }
  }
  if (!std::is_sorted(sorted_.begin(), sorted_.end())) std::sort(sorted_.begin(), sorted_.end());
  const auto last = std::unique(sorted_.begin(), sorted_.end(),
                                [](const auto& a, const auto& b) { return a.first == b.first; });
  duplicates_ += sorted_.end() - last;
  sorted_.erase(last, sorted_.end());
}

int64_t IdIndex::Find(int64_t id) const {
  if (id == kNull) return kNull;
  if (!dense_.empty()) {
    const auto offset = static_cast<uint64_t>(id) - static_cast<uint64_t>(low_);
    if (offset >= dense_.size() || dense_[offset] == kNoRow) return kNull;
    return first_row_ + dense_[offset];
  }
  const auto less = [](const auto& entry, int64_t wanted) { return entry.first < wanted; };
  // Look a little ahead of the last hit before searching everything.
  const size_t from = hint_ < sorted_.size() && sorted_[hint_].first <= id ? hint_ : 0;
  const size_t to = std::min(sorted_.size(), from + 64);
  auto it = std::lower_bound(sorted_.begin() + static_cast<ptrdiff_t>(from),
                             sorted_.begin() + static_cast<ptrdiff_t>(to), id, less);
  if (it == sorted_.begin() + static_cast<ptrdiff_t>(to) && to < sorted_.size())
    it = std::lower_bound(it, sorted_.end(), id, less);
  if (it == sorted_.end() || it->first != id) return kNull;
  hint_ = static_cast<size_t>(it - sorted_.begin());
  return first_row_ + it->second;
}

template <class Columns>
void RunFacts::ObserveSpans(const Columns& t) {
  for (size_t i = 0; i < t.start_ns.size(); ++i) {
    if (IsNull(t.dur_ns[i])) continue;
    first_start_ns_ = std::min(first_start_ns_, t.start_ns[i]);
    last_end_ns_ = std::max(last_end_ns_, t.start_ns[i] + t.dur_ns[i]);
  }
}

template <class Columns>
void RunFacts::ObserveDeviceWork(const Columns& t) {
  StreamKey last_key{};
  StreamTotal* stream = nullptr;
  std::vector<Interval>* intervals = nullptr;
  int32_t device = 0;
  for (size_t i = 0; i < t.start_ns.size(); ++i) {
    ++gpu_rows_;
    const StreamKey key{t.device[i], t.context[i], t.stream[i]};
    if (stream == nullptr || key != last_key) {
      last_key = key;
      stream = &streams_[key];
      stream->thread = t.thread_id[i];
    }
    ++stream->events;
    if (intervals == nullptr || device != t.device[i]) {
      device = t.device[i];
      intervals = &intervals_[device];
    }
    if (!IsNull(t.dur_ns[i])) intervals->push_back({t.start_ns[i], t.start_ns[i] + t.dur_ns[i]});
  }
}

template <class Columns>
void RunFacts::ObserveIds(const Columns& t, Links& links) {
  for (size_t i = 0; i < t.start_ns.size(); ++i) {
    links.correlation.Add(t.correlation[i]);
    links.external.Add(t.external_id[i]);
  }
}

void RunFacts::ObserveKernels(const KernelColumns& t) {
  for (size_t i = 0; i < t.size(); ++i) {
    NameTotal& total = kernels_[static_cast<uint32_t>(t.name[i])];
    ++total.calls;
    total.total_ns += IsNull(t.dur_ns[i]) ? 0 : t.dur_ns[i];
    kernel_dur_ns_.Add(t.dur_ns[i]);
    kernel_name_.Add(static_cast<int64_t>(t.name[i]));
    if (IsNull(t.graph_id[i])) continue;
    GraphTotal& graph = graphs_[{t.device[i], t.graph_id[i]}];
    ++graph.kernels;
    graph.first_start_ns = std::min(graph.first_start_ns, t.start_ns[i]);
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
    site.total_ns += IsNull(t.dur_ns[i]) ? 0 : t.dur_ns[i];
    site.first_start_ns = std::min(site.first_start_ns, t.start_ns[i]);
    op_external_.Add(t.external_id[i]);
    op_site_.Add(index);
  }
}

namespace {
template <class Columns>
void AddSpans(const Columns& t, std::unordered_map<uint32_t, NameTotal>& totals) {
  for (size_t i = 0; i < t.size(); ++i) {
    NameTotal& total = totals[static_cast<uint32_t>(t.name[i])];
    ++total.calls;
    total.total_ns += IsNull(t.dur_ns[i]) ? 0 : t.dur_ns[i];
  }
}
}  // namespace

void RunFacts::Observe(EventBatch& b, const EventSink& sink) {
  if (api_correlation_.size() == 0) first_api_row_ = sink.rows(Table::kApiCall);
  if (op_external_.size() == 0) first_op_row_ = sink.rows(Table::kOp);
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
  for (const int64_t id : b.api_call.correlation) api_correlation_.Add(id);
  ObserveKernels(b.kernel);
  for (size_t i = 0; i < b.memcpy.size(); ++i) {
    NameTotal& total = memcpys_[static_cast<uint32_t>(b.memcpy.kind[i])];
    ++total.calls;
    total.total_ns += IsNull(b.memcpy.dur_ns[i]) ? 0 : b.memcpy.dur_ns[i];
  }
  ObserveOps(b.op);
  AddSpans(b.range, spans_);
  AddSpans(b.python_call, spans_);
  AddSpans(b.api_call, spans_);
  if (listed_) List(b);
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

void RunFacts::ResolveTable(Links& links, const IdIndex* api, const IdIndex& ops, CounterSet& counters) {
  int64_t unresolved = 0;
  for (size_t i = 0; i < links.correlation.size(); ++i) {
    if (api != nullptr) {
      const int64_t correlation = links.correlation.At(i);
      links.api_call_id.push_back(api->Find(correlation));
      unresolved += correlation != kNull && links.api_call_id.back() == kNull;
    }
    links.op_id.push_back(ops.Find(links.external.At(i)));
  }
  if (unresolved > 0) counters.Add(kLaunchNotRecorded, -1, {}, unresolved);
  links.correlation.Clear();
  links.external.Clear();
}

void RunFacts::AddDeviceTime(const IdIndex& ops, int64_t first_op_row) {
  for (size_t i = 0; i < kernel_dur_ns_.size(); ++i) {
    const int64_t op = ops.Find(kernel_.external.At(i));
    if (op == kNull) continue;
    const auto index = static_cast<uint32_t>(op_site_.At(static_cast<size_t>(op - first_op_row)));
    const int64_t dur = kernel_dur_ns_.At(i) == kNull ? 0 : kernel_dur_ns_.At(i);
    OpSite& site = sites_[index];
    ++site.kernels;
    site.device_ns += dur;
    const auto name = static_cast<uint32_t>(kernel_name_.At(i));
    SiteKernel& kernel = site_kernels_[(uint64_t{index} << 32) | name];
    kernel.site = index;
    kernel.name = static_cast<StringId>(name);
    ++kernel.calls;
    kernel.total_ns += dur;
    if (listed_) {
      listed_kernels_[file_first_listed_kernel_ + i].op =
          static_cast<int64_t>(file_first_listed_op_) + op - first_op_row;
    }
  }
  file_first_listed_op_ = listed_ops_.size();
  file_first_listed_kernel_ = listed_kernels_.size();
}

void RunFacts::ResolveLinks(CounterSet& counters) {
  const IdIndex ops(op_external_, first_op_row_);
  const IdIndex api(api_correlation_, first_api_row_);
  if (ops.duplicates() + api.duplicates() > 0) {
    counters.Add(kDuplicateId, -1, {}, ops.duplicates() + api.duplicates());
  }
  AddDeviceTime(ops, first_op_row_);
  for (Links* links : {&kernel_, &memcpy_, &memset_, &sync_}) ResolveTable(*links, &api, ops, counters);
  ResolveTable(api_, nullptr, ops, counters);
  for (CompactColumn* column : {&api_correlation_, &op_external_, &op_site_, &kernel_dur_ns_, &kernel_name_})
    column->Clear();
}

Status RunFacts::WriteLinks(EventSink& sink) {
  const std::pair<Table, Links*> tables[] = {{Table::kKernel, &kernel_},
                                             {Table::kMemcpy, &memcpy_},
                                             {Table::kMemset, &memset_},
                                             {Table::kSync, &sync_}};
  for (const auto& [table, links] : tables) {
    NL_TRY(sink.SetLate(table, "api_call_id", links->api_call_id));
    NL_TRY(sink.SetLate(table, "op_id", links->op_id));
  }
  return sink.SetLate(Table::kApiCall, "op_id", api_.op_id);
}

}  // namespace nl
