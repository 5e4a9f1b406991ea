// SPDX-License-Identifier: Apache-2.0
#include "analyze/rules/engine.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <set>
#include <tuple>
#include <unordered_set>

#include <fmt/format.h>

namespace nl {

namespace {

// A finding while it is made, with what it was made from.
struct Candidate {
  Finding finding;
  const Rule* rule;
  const FeatureSubject* subject;
  std::optional<double> left;  // of the rule's fix
  int place = -1;              // in the sequence of fixes
};

struct Outcome {
  std::optional<bool> holds;
  std::vector<std::string> missing;  // names that were null
};

class Evaluation {
 public:
  Evaluation(const Rule& rule, const Features& features, const FeatureSubject& subject)
      : rule_(rule), features_(features), subject_(subject) {
    names_.number = [this](const std::string& name) { return Number(name); };
    names_.text = [this](const std::string& name) { return Text(name); };
  }

  std::optional<double> Number(const std::string& name) const {
    if (const auto param = rule_.params.find(name); param != rule_.params.end()) return param->second;
    const std::string_view full = Full(name);
    if (const auto value = subject_.Number(full)) return value;
    return features_.run.Number(full);
  }

  Outcome Where() const {
    Outcome out;
    const auto value = rule_.where.Evaluate([&](const std::string& name) {
      const auto number = Number(name);
      if (!number) out.missing.push_back(std::string(Full(name)));
      return number;
    });
    if (value) out.holds = *value != 0;
    return out;
  }

  Candidate Make() const {
    Candidate out{Describe(), &rule_, &subject_, std::nullopt, -1};
    if (rule_.fix) out.left = rule_.fix->left ? rule_.fix->left->Evaluate(names_.number) : 0;
    return out;
  }

 private:
  Finding Describe() const {
    Finding out;
    out.rule = rule_.id;
    out.title = rule_.title;
    out.severity = rule_.severity;
    out.first = rule_.first;
    out.of_recording = rule_.of_recording;
    // A confidence that cannot be computed counts as 0.5.
    out.confidence = std::clamp(rule_.confidence.Evaluate(names_.number).value_or(0.5), 0.0, 1.0);
    if (rule_.impact) out.cost_ms = rule_.impact->Evaluate(names_.number);
    // Work that runs at the same time on several streams, or waits on several threads, sums to more than the
    // wall; what can be saved is at most the wall.
    const double wall_ms = features_.run.Number("run.wall_ms").value_or(HUGE_VAL);
    if (out.cost_ms) out.cost_ms = std::clamp(*out.cost_ms, 0.0, std::max(0.0, wall_ms));
    SetPlace(out);
    out.message = rule_.message.Render(names_) + DevicesText();
    for (const Suggestion& s : rule_.suggest) {
      if (s.when && s.when->Evaluate(names_.number).value_or(0) == 0) continue;
      if (!Knows(s.text)) continue;
      out.suggestions.push_back(s.text.Render(names_));
    }
    out.refs = rule_.refs;
    AddEvidence(rule_.where, out);
    if (rule_.impact) AddEvidence(*rule_.impact, out);
    for (const EvidenceRow& row : subject_.rows)
      out.evidence.push_back({KnownText(row.table), row.row, row.what, row.value, KnownText(row.unit)});
    return out;
  }

  // With several devices: what the times of a finding with a cost are of.
  std::string DevicesText() const {
    const double devices = features_.run.Number("run.devices").value_or(1);
    if (devices < 2 || !rule_.impact) return "";
    return fmt::format(" Times on the device are means over {:.0f} devices; calls are those of all.",
                       devices);
  }

  static std::string_view Full(std::string_view name) {
    const std::string_view full = FeatureOfShortName(name);
    return full.empty() ? name : full;
  }
  // Empty: a text that was not recorded.
  std::optional<std::string> Text(const std::string& name) const {
    const FeatureInfo* info = FindFeature(Full(name));
    if (info == nullptr || info->unit != "text") return std::nullopt;
    for (const FeatureSubject* from : {&subject_, &features_.run}) {
      const std::string text = from->Text(info->name);
      if (!text.empty()) return text;
    }
    return "";
  }
  // A suggestion about something that was not recorded is none; parts in [[ ]] leave themselves out.
  bool Knows(const TextTemplate& text) const {
    bool optional = false;
    for (const TextTemplate::Part& part : text.parts()) {
      if (!part.is_name && !part.form.empty()) optional = part.form == "[";
      if (!part.is_name || optional) continue;
      const std::optional<std::string> words = Text(part.text);
      if (words ? words->empty() : !Number(part.text)) return false;
    }
    return true;
  }
  void SetPlace(Finding& out) const {
    out.stage = KnownText(subject_.Text("stage.name"));
    if (rule_.scope == RuleScope::kOp) {
      out.stage = KnownText(subject_.Text("op.stage"));
      out.module = KnownText(subject_.Text("op.module"));
      out.op = KnownText(subject_.Text("op.name"));
    } else if (rule_.scope == RuleScope::kKernel) {
      out.stage = KnownText(subject_.Text("kernel.stage"));
      out.module = KnownText(subject_.Text("kernel.module"));
      out.op = KnownText(subject_.Text("kernel.op"));
      out.kernel = KnownText(subject_.Text("kernel.name"));
    }
  }
  void AddEvidence(const Expression& from, Finding& out) const {
    for (const Expression::Name& name : from.names()) {
      if (rule_.params.count(name.text) > 0) continue;
      const std::string full(Full(name.text));
      const auto same = [&](const Evidence& e) { return e.what == full; };
      if (std::any_of(out.evidence.begin(), out.evidence.end(), same)) continue;
      const FeatureInfo* info = FindFeature(full);
      out.evidence.push_back(
          {std::nullopt, std::nullopt, full, Number(name.text), KnownText(info ? info->unit : "")});
    }
  }

  const Rule& rule_;
  const Features& features_;
  const FeatureSubject& subject_;
  RuleNames names_;
};

std::vector<const FeatureSubject*> SubjectsOf(RuleScope scope, const Features& features) {
  std::vector<const FeatureSubject*> out;
  const auto all = [&](const std::vector<FeatureSubject>& list) {
    for (const FeatureSubject& subject : list) out.push_back(&subject);
  };
  switch (scope) {
    case RuleScope::kRun: out.push_back(&features.run); break;
    case RuleScope::kStage: all(features.stages); break;
    case RuleScope::kOp: all(features.ops); break;
    case RuleScope::kKernel: all(features.kernels); break;
    case RuleScope::kGap: all(features.gaps); break;
    case RuleScope::kCompare: break;
  }
  return out;
}

NotAssessed MissingData(const Rule& rule, const Features& features) {
  NotAssessed out{rule.id, {}, std::nullopt};
  for (const std::string& need : rule.needs) {
    if (features.Has(need)) continue;
    for (const DataKind& kind : DataKinds()) {
      if (kind.name != need) continue;
      out.needs.push_back(std::string(kind.text));
      if (!out.advice) out.advice = std::string(kind.advice);
    }
  }
  return out;
}

std::string_view MissingSubjects(RuleScope scope) {
  switch (scope) {
    case RuleScope::kStage: return "labelled stages";
    case RuleScope::kOp: return "framework operators";
    case RuleScope::kKernel: return "kernels";
    case RuleScope::kGap: return "host code between operators";
    case RuleScope::kCompare: return "a baseline run";
    case RuleScope::kRun: break;
  }
  return "a run";
}

void Apply(const Rule& rule, const Features& features, std::vector<Candidate>& found, RuleResults& out) {
  NotAssessed lacking = MissingData(rule, features);
  const std::vector<const FeatureSubject*> subjects = SubjectsOf(rule.scope, features);
  if (lacking.needs.empty() && subjects.empty())
    lacking.needs.push_back(std::string(MissingSubjects(rule.scope)));
  if (!lacking.needs.empty()) {
    out.not_assessed.push_back(std::move(lacking));
    return;
  }
  bool assessed = false;
  std::set<std::string> missing;
  for (const FeatureSubject* subject : subjects) {
    const Evaluation evaluation(rule, features, *subject);
    const Outcome outcome = evaluation.Where();
    if (!outcome.holds) {
      missing.insert(outcome.missing.begin(), outcome.missing.end());
      continue;
    }
    assessed = true;
    if (*outcome.holds) found.push_back(evaluation.Make());
  }
  if (assessed) return;
  if (missing.empty()) missing.insert("a condition without division by zero");
  out.not_assessed.push_back({rule.id, {missing.begin(), missing.end()}, std::nullopt});
}

bool SamePlace(const Finding& a, const Finding& b) {
  const bool a_run = !a.op && !a.kernel, b_run = !b.op && !b.kernel;
  if (a_run || b_run) return true;
  return a.module || b.module ? a.module == b.module : a.op == b.op;
}

// Each cost counts for one finding only: time that covering findings count is subtracted.
void Uncover(std::vector<Candidate>& found) {
  for (Candidate& candidate : found) {
    Finding& finding = candidate.finding;
    finding.impact_ms = finding.cost_ms;
    for (const Candidate& by : found) {
      const Finding& other = by.finding;
      if (!finding.cost_ms || !other.cost_ms || *other.cost_ms <= 0 || &other == &finding) continue;
      const auto& covers = candidate.rule->covered_by;
      if (std::find(covers.begin(), covers.end(), other.rule) == covers.end() || !SamePlace(finding, other))
        continue;
      finding.impact_ms = std::max(0.0, *finding.impact_ms - *other.cost_ms);
      auto& in = finding.counted_in;
      if (std::find(in.begin(), in.end(), other.rule) == in.end()) in.push_back(other.rule);
    }
    if (finding.impact_ms)
      finding.score = SeverityWeight(finding.severity) * *finding.impact_ms * finding.confidence;
  }
}

void Deduplicate(std::vector<Candidate>& found) {
  using Place = std::optional<std::string>;
  std::map<std::tuple<std::string, Place, Place, Place, Place, Place>, size_t> seen;
  std::vector<Candidate> kept;
  for (Candidate& candidate : found) {
    const Finding& f = candidate.finding;
    const Place gap = KnownText(candidate.subject->Text("gap.place"));
    const auto [it, added] = seen.try_emplace({f.rule, f.stage, f.module, f.op, f.kernel, gap}, kept.size());
    if (added) {
      kept.push_back(std::move(candidate));
    } else if (f.cost_ms.value_or(-1) > kept[it->second].finding.cost_ms.value_or(-1)) {
      kept[it->second] = std::move(candidate);
    }
  }
  found = std::move(kept);
}

// Of the steps that are replayed alone: targets are those of the whole run.
replay::FixTargets InSteps(const replay::FixTargets& all, const replay::StepReplay& steps) {
  replay::FixTargets out;
  const auto in = [&steps](uint32_t node) { return steps.HasNode(node); };
  const auto ran = [&steps](uint32_t work) { return steps.HasWork(work); };
  std::copy_if(all.nodes.begin(), all.nodes.end(), std::back_inserter(out.nodes), in);
  std::copy_if(all.works.begin(), all.works.end(), std::back_inserter(out.works), ran);
  out.gaps = all.gaps;
  return out;
}

// What the candidate's fix changes; none where it has none that can be predicted.
std::optional<replay::FixChange> FixOf(const Candidate& candidate, const Features& features,
                                       const replay::StepReplay& steps) {
  if (!candidate.rule->fix || !candidate.left) return std::nullopt;
  const RuleFix& fix = *candidate.rule->fix;
  if (fix.of.empty()) return replay::FixChange{fix.kind, {}, *candidate.left};
  for (const FeatureSubject* subject : {candidate.subject, &features.run}) {
    const auto at = subject->targets.find(fix.of);
    // Nothing anywhere that the fix could change: what it would gain is not known.
    if (at != subject->targets.end() && at->second.empty()) return std::nullopt;
    if (at != subject->targets.end())
      return replay::FixChange{fix.kind, InSteps(at->second, steps), *candidate.left};
  }
  return std::nullopt;
}

constexpr double kLeastShare = 0.01;   // of the step: a fix that gains less is none
constexpr size_t kMostPredicted = 16;  // by cost; each is a replay
constexpr int kMostFixes = 5;          // in sequence

class GainPrediction {
 public:
  // The candidates have their fixes.
  GainPrediction(const replay::StepReplay& steps, std::vector<Candidate>& found)
      : steps_(steps), found_(found), step_ns_(steps.step_ns()) {}

  void Run() {
    if (step_ns_ <= 0) return;
    Each();
    Share();
    Cover();
    Sequence();
    // A run without steps has a start as well, next to which everything gains little.
    if (steps_.whole()) return;
    std::erase_if(found_, [this](const Candidate& c) {
      return c.finding.gain_ms && c.place < 0 && c.finding.gain_ms->expected * 1e6 < kLeastShare * step_ns_;
    });
  }

 private:
  // Every fix alone.
  void Each() {
    std::vector<Candidate*> order;
    for (Candidate& candidate : found_) order.push_back(&candidate);
    std::stable_sort(order.begin(), order.end(), [](const Candidate* a, const Candidate* b) {
      return a->finding.cost_ms.value_or(-1) > b->finding.cost_ms.value_or(-1);
    });
    if (order.size() > kMostPredicted) order.resize(kMostPredicted);
    for (Candidate* candidate : order) {
      if (!candidate->finding.fix) continue;
      replay::Plan plan = steps_.unchanged();
      replay::ApplyFix(steps_, *candidate->finding.fix, plan);
      SetGain(candidate->finding, step_ns_ - steps_.StepNs(plan));
    }
  }

  // One fix after the other, always the one that gains most of what the others left: a faster kernel gains
  // nothing while the device waits for the host, and much once it does not. A fix that others must come
  // before is weighed together with them.
  void Sequence() {
    replay::Plan plan = steps_.unchanged();
    double left_ns = step_ns_;
    for (int round = 0; round < kMostFixes; ++round) {
      std::vector<Candidate*> best;
      double best_rank = 0;
      for (Candidate& candidate : found_) {
        if (!candidate.finding.gain_ms || candidate.place >= 0) continue;
        std::vector<Candidate*> fixes = Before(candidate);
        fixes.push_back(&candidate);
        replay::Plan next = plan;
        for (const Candidate* fix : fixes) replay::ApplyFix(steps_, *fix->finding.fix, next);
        const double gain_ns = left_ns - steps_.StepNs(next);
        const double rank = gain_ns * candidate.finding.confidence;
        if (gain_ns < kLeastShare * step_ns_ || rank <= best_rank) continue;
        best = std::move(fixes);
        best_rank = rank;
      }
      if (best.empty()) return;
      PlaceAll(best, plan, left_ns);
    }
  }

  // The last of these fixes presumes the others. Those that gain something of their own come before it; the
  // others, which only clear its way, after it.
  void PlaceAll(const std::vector<Candidate*>& fixes, replay::Plan& plan, double& left_ns) {
    constexpr double kOwnGain = 0.05;  // of the step
    Candidate& main = *fixes.back();
    std::vector<Candidate*> minor;
    for (Candidate* fix : fixes) {
      if (fix == &main) break;
      if (fix->finding.gain_ms->expected * 1e6 < kOwnGain * step_ns_) {
        minor.push_back(fix);
      } else {
        Place(*fix, false, plan, left_ns);
      }
    }
    for (const Candidate* fix : minor) replay::ApplyFix(steps_, *fix->finding.fix, plan);
    Place(main, fixes.size() > 1, plan, left_ns);
    for (Candidate* fix : minor) {
      auto& after = main.finding.gain_after;
      if (std::find(after.begin(), after.end(), fix->finding.rule) == after.end())
        after.push_back(fix->finding.rule);
      fix->place = static_cast<int>(applied_.size());
      fix->finding.step_after_ms = left_ns / 1e6;
      applied_.push_back(fix->finding.rule);
    }
  }

  // Findings that must or should be fixed before this one, those that gain most first.
  std::vector<Candidate*> Before(const Candidate& candidate) const {
    std::vector<Candidate*> out;
    const auto& after = candidate.rule->fix->after;
    for (Candidate& other : found_) {
      // What happens outside of the steps, such as copies of weights at the start, is in nobody's way.
      if (other.place >= 0 || !other.finding.gain_ms || !other.finding.fix ||
          other.finding.fix->targets.empty() ||
          std::find(after.begin(), after.end(), other.rule->id) == after.end())
        continue;
      // One wait at the end of a step is in nobody's way.
      const auto number = [&](const char* name) { return other.subject->Number(name).value_or(0); };
      const bool waits = number("op.sync_per_step") >= 2;
      // Nor is it sensible to replay what one change of the program makes needless.
      const bool needless = other.rule->scope == RuleScope::kRun;
      if (needless || waits || number("op.alloc_calls") >= static_cast<double>(steps_.steps()) ||
          number("op.pageable_copies") > 0)
        out.push_back(&other);
    }
    std::stable_sort(out.begin(), out.end(), [](const Candidate* a, const Candidate* b) {
      return a->finding.gain_ms->expected > b->finding.gain_ms->expected;
    });
    return out;
  }

  // `depends`: others had to come first.
  void Place(Candidate& candidate, bool depends, replay::Plan& plan, double& left_ns) {
    replay::ApplyFix(steps_, *candidate.finding.fix, plan);
    const double after_ns = std::min(left_ns, steps_.StepNs(plan));
    Finding& finding = candidate.finding;
    const bool gains_alone = !depends && finding.gain_ms->expected * 1e6 >= kLeastShare * step_ns_;
    if (!gains_alone && left_ns - after_ns > kLeastShare * step_ns_) {
      SetGain(finding, left_ns - after_ns);
      finding.gain_after = applied_;
    }
    left_ns = after_ns;
    candidate.place = static_cast<int>(applied_.size());
    finding.step_after_ms = left_ns / 1e6;
    applied_.push_back(finding.rule);
  }

  // Findings of one rule whose fix is the same change (an allocator setting helps every site) share its gain:
  // it is that of the costliest.
  void Share() {
    for (Candidate& candidate : found_) {
      if (!candidate.finding.gain_ms) continue;
      for (const Candidate& other : found_) {
        const bool same = &other != &candidate && other.rule == candidate.rule && other.finding.gain_ms &&
                          !candidate.finding.fix->targets.empty() &&
                          other.finding.fix->targets == candidate.finding.fix->targets;
        const double own = candidate.finding.cost_ms.value_or(0), others = other.finding.cost_ms.value_or(0);
        if (same && (others > own || (others == own && &other < &candidate))) {
          LeaveGainTo(other, candidate.finding);
          break;
        }
      }
    }
  }

  static void LeaveGainTo(const Candidate& other, Finding& finding) {
    finding.gain_ms.reset();
    finding.gain_share.reset();
    auto& in = finding.counted_in;
    if (std::find(in.begin(), in.end(), other.rule->id) == in.end()) in.push_back(other.rule->id);
  }

  // The gain of a finding that another one covers is that one's.
  void Cover() {
    constexpr double kSameGain = 0.9;
    for (Candidate& candidate : found_) {
      Finding& finding = candidate.finding;
      for (const Candidate& other : found_) {
        const auto& covers = candidate.rule->covered_by;
        if (!finding.gain_ms || !other.finding.gain_ms || !SamePlace(finding, other.finding) ||
            std::find(covers.begin(), covers.end(), other.rule->id) == covers.end() ||
            other.finding.gain_ms->expected < kSameGain * finding.gain_ms->expected)
          continue;
        LeaveGainTo(other, finding);
      }
      if (const Candidate* other = RemoverOf(candidate)) LeaveGainTo(*other, finding);
    }
  }

  // Host code whose fix takes along every call that this one would change: copies of its data.
  const Candidate* RemoverOf(const Candidate& candidate) const {
    if (!candidate.finding.gain_ms || candidate.finding.fix->targets.nodes.empty()) return nullptr;
    const std::vector<uint32_t>& nodes = candidate.finding.fix->targets.nodes;
    for (const Candidate& other : found_) {
      if (&other == &candidate || !other.finding.gain_ms || other.finding.fix->kind != replay::FixKind::kHost)
        continue;
      const std::vector<uint32_t>& gone = other.finding.fix->targets.nodes;
      const std::unordered_set<uint32_t> known(gone.begin(), gone.end());
      if (std::all_of(nodes.begin(), nodes.end(), [&](uint32_t node) { return known.count(node) > 0; }))
        return &other;
    }
    return nullptr;
  }

  void SetGain(Finding& finding, double gain_ns) const {
    finding.gain_ms = replay::GainOf(steps_, gain_ns);
    finding.gain_share = finding.gain_ms->expected * 1e6 / step_ns_;
    finding.phase = steps_.whole() ? "whole" : "steady";
    if (!finding.suggestions.empty()) finding.first_fix = finding.suggestions[0];
  }

  const replay::StepReplay& steps_;
  std::vector<Candidate>& found_;
  const double step_ns_;
  std::vector<std::string> applied_;  // rules, in order
};

// Where a run has no steps, its start may outweigh every fix: findings whose gain is not predicted are then
// weighed by half of what they could save.
double WeightOf(const Candidate& c, double whole_ms) {
  const Finding& f = c.finding;
  if (f.gain_ms && f.gain_ms->expected >= kLeastShare * whole_ms) return f.gain_ms->expected;
  return 0.5 * f.impact_ms.value_or(0) * f.confidence;
}

// A fix is known, but not what it gains (collectives that could run beside the kernels), and even half of
// what it could save is more than the first fix of the sequence gains.
bool OutweighsSequence(const Candidate& c, double first_gain_ms, double steps) {
  const Finding& f = c.finding;
  return c.rule->fix && c.rule->scope == RuleScope::kRun && !f.gain_ms && f.counted_in.empty() &&
         f.impact_ms && 0.5 * *f.impact_ms * f.confidence / steps > first_gain_ms;
}

// The sequence of fixes, then other predicted gains, then the rest by score.
void SortFindings(std::vector<Candidate>& found, const replay::StepReplay* steps) {
  const bool whole = steps != nullptr && steps->whole();
  const double whole_ms = whole ? steps->step_ns() / 1e6 : 0;
  double first_gain_ms = 0;
  for (const Candidate& c : found) {
    if (c.place == 0) first_gain_ms = c.finding.gain_ms->expected * c.finding.confidence;
  }
  const auto outweighs = [&](const Candidate& c) {
    return steps != nullptr && !whole && first_gain_ms > 0 &&
           OutweighsSequence(c, first_gain_ms, static_cast<double>(std::max<int64_t>(1, steps->steady())));
  };
  std::stable_sort(found.begin(), found.end(), [&](const Candidate& x, const Candidate& y) {
    const Finding &a = x.finding, &b = y.finding;
    if (a.first != b.first) return a.first;
    if (x.rule->last != y.rule->last) return y.rule->last;
    if (whole && WeightOf(x, whole_ms) != WeightOf(y, whole_ms))
      return WeightOf(x, whole_ms) > WeightOf(y, whole_ms);
    if (outweighs(x) != outweighs(y)) return outweighs(x);
    if ((x.place >= 0) != (y.place >= 0)) return x.place >= 0;
    if (x.place != y.place) return x.place < y.place;
    const double left_gain = a.gain_ms ? a.gain_ms->expected : -1;
    const double right_gain = b.gain_ms ? b.gain_ms->expected : -1;
    if (left_gain != right_gain) return left_gain > right_gain;
    const double left = a.score.value_or(-1), right = b.score.value_or(-1);
    if (left != right) return left > right;
    const double left_cost = a.cost_ms.value_or(-1), right_cost = b.cost_ms.value_or(-1);
    if (left_cost != right_cost) return left_cost > right_cost;
    return a.rule < b.rule;
  });
}

}  // namespace

RuleResults ApplyRules(const RuleSet& rules, const Features& features, const replay::StepReplay* steps) {
  RuleResults out;
  std::vector<Candidate> found;
  for (const Rule& rule : rules.rules()) {
    if (!rule.enabled) continue;
    ++out.rules;
    Apply(rule, features, found, out);
  }
  Deduplicate(found);
  Uncover(found);
  if (steps != nullptr) {
    for (Candidate& candidate : found) candidate.finding.fix = FixOf(candidate, features, *steps);
    GainPrediction(*steps, found).Run();
  }
  SortFindings(found, steps);
  for (Candidate& candidate : found) out.findings.push_back(std::move(candidate.finding));
  return out;
}

}  // namespace nl
