// SPDX-License-Identifier: Apache-2.0
#include "analyze/passes/startup/host_parts.h"

#include <algorithm>

#include "base/has_any.h"

namespace nl::passes::startup {

namespace {

bool MakesGraph(std::string_view name) {
  return HasAny(name, {"GraphInstantiate", "BeginCapture", "EndCapture", "GraphUpload", "GraphExecUpdate"});
}

bool LoadsCode(std::string_view name) {
  return HasAny(name,
                {"ModuleLoad", "LibraryLoad", "LibraryGet", "ModuleGet", "GetFuncBySymbol", "LinkComplete",
                 "LinkAdd", "LinkCreate", "FuncGetAttributes", "FuncSetAttribute", "KernelGetFunction"});
}

bool MakesContext(std::string_view name) {
  return name == "cuInit" ||
         HasAny(name, {"PrimaryCtx", "CtxCreate", "InitDevice", "SetDevice", "GetDeviceCount",
                       "GetDeviceProperties", "cuDeviceGet", "cudaDeviceGet", "hipDeviceGet"});
}

bool Allocates(ApiKind kind, std::string_view name) {
  return IsAlloc(kind) || kind == ApiKind::kPoolAlloc ||
         HasAny(name, {"HostAlloc", "MallocHost", "HostRegister", "FreeHost", "MemPool", "MemAddressReserve",
                       "MemCreate", "MemMap"});
}

}  // namespace

HostParts::HostParts(const RunData& data, const TimelineFacts& timeline, const MainThread& main,
                     int64_t until_ns)
    : data_(data), t_(timeline), kinds_(data.strings), paused_(data.Pauses()), activities_(*data.strings) {
  for (const TimelineFacts::HostThread& each : t_.threads) {
    if (each.thread != main.thread) continue;
    const auto begin = t_.host.start_ns.begin();
    const auto last = std::lower_bound(begin + each.first, begin + each.last, until_ns);
    segments_ = CutThread(t_.host, each.first, static_cast<uint32_t>(last - begin));
    cold_.emplace(*data.strings, t_);
    auto captures = GraphCaptures(*data.strings, t_.host);
    std::erase_if(captures[main.thread], [](const Interval& c) { return c.end_ns == INT64_MAX; });
    captures_ = IntervalCover(std::move(captures[main.thread]));
    TakeCopies(until_ns);
  }
  TakeSamples(main.thread, INT64_MAX);
  if (main.first != main.thread && !samples_.empty()) {
    const auto first =
        std::min_element(samples_.begin(), samples_.end(),
                         [](const Sample& a, const Sample& b) { return a.start_ns < b.start_ns; });
    TakeSamples(main.first, first->start_ns);
  }
  std::stable_sort(samples_.begin(), samples_.end(),
                   [](const Sample& a, const Sample& b) { return a.start_ns < b.start_ns; });
  for (size_t i = 0; i + 1 < samples_.size(); ++i)
    samples_[i].end_ns = std::min(samples_[i].end_ns, samples_[i + 1].start_ns);
}

// Those that begin before `until_ns`.
void HostParts::TakeSamples(ThreadId thread, int64_t until_ns) {
  if (IsNull(thread)) return;
  const CpuSampleView& samples = data_.cpu_sample;
  for (size_t i = 0; i < samples.stack.size(); ++i) {
    if (samples.thread_id[i] != thread || IsNull(samples.start_ns[i]) || IsNull(samples.stack[i]) ||
        IsNull(samples.weight_ns[i]) || samples.weight_ns[i] <= 0 || samples.start_ns[i] >= until_ns)
      continue;
    int64_t end_ns = 0;
    if (samples.weight_ns[i] > INT64_MAX / 2 ||
        __builtin_add_overflow(samples.start_ns[i], 2 * samples.weight_ns[i], &end_ns))
      continue;
    samples_.push_back({samples.start_ns[i], end_ns, samples.stack[i]});
  }
}

void HostParts::TakeCopies(int64_t until_ns) {
  for (size_t i = 0; i < t_.work.size() && t_.work.start_ns[i] < until_ns; ++i) {
    if (t_.work.kind[i] == WorkKind::kMemcpy && t_.work.launch[i] != kNone)
      copied_.emplace(t_.work.launch[i], t_.work.name[i]);
  }
}

void HostParts::SetWarmupWork(const std::vector<uint32_t>& work) {
  std::vector<Interval> busy;
  for (const uint32_t i : work) {
    busy.push_back({t_.work.start_ns[i], t_.work.end_ns[i]});
    if (t_.work.launch[i] != kNone) warmup_launches_.insert(t_.work.launch[i]);
  }
  warmup_work_ = IntervalCover(std::move(busy));
}

StartupKind HostParts::KindOfCall(uint32_t node) {
  const std::string_view name = data_.Text(t_.host.name[node]);
  const ApiKind kind = kinds_.Of(t_.host.name[node]);
  const bool cold = cold_->Is(node);
  if (MakesGraph(name)) return StartupKind::kGraphCapture;
  if (LoadsCode(name)) return StartupKind::kModule;
  if (MakesContext(name)) return StartupKind::kContext;
  if (IsLaunch(kind)) return cold ? StartupKind::kModule : StartupKind::kLaunch;
  if (cold) return StartupKind::kContext;  // a call that takes long for no reason of its own
  if (kind == ApiKind::kSync) return StartupKind::kDeviceWait;
  if (IsCopy(kind)) return StartupKind::kCopy;
  return Allocates(kind, name) ? StartupKind::kAllocation : StartupKind::kCall;
}

// A runtime call may contain driver calls: the innermost of a known kind counts.
HostParts::Owner HostParts::OwnerOf(uint32_t node) {
  if (node == kNone) return {};
  const HostTree& h = t_.host;
  if (h.kind[node] == HostKind::kApi) {
    Owner out{StartupKind::kCall, h.name[node], true};
    for (uint32_t at = node; at != kNone && h.kind[at] == HostKind::kApi; at = h.parent[at]) {
      if (IsNull(h.name[at])) continue;
      if (warmup_launches_.contains(at)) return {StartupKind::kWarmupKernels, h.name[at], true};
      out = {KindOfCall(at), h.name[at], true};
      if (const auto copy = copied_.find(at); copy != copied_.end() && out.kind == StartupKind::kCopy)
        out.name = copy->second;
      if (out.kind != StartupKind::kCall) break;
    }
    return out;
  }
  Owner out{h.kind[node] == HostKind::kPython ? StartupKind::kPython : StartupKind::kRange, h.name[node]};
  for (uint32_t at = node; at != kNone; at = h.parent[at]) {
    if (h.kind[at] == HostKind::kOp) out = {StartupKind::kOperator, h.name[at]};
  }
  return out;
}

void HostParts::AddNamed(StartupKind kind, StringId name, int64_t ns) {
  by_name_[uint64_t{static_cast<uint8_t>(kind)} << 32 | static_cast<uint32_t>(name)] += ns;
}

void HostParts::AddOwned(const Owner& owner, int64_t from_ns, int64_t to_ns) {
  int64_t ns = to_ns - from_ns;
  if (owner.kind == StartupKind::kDeviceWait) {
    const int64_t warmup_ns = warmup_work_.CoveredNs(from_ns, to_ns);
    if (warmup_ns > 0) AddNamed(StartupKind::kWarmupKernels, owner.name, warmup_ns);
    ns -= warmup_ns;
  } else if (owner.kind == StartupKind::kUnknown) {
    const int64_t paused_ns = paused_.CoveredNs(from_ns, to_ns);
    if (paused_ns > 0) AddNamed(StartupKind::kPaused, StringId::kNull, paused_ns);
    ns -= paused_ns;
  }
  if (ns > 0) AddNamed(owner.kind, owner.name, ns);
}

void HostParts::AddPiece(const Owner& owner, int64_t from_ns, int64_t to_ns) {
  if (owner.call) return AddOwned(owner, from_ns, to_ns);
  while (next_sample_ < samples_.size() && samples_[next_sample_].end_ns <= from_ns) ++next_sample_;
  for (size_t i = next_sample_; i < samples_.size() && samples_[i].start_ns < to_ns; ++i) {
    const Sample& sample = samples_[i];
    const int64_t start_ns = std::max(from_ns, sample.start_ns), end_ns = std::min(to_ns, sample.end_ns);
    if (end_ns <= start_ns) continue;
    if (start_ns > from_ns) AddOwned(owner, from_ns, start_ns);
    if (owner.kind == StartupKind::kOperator && !activities_.Of(sample.stack).beats_operator()) {
      by_operator_[uint64_t{static_cast<uint32_t>(owner.name)} << 32 | static_cast<uint32_t>(sample.stack)] +=
          end_ns - start_ns;
    } else {
      by_stack_[static_cast<uint32_t>(sample.stack)] += end_ns - start_ns;
    }
    from_ns = end_ns;
  }
  if (from_ns < to_ns) AddOwned(owner, from_ns, to_ns);
}

PartTree HostParts::TakeTree() {
  PartTree tree;
  for (const auto& [key, ns] : by_name_) {
    const auto name = static_cast<StringId>(static_cast<uint32_t>(key));
    tree.Add(static_cast<StartupKind>(key >> 32), IsNull(name) ? "" : WithoutApiVersion(data_.Text(name)), "",
             ns);
  }
  for (const auto& [key, ns] : by_operator_) {
    const auto name = static_cast<StringId>(static_cast<uint32_t>(key >> 32));
    const Activity& activity = activities_.Of(static_cast<StringId>(static_cast<uint32_t>(key)));
    tree.Add(StartupKind::kOperator, IsNull(name) ? "" : data_.Text(name), activity.library, ns);
  }
  for (const auto& [stack, ns] : by_stack_) {
    const Activity& activity = activities_.Of(static_cast<StringId>(stack));
    tree.Add(activity.kind, activity.names[0], activity.names[1], ns);
  }
  by_name_.clear();
  by_operator_.clear();
  by_stack_.clear();
  return tree;
}

PartTree HostParts::Divide(int64_t from_ns, int64_t to_ns) {
  next_sample_ =
      static_cast<size_t>(std::partition_point(samples_.begin(), samples_.end(),
                                               [from_ns](const Sample& s) { return s.start_ns < from_ns; }) -
                          samples_.begin());
  if (next_sample_ > 0) --next_sample_;
  int64_t at_ns = from_ns;
  segments_.Visit(from_ns, to_ns, [&](uint32_t node, int64_t ns) {
    Owner owner = OwnerOf(node);
    if (captures_.NextNs(at_ns) == at_ns) owner = {StartupKind::kGraphCapture, owner.name, true};
    AddPiece(owner, at_ns, at_ns + ns);
    at_ns += ns;
  });
  return TakeTree();
}

}  // namespace nl::passes::startup
