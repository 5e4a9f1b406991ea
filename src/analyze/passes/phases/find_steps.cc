// SPDX-License-Identifier: Apache-2.0
#include "analyze/passes/phases/find_steps.h"

#include <algorithm>
#include <map>

#include "analyze/passes/phases/find_period.h"
#include "base/median.h"

namespace nl::passes::phases {

namespace {

constexpr size_t kLeastLaunches = 8;  // fewer kernels repeat by chance
constexpr size_t kLeastGraphs = 3;    // graphs of equal content do not
constexpr double kLeastShare = 0.3;   // of the work must be in the sequence
constexpr size_t kMostGaps = 33;      // periods whose gaps are compared
constexpr size_t kAnchorTokens = 8;   // the first of a step, by which steps are found
constexpr size_t kMostAnchor = 64;
constexpr size_t kMostPausedTokens = 1 << 20;  // longer sequences take long to search several times
constexpr uint64_t kMostLayerKernels = 200;
constexpr uint32_t kLeastLayerTokens = 5, kMostRepeatedLayers = 160;

// From the end of the launch before, with what waits in between.
std::vector<int64_t> HostGaps(const LaunchSequence& s) {
  std::vector<int64_t> out(s.size(), 0);
  int64_t end_ns = s.size() == 0 ? 0 : s.start_ns[0];
  for (size_t i = 0; i < s.size(); ++i) {
    if (s.waits[i]) continue;
    out[i] = std::max<int64_t>(0, s.start_ns[i] - end_ns);
    end_ns = s.end_ns[i];
  }
  return out;
}

// By place in the period: the gap of a rank (in tenths) over the periods of the stretch. -1: a wait.
std::vector<int64_t> GapsOfPeriod(const LaunchSequence& s, const std::vector<int64_t>& gaps,
                                  const Repetition& r, size_t tenths) {
  const size_t periods = (r.last - r.first) / r.period + 1;
  const size_t stride = (periods + kMostGaps - 1) / kMostGaps;
  std::vector<int64_t> out(r.period), of_place;
  for (size_t place = 0; place < r.period; ++place) {
    of_place.clear();
    for (size_t k = 0; k < periods; k += stride) {
      const size_t i = r.first + place + k * r.period;
      if (i < s.size()) of_place.push_back(s.waits[i] ? -1 : gaps[i]);
    }
    out[place] = AtRank(of_place, (of_place.size() - 1) * tenths / 10);
  }
  return out;
}

// Cuts a sequence into steps of a period.
class StepCutter {
 public:
  // `tokens` are those of the sequence, or others where a pause comes before.
  StepCutter(const LaunchSequence& s, const std::vector<uint32_t>& tokens, const Repetition& r,
             const std::vector<int64_t>& gaps)
      : s_(s), tokens_(tokens), r_(r), n_(tokens.size()) {
    const std::vector<int64_t> of_place = GapsOfPeriod(s, gaps, r, 5);
    const auto longest = std::max_element(of_place.begin(), of_place.end());
    // The stretch begins with the loop, unless its first steps differ.
    if (of_place[0] < *longest / 2) place_ = static_cast<size_t>(longest - of_place.begin());
    in_step_.assign(s.kinds.size(), 0);
    seen_.assign(s.kinds.size(), 0);
  }

  std::vector<Interval> Run() {
    ChooseAnchors();
    for (size_t i = 0; i < r_.period; ++i) ++in_step_[s_.token[reference_ + i]];
    for (size_t k = 0; k < anchors_.size(); ++k) {
      if (k + 1 < anchors_.size()) {
        Cut(anchors_[k], anchors_[k + 1]);
      } else {
        CutLast(anchors_[k]);
      }
    }
    ExtendBackwards();
    return CoverHalf() ? Windows() : std::vector<Interval>();
  }

 private:
  // The first tokens of the step at `from`, as many as occur nowhere else in it; 0 when there are none.
  size_t AnchorLength(size_t from) const {
    std::vector<uint32_t> others;
    for (uint32_t i = 1; i < r_.period; ++i) {
      if (tokens_[from + i] == tokens_[from]) others.push_back(i);
    }
    size_t length = 1;
    while (!others.empty()) {
      if (length >= std::min<size_t>(kMostAnchor, r_.period)) return 0;
      std::erase_if(others, [&](uint32_t i) {
        return from + i + length >= n_ || tokens_[from + i + length] != tokens_[from + length];
      });
      ++length;
    }
    return std::max(length, std::min<size_t>(kAnchorTokens, r_.period));
  }

  std::vector<size_t> AnchorsLike(size_t from, size_t length) const {
    std::vector<size_t> out;
    const auto anchor = tokens_.begin() + static_cast<ptrdiff_t>(from);
    for (size_t i = 0; i + length <= n_; ++i) {
      if (tokens_[i] != *anchor) continue;
      if (!out.empty() && 2 * (i - out.back()) < r_.period) continue;
      if (std::equal(anchor, anchor + static_cast<ptrdiff_t>(length),
                     tokens_.begin() + static_cast<ptrdiff_t>(i)))
        out.push_back(i);
    }
    return out;
  }

  // The first tokens of one step may be unusual ones, so those of three are tried.
  void ChooseAnchors() {
    const size_t periods = (r_.last - r_.first) / r_.period;
    for (const size_t quarter : {2, 1, 3}) {
      const size_t from = r_.first + place_ + std::min(periods - 1, periods * quarter / 4) * r_.period;
      if (from + r_.period > n_) continue;
      const size_t length = AnchorLength(from);
      if (length == 0) continue;
      std::vector<size_t> found = AnchorsLike(from, length);
      if (found.size() > anchors_.size()) anchors_ = std::move(found), reference_ = from;
    }
    if (!anchors_.empty()) return;
    // Nothing in the step is unique: count from its first place.
    reference_ = r_.first;
    for (size_t i = r_.first + place_; i < r_.last; i += r_.period) anchors_.push_back(i);
  }

  // Tokens of [from, to) that a step has, too, each as often as it has it at most.
  size_t Common(size_t from, size_t to) {
    size_t out = 0;
    for (size_t i = from; i < to; ++i) out += ++seen_[s_.token[i]] <= in_step_[s_.token[i]];
    for (size_t i = from; i < to; ++i) seen_[s_.token[i]] = 0;
    return out;
  }
  bool IsStep(size_t from, size_t to) { return 5 * Common(from, to) >= 4 * size_t{r_.period}; }

  // A step whose first tokens differ was not found; what follows a step may be of another kind.
  void Cut(size_t from, size_t to) {
    while (2 * (to - from) > 3 * size_t{r_.period} && IsStep(from, from + r_.period)) {
      begins_.push_back(from);
      from += r_.period;
    }
    // Before the first step, a part of a step is none: the program is starting up.
    if (begins_.empty() && 10 * Common(from, to) < 7 * size_t{r_.period}) return;
    begins_.push_back(from);
  }

  void CutLast(size_t from) {
    end_ = from;
    while (from < n_ && IsStep(from, std::min(n_, from + r_.period))) {
      begins_.push_back(from);
      end_ = from = std::min(n_, from + r_.period);
    }
  }

  // The first tokens of the first steps may differ: the first launch follows no pause.
  void ExtendBackwards() {
    if (begins_.empty()) return;
    std::vector<size_t> before;
    size_t from = begins_.front();
    while (from >= r_.period && IsStep(from - r_.period, from)) {
      from -= r_.period;
      before.push_back(from);
    }
    begins_.insert(begins_.begin(), before.rbegin(), before.rend());
  }

  // A period of one token is found in any runs of equal tokens; only those of the same token are steps.
  bool CoverHalf() {
    const size_t quarter = n_ / 4;
    size_t covered = 0;
    for (size_t k = 0; k < begins_.size(); ++k) {
      const size_t to = k + 1 < begins_.size() ? begins_[k + 1] : end_;
      const bool one = 2 * (to - begins_[k]) <= 3 * size_t{r_.period} && IsStep(begins_[k], to);
      if (one && to > quarter) covered += to - std::max(begins_[k], quarter);
    }
    return 2 * covered >= n_ - quarter;
  }

  // A step lasts until the next one begins, the last one until its last call ends.
  std::vector<Interval> Windows() const {
    std::vector<Interval> out;
    for (size_t k = 0; k < begins_.size(); ++k) {
      const int64_t start_ns = s_.start_ns[begins_[k]];
      int64_t end_ns = start_ns;
      if (k + 1 < begins_.size()) {
        end_ns = s_.start_ns[begins_[k + 1]];
      } else {
        for (size_t i = begins_[k]; i < end_; ++i) end_ns = std::max(end_ns, s_.end_ns[i]);
        if (end_ < n_) end_ns = std::max(start_ns, std::min(end_ns, s_.start_ns[end_]));
      }
      out.push_back({start_ns, end_ns});
    }
    return out;
  }

  const LaunchSequence& s_;
  const std::vector<uint32_t>& tokens_;
  const Repetition r_;
  const size_t n_;
  size_t place_ = 0;               // of the period: where a step begins
  size_t reference_ = 0;           // a step
  std::vector<uint32_t> in_step_;  // by token: how often it occurs in that step
  std::vector<uint32_t> seen_;     // by token, while counting
  std::vector<size_t> anchors_;    // where steps seem to begin
  std::vector<size_t> begins_;
  size_t end_ = 0;  // of the last step
};

// Finds the period of a sequence, with launches after a long pause as tokens of their own where only a layer
// repeats: nothing but the pause shows where a step of equal layers begins.
class RepetitionFinder {
 public:
  RepetitionFinder(const LaunchSequence& s, size_t least, bool pauses)
      : s_(s), least_(least), tokens_(s.token), gaps_(HostGaps(s)) {
    for (const LaunchSequence::Kind& kind : s.kinds) kernels_.push_back(kind.kernels);
    found_ = FindRepetition(tokens_, kernels_, least_);
    if (pauses && found_.period > 0 && Kernels() < kMostLayerKernels) TryPauses();
  }

  const Repetition& found() const { return found_; }
  std::vector<Interval> Steps() const { return StepCutter(s_, tokens_, found_, gaps_).Run(); }

  // A model has several layers: what has one attention kernel and no wait is a layer.
  bool IsOneLayer() const {
    if (paused_ || found_.period < kLeastLayerTokens) return false;
    if ((found_.last - found_.first) / found_.period >= kMostRepeatedLayers) return false;
    uint32_t attention = 0;
    for (size_t i = found_.first; i < found_.first + size_t{found_.period}; ++i) {
      if (s_.waits[i]) return false;
      attention += s_.kinds[s_.token[i]].attention;
    }
    return attention == 1;
  }
  // Whether graphs launch most kernels of a step.
  bool IsOfGraphs() const {
    uint64_t graphs = 0, all = 0;
    for (size_t i = found_.first; i < found_.first + size_t{found_.period}; ++i) {
      const LaunchSequence::Kind& kind = s_.kinds[s_.token[i]];
      all += kind.kernels;
      graphs += kind.graph ? kind.kernels : 0;
    }
    return 2 * graphs > all;
  }

 private:
  uint64_t Kernels() const {
    uint64_t out = 0;
    for (size_t i = found_.first; i < found_.first + size_t{found_.period}; ++i) out += kernels_[tokens_[i]];
    return out;
  }

  // What is a long pause differs from program to program: clear ones are tried first.
  void TryPauses() {
    const std::vector<int64_t> of_place = GapsOfPeriod(s_, gaps_, found_, 4);
    const auto usual_ns = static_cast<double>(*std::max_element(of_place.begin(), of_place.end()));
    for (const double times : {3.0, 2.0, 1.5}) {
      if (TryPausesOver(times * usual_ns) || tokens_.size() > kMostPausedTokens) return;
    }
  }

  bool TryPausesOver(double pause_ns) {
    const auto kinds = static_cast<uint32_t>(kernels_.size());
    std::vector<uint32_t> tokens = tokens_, kernels = kernels_;
    size_t pauses = 0;
    for (size_t i = 0; i < tokens.size(); ++i) {
      if (static_cast<double>(gaps_[i]) <= pause_ns) continue;
      tokens[i] += kinds;
      ++pauses;
    }
    // More than one per period are not those of a step of several layers.
    if (pauses < 3 || pauses * found_.period > tokens.size()) return false;
    kernels.insert(kernels.end(), kernels_.begin(), kernels_.end());
    const Repetition found = FindRepetition(tokens, kernels, least_);
    if (found.period < 2 * uint64_t{found_.period}) return false;
    paused_ = true;
    found_ = found;
    tokens_ = std::move(tokens);
    kernels_ = std::move(kernels);
    return true;
  }

  const LaunchSequence& s_;
  const size_t least_;
  std::vector<uint32_t> tokens_, kernels_;
  const std::vector<int64_t> gaps_;
  Repetition found_;
  bool paused_ = false;
};

LaunchSequence GraphLaunchesOf(const LaunchSequence& s) {
  LaunchSequence out;
  out.kinds = s.kinds;
  for (size_t i = 0; i < s.size(); ++i) {
    if (s.kinds[s.token[i]].graph) out.Add(s.token[i], s.start_ns[i], s.end_ns[i], false);
  }
  return out;
}

}  // namespace

FoundSteps DetectSteps(const LaunchSequence& s) {
  FoundSteps out;
  if (s.size() > 0 && s.share < kLeastShare) {
    out.reason = "many threads or streams share the work, so its order does not repeat";
    return out;
  }
  const RepetitionFinder all(s, kLeastLaunches, true);
  if (all.found().period > 0 && !all.IsOneLayer()) {
    out.source = all.IsOfGraphs() ? StepSource::kGraphLaunches : StepSource::kRepetition;
    out.steps = all.Steps();
  }
  if (out.steps.empty()) {
    const LaunchSequence graphs = GraphLaunchesOf(s);
    const RepetitionFinder of_graphs(graphs, kLeastGraphs, false);
    if (of_graphs.found().period > 0) {
      out.source = StepSource::kGraphLaunches;
      out.steps = of_graphs.Steps();
    }
  }
  if (!out.steps.empty()) return out;
  out.source = StepSource::kNone;
  if (s.size() == 0) {
    out.reason = "no device work was recorded";
  } else if (s.size() < kLeastLaunches) {
    out.reason = "too few launches were recorded to find steps";
  } else if (all.found().period > 0 && all.IsOneLayer()) {
    out.reason = "what repeats is one layer of a model, which does not show where a step begins";
  } else {
    out.reason = "no sequence of kernels repeats three times and covers half of the launches";
  }
  return out;
}

FoundSteps FindSteps(const RunData& data, const TimelineFacts& timeline, const MainLane& lane) {
  FoundSteps out;
  if (data.OrderOnly()) {
    out.reason = "only durations were recorded, not when the work ran";
    return out;
  }
  program::LabelledSteps labelled = program::FindLabelledSteps(data);
  if (labelled.steps.empty()) return DetectSteps(BuildLaunchSequence(data, timeline, lane));
  out.source = StepSource::kLabels;
  out.steps = std::move(labelled.steps);
  out.label = std::move(labelled.label);
  return out;
}

}  // namespace nl::passes::phases
