// SPDX-License-Identifier: Apache-2.0
#include "analyze/compare/compare.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include <fmt/format.h>

#include "analyze/async_policy.h"
#include "analyze/compare/across.h"
#include "analyze/compare/sequence/segments.h"
#include "analyze/compare/verdict/comparable.h"
#include "analyze/compare/verdict/pair_verdict.h"
#include "analyze/compare/verdict/rank.h"
#include "analyze/facts/fingerprint.h"
#include "analyze/facts/idle.h"
#include "analyze/facts/stages.h"
#include "analyze/program/program.h"
#include "analyze/waits/path_graph.h"

namespace nl {

namespace compare {
namespace {

// What compare/ reads in addition to the facts of passes.
constexpr Reads kCompareReads =
    program::kProgramReads | kPathGraphReads | NL_READS(Op, input_dims, input_types) |
    NL_READS(Kernel, name, dur_ns, graph_id, grid_x, grid_y, grid_z) |
    NL_READS(Memcpy, kind, src_memory, dst_memory, bytes) | NL_READS(Device, name);

// Loads everything that a comparison reads before it starts: threads read columns while passes run.
Status LoadSide(Analysis& run) {
  return run.Load(kCompareReads,
                  {TimelineFacts::kName, IdleFacts::kName, StagesFacts::kName, FingerprintFacts::kName});
}

struct Sides {
  CallSequence a, b;
  Alignment alignment;
};

// The wait graphs of both runs, built while the sequences are aligned.
struct Graphs {
  Graphs(const Analysis& run_a, const Analysis& run_b) : a(Make(run_a)), b(Make(run_b)) {}
  static GraphFuture Make(const Analysis& run) {
    return std::async(kAsyncOrDeferred, [data = run.data(), timeline = run.facts().Find<TimelineFacts>()] {
      return GraphOf(data, *timeline);
    });
  }
  GraphFuture a, b;
};

// Labels that only one of the runs has cannot be matched: then the labels of both are ignored.
void DropForeignLabels(CallSequence& a, CallSequence& b) {
  const auto known = [](const CallSequence& mine, const CallSequence& other) {
    std::unordered_set<uint64_t> labels;
    for (const Segment& s : other.segments) labels.insert(s.label);
    size_t in = 0, all = 0;
    for (const Segment& s : mine.segments) {
      all += s.last - s.first;
      if (labels.count(s.label) != 0) in += s.last - s.first;
    }
    return 2 * in >= all;
  };
  if (known(a, b) && known(b, a)) return;
  for (CallSequence* sequence : {&a, &b}) {
    std::vector<Segment> lanes;
    for (const Segment& s : sequence->segments) {
      if (lanes.empty() || lanes.back().lane != s.lane) {
        lanes.push_back(s);
        lanes.back().label = 0;
        lanes.back().name.clear();
        lanes.back().token_hash = 0;
      }
      lanes.back().last = s.last;
      for (uint32_t i = s.first; i < s.last; ++i) {
        sequence->calls[i].segment = static_cast<uint32_t>(lanes.size() - 1);
        lanes.back().token_hash = HashPair(lanes.back().token_hash, sequence->Token(i));
      }
    }
    sequence->segments = std::move(lanes);
  }
}

// Threads none of whose work has a partner: another program on the same device.
std::vector<ThreadId> FindBackground(const CallSequence& sequence, const std::vector<uint32_t>& partner) {
  struct Sum {
    int64_t work = 0, matched = 0;
  };
  std::map<ThreadId, Sum> threads;
  const HostTree& host = sequence.run->facts().Find<TimelineFacts>()->host;
  ThreadId open = ThreadId::kNull;
  Sum* sum = nullptr;
  for (uint32_t i = 0; i < sequence.calls.size(); ++i) {
    const uint32_t node = sequence.calls[i].node, kernels = sequence.Type(i).kernels;
    if (node == kNone || kernels == 0) continue;
    if (sum == nullptr || host.thread[node] != open) sum = &threads[open = host.thread[node]];
    sum->work += kernels;
    if (partner[i] != kNone) sum->matched += kernels;
  }
  std::vector<ThreadId> out;
  int64_t matched_elsewhere = 0;
  for (const auto& [thread, sum] : threads) matched_elsewhere += sum.matched;
  for (const auto& [thread, sum] : threads) {
    if (10 * sum.matched < sum.work && matched_elsewhere > sum.matched) out.push_back(thread);
  }
  return out;
}

Status AlignSides(Analysis& run_a, Analysis& run_b, bool replay, Sides& sides,
                  std::optional<Graphs>& graphs) {
  CallSequenceOptions options_a, options_b;
  for (int round = 0; round < 2; ++round) {
    auto other = std::async(kAsyncOrDeferred, [&] { return BuildCallSequence(run_b, options_b); });
    Result<CallSequence> sequence_a = BuildCallSequence(run_a, options_a), sequence_b = other.get();
    if (!sequence_a.ok()) return sequence_a.error();
    if (!sequence_b.ok()) return sequence_b.error();
    sides.a = std::move(*sequence_a);
    sides.b = std::move(*sequence_b);
    if (replay && !graphs && !sides.a.on_host && !sides.b.on_host) graphs.emplace(run_a, run_b);
    PairLanes(sides.a, sides.b);
    DropForeignLabels(sides.a, sides.b);
    CutPeriods(sides.a, sides.b);
    sides.alignment = Align(sides.a, sides.b);
    if (round == 1 || sides.a.on_host || sides.b.on_host) break;
    std::vector<uint32_t> of_a(sides.a.calls.size(), kNone), of_b(sides.b.calls.size(), kNone);
    for (const Match& m : sides.alignment.calls) {
      if (m.a != kNone) of_a[m.a] = m.b;
      if (m.b != kNone) of_b[m.b] = m.a;
    }
    options_a.background = FindBackground(sides.a, of_a);
    options_b.background = FindBackground(sides.b, of_b);
    if (options_a.background.empty() && options_b.background.empty()) break;
  }
  return {};
}

// The positions selected by --stage and --step; empty: all. NotFound when none match.
Result<std::vector<bool>> Selected(const Sides& sides, const CompareOptions& options) {
  std::vector<bool> out;
  if (options.stage.empty() && !options.step) return out;
  const std::string wanted = options.stage.substr(0, 4) == "LLM@" ? options.stage.substr(4) : options.stage;
  const auto stage_of = [&](const Match& m) {
    return m.b != kNone ? StageOf(sides.b, sides.b.Type(m.b)) : StageOf(sides.a, sides.a.Type(m.a));
  };
  const Alignment& al = sides.alignment;
  out.assign(al.calls.size(), false);
  int64_t instance = -1;
  uint32_t last_segment = kNone;
  bool any = false;
  for (uint32_t i = 0; i < al.calls.size(); ++i) {
    const std::string stage = stage_of(al.calls[i]);
    const bool labelled = options.stage.empty() ? !stage.empty() : stage == wanted || stage == options.stage;
    if (!labelled) continue;
    if (al.segment_of[i] != last_segment) ++instance;
    last_segment = al.segment_of[i];
    out[i] = !options.step || instance == *options.step;
    any = any || out[i];
  }
  if (any) return out;
  std::vector<std::string> names;
  for (const Match& m : al.calls) {
    const std::string stage = stage_of(m);
    if (!stage.empty() && std::find(names.begin(), names.end(), stage) == names.end()) names.push_back(stage);
  }
  std::string list;
  for (const std::string& name : names) list += (list.empty() ? "" : ", ") + name;
  Error error = NotFound(options.step ? fmt::format("no instance {} of {}", *options.step,
                                                    options.stage.empty() ? "a step" : options.stage)
                                      : fmt::format("neither run has stage {}", options.stage));
  error.hint = list.empty() ? "the runs have no labels" : "stages in these runs: " + list;
  return error;
}

class Tables {
 public:
  Tables(const Sides& sides, const std::vector<bool>& only, bool device_time, Comparison& out)
      : sides_(sides), only_(only), device_time_(device_time), out_(out) {}

  void Fill() {
    AddSide(sides_.a, false);
    AddSide(sides_.b, true);
    Take(kernels_, out_.by_kernel);
    Take(ops_, out_.by_op);
    Take(modules_, out_.by_module);
    Take(stages_, out_.by_stage);
  }

 private:
  // Sums by type first, so that names are looked up once per type.
  void AddSide(const CallSequence& sequence, bool in_b) {
    struct Sum {
      int64_t count = 0, busy_ns = 0, all_ns = 0;
    };
    std::vector<Sum> of_type(sequence.types.size());
    const Alignment& al = sides_.alignment;
    for (uint32_t i = 0; i < al.calls.size(); ++i) {
      const uint32_t at = in_b ? al.calls[i].b : al.calls[i].a;
      if (at == kNone || (!only_.empty() && !only_[i])) continue;
      Sum& sum = of_type[sequence.calls[at].type];
      const Costs& costs = sequence.costs[at];
      ++sum.count;
      sum.busy_ns += costs.busy_ns();
      sum.all_ns += device_time_ ? costs.busy_ns() : costs.total_ns();
    }
    for (size_t i = 0; i < of_type.size(); ++i) {
      if (of_type[i].count == 0) continue;
      const CallType& type = sequence.types[i];
      const Sum& sum = of_type[i];
      const std::string outside = type.kind == CallKind::kEnd      ? "end of the run"
                                  : type.kind == CallKind::kAround ? "around the work"
                                                                   : "";
      if (!outside.empty() && sum.all_ns == 0) continue;
      const std::string kernel = KernelOf(sequence, type), op = OpOf(sequence, type);
      const std::string by_kernel = !outside.empty() ? outside : !kernel.empty() ? kernel : op;
      const std::string by_op = !outside.empty() ? outside : !op.empty() ? op : kernel;
      for (CompareRow* row : {&kernels_[by_kernel], &ops_[by_op], &modules_[ModuleOf(sequence, type)],
                              &stages_[StageOf(sequence, type)]}) {
        (in_b ? row->b_ms : row->a_ms) += sequence.Ms(sum.all_ns);
        (in_b ? row->busy_b_ms : row->busy_a_ms) += sequence.Ms(sum.busy_ns);
        (in_b ? row->count_b : row->count_a) += sum.count;
      }
    }
  }

  static void Take(std::map<std::string, CompareRow>& from, std::vector<CompareRow>& to) {
    for (auto& [name, row] : from) {
      row.name = name;
      to.push_back(row);
    }
    std::stable_sort(to.begin(), to.end(), [](const CompareRow& x, const CompareRow& y) {
      return std::abs(x.b_ms - x.a_ms) > std::abs(y.b_ms - y.a_ms);
    });
  }

  const Sides& sides_;
  const std::vector<bool>& only_;
  const bool device_time_;
  Comparison& out_;
  std::map<std::string, CompareRow> kernels_, ops_, modules_, stages_;
};

// The share of a side's time in calls with a partner.
double MatchedShare(const CallSequence& sequence, const std::vector<Match>& calls, bool in_b) {
  double matched = 0, all = 0;
  for (const Match& m : calls) {
    const uint32_t at = in_b ? m.b : m.a;
    if (at == kNone) continue;
    const auto ns = static_cast<double>(sequence.costs[at].total_ns());
    all += ns;
    if (m.a != kNone && m.b != kNone) matched += ns;
  }
  return all <= 0 ? 0 : matched / all;
}

// The work of other programs goes with the contention it causes.
void AddBackground(const Sides& sides, std::vector<Contribution>& contributions) {
  const bool in_b = sides.b.background_ns > 0;
  const CallSequence& with = in_b ? sides.b : sides.a;
  for (Contribution& c : contributions) {
    if (c.cause != Cause::kContention) continue;
    c.background =
        BackgroundWork{in_b, with.background_kernel, static_cast<double>(with.background_ns) / 1e6};
  }
}

// Costs that moved to a neighbour: reported, so that half of one is not taken for a change.
void FindShifts(Comparison& out) {
  for (const Contribution& from : out.contributions) {
    if (!from.significant || from.delta_ms() >= 0) continue;
    for (const Contribution& to : out.contributions) {
      if (!to.significant || to.delta_ms() <= 0 || to.module != from.module || to.stage != from.stage)
        continue;
      if (std::abs(to.delta_ms() + from.delta_ms()) > 0.1 * to.delta_ms()) continue;
      out.shifts.push_back({to.stage, to.module, from.op, to.op, to.delta_ms()});
    }
  }
}

class TrackMaker {
 public:
  TrackMaker(const Sides& sides, const Attribution& attribution, const std::vector<uint32_t>& rank,
             Comparison& out)
      : sides_(sides), attribution_(attribution), rank_(rank), out_(out.timeline), all_(out.contributions) {}

  void Fill() {
    std::vector<int32_t> item_a, item_b;
    Add(sides_.a, attribution_.of_call_a, out_.a, item_a);
    Add(sides_.b, attribution_.of_call_b, out_.b, item_b);
    for (const Match& m : sides_.alignment.calls) {
      if (m.a == kNone || m.b == kNone || item_a[m.a] < 0 || item_b[m.b] < 0) continue;
      out_.a[static_cast<size_t>(item_a[m.a])].partner = item_b[m.b];
      out_.b[static_cast<size_t>(item_b[m.b])].partner = item_a[m.a];
    }
  }

 private:
  void Add(const CallSequence& sequence, const std::vector<uint32_t>& of_call,
           std::vector<CompareTrack::Item>& to, std::vector<int32_t>& item_of) {
    item_of.assign(sequence.calls.size(), -1);
    const int64_t zero = sequence.run->facts().Find<TimelineFacts>()->first_start_ns;
    std::vector<uint32_t> order;
    order.reserve(sequence.calls.size());
    for (uint32_t i = 0; i < sequence.calls.size(); ++i) {
      if (sequence.end_ns[i] > sequence.start_ns[i]) order.push_back(i);
    }
    const auto earlier = [&](uint32_t x, uint32_t y) {
      return std::pair(sequence.start_ns[x], x) < std::pair(sequence.start_ns[y], y);
    };
    if (order.size() > CompareTrack::kMost) {
      std::nth_element(order.begin(), order.begin() + CompareTrack::kMost, order.end(), earlier);
      order.resize(CompareTrack::kMost);
      out_.cut = true;
    }
    std::sort(order.begin(), order.end(), earlier);
    for (const uint32_t i : order) {
      const CallType& c = sequence.Type(i);
      item_of[i] = static_cast<int32_t>(to.size());
      const uint32_t place = rank_[of_call[i]];
      const bool noise = all_[place].cause == Cause::kNoise;
      to.push_back({static_cast<double>(sequence.start_ns[i] - zero) / 1e6,
                    static_cast<double>(sequence.end_ns[i] - sequence.start_ns[i]) / 1e6,
                    NameOf(c.kernels > 0 ? KernelOf(sequence, c) : OpOf(sequence, c)),
                    noise ? -1 : static_cast<int32_t>(place), -1});
    }
  }

  uint32_t NameOf(const std::string& name) {
    const auto [it, added] = names_.try_emplace(name, static_cast<uint32_t>(out_.names.size()));
    if (added) out_.names.push_back(name);
    return it->second;
  }

  const Sides& sides_;
  const Attribution& attribution_;
  const std::vector<uint32_t>& rank_;
  CompareTrack& out_;
  const std::vector<Contribution>& all_;
  std::unordered_map<std::string, uint32_t> names_;
};

std::string RunIdOf(const Analysis& run) {
  const Json& document = run.data().document;
  const auto it = document.is_object() ? document.find("run_id") : document.end();
  return it != document.end() && it->is_string() ? it->get<std::string>() : "";
}

Status AddSimilarity(Analysis& a, Analysis& b, bool plain, Comparison& out) {
  NL_ASSIGN(const FingerprintFacts* fa, a.Need<FingerprintFacts>());
  NL_ASSIGN(const FingerprintFacts* fb, b.Need<FingerprintFacts>());
  out.fingerprint = CompareFingerprints(*fa, *fb);
  out.similarity = plain ? out.fingerprint.plain : out.fingerprint.similarity;
  out.run_a = RunIdOf(a);
  out.run_b = RunIdOf(b);
  return {};
}

}  // namespace
}  // namespace compare

Result<Comparison> CompareRuns(Analysis& run_a, Analysis& run_b, const CompareOptions& options) {
  using namespace compare;
  Sides sides;
  std::optional<Graphs> graphs;
  const bool replay = options.stage.empty() && !options.step && !options.device_time;
  NL_TRY(LoadSide(run_a));
  NL_TRY(LoadSide(run_b));
  NL_TRY(AlignSides(run_a, run_b, replay, sides, graphs));
  const Changes changes = FindChanges(sides.a, sides.b, sides.alignment);
  NL_ASSIGN(const Comparable comparable,
            FindComparable(run_a, run_b, sides.a, sides.b, sides.alignment, changes));
  NL_ASSIGN(const std::vector<bool> only, Selected(sides, options));

  Comparison out;
  out.on_host = sides.a.on_host || sides.b.on_host;
  ReplayCosts replay_costs;
  // On another device every duration differs, so removing one change from a replay means nothing.
  if (graphs && !comparable.no_verdict()) replay_costs = ReplayCosts(sides.a, sides.b, graphs->a, graphs->b);
  Attribution attribution =
      Attribute(sides.a, sides.b, sides.alignment, changes, comparable.work, options, only, replay_costs);
  AddBackground(sides, attribution.contributions);
  out.contributions = std::move(attribution.contributions);
  const std::vector<uint32_t> place = Rank(out.contributions);
  out.drift = comparable.work.no_host || comparable.other_program || out.on_host ? NAN : changes.drift.all;
  auto tables = std::async(kAsyncOrDeferred, [&] {
    Tables(sides, only, options.device_time, out).Fill();
    out.matched_share_a = MatchedShare(sides.a, sides.alignment.calls, false);
    out.matched_share_b = MatchedShare(sides.b, sides.alignment.calls, true);
  });
  TrackMaker(sides, attribution, place, out).Fill();
  tables.get();
  FindShifts(out);
  out.counters = CompareCounters(run_a, run_b);
  for (const CompareRow& row : out.by_stage) {
    out.busy_a_ms += row.busy_a_ms;
    out.busy_b_ms += row.busy_b_ms;
  }
  if (only.empty() && !options.device_time) {
    out.wall_a_ms = static_cast<double>(sides.a.wall_ns) / 1e6;
    out.wall_b_ms = static_cast<double>(sides.b.wall_ns) / 1e6;
  } else {
    for (const CompareRow& row : out.by_stage) {
      out.wall_a_ms += row.a_ms;
      out.wall_b_ms += row.b_ms;
    }
  }
  double explained = 0;
  for (const Contribution& c : out.contributions) explained += c.delta_ms();
  out.residual_ms = out.delta_ms() - explained;
  constexpr double kRoundingMs = 1e-6;  // less than a nanosecond is rounding
  if (std::abs(out.residual_ms) < kRoundingMs) out.residual_ms = 0;
  NL_TRY(AddSimilarity(run_a, run_b, options.plain_similarity, out));
  out.comparability = comparable.differences;
  out.other_device = comparable.work.other_device;
  out.no_verdict_reason = comparable.reason;
  out.other_program = comparable.other_program;
  if (comparable.across && !out.on_host) {
    NL_ASSIGN(out.across, CompareAcross(run_a, run_b));
    out.across->setup_a = comparable.device_a;
    out.across->setup_b = comparable.device_b;
  }
  out.work_changed = comparable.work.work;
  out.work_text = comparable.work_text;
  out.normalised_by = comparable.normalised_by;
  if (!out.normalised_by.empty() && comparable.units_a > 0 && comparable.units_b > 0) {
    out.normal_a_ms = out.wall_a_ms / comparable.units_a;
    out.normal_b_ms = out.wall_b_ms / comparable.units_b;
  }
  out.verdict = JudgePair(out, !comparable.no_verdict());
  return out;
}

}  // namespace nl
