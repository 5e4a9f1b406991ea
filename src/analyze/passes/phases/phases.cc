// SPDX-License-Identifier: Apache-2.0
// Divides the wall time of a run into start-up, warm-up, steady steps and tail.
#include "analyze/facts/phases.h"

#include <algorithm>
#include <memory>

#include <fmt/format.h>

#include "analyze/facts/timeline.h"
#include "analyze/pass.h"
#include "analyze/passes/phases/find_steps.h"
#include "analyze/passes/phases/step_groups.h"
#include "analyze/program/observed.h"
#include "analyze/waits/cold_calls.h"
#include "base/median.h"

namespace nl::passes::phases {

namespace {

constexpr int64_t kLongCallNs = 100'000;  // a shorter call is not cold (waits/cold_calls.h)
constexpr int64_t kLongHoleSteps = 10;    // between two steady steps, in steps

int64_t LengthOf(const PhasesFacts::Step& step) { return step.end_ns - step.start_ns; }

class PhaseFinder {
 public:
  PhaseFinder(const RunData& data, const TimelineFacts& t) : data_(data), t_(t), lane_(FindMainLane(t)) {
    out_.start_ns = t.first_start_ns;
    out_.end_ns = t.last_end_ns;
  }

  PhasesFacts Run() {
    TakeSteps(FindSteps(data_, t_, lane_));
    if (!out_.steps.empty()) {
      work_ = WorkOfSteps(t_, lane_, out_.steps);
      for (size_t i = 0; i < work_.size(); ++i) {
        PhasesFacts::Step& step = out_.steps[i];
        step.work_end_ns = std::max(step.end_ns, work_[i].end_ns);
      }
      out_.groups = GroupSteps(work_, out_.source == StepSource::kLabels, out_.steps);
      FindSteady(WarmupSteps());
    }
    if (out_.steady_steps > 0) {
      SetSteadyEnd();
      SetStepTime();
      AddPhases();
      for (PhasesFacts::Span& span : out_.spans) {
        if (span.what != PhaseKind::kSteady) span.label = LabelOf(span);
      }
    } else {
      AddSpan(PhaseKind::kWhole, out_.start_ns, t_.last_end_ns);
    }
    return std::move(out_);
  }

 private:
  // Labels may reach beyond what was recorded.
  void TakeSteps(FoundSteps found) {
    out_.source = found.source;
    out_.label = std::move(found.label);
    out_.reason = std::move(found.reason);
    for (const Interval& step : found.steps) {
      const int64_t start_ns = std::max(step.start_ns, t_.first_start_ns);
      const int64_t end_ns = std::min(step.end_ns, t_.last_end_ns);
      if (end_ns > start_ns) out_.steps.push_back({start_ns, end_ns});
    }
    if (out_.steps.empty() && out_.reason.empty()) out_.reason = "the steps lie outside the recorded time";
  }

  // From the first start of a step's work on the device to that of the next step, or to the end of its own
  // where no step follows at once.
  int64_t DeviceNs(size_t step, bool last) const {
    const StepWork& work = work_[step];
    if (work.empty()) return 0;
    const bool next = !last && step + 1 < out_.steps.size() && !work_[step + 1].empty() &&
                      out_.steps[step + 1].start_ns - out_.steps[step].end_ns <= LengthOf(out_.steps[step]);
    return next ? std::max<int64_t>(0, work_[step + 1].start_ns - work.start_ns)
                : work.end_ns - work.start_ns;
  }
  int64_t TimeOf(size_t step) const { return std::max(LengthOf(out_.steps[step]), DeviceNs(step, false)); }

  // Of the steps of a group in the later half of the run; 0: fewer than two.
  int64_t LaterMedianNs(uint32_t group) const {
    std::vector<int64_t> lengths_ns;
    for (size_t i = out_.steps.size() / 2; i < out_.steps.size(); ++i) {
      if (out_.steps[i].group == group) lengths_ns.push_back(TimeOf(i));
    }
    return lengths_ns.size() < 2 ? 0 : LowerMedian(lengths_ns);
  }

  // How much longer a step takes than usual, where the recorder observed operators in some steps only and the
  // first steps are among them: steps of the main group, observed ones against the others. At least 1.
  double PriceOfObserving() const {
    const program::ObservedSteps steps(data_);
    if (steps.all()) return 1;
    const std::vector<bool> observed = steps.Of(out_.steps);
    std::vector<int64_t> with_ns, without_ns;
    for (size_t i = out_.steps.size() / 4; i < out_.steps.size(); ++i) {
      if (out_.steps[i].group == 0) (observed[i] ? with_ns : without_ns).push_back(TimeOf(i));
    }
    constexpr double kUsual = 1.2, kMost = 1.5;  // where there are too few to say
    if (with_ns.empty() || without_ns.size() < 2) return without_ns.empty() ? 1 : kUsual;
    return std::clamp(static_cast<double>(LowerMedian(with_ns)) /
                          static_cast<double>(std::max<int64_t>(1, LowerMedian(without_ns))),
                      1.0, kMost);
  }

  // Leading steps that are slow or load code. A step of a group that does not come later is compared with the
  // main group: the first step often executes other kernels while libraries choose theirs.
  size_t WarmupSteps() const {
    std::vector<int64_t> usual_ns(out_.groups);
    for (uint32_t g = 0; g < out_.groups; ++g) usual_ns[g] = LaterMedianNs(g);
    if (usual_ns[0] == 0) usual_ns[0] = TimeOf(out_.steps.size() - 1);
    const double price = PriceOfObserving();
    for (int64_t& ns : usual_ns) ns = static_cast<int64_t>(price * static_cast<double>(ns));
    std::unique_ptr<ColdCalls> cold;
    size_t count = 0;
    for (; count < out_.steps.size() / 2; ++count) {
      const PhasesFacts::Step& step = out_.steps[count];
      const int64_t median_ns = usual_ns[step.group] > 0 ? usual_ns[step.group] : usual_ns[0];
      if (TimeOf(count) - median_ns <= median_ns / 4 && !IsCold(step, cold)) break;
    }
    return count;
  }

  // Whether cold calls take more than a tenth of the step. Finding all cold calls of a run takes long, so
  // they are looked for only when the step has long calls or captures a graph.
  bool IsCold(const PhasesFacts::Step& step, std::unique_ptr<ColdCalls>& cold) const {
    if (lane_.thread == kNone) return false;
    const HostTree& h = t_.host;
    const auto first = h.start_ns.begin() + t_.threads[lane_.thread].first;
    const auto last = h.start_ns.begin() + t_.threads[lane_.thread].last;
    const auto from =
        static_cast<uint32_t>(std::lower_bound(first, last, step.start_ns) - h.start_ns.begin());
    const auto to = static_cast<uint32_t>(std::lower_bound(first, last, step.end_ns) - h.start_ns.begin());
    bool may = false;
    for (uint32_t node = from; node < to && !may; ++node) {
      may = h.kind[node] == HostKind::kApi &&
            (h.end_ns[node] - h.start_ns[node] >= kLongCallNs ||
             (!IsNull(h.name[node]) &&
              data_.Text(h.name[node]).find("StreamBeginCapture") != std::string_view::npos));
    }
    if (!may) return false;
    if (cold == nullptr) cold = std::make_unique<ColdCalls>(*data_.strings, t_);
    int64_t cold_ns = 0, until_ns = step.start_ns;
    for (uint32_t node = from; node < to; ++node) {
      if (!cold->Is(node) || h.end_ns[node] <= until_ns) continue;
      const int64_t end_ns = std::min(h.end_ns[node], step.end_ns);
      cold_ns += std::max<int64_t>(0, end_ns - std::max(h.start_ns[node], until_ns));
      until_ns = std::max(until_ns, end_ns);
    }
    return cold_ns > LengthOf(step) / 10;
  }

  // The longest run of group 0 after the warm-up. Steps of other groups in between do not end it, a hole that
  // is long for a step and for the run does: a pause is not steady.
  void FindSteady(size_t warmup) {
    std::vector<PhasesFacts::Step>& steps = out_.steps;
    std::vector<uint32_t> main;
    std::vector<int64_t> lengths_ns;
    for (size_t i = warmup; i < steps.size(); ++i) {
      if (steps[i].group != 0) continue;
      main.push_back(static_cast<uint32_t>(i));
      lengths_ns.push_back(LengthOf(steps[i]));
    }
    if (main.size() < 2) return SayTooFew();
    const int64_t all_ns = steps[main.back()].end_ns - steps[main.front()].start_ns;
    const int64_t most_ns =
        std::max(all_ns / 20, std::min(LowerMedian(lengths_ns), all_ns / kLongHoleSteps) * kLongHoleSteps);
    size_t best = 0, best_count = 0;
    for (size_t i = 0, count = 1; i < main.size(); i += count) {
      count = 1;
      while (i + count < main.size() &&
             steps[main[i + count]].start_ns - steps[main[i + count - 1]].end_ns <= most_ns)
        ++count;
      if (count > best_count) best = i, best_count = count;
    }
    if (best_count < 2) return SayTooFew();
    for (size_t i = best; i < best + best_count; ++i) steps[main[i]].steady = true;
    out_.steady_steps = static_cast<int64_t>(best_count);
    out_.steady_start_ns = steps[main[best]].start_ns;
    out_.steady_end_ns = steps[main[best + best_count - 1]].end_ns;
  }

  void SayTooFew() {
    out_.reason = out_.steps.size() == 1
                      ? "only 1 step"
                      : fmt::format(
                            "fewer than 2 of the {} steps are steady: the others are warm-up, execute "
                            "other kernels or are far apart",
                            out_.steps.size());
  }

  void SetSteadyEnd() {
    const int64_t host_end_ns = out_.steady_end_ns;
    for (uint32_t i = 0; i < t_.work.size(); ++i) {
      const int64_t at_ns = LaunchTimeNs(t_, lane_, i);
      if (!IsNull(at_ns) && at_ns >= out_.steady_start_ns && at_ns < host_end_ns)
        out_.steady_end_ns = std::max(out_.steady_end_ns, t_.work.end_ns[i]);
    }
    out_.steady_end_ns = std::min(out_.steady_end_ns, t_.last_end_ns);
  }

  void SetStepTime() {
    std::vector<int64_t> host_ns;
    double device_ns = 0;  // hostile times do not fit into an integer
    for (size_t i = 0; i < out_.steps.size(); ++i) {
      if (!out_.steps[i].steady) continue;
      host_ns.push_back(LengthOf(out_.steps[i]));
      const bool last = static_cast<int64_t>(host_ns.size()) == out_.steady_steps;
      device_ns += static_cast<double>(DeviceNs(i, last));
    }
    const auto mean_ns = static_cast<int64_t>(device_ns / static_cast<double>(out_.steady_steps));
    out_.step_ns = std::max(LowerMedian(host_ns), mean_ns);
  }

  void AddPhases() {
    AddSpan(PhaseKind::kStartup, out_.start_ns, out_.steps.front().start_ns);
    AddSpan(PhaseKind::kWarmup, out_.steps.front().start_ns, out_.steady_start_ns);
    AddSpan(PhaseKind::kSteady, out_.steady_start_ns, out_.steady_end_ns);
    AddSpan(PhaseKind::kTail, out_.steady_end_ns, t_.last_end_ns);
  }

  void AddSpan(PhaseKind what, int64_t start_ns, int64_t end_ns) {
    if (end_ns <= start_ns && what != PhaseKind::kWhole) return;
    const auto before = [this](int64_t ns) {
      return std::lower_bound(out_.steps.begin(), out_.steps.end(), ns,
                              [](const auto& step, int64_t at_ns) { return step.start_ns < at_ns; });
    };
    out_.spans.push_back({what, start_ns, end_ns, before(end_ns) - before(start_ns), {}});
  }

  // The longest range of the launching thread that takes more than half of the span and lies in it but for a
  // tenth of its own time: not one around the whole request.
  std::string LabelOf(const PhasesFacts::Span& span) const {
    if (lane_.thread == kNone) return "";
    const HostTree& h = t_.host;
    int64_t most_ns = (span.end_ns - span.start_ns) / 2;
    StringId label = StringId::kNull;
    for (uint32_t node = t_.threads[lane_.thread].first; node < t_.threads[lane_.thread].last; ++node) {
      if (h.start_ns[node] >= span.end_ns) break;
      if (h.kind[node] != HostKind::kRange || IsNull(h.name[node])) continue;
      const int64_t inside_ns =
          std::min(h.end_ns[node], span.end_ns) - std::max(h.start_ns[node], span.start_ns);
      if (inside_ns <= most_ns || inside_ns < (h.end_ns[node] - h.start_ns[node]) / 10 * 9) continue;
      most_ns = inside_ns;
      label = h.name[node];
    }
    return IsNull(label) ? "" : std::string(data_.Text(label));
  }

  const RunData& data_;
  const TimelineFacts& t_;
  const MainLane lane_;
  std::vector<StepWork> work_;  // by step
  PhasesFacts out_;
};

class PhasesPass final : public Pass {
 public:
  PassInfo Info() const override {
    return {PhasesFacts::kName,
            "Start-up, warm-up, steady steps and tail of the run",
            {TimelineFacts::kName},
            kFindStepsReads | program::kObservedReads,
            &RecordOf<PhasesSection>};
  }
  Status Run(const RunData& data, const AnalysisOptions&, FactBoard& facts) const override {
    const auto& timeline = facts.Get<TimelineFacts>();
    facts.Put(PhaseFinder(data, timeline).Run());
    return {};
  }
  Described Section(const RunData&, const FactBoard& facts) const override {
    return Described::Of(SectionOf(facts.Get<PhasesFacts>()));
  }
};

}  // namespace

const Pass& Describe() {
  static const PhasesPass pass;
  return pass;
}

}  // namespace nl::passes::phases
