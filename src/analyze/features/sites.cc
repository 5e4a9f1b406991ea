// SPDX-License-Identifier: Apache-2.0
// Call sites: operators by name, inputs, module and stage; and the callers of blocking
// synchronisations, pageable copies and allocations.
#include <algorithm>
#include <map>
#include <tuple>

#include <fmt/format.h>

#include "analyze/copies.h"
#include "analyze/features/parts.h"
#include "analyze/waits/cold_calls.h"
#include "base/has_any.h"
#include "base/median.h"

namespace nl::features {

namespace {

constexpr size_t kMostCallSites = 400;  // by device time; rules ask for at least 1 % of it

// ---- callers that block, copy or allocate ----
struct CallerSite {
  uint32_t node = kNone;                // first occurrence
  StringId api = StringId::kNull;       // of the longest call that waits or allocates
  StringId copy_api = StringId::kNull;  // of the pageable copy that held the host longest
  int64_t calls = 0, host_ns = 0, longest_copy_api_ns = -1;
  int64_t syncs = 0, syncs_in_steps = 0, steps_hit = 0, blocked_ns = 0, idle_ns = 0;
  int64_t fetched = 0, fetched_bytes = 0;
  int64_t to_device = 0;  // pageable copies to the device
  int64_t pageable = 0, pageable_ns = 0, pageable_api_ns = 0, pageable_bytes = 0;
  int64_t allocs = 0, alloc_ns = 0;
  uint32_t last_step = kNone, last_caller = kNone;
  int64_t idle_until_ns = INT64_MIN;
  uint32_t longest_api_row = kNone, longest_copy = kNone;
  std::vector<uint32_t> sync_nodes, copy_nodes, alloc_nodes;  // callers, and the calls themselves
  int64_t longest_api_ns = -1, longest_copy_ns = -1;
};

class CallerSites {
 public:
  explicit CallerSites(const Program& p) : p_(p), h_(p.timeline.host), cold_(*p.data.strings, p.timeline) {
    steady_from_ns_ =
        p.steps.size() > 1 ? p.steps[1].start_ns : p.timeline.first_start_ns + p.timeline.wall_ns() / 5;
  }

  void Collect() {
    for (uint32_t i = 0; i < h_.size(); ++i) {
      if (h_.kind[i] != HostKind::kApi) continue;
      switch (p_.KindOf(h_.name[i])) {
        case ApiKind::kSync:
        case ApiKind::kBlockingCopy: AddSync(i); break;
        case ApiKind::kAlloc:
        case ApiKind::kBlockingFree: AddAlloc(i); break;
        default: break;
      }
    }
    const DeviceWork& w = p_.timeline.work;
    for (uint32_t i = 0; i < w.size(); ++i) {
      if (w.kind[i] == WorkKind::kMemcpy) AddCopy(i);
    }
  }

  void Write(Features& out) const {
    for (const auto& [key, site] : sites_) {
      if (site.syncs + site.pageable + site.allocs > 0) out.ops.push_back(Subject(key, site));
    }
    for (const auto& [key, site] : sites_) {
      auto& nodes = out.run.targets["copies"].nodes;
      nodes.insert(nodes.end(), site.copy_nodes.begin(), site.copy_nodes.end());
      auto& allocs = out.run.targets["all_allocs"].nodes;
      allocs.insert(allocs.end(), site.alloc_nodes.begin(), site.alloc_nodes.end());
    }
    out.run.targets["to_device"].nodes = to_device_nodes_;
    out.run.numbers["run.alloc_calls"] = static_cast<double>(alloc_calls_);
    out.run.numbers["run.alloc_ms"] = Ms(alloc_ns_);
  }

 private:
  using Key = std::tuple<std::string_view, uint32_t, uint32_t>;  // caller, module, stage

  // An operator that makes several calls is there once.
  static void AddLast(std::vector<uint32_t>& nodes, uint32_t node) {
    if (nodes.empty() || nodes.back() != node) nodes.push_back(node);
  }

  CallerSite& SiteOf(uint32_t caller, int64_t dur_ns) {
    CallerSite& site = sites_[{p_.data.Text(h_.name[caller]), p_.module_of[caller], p_.stage_of[caller]}];
    if (site.node == kNone) site.node = caller;
    if (site.last_caller != caller) {
      site.last_caller = caller;
      ++site.calls;
      site.host_ns += h_.kind[caller] == HostKind::kOp ? h_.end_ns[caller] - h_.start_ns[caller] : dur_ns;
    }
    return site;
  }

  void AddSync(uint32_t node) {
    const uint32_t caller = p_.CallerOf(node);
    const int64_t start = h_.start_ns[node], dur = h_.end_ns[node] - start;
    CallerSite& site = SiteOf(caller, dur);
    ++site.syncs;
    AddLast(site.sync_nodes, caller);
    site.blocked_ns += dur;
    if (dur > site.longest_api_ns) {
      site.longest_api_ns = dur;
      site.longest_api_row = h_.row[node];
      site.api = h_.name[node];
    }
    const uint32_t step = p_.StepAt(start);
    if (step != kNone) {
      ++site.syncs_in_steps;
      site.steps_hit += step != site.last_step;
      site.last_step = step;
    }
    // Waiting for work that runs costs nothing by itself; the device standing still from the call until the
    // host has launched again does. A copy to the device is told by its own site. Stretches count once.
    const bool whole_op = h_.end_ns[caller] - h_.start_ns[caller] < 10 * std::max<int64_t>(dur, 20'000);
    const int64_t from = std::max(whole_op ? h_.start_ns[caller] : start, site.idle_until_ns);
    const int64_t end = whole_op ? h_.end_ns[caller] : h_.end_ns[node];
    const int64_t resumed = p_.busy.NextNs(end);
    const int64_t to = resumed == INT64_MAX ? end : resumed;
    site.idle_ns += p_.IdleNs(from, to);
    site.idle_until_ns = std::max(site.idle_until_ns, to);
  }

  void AddAlloc(uint32_t node) {
    // The first cudaFree or cudaMalloc of a library creates its context; that is not churn.
    if (h_.start_ns[node] < steady_from_ns_ || cold_.Is(node)) return;
    const int64_t dur = h_.end_ns[node] - h_.start_ns[node];
    CallerSite& site = SiteOf(p_.CallerOf(node), dur);
    ++site.allocs;
    site.alloc_nodes.push_back(node);
    site.alloc_ns += dur;
    ++alloc_calls_;
    alloc_ns_ += dur;
    if (dur > site.longest_api_ns) {
      site.longest_api_ns = dur;
      site.longest_api_row = h_.row[node];
      site.api = h_.name[node];
    }
  }

  void AddCopy(uint32_t work) {
    const DeviceWork& w = p_.timeline.work;
    const MemcpyView& m = p_.data.memcpy;
    const uint32_t row = w.row[work];
    const bool pageable = IsPageableCopy(p_.data, row), fetch = IsCopyToHost(p_.data, row);
    const uint32_t launch = w.launch[work];
    if (launch == kNone) return;
    const bool to_device = IsCopyToDevice(p_.data, row);
    if (to_device) AddLast(to_device_nodes_, p_.CallerOf(launch));
    if (!pageable && !fetch) return;
    const int64_t ns = w.end_ns[work] - w.start_ns[work];
    const int64_t api_ns = h_.end_ns[launch] - h_.start_ns[launch];
    CallerSite& site = SiteOf(p_.CallerOf(launch), api_ns);
    const int64_t bytes = IsNull(m.bytes[row]) ? 0 : m.bytes[row];
    if (fetch) {
      ++site.fetched;
      site.fetched_bytes += bytes;
    }
    if (!pageable) return;
    AddLast(site.copy_nodes, p_.CallerOf(launch));
    ++site.pageable;
    site.to_device += to_device;
    // The copy, and the device standing still while the host was held in the call.
    site.pageable_ns += ns + p_.IdleNs(h_.start_ns[launch], h_.end_ns[launch]);
    site.pageable_api_ns += api_ns;
    site.pageable_bytes += bytes;
    if (ns > site.longest_copy_ns) {
      site.longest_copy_ns = ns;
      site.longest_copy = row;
    }
    if (api_ns > site.longest_copy_api_ns) {
      site.longest_copy_api_ns = api_ns;
      site.copy_api = h_.name[launch];
    }
  }

  FeatureSubject Subject(const Key& key, const CallerSite& s) const {
    const auto& [name, module, stage] = key;
    FeatureSubject out;
    out.texts["op.name"] = std::string(name.substr(0, 200));
    out.numbers["op.sizes_result"] =
        HasAny(name, {"aten::index", "aten::nonzero", "aten::masked_select", "aten::unique", "aten::_unique",
                      "aten::repeat_interleave", "aten::masked_scatter", "aten::argwhere", "aten::bincount"});
    out.texts["op.module"] = p_.modules.Text(module);
    out.texts["op.stage"] = p_.stages.Text(stage);
    // A call outside any operator goes by its own name, and would be said to block in itself.
    const bool is_call = name == p_.data.Text(s.api) || name == p_.data.Text(s.copy_api);
    out.texts["op.place"] = p_.Place(is_call ? "Host code" : name, module, stage);
    out.texts["op.api"] = std::string(p_.data.Text(s.api));
    out.texts["op.copy_api"] = std::string(p_.data.Text(s.copy_api));
    out.texts["op.caller"] = p_.PythonAround(s.node);
    auto& n = out.numbers;
    const auto wall = p_.timeline.wall_ns();
    n["op.calls"] = static_cast<double>(s.calls);
    n["op.host_ms"] = Ms(s.host_ns);
    n["op.sync_calls"] = static_cast<double>(s.syncs);
    n["op.sync_blocked_ms"] = Ms(s.blocked_ns);
    n["op.sync_idle_ms"] = Ms(s.idle_ns);
    if (s.fetched > 0) n["op.sync_bytes"] = Ratio(s.fetched_bytes, s.fetched);
    if (!p_.steps.empty()) {
      const auto steps = static_cast<int64_t>(p_.steps.size());
      n["op.sync_steps_share"] =
          std::min(1.0, Ratio(s.steps_hit, steps));  // several threads may share a step
      n["op.sync_per_step"] = Ratio(s.syncs_in_steps, steps);
    }
    n["op.to_device_per_step"] =
        p_.steps.empty() ? 0 : Ratio(s.to_device, static_cast<int64_t>(p_.steps.size()));
    n["op.pageable_copies"] = static_cast<double>(s.pageable);
    n["op.pageable_ms"] = Ms(s.pageable_ns);
    n["op.pageable_blocked_ms"] = Ms(s.pageable_api_ns);
    if (wall > 0) n["op.pageable_share"] = Ratio(s.pageable_ns, wall);
    if (s.pageable > 0) n["op.pageable_bytes"] = Ratio(s.pageable_bytes, s.pageable);
    n["op.alloc_calls"] = static_cast<double>(s.allocs);
    n["op.alloc_ms"] = Ms(s.alloc_ns);
    out.targets["sync"].nodes = s.sync_nodes;
    out.targets["copies"].nodes = s.copy_nodes;
    out.targets["alloc"].nodes = s.alloc_nodes;
    if (s.longest_api_row != kNone)
      out.rows.push_back({"api_call", s.longest_api_row, out.texts["op.api"] + ", longest call",
                          Ms(s.longest_api_ns), "ms"});
    if (s.longest_copy != kNone)
      out.rows.push_back({"memcpy", s.longest_copy, "longest pageable copy", Ms(s.longest_copy_ns), "ms"});
    return out;
  }

  const Program& p_;
  const HostTree& h_;
  std::map<Key, CallerSite> sites_;
  std::vector<uint32_t> to_device_nodes_;  // operators or calls that copy to the device, pinned or not
  const ColdCalls cold_;
  int64_t steady_from_ns_ = 0, alloc_calls_ = 0, alloc_ns_ = 0;
};

// ---- operators by name, inputs, module and stage ----
struct CallSite {
  uint32_t leaf = kNone;  // the longest call
  int64_t calls = 0, device_ns = 0, host_ns = 0, longest_ns = -1;
  CounterSum counters;  // of its kernels that were measured
};

struct SiteKey {
  uint32_t name, dims, types, module, stage;
  bool operator==(const SiteKey&) const = default;
};
struct SiteHash {
  size_t operator()(const SiteKey& k) const {
    uint64_t h = k.name;
    for (const uint32_t part : {k.dims, k.types, k.module, k.stage})
      h = (h ^ part) * 0x9e3779b97f4a7c15ull + (h >> 29);
    return h ^ (h >> 32);
  }
};

std::string ShortText(std::string_view text) { return std::string(text.substr(0, 120)); }

void AddSiteCounters(const CounterSum& sum, std::map<std::string, double, std::less<>>& numbers) {
  static constexpr std::pair<const char*, Counter> kFeatures[] = {
      {"features.occ", Counter::kAchievedOccupancy},
      {"features.warp_eff", Counter::kWarpExecutionEfficiency},
      {"features.l2_hit", Counter::kL2HitRate},
      {"features.dram_norm", Counter::kDramThroughput}};
  for (const auto& [name, counter] : kFeatures) {
    if (const auto mean = sum.Mean(counter)) numbers[name] = *mean;
  }
  const auto flops = sum.Sum(Counter::kFlops), bytes = sum.Sum(Counter::kDramBytes);
  if (flops && bytes && *bytes > 0) numbers["features.ai"] = *flops / *bytes;
}

FeatureSubject CallSiteSubject(const Program& p, const CallSite& s) {
  const TimelineFacts& t = p.timeline;
  const LeafOp& leaf = p.leaves[s.leaf];
  const uint32_t row = t.host.row[leaf.node];
  const uint32_t module = p.ModuleOf(leaf), stage = p.stage_of[leaf.node];
  FeatureSubject out;
  out.texts["op.name"] = std::string(p.OpName(leaf).substr(0, 200));
  out.texts["op.module"] = p.modules.Text(module);
  out.texts["op.stage"] = p.stages.Text(stage);
  out.texts["op.place"] = p.Place(p.OpName(leaf), module, stage);
  out.texts["op.caller"] = p.PythonAround(leaf.node);
  if (row < p.data.op.input_dims.size())
    out.texts["op.shapes"] = ShortText(p.data.Text(p.data.op.input_dims[row]));
  if (row < p.data.op.input_types.size())
    out.texts["op.dtypes"] = ShortText(p.data.Text(p.data.op.input_types[row]));
  const bool kernel = t.work.kind[leaf.work] == WorkKind::kKernel;
  out.texts["op.kernel"] = kernel ? t.KernelNameOf(t.work.name[leaf.work]).short_name
                                  : std::string(p.data.Text(t.work.name[leaf.work]));
  auto& n = out.numbers;
  n["op.calls"] = static_cast<double>(s.calls);
  n["op.device_ms"] = Ms(s.device_ns);
  n["op.host_ms"] = Ms(s.host_ns);
  if (p.device_ns > 0) n["op.share"] = n["features.lat_norm"] = Ratio(s.device_ns, p.device_ns);
  AddSiteCounters(s.counters, n);
  n["op.is_gemm"] = leaf.family == KernelFamily::kGemm;
  const OpInputs& inputs = p.InputsOf(row);
  if (!inputs.types.empty()) n["op.is_fp32"] = inputs.types[0] == ElementType::kFp32;
  out.rows.push_back({"op", row, "longest call", Ms(leaf.device_ns), "ms"});
  return out;
}

void AddCallSites(const Program& p, Features& out) {
  std::unordered_map<SiteKey, CallSite, SiteHash> sites;
  const HostTree& h = p.timeline.host;
  const auto text_of = [](const ColumnView<StringId>& column, uint32_t row) {
    return row < column.size() ? static_cast<uint32_t>(column[row]) : kNone;
  };
  std::vector<int64_t> device;
  device.reserve(p.leaves.size());
  std::vector<CallSite*> site_of_node(p.counters.empty() ? 0 : h.size(), nullptr);
  for (uint32_t i = 0; i < p.leaves.size(); ++i) {
    const LeafOp& leaf = p.leaves[i];
    const uint32_t row = h.row[leaf.node];
    device.push_back(leaf.device_ns);
    CallSite& site = sites[{static_cast<uint32_t>(h.name[leaf.node]), text_of(p.data.op.input_dims, row),
                            text_of(p.data.op.input_types, row), p.ModuleOf(leaf), p.stage_of[leaf.node]}];
    ++site.calls;
    if (!site_of_node.empty()) site_of_node[leaf.node] = &site;  // sites stay where they are
    site.device_ns += leaf.device_ns;
    site.host_ns += h.end_ns[leaf.node] - h.start_ns[leaf.node];
    if (leaf.device_ns > site.longest_ns) {
      site.longest_ns = leaf.device_ns;
      site.leaf = i;
    }
  }
  const DeviceWork& w = p.timeline.work;
  for (size_t i = 0; i < w.size() && !site_of_node.empty(); ++i) {
    if (w.kind[i] != WorkKind::kKernel || w.op[i] == kNone || site_of_node[w.op[i]] == nullptr) continue;
    if (const CounterValues* values = p.counters.Of(w.row[i]))
      site_of_node[w.op[i]]->counters.Add(*values, w.end_ns[i] - w.start_ns[i]);
  }
  std::vector<const CallSite*> order;
  for (const auto& [key, site] : sites) order.push_back(&site);
  std::sort(order.begin(), order.end(), [](const CallSite* a, const CallSite* b) {
    return std::tie(b->device_ns, a->leaf) < std::tie(a->device_ns, b->leaf);
  });
  if (order.size() > kMostCallSites) order.resize(kMostCallSites);
  for (const CallSite* site : order) out.ops.push_back(CallSiteSubject(p, *site));
  if (device.empty()) return;
  out.run.numbers["run.ops"] = static_cast<double>(device.size());
  out.run.numbers["run.op_median_ms"] = Ms(UpperMedian(device));
  // Of what computes: nothing is gained by more work for one collective.
  const auto computes = std::find_if(order.begin(), order.end(), [&](const CallSite* site) {
    const uint32_t work = p.leaves[site->leaf].work;
    return w.kind[work] != WorkKind::kKernel ||
           p.timeline.KernelNameOf(w.name[work]).family != KernelFamily::kCommunication;
  });
  const CallSite* top = computes == order.end() ? order[0] : *computes;
  out.run.texts["run.top_op"] = std::string(p.OpName(p.leaves[top->leaf]));
}

}  // namespace

void AddSites(const Program& program, Features& out) {
  CallerSites callers(program);
  callers.Collect();
  callers.Write(out);
  AddCallSites(program, out);
}

}  // namespace nl::features
