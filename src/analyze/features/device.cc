// SPDX-License-Identifier: Apache-2.0
// The device's side of the run: busy and idle time and what idle waited for, launches,
// copies, collectives, and steps that repeat one kernel sequence.
#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "analyze/copies.h"
#include "analyze/features/parts.h"
#include "base/has_any.h"
#include "base/human.h"
#include "base/median.h"

namespace nl::features {

namespace {

// "3.1 ms of copies and 2.0 ms of communication", without parts of 0.
std::string PartsText(const std::vector<std::pair<double, const char*>>& parts) {
  std::vector<std::string> said;
  for (const auto& [ms, what] : parts) {
    if (ms > 0) said.push_back(fmt::format("{} {}", HumanMs(ms), what));
  }
  std::string out;
  for (size_t i = 0; i < said.size(); ++i)
    out += (i == 0 ? "" : i + 1 == said.size() ? " and " : ", ") + said[i];
  return out;
}

class DeviceSide {
 public:
  DeviceSide(const Program& p, const IdleFacts& idle, Features& out)
      : p_(p), idle_(idle), w_(p.timeline.work), h_(p.timeline.host), out_(out) {}

  void Run() {
    auto& n = out_.run.numbers;
    // What the device did while recording paused is not known: shares are those of the time recorded.
    const int64_t paused = PausedNs(), wall = p_.timeline.wall_ns() - paused;
    n["run.wall_ms"] = Ms(p_.timeline.wall_ns());
    n["run.paused_ms"] = Ms(paused);
    Host();
    if (w_.size() == 0) return;
    Launches();
    if (!p_.steps.empty()) Repeats();
    Idle();
    const auto devices = static_cast<int64_t>(p_.timeline.devices.size());
    n["run.device_busy_ms"] = Ms(busy_ns_ / devices);
    n["run.device_idle_ms"] = Ms(wall - busy_ns_ / devices);
    n["run.communication_ms"] = Ms(communication_ns_ / devices);
    n["run.communication_exposed_ms"] = Ms(communication_exposed_ns_ / devices);
    n["run.copies_exposed_ms"] = Ms(copies_exposed_ns_ / devices);
    n["run.idle_host_ms"] = Ms(host_ns_ / devices);
    n["run.idle_launch_ms"] = Ms(launch_ns_ / devices);
    n["run.idle_sync_ms"] = Ms(sync_ns_ / devices);
    n["run.idle_other_ms"] = Ms(other_ns_ / devices);
    out_.run.texts["run.idle_parts"] = PartsText({{Ms(host_ns_ / devices), "waiting for the host to launch"},
                                                  {Ms(launch_ns_ / devices), "in launches"},
                                                  {Ms(sync_ns_ / devices), "while the host was blocked"},
                                                  {Ms(other_ns_ / devices), "with no recorded cause"}});
    out_.run.texts["run.exposed_parts"] =
        PartsText({{Ms(copies_exposed_ns_ / devices), "of copies"},
                   {Ms(communication_exposed_ns_ / devices), "of communication"}});
    n["run.idle_startup_ms"] = Ms(idle_.total.startup_ns / devices);
    n["run.idle_edge_ms"] = Ms(idle_.total.edge_ns / devices);
    AddLongCauses(devices);
    if (!modal_.empty()) n["run.repeat_idle_ms"] = Ms(repeat_idle_ns_ / devices);
    // A gap that ends in a step may have begun before it.
    if (repeat_ns_ > 0)
      n["run.repeat_idle_share"] = std::min(1.0, Ratio(repeat_idle_ns_ / devices, repeat_ns_));
    if (wall > 0) {
      n["run.gpu_utilization"] = Ratio(busy_ns_ / devices, wall);
      n["run.steady_utilization"] = n["run.gpu_utilization"];
      n["run.communication_share"] = Ratio(communication_ns_ / devices, wall);
      n["run.idle_host_share"] = Ratio(host_ns_ / devices, wall);
      n["run.idle_sync_share"] = Ratio(sync_ns_ / devices, wall);
      n["run.startup_share"] = Ratio(idle_.total.startup_ns / devices, wall);
      n["run.edge_share"] = Ratio(idle_.total.edge_ns / devices, wall);
      n["run.queued_share"] = n["run.idle_queued_ms"] / Ms(wall);
      if (linked_) n["run.launch_share"] = Ratio(launch_ns_ / devices, wall);
    }
    Copies(wall);
    SerialStreams();
    Families();
  }

 private:
  // Of a device: what ran on into a pause is known.
  int64_t PausedNs() const {
    if (!idle_.devices.empty()) return idle_.total.paused_ns / static_cast<int64_t>(idle_.devices.size());
    const Interval wall{p_.timeline.first_start_ns, p_.timeline.last_end_ns};
    return LengthNs(Clipped(p_.data.Pauses(), wall));
  }

  void Host() {
    int64_t syncs = 0, in_steps = 0, sync_ns = 0, launches = 0, launch_ns = 0;
    for (uint32_t i = 0; i < h_.size(); ++i) {
      if (h_.kind[i] != HostKind::kApi) continue;
      const int64_t ns = h_.end_ns[i] - h_.start_ns[i];
      const ApiKind kind = p_.KindOf(h_.name[i]);
      if (kind == ApiKind::kSync || kind == ApiKind::kBlockingCopy) {
        ++syncs;
        sync_ns += ns;
        in_steps += p_.StepAt(h_.start_ns[i]) != kNone;
      }
      // A driver call inside of a runtime call is the same wait.
      const bool inside = !blocking_.empty() && h_.thread[blocking_.back()] == h_.thread[i] &&
                          h_.end_ns[i] <= h_.end_ns[blocking_.back()];
      if (!inside && (kind == ApiKind::kSync || IsCopy(kind))) blocking_.push_back(i);
      if (IsLaunch(kind)) {
        ++launches;
        launch_ns += ns;
      }
    }
    auto& n = out_.run.numbers;
    if (p_.data.api_call.start_ns.empty()) return;
    if (launches > 0 && p_.timeline.wall_ns() > 0)
      n["run.host_busy_share"] = Ratio(LaunchingThreadBusyNs(), p_.timeline.wall_ns());
    n["run.sync_calls"] = static_cast<double>(syncs);
    n["run.sync_ms"] = Ms(sync_ns);
    n["run.launches"] = static_cast<double>(launches);
    n["run.launch_api_ms"] = Ms(launch_ns);
    n["run.sync_calls_per_step"] = 0;
    if (p_.steps.empty()) return;
    const auto steps = static_cast<int64_t>(p_.steps.size());
    n["run.steps"] = static_cast<double>(steps);
    n["run.sync_calls_per_step"] = Ratio(in_steps, steps);
    std::vector<int64_t> lengths;
    for (const Step& step : p_.steps) lengths.push_back(step.end_ns - step.start_ns);
    n["run.step_ms"] = Ms(UpperMedian(lengths));
  }

  // The thread with the most launches: time inside of anything recorded, less what it was blocked.
  int64_t LaunchingThreadBusyNs() const {
    std::pair<int64_t, const TimelineFacts::HostThread*> most{0, nullptr};
    for (const TimelineFacts::HostThread& thread : p_.timeline.threads) {
      int64_t launches = 0;
      for (uint32_t i = thread.first; i < thread.last; ++i)
        launches += h_.kind[i] == HostKind::kApi && IsLaunch(p_.KindOf(h_.name[i]));
      if (launches > most.first) most = {launches, &thread};
    }
    if (most.second == nullptr) return 0;
    int64_t busy = 0, until = INT64_MIN;
    for (uint32_t i = most.second->first; i < most.second->last; ++i) {
      if (h_.kind[i] == HostKind::kRange || h_.end_ns[i] <= until) continue;
      busy += h_.end_ns[i] - std::max(until, h_.start_ns[i]);
      until = h_.end_ns[i];
    }
    return busy - BlockedNs(most.second->thread, p_.timeline.first_start_ns, p_.timeline.last_end_ns);
  }

  // Kernels against their launch calls, in stream order.
  void Launches() {
    std::vector<int64_t> stream_end(p_.timeline.streams.size(), INT64_MIN);
    int64_t kernels = 0, kernel_ns = 0, launched = 0, shorter = 0, excess_ns = 0, empty = 0, graphed = 0;
    for (uint32_t i = 0; i < w_.size(); ++i) {
      const int64_t ns = w_.end_ns[i] - w_.start_ns[i];
      int64_t& end = stream_end[w_.stream[i]];
      if (w_.kind[i] == WorkKind::kKernel) {
        ++kernels;
        kernel_ns += ns;
        const uint32_t launch = w_.launch[i];
        const bool graph = launch != kNone && launch == last_launch_;
        graphed += launch != kNone && p_.KindOf(h_.name[launch]) == ApiKind::kGraphLaunch;
        if (launch != kNone && !graph) {
          ++launched;
          const int64_t api_ns = h_.end_ns[launch] - h_.start_ns[launch];
          shorter += ns < api_ns;
          excess_ns += std::max<int64_t>(0, api_ns - ns);
          empty += end <= h_.start_ns[launch];
        }
        last_launch_ = launch;
      }
      end = std::max(end, w_.end_ns[i]);
    }
    linked_ = launched > 0;
    auto& n = out_.run.numbers;
    n["run.kernels"] = static_cast<double>(kernels);
    n["run.kernel_ms"] = Ms(kernel_ns);
    if (launched == 0) return;
    n["run.graph_share"] = kernels > 0 ? Ratio(graphed, kernels) : 0;
    n["run.short_kernel_share"] = Ratio(shorter, launched);
    n["run.short_kernel_excess_ms"] = Ms(excess_ns);
    n["run.empty_queue_share"] = Ratio(empty, launched);
  }

  // Start-up by its longest call, and gaps in which work was queued and nothing recorded ran. A queue of
  // less than a millisecond is the device's own latency.
  void AddLongCauses(int64_t devices) {
    constexpr int64_t kQueuedGapNs = 1'000'000;
    int64_t queued_ns = 0, cold_gaps = 0;
    std::set<uint32_t> steps;
    for (const IdleFacts::Gap& gap : idle_.gaps) {
      if (gap.cause != IdleCause::kQueued || gap.parts.other_ns <= kQueuedGapNs) continue;
      queued_ns += gap.parts.other_ns;
      if (const uint32_t step = p_.StepAt(gap.start_ns); step != kNone) steps.insert(step);
    }
    out_.run.numbers["run.queued_steps_share"] =
        p_.steps.size() < 3
            ? 0
            : Ratio(static_cast<int64_t>(steps.size()), static_cast<int64_t>(p_.steps.size()));
    for (const IdleFacts::Cause& cause : idle_.causes) {
      if (cause.what != IdleCause::kStartup) continue;
      if (cold_gaps == 0 && !IsNull(cause.name)) {
        out_.run.texts["run.startup_call"] = std::string(p_.data.Text(cause.name));
        out_.run.numbers["run.startup_call_ms"] = Ms(cause.ns / devices);
      }
      cold_gaps += cause.gaps;
    }
    AddIdleCause(devices);
    out_.run.numbers["run.startup_gaps"] = static_cast<double>(cold_gaps);
    out_.run.numbers["run.idle_queued_ms"] = Ms(queued_ns / devices);
  }

  // What the launching thread did while the device waited longest, other than launching.
  void AddIdleCause(int64_t devices) {
    out_.run.numbers["run.idle_cause_compiles"] = 0;
    for (const IdleFacts::Cause& cause : idle_.causes) {  // longest first
      const char* what = cause.what == IdleCause::kApi       ? "call"
                         : cause.what == IdleCause::kOp      ? "operator"
                         : cause.what == IdleCause::kPython  ? "Python function"
                         : cause.what == IdleCause::kRange   ? "range"
                         : cause.what == IdleCause::kSampled ? "function"
                         : cause.what == IdleCause::kSync    ? "call"
                                                             : nullptr;
      if (what == nullptr || IsNull(cause.name)) continue;
      const std::string_view name = p_.data.Text(cause.name);
      out_.run.texts["run.idle_cause"] = fmt::format("{} {}", what, name.substr(0, 200));
      out_.run.numbers["run.idle_cause_ms"] = Ms(cause.ns / devices);
      out_.run.numbers["run.idle_cause_compiles"] =
          HasAny(name, {"compile", "Compile", "Nvrtc", "NVRTC", "nvrtc", "ptxas", "hiprtc", "cuModuleLoad"});
      return;
    }
  }

  void Idle() {
    // Time inside calls that wait for the device is sync for the rules, whether there was something to wait
    // for or not.
    host_ns_ = idle_.total.host_ns - idle_.blocked_ns;
    sync_ns_ = idle_.total.sync_ns + idle_.blocked_ns;
    launch_ns_ = idle_.total.launch_ns;
    other_ns_ = idle_.total.other_ns;
    for (const IdleFacts::Gap& gap : idle_.gaps) {
      const uint32_t launch = gap.next == kNone ? kNone : w_.launch[gap.next];
      const uint32_t step = launch == kNone ? kNone : p_.StepAt(h_.start_ns[launch]);
      if (step != kNone && step < modal_.size() && modal_[step])
        repeat_idle_ns_ += gap.parts.host_ns - gap.blocked_ns + gap.parts.launch_ns;
    }
    struct Lane {
      std::vector<Interval> compute, communication, copies;
    };
    std::vector<Lane> lanes(p_.timeline.devices.size());
    for (uint32_t i = 0; i < w_.size(); ++i) {
      Lane& lane = lanes[w_.device[i]];
      const Interval span{w_.start_ns[i], w_.end_ns[i]};
      (w_.kind[i] == WorkKind::kMemcpy           ? lane.copies
       : w_.work[i] == WorkClass::kCommunication ? lane.communication
                                                 : lane.compute)
          .push_back(span);
    }
    for (Lane& lane : lanes) {
      for (auto* list : {&lane.compute, &lane.communication, &lane.copies}) MergeIntervals(*list);
      communication_ns_ += LengthNs(lane.communication);
      communication_exposed_ns_ += LengthNs(Outside(lane.communication, lane.compute));
      std::vector<Interval> all = std::move(lane.compute);
      all.insert(all.end(), lane.communication.begin(), lane.communication.end());
      MergeIntervals(all);
      copies_exposed_ns_ += LengthNs(Outside(lane.copies, all));
      all.insert(all.end(), lane.copies.begin(), lane.copies.end());
      MergeIntervals(all);
      busy_ns_ += LengthNs(all);
    }
  }

  // Time the thread spent in blocking calls within [from, to). The calls are in order of (thread, start).
  int64_t BlockedNs(ThreadId thread, int64_t from, int64_t to) const {
    if (to <= from) return 0;
    const auto before = [&](uint32_t node, int64_t time) {
      return h_.thread[node] != thread ? h_.thread[node] < thread : h_.end_ns[node] <= time;
    };
    auto it = std::lower_bound(blocking_.begin(), blocking_.end(), from, before);
    int64_t sum = 0;
    for (; it != blocking_.end() && h_.thread[*it] == thread && h_.start_ns[*it] < to; ++it) {
      sum += std::max<int64_t>(0, std::min(to, h_.end_ns[*it]) - std::max(from, h_.start_ns[*it]));
      from = std::max(from, h_.end_ns[*it]);
    }
    return sum;
  }

  void Copies(int64_t wall) {
    int64_t all = 0, pageable = 0, pageable_ns = 0, to_device_bytes = 0;
    std::map<std::string_view, int64_t> by_kind;
    const MemcpyView& m = p_.data.memcpy;
    // Of the timeline, which may be that of a part of the run; the table has all.
    for (size_t i = 0; i < w_.size(); ++i) {
      if (w_.kind[i] != WorkKind::kMemcpy) continue;
      const uint32_t row = w_.row[i];
      const int64_t ns = w_.end_ns[i] - w_.start_ns[i];
      all += ns;
      const std::string_view kind = p_.data.Text(m.kind[row]);
      by_kind[kind] += ns;
      if (kind == "HtoD" && !IsNull(m.bytes[row])) to_device_bytes += m.bytes[row];
      if (IsPageableCopy(p_.data, row)) {
        ++pageable;
        pageable_ns += ns;
      }
    }
    auto& n = out_.run.numbers;
    n["run.copies_ms"] = Ms(all);
    if (wall > 0) n["run.copies_share"] = Ratio(all, wall);
    n["run.h2d_ms"] = Ms(by_kind["HtoD"]);
    if (to_device_bytes > 0 && by_kind["HtoD"] > 0)
      n["run.h2d_gb_per_s"] = Ratio(to_device_bytes, by_kind["HtoD"]);
    n["run.d2h_ms"] = Ms(by_kind["DtoH"]);
    n["run.d2d_ms"] = Ms(by_kind["DtoD"]);
    n["run.pageable_copies"] = static_cast<double>(pageable);
    n["run.pageable_ms"] = Ms(pageable_ns);
  }

  // Kernels of several streams that ran one after the other although they would fit beside each other.
  void SerialStreams() {
    std::map<uint32_t, int64_t> ns_of;
    int64_t all_ns = 0, apart_ns = 0, until_ns = INT64_MIN;
    double filled_ns = 0;
    const int64_t sms = p_.data.device.sm_count.empty() || IsNull(p_.data.device.sm_count[0])
                            ? 0
                            : p_.data.device.sm_count[0];
    if (sms <= 0 || p_.timeline.devices.size() != 1) return;
    out_.run.numbers["run.sms"] = static_cast<double>(sms);
    const KernelView& k = p_.data.kernel;
    for (size_t i = 0; i < w_.size(); ++i) {  // by start
      if (w_.kind[i] != WorkKind::kKernel) continue;
      if (w_.work[i] == WorkClass::kCommunication) return;  // its order is that of the data
      const uint32_t row = w_.row[i];
      const int64_t ns = w_.end_ns[i] - w_.start_ns[i];
      const bool known = row < k.grid_x.size() && !IsNull(k.grid_x[row]);
      const double blocks = known ? static_cast<double>(k.grid_x[row]) * k.grid_y[row] * k.grid_z[row] : 0;
      filled_ns += static_cast<double>(ns) * (known ? std::min(1.0, blocks / static_cast<double>(sms)) : 1);
      all_ns += ns;
      apart_ns += std::max<int64_t>(0, w_.end_ns[i] - std::max(w_.start_ns[i], until_ns));
      until_ns = std::max(until_ns, w_.end_ns[i]);
      ns_of[w_.stream[i]] += ns;
    }
    constexpr double kApart = 0.95;
    if (static_cast<double>(apart_ns) < kApart * static_cast<double>(all_ns)) return;
    const auto busy = std::count_if(ns_of.begin(), ns_of.end(),
                                    [all_ns](const auto& stream) { return 10 * stream.second >= all_ns; });
    out_.run.numbers["run.serial_streams"] = static_cast<double>(busy);
    if (all_ns > 0) out_.run.numbers["run.serial_fill"] = filled_ns / static_cast<double>(all_ns);
    out_.run.numbers["run.serial_ms"] = Ms(all_ns);
  }

  void Families() {
    using F = KernelFamily;
    int64_t compute = 0, memory = 0;
    for (size_t i = 0; i < w_.size(); ++i) {
      if (w_.kind[i] != WorkKind::kKernel) continue;
      const F family = p_.timeline.KernelNameOf(w_.name[i]).family;
      const int64_t ns = w_.end_ns[i] - w_.start_ns[i];
      if (family == F::kGemm || family == F::kConv || family == F::kAttention) {
        compute += ns;
      } else if (family == F::kElementwise || family == F::kCopy || family == F::kNorm ||
                 family == F::kReduction || family == F::kSoftmax || family == F::kIndex ||
                 family == F::kEmbedding) {
        memory += ns;
      }
    }
    if (p_.device_ns <= 0) return;
    out_.run.numbers["run.compute_family_share"] = Ratio(compute, p_.device_ns);
    out_.run.numbers["run.memory_family_share"] = Ratio(memory, p_.device_ns);
  }

  // Steps that launch the same operators in the same order could be replayed.
  void Repeats() {
    struct Sequence {
      uint64_t names = 0, grids = 0;
      int64_t kernels = 0;
      uint32_t last_op = kNone;
    };
    std::vector<Sequence> steps(p_.steps.size());
    const auto mix = [](uint64_t h, uint64_t v) { return (h ^ v) * 0x9e3779b97f4a7c15ull + (h >> 31) + 1; };
    const KernelView& k = p_.data.kernel;
    const auto at = [](const ColumnView<int32_t>& column, size_t row) {
      return row < column.size() ? static_cast<uint64_t>(static_cast<uint32_t>(column[row])) : 0;
    };
    for (size_t i = 0; i < w_.size(); ++i) {
      if (w_.kind[i] != WorkKind::kKernel || w_.launch[i] == kNone) continue;
      const uint32_t step = p_.StepAt(h_.start_ns[w_.launch[i]]);
      if (step == kNone) continue;
      Sequence& s = steps[step];
      const size_t row = w_.row[i];
      ++s.kernels;
      // By operator where one is known: the library picks another kernel for another length of the same
      // thing.
      if (w_.op[i] == kNone) {
        s.names = mix(s.names, static_cast<uint64_t>(w_.name[i]));
      } else if (w_.op[i] != s.last_op) {
        s.names = mix(s.names, static_cast<uint64_t>(h_.name[w_.op[i]]));
      }
      s.last_op = w_.op[i];
      s.grids = mix(s.grids, static_cast<uint64_t>(w_.name[i]));
      s.grids = mix(s.grids, (at(k.grid_x, row) << 32) ^ (at(k.grid_y, row) << 16) ^ at(k.grid_z, row));
    }
    std::map<uint64_t, int64_t> by_names, by_both;
    for (const Sequence& s : steps) {
      if (s.kernels == 0) continue;
      ++by_names[s.names];
      ++by_both[mix(s.names, s.grids)];
    }
    const auto most = [](const std::map<uint64_t, int64_t>& counts) {
      std::pair<uint64_t, int64_t> best{0, 0};
      for (const auto& entry : counts) {
        if (entry.second > best.second) best = {entry.first, entry.second};
      }
      return best;
    };
    const auto [names, count] = most(by_names);
    auto& n = out_.run.numbers;
    const auto total = static_cast<int64_t>(steps.size());
    n["run.repeat_share"] = Ratio(count, total);
    n["run.repeat_static_share"] = Ratio(most(by_both).second, total);
    modal_.assign(steps.size(), false);
    for (size_t i = 0; i < steps.size(); ++i) {
      if (steps[i].kernels == 0 || steps[i].names != names) continue;
      modal_[i] = true;
      repeat_ns_ += p_.steps[i].end_ns - p_.steps[i].start_ns;
      n["run.repeat_kernels"] = static_cast<double>(steps[i].kernels);
    }
    out_.run.texts["run.repeat_label"] = p_.step_label;
  }

  const Program& p_;
  const IdleFacts& idle_;
  const DeviceWork& w_;
  const HostTree& h_;
  Features& out_;
  std::vector<uint32_t> blocking_;
  std::vector<bool> modal_;
  uint32_t last_launch_ = kNone;
  bool linked_ = false;
  int64_t busy_ns_ = 0, communication_ns_ = 0, communication_exposed_ns_ = 0, copies_exposed_ns_ = 0;
  int64_t host_ns_ = 0, launch_ns_ = 0, sync_ns_ = 0, other_ns_ = 0, repeat_idle_ns_ = 0;
  int64_t repeat_ns_ = 0;  // of the steps that repeat
};

}  // namespace

void AddDevice(const Program& program, const IdleFacts& idle, Features& out) {
  DeviceSide(program, idle, out).Run();
}

}  // namespace nl::features
