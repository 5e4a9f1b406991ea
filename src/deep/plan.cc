// SPDX-License-Identifier: Apache-2.0
#include "deep/plan.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <map>
#include <numeric>
#include <set>
#include <tuple>
#include <unordered_map>

#include "analyze/facts/phases.h"
#include "analyze/facts/stages.h"
#include "analyze/facts/timeline.h"
#include "base/check.h"
#include "base/median.h"
#include "base/units.h"
#include "deep/ncu_name.h"

namespace nl::deep {

namespace {

constexpr Reads kPlanReads = NL_READS(Kernel, name, thread_id, device, grid_x, grid_y, grid_z, block_x,
                                      block_y, block_z, shared_bytes) |
                             NL_READS(Op, input_dims, name) | NL_READS(Thread, process_id) |
                             NL_READS(Process, pid) | NL_READS(Range, start_ns);

using Launch = std::array<int32_t, 6>;  // grid, block

// One execution of a kernel.
struct Execution {
  uint32_t row = 0;  // of table kernel
  StringId name = StringId::kNull, op = StringId::kNull, shapes = StringId::kNull;
  Launch launch{};
  int64_t launched_ns = 0, start_ns = 0, dur_ns = 0;
  int64_t process = -1;
  uint32_t stage = kNone, instance = kNone;
  int64_t shared_bytes = 0;
};

struct Group {
  std::vector<uint32_t> executions;  // by launch
  int64_t total_ns = 0;
};

// A group that was selected, and the launches that will do for it.
struct Selected {
  const Group* group;
  std::vector<uint32_t> suitable;                   // executions, by launch
  uint32_t median = 0;                              // one of them
  const std::vector<uint32_t>* launches = nullptr;  // all that ncu counts together

  bool IsSuitable(uint32_t execution) const {
    return std::binary_search(suitable.begin(), suitable.end(), execution);
  }
  bool IsOwn(uint32_t execution) const {
    return std::binary_search(group->executions.begin(), group->executions.end(), execution);
  }
};
constexpr size_t kMostSkipped = 20'000;
// Launches that ncu measures, about a second each: for one selected kernel on average, and for one more that
// is measured by a launch of its median duration rather than by one that does the same work.
constexpr size_t kMostPerKernel = 8, kMostPerImprovement = 4;
constexpr double kNearMedian = 0.10;
constexpr double kSameShapes = 1.2;  // durations of one launch with the same shapes differ less

// A stage instance as the host sees it.
struct Window {
  int64_t start_ns, end_ns;
  uint32_t stage, instance;
};

class Planner {
 public:
  Planner(const RunData& data, const TimelineFacts& timeline, const PhasesFacts& phases,
          const StagesFacts& stages)
      : data_(data), timeline_(timeline), phases_(phases), stages_(stages) {}

  DeepPlan Make(const std::string& run_id, int64_t top_n) {
    Collect();
    CountConfigurations();
    AssignStages();
    LendShapes();
    for (uint32_t i = 0; i < all_.size(); ++i) {
      const Execution& e = all_[i];
      Group& group = groups_[{e.stage, NormalizedOf(e.name), e.launch, static_cast<uint32_t>(e.shapes)}];
      group.executions.push_back(i);
      group.total_ns += e.dur_ns;
    }
    DeepPlan plan;
    plan.run_id = run_id;
    plan.top_n = top_n;
    for (const uint32_t stage : StagesInOrder()) TakeStage(stage, static_cast<size_t>(top_n), plan);
    ChooseLaunches(plan);
    return plan;
  }

 private:
  using GroupKey = std::tuple<uint32_t, std::string_view, Launch, uint32_t>;

  const std::string& NormalizedOf(StringId name) const { return timeline_.KernelNameOf(name).normalized; }

  void Collect() {
    const DeviceWork& work = timeline_.work;
    const HostTree& host = timeline_.host;
    for (size_t i = 0; i < work.size(); ++i) {
      if (work.kind[i] != WorkKind::kKernel) continue;
      Execution e;
      e.row = work.row[i];
      e.name = work.name[i];
      e.launch = {data_.kernel.grid_x[e.row],  data_.kernel.grid_y[e.row],  data_.kernel.grid_z[e.row],
                  data_.kernel.block_x[e.row], data_.kernel.block_y[e.row], data_.kernel.block_z[e.row]};
      e.shared_bytes = data_.kernel.shared_bytes[e.row];
      e.start_ns = work.start_ns[i];
      e.dur_ns = work.end_ns[i] - work.start_ns[i];
      const uint32_t launch = work.launch[i];
      e.launched_ns = launch == kNone ? e.start_ns : host.start_ns[launch];
      const ThreadId thread = launch == kNone ? data_.kernel.thread_id[e.row] : host.thread[launch];
      e.process = ProcessOf(thread);
      if (const uint32_t op = work.op[i]; op != kNone && host.kind[op] == HostKind::kOp) {
        e.op = host.name[op];
        e.shapes = data_.op.input_dims[host.row[op]];
      }
      all_.push_back(e);
    }
    std::stable_sort(all_.begin(), all_.end(), [](const Execution& a, const Execution& b) {
      return std::tie(a.launched_ns, a.start_ns) < std::tie(b.launched_ns, b.start_ns);
    });
  }

  int64_t ProcessOf(ThreadId thread) const {
    const auto row = static_cast<size_t>(thread);
    if (IsNull(thread) || row >= data_.thread.process_id.size()) return -1;
    const ProcessId process = data_.thread.process_id[row];
    return IsNull(process) ? -1 : static_cast<int64_t>(process);
  }

  // What ncu counts together: process, function, grid, block and shared memory.
  using Configuration = std::tuple<int64_t, std::string_view, Launch, int64_t>;
  Configuration ConfigurationOf(const Execution& e) const {
    return {e.process, functions_.at(static_cast<uint32_t>(e.name)), e.launch, e.shared_bytes};
  }

  void CountConfigurations() {
    for (const Execution& e : all_) {
      std::string& function = functions_[static_cast<uint32_t>(e.name)];
      if (function.empty()) function = NcuRegex(data_.Text(e.name));
    }
    for (uint32_t i = 0; i < all_.size(); ++i) configurations_[ConfigurationOf(all_[i])].push_back(i);
  }

  // An instance begins where the device ends the one before; its launches begin with its label.
  int64_t HostStartOf(const StagesFacts::Instance& instance) const {
    return instance.range_row == kNone ? instance.start_ns : data_.range.start_ns[instance.range_row];
  }

  // Every launch belongs to the shortest instance that is open: decode_step, not the request around it.
  void AssignStages() {
    std::vector<Window> windows;
    for (uint32_t s = 0; s < stages_.stages.size(); ++s) {
      const auto& instances = stages_.stages[s].instances;
      for (uint32_t i = 0; i < instances.size(); ++i)
        windows.push_back({HostStartOf(instances[i]), instances[i].host_end_ns, s, i});
    }
    std::sort(windows.begin(), windows.end(),
              [](const Window& a, const Window& b) { return a.start_ns < b.start_ns; });
    std::vector<Window> open;
    size_t next = 0;
    for (Execution& e : all_) {
      while (next < windows.size() && windows[next].start_ns <= e.launched_ns)
        open.push_back(windows[next++]);
      std::erase_if(open, [&](const Window& w) { return w.end_ns <= e.launched_ns; });
      const auto shortest = std::min_element(open.begin(), open.end(), [](const Window& a, const Window& b) {
        return a.end_ns - a.start_ns < b.end_ns - b.start_ns;
      });
      if (shortest == open.end()) continue;
      e.stage = shortest->stage;
      e.instance = shortest->instance;
    }
  }

  // Recorders note shapes of some calls. A launch without them has those of the same kernel, grid and
  // operator elsewhere; of several, those whose launches last as long as it does.
  void LendShapes() {
    using Key = std::tuple<uint32_t, Launch, uint32_t>;
    const auto key_of = [](const Execution& e) {
      return Key{static_cast<uint32_t>(e.name), e.launch, static_cast<uint32_t>(e.op)};
    };
    std::map<Key, std::map<uint32_t, std::vector<int64_t>>> durations;
    for (const Execution& e : all_) {
      if (!IsNull(e.shapes)) durations[key_of(e)][static_cast<uint32_t>(e.shapes)].push_back(e.dur_ns);
    }
    std::map<Key, std::map<uint32_t, double>> medians;
    for (auto& [key, by_shape] : durations) {
      for (auto& [shapes, ns] : by_shape) {
        medians[key][shapes] = static_cast<double>(std::max<int64_t>(UpperMedian(ns), 1));
      }
    }
    for (Execution& e : all_) {
      if (!IsNull(e.shapes)) continue;
      const auto found = medians.find(key_of(e));
      if (found == medians.end()) continue;
      const auto own = static_cast<double>(std::max<int64_t>(e.dur_ns, 1));
      const auto ratio = [own](double ns) { return std::max(own / ns, ns / own); };
      const auto nearest =
          std::min_element(found->second.begin(), found->second.end(),
                           [&](const auto& a, const auto& b) { return ratio(a.second) < ratio(b.second); });
      if (found->second.size() == 1 || ratio(nearest->second) < kSameShapes)
        e.shapes = static_cast<StringId>(nearest->first);
    }
  }

  std::vector<uint32_t> StagesInOrder() const {
    std::vector<uint32_t> out;
    for (const Execution& e : all_) {
      if (std::find(out.begin(), out.end(), e.stage) == out.end()) out.push_back(e.stage);
    }
    return out;
  }

  // Device time of the last of the first `top_n` groups of all stages.
  int64_t LeastOfTop(size_t top_n) const {
    std::vector<int64_t> totals;
    for (const auto& [key, group] : groups_) totals.push_back(group.total_ns);
    std::sort(totals.rbegin(), totals.rend());
    return totals.empty() ? 0 : totals[std::min(top_n, totals.size()) - 1];
  }

  void TakeStage(uint32_t stage, size_t top_n, DeepPlan& plan) {
    std::vector<const Group*> groups;
    PlanStage total;
    total.name = stage == kNone ? kNoStage : stages_.stages[stage].name;
    for (const auto& [key, group] : groups_) {
      if (std::get<0>(key) != stage) continue;
      groups.push_back(&group);
      total.total_ms += Ms(group.total_ns);
    }
    std::stable_sort(groups.begin(), groups.end(),
                     [](const Group* a, const Group* b) { return a->total_ns > b->total_ns; });
    total.groups = static_cast<int64_t>(groups.size());
    groups.resize(std::min(groups.size(), top_n));
    // What runs once before the first stage is of no interest, unless it takes the time.
    if (stage == kNone) {
      const int64_t least_ns = LeastOfTop(top_n);
      std::erase_if(groups, [&](const Group* group) { return group->total_ns < least_ns; });
    }
    total.selected = static_cast<int64_t>(groups.size());
    for (const Group* group : groups) {
      plan.kernels.push_back(KernelOf(*group, total.name));
      total.selected_ms += plan.kernels.back().total_ms;
    }
    plan.device_ms += total.total_ms;
    plan.selected_ms += total.selected_ms;
    plan.stages.push_back(std::move(total));
  }

  // The launches of a group after the warm-up. Stages say where it ends whatever the host does meanwhile; the
  // steady phase, which needs steps of even length, is for launches outside of them.
  std::vector<uint32_t> WarmOf(const Group& group, std::string& how) const {
    std::vector<uint32_t> warm;
    const Execution& front = all_[group.executions.front()];
    if (front.stage != kNone) {
      for (const uint32_t i : group.executions) {
        if (all_[i].instance != front.instance) warm.push_back(i);
      }
      how = "launches in the first instance of the stage are skipped";
      if (!warm.empty()) return warm;
    }
    if (phases_.steady_steps > 0) {
      for (const uint32_t i : group.executions) {
        if (all_[i].launched_ns >= phases_.steady_start_ns) warm.push_back(i);
      }
      how = "launches before the steady phase are skipped";
      if (!warm.empty()) return warm;
    }
    how = "nothing is skipped: it runs neither in several instances of a stage nor in a steady phase";
    return group.executions;
  }

  // Those that last as long as the median one; `warm` is by launch.
  Selected SuitableOf(const Group& group, const std::vector<uint32_t>& warm) const {
    std::vector<uint32_t> by_duration(warm);
    const auto middle = by_duration.begin() + static_cast<std::ptrdiff_t>((warm.size() - 1) / 2);
    std::nth_element(by_duration.begin(), middle, by_duration.end(), [this](uint32_t a, uint32_t b) {
      return std::tie(all_[a].dur_ns, a) < std::tie(all_[b].dur_ns, b);
    });
    Selected out{&group, {}, *middle};
    const auto median_ns = static_cast<double>(all_[out.median].dur_ns);
    for (const uint32_t i : warm) {
      if (std::abs(static_cast<double>(all_[i].dur_ns) - median_ns) <= kNearMedian * median_ns)
        out.suitable.push_back(i);
    }
    return out;
  }

  // Durations that one launch with the same shapes may have.
  bool IsNear(const Selected& one, uint32_t execution) const {
    const auto ns = static_cast<double>(all_[execution].dur_ns);
    const auto median_ns = static_cast<double>(all_[one.median].dur_ns);
    return std::max(ns, median_ns) <= kSameShapes * std::min(ns, median_ns);
  }

  // Without recorded shapes a group may hold launches of several sizes: then only the duration says which it
  // is.
  bool HasSameShapes(const Selected& one, uint32_t execution) const {
    return one.IsOwn(execution) && (!IsNull(all_[execution].shapes) || IsNear(one, execution));
  }

  // How well a launch stands for a selected kernel.
  enum Fit : int { kNotMeasured, kOtherWork, kSameWork, kSuitable };
  Fit FitOf(const Selected& one, uint32_t execution) const {
    if (NormalizedOf(all_[execution].name) != NormalizedOf(all_[one.median].name)) return kNotMeasured;
    if (one.IsSuitable(execution)) return kSuitable;
    return HasSameShapes(one, execution) || IsNear(one, execution) ? kSameWork : kOtherWork;
  }

  // By number of a launch (from 0): the selected kernels that it does the same work as.
  using Candidates = std::map<size_t, std::vector<std::pair<uint32_t, Fit>>>;

  // Launches that ncu measures for a number (from 0): one of each configuration of a selected function that
  // has so many.
  size_t CostOf(size_t number) const {
    return static_cast<size_t>(launch_counts_.end() -
                               std::upper_bound(launch_counts_.begin(), launch_counts_.end(), number));
  }

  void ChooseLaunches(DeepPlan& plan) {
    CountSelected(plan);
    Candidates candidates;
    for (uint32_t k = 0; k < selected_.size(); ++k) {
      Selected& one = selected_[k];
      one.launches = &configurations_.at(ConfigurationOf(all_[one.median]));
      for (size_t i = 0; i < one.launches->size() && i < kMostSkipped; ++i) {
        const Fit fit = FitOf(one, (*one.launches)[i]);
        if (fit >= kSameWork) candidates[i].emplace_back(k, fit);
      }
    }
    std::vector<size_t> numbers;
    std::vector<Fit> fits(selected_.size(), kNotMeasured);
    size_t cost = 0;
    while (const std::optional<size_t> number = BestOf(candidates, fits, cost)) {
      numbers.push_back(*number);
      cost += CostOf(*number);
      for (const auto& [k, fit] : candidates[*number]) fits[k] = std::max(fits[k], fit);
    }
    DropNeedless(candidates, fits, numbers);
    if (numbers.empty()) numbers.push_back(0);
    std::sort(numbers.begin(), numbers.end());
    for (const size_t number : numbers) {
      plan.launch_numbers.push_back(static_cast<int64_t>(number) + 1);
      plan.measured_launches += static_cast<int64_t>(CostOf(number));
    }
    for (size_t k = 0; k < selected_.size(); ++k) TakeLaunch(selected_[k], numbers, plan.kernels[k]);
  }

  // The filter takes every kernel of the functions that are selected.
  void CountSelected(const DeepPlan& plan) {
    std::set<std::string_view> functions;
    for (const PlanKernel& kernel : plan.kernels) functions.insert(kernel.ncu_regex);
    for (const auto& [configuration, launches] : configurations_) {
      if (functions.count(std::get<1>(configuration)) > 0) launch_counts_.push_back(launches.size());
    }
    std::sort(launch_counts_.begin(), launch_counts_.end());
  }

  // The number that brings the most for what it costs; none where all is there, or where the rest is not
  // worth it: a kernel without counters is, within bounds, one whose launch could be more typical hardly.
  std::optional<size_t> BestOf(const Candidates& candidates, const std::vector<Fit>& fits,
                               size_t spent) const {
    std::optional<size_t> best;
    double best_ratio = 0;
    for (const auto& [number, candidate] : candidates) {
      size_t added = 0, improved = 0;
      for (const auto& [k, fit] : candidate) {
        added += fits[k] < kSameWork ? 1 : 0;
        improved += fit > fits[k] && fit == kSuitable ? 1 : 0;
      }
      const size_t cost = CostOf(number);
      const bool worth = added > 0 ? spent == 0 || spent + cost <= kMostPerKernel * selected_.size()
                                   : cost <= kMostPerImprovement * improved;
      const double ratio = static_cast<double>(2 * added + improved) / static_cast<double>(cost);
      if (!worth || ratio <= best_ratio) continue;
      best = number;
      best_ratio = ratio;
    }
    return best;
  }

  // A number that was taken early may bring nothing beside those taken later.
  void DropNeedless(const Candidates& candidates, const std::vector<Fit>& fits,
                    std::vector<size_t>& numbers) const {
    for (size_t i = 0; i < numbers.size();) {
      std::vector<Fit> without(selected_.size(), kNotMeasured);
      for (size_t other = 0; other < numbers.size(); ++other) {
        if (other == i) continue;
        for (const auto& [k, fit] : candidates.at(numbers[other])) without[k] = std::max(without[k], fit);
      }
      if (without == fits)
        numbers.erase(numbers.begin() + static_cast<std::ptrdiff_t>(i));
      else
        ++i;
    }
  }

  void TakeLaunch(const Selected& one, const std::vector<size_t>& numbers, PlanKernel& to) const {
    to.kernel_id = all_[one.median].row;
    Fit best = kNotMeasured;
    for (const size_t number : numbers) {
      if (one.launches->size() <= number) continue;
      const uint32_t launch = (*one.launches)[number];
      const Fit fit = FitOf(one, launch);
      if (fit <= best) continue;
      best = fit;
      to.launch_number = static_cast<int64_t>(number) + 1;
      to.launch_ms = Ms(all_[launch].dur_ns);
      to.suitable = fit == kSuitable;
      to.same_shapes = HasSameShapes(one, launch);
      to.kernel_id = to.same_shapes ? all_[launch].row : all_[one.median].row;
    }
  }

  PlanKernel KernelOf(const Group& group, const std::string& stage) {
    PlanKernel out;
    const std::vector<uint32_t> warm = WarmOf(group, out.warmup);
    selected_.push_back(SuitableOf(group, warm));
    out.launches = static_cast<int64_t>(group.executions.size());
    // Those before the first one that is considered.
    out.warmup_launches =
        std::find(group.executions.begin(), group.executions.end(), warm.front()) - group.executions.begin();
    const Execution& taken = all_[selected_.back().median];
    const KernelName& name = timeline_.KernelNameOf(taken.name);
    out.stage = stage;
    out.kernel = name.short_name;
    out.name = std::string(data_.Text(taken.name));
    out.ncu_regex = NcuRegex(out.name);
    for (size_t i = 0; i < 6; ++i) {
      if (!IsNull(taken.launch[i])) (i < 3 ? out.grid : out.block).push_back(taken.launch[i]);
    }
    if (!IsNull(taken.shapes)) out.shapes = std::string(data_.Text(taken.shapes));
    if (!IsNull(taken.op)) out.op = std::string(data_.Text(taken.op));
    if (taken.process >= 0) {
      const int64_t pid = data_.process.pid[static_cast<size_t>(taken.process)];
      if (!IsNull(pid)) out.pid = pid;
    }
    if (const int32_t device = data_.kernel.device[taken.row]; !IsNull(device)) out.device = device;
    out.total_ms = Ms(group.total_ns);
    out.median_ms = Ms(taken.dur_ns);
    return out;
  }

  const RunData& data_;
  const TimelineFacts& timeline_;
  const PhasesFacts& phases_;
  const StagesFacts& stages_;
  std::vector<Execution> all_;  // by launch
  std::map<GroupKey, Group> groups_;
  std::unordered_map<uint32_t, std::string> functions_;            // by name, as ncu knows them
  std::map<Configuration, std::vector<uint32_t>> configurations_;  // executions by launch
  std::vector<Selected> selected_;                                 // as DeepPlan::kernels
  std::vector<size_t> launch_counts_;  // of the configurations of selected functions, ascending
};

}  // namespace

void Describe(Record<PlanKernel>& r) {
  r.Name("PlanKernel", "A kernel that counters are collected for");
  r.Field("stage", &PlanKernel::stage, "LLM stage that launched it; all: outside of every stage");
  r.Field("kernel", &PlanKernel::kernel, "Short name");
  r.Field("name", &PlanKernel::name, "Name as the timeline spells it");
  r.Field("ncu_regex", &PlanKernel::ncu_regex, "Its function, which the filter of Nsight Compute asks for");
  r.Field("grid", &PlanKernel::grid, "Grid size, x, y, z; empty: not recorded");
  r.Field("block", &PlanKernel::block, "Block size, x, y, z; empty: not recorded");
  r.Field("shapes", &PlanKernel::shapes, "Input shapes of the operator that launched it; null: not recorded");
  r.Field("op", &PlanKernel::op, "Operator that launched it; null: not recorded");
  r.Field("pid", &PlanKernel::pid, "Process that launched it, in the timeline");
  r.Field("device", &PlanKernel::device, "Device index");
  r.Field("launches", &PlanKernel::launches, "Launches with this grid and these shapes in the stage");
  r.Field("warmup_launches", &PlanKernel::warmup_launches, "Of these, launches skipped as warm-up");
  r.Field("warmup", &PlanKernel::warmup, "How the warm-up was recognised");
  r.Field("total_ms", &PlanKernel::total_ms, Unit::kMs, "Device time of all launches");
  r.Field("median_ms", &PlanKernel::median_ms, Unit::kMs, "Median duration after the warm-up");
  r.Field("launch_number", &PlanKernel::launch_number,
          "Which launch of its function, grid, block and shared memory is measured, from 1; null: none");
  r.Field("launch_ms", &PlanKernel::launch_ms, Unit::kMs,
          "Duration in the timeline of the launch that is measured; 0: none is");
  r.Field("suitable", &PlanKernel::suitable,
          "That launch is after the warm-up and within 10 % of the median duration");
  r.Field("same_shapes", &PlanKernel::same_shapes,
          "That launch is in this stage and has these shapes; where none were recorded, lasts as long as the "
          "median one, within a factor of 1.2");
  r.Field("kernel_id", &PlanKernel::kernel_id,
          "That launch in table kernel (kernel.id); where it has other shapes, the median one of this row");
}

void Describe(Record<PlanStage>& r) {
  r.Name("PlanStage", "A stage and how much of its device time was selected");
  r.Field("name", &PlanStage::name, "LLM stage; all: outside of every stage");
  r.Field("groups", &PlanStage::groups, "Kernels by name, grid, block and shapes");
  r.Field("selected", &PlanStage::selected, "Of these, selected");
  r.Field("total_ms", &PlanStage::total_ms, Unit::kMs, "Device time of its kernels");
  r.Field("selected_ms", &PlanStage::selected_ms, Unit::kMs, "Device time of those selected");
}

void Describe(Record<DeepPlan>& r) {
  r.Name("DeepPlan", "plan.json of `neurolens deep`: which launches counters are collected for");
  r.Field("plan_version", &DeepPlan::plan_version, "Version of this format");
  r.Field("run_id", &DeepPlan::run_id, "The run that has the timeline");
  r.Field("top_n", &DeepPlan::top_n, "Kernels taken per stage, at most");
  r.Field("device_ms", &DeepPlan::device_ms, Unit::kMs, "Device time of all kernels");
  r.Field("selected_ms", &DeepPlan::selected_ms, Unit::kMs, "Device time of the selected kernels");
  r.Field("launch_numbers", &DeepPlan::launch_numbers,
          "Which launches Nsight Compute measures of every function, grid, block and shared memory, from 1");
  r.Field("measured_launches", &DeepPlan::measured_launches, "Launches that it measures, by the timeline");
  r.Field("stages", &DeepPlan::stages, "Stages in order of their first launch");
  r.Field("kernels", &DeepPlan::kernels, "Selected kernels by stage, most device time first");
}

Result<DeepPlan> MakePlan(Analysis& analysis, const std::string& run_id, int64_t top_n) {
  NL_ASSIGN(const TimelineFacts* timeline, analysis.Need<TimelineFacts>());
  NL_ASSIGN(const PhasesFacts* phases, analysis.Need<PhasesFacts>());
  NL_ASSIGN(const StagesFacts* stages, analysis.Need<StagesFacts>());
  NL_TRY(analysis.Load(kPlanReads));
  return Planner(analysis.data(), *timeline, *phases, *stages).Make(run_id, top_n);
}

}  // namespace nl::deep
