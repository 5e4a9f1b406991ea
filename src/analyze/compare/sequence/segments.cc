// SPDX-License-Identifier: Apache-2.0
#include "analyze/compare/sequence/segments.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

namespace nl::compare {

std::string FoldNumbers(std::string_view label) {
  std::string out;
  bool digits = false;
  for (const char c : label) {
    const bool digit = c >= '0' && c <= '9';
    if (digit && digits) continue;
    digits = digit;
    if (digit && !out.empty() && out.back() == '#') continue;
    out += digit ? '#' : c;
  }
  while (out.size() > 1 && (out.back() == '#' || out.back() == ' ')) out.pop_back();
  return out;
}

namespace {

constexpr size_t kFewestCalls = 8;   // average calls of a label that becomes a segment
constexpr uint32_t kLongCalls = 64;  // longer unlabelled ranges are searched for periods
constexpr size_t kMostHeads = 24;    // candidates for the first call of a loop

class LabelCutter {
 public:
  LabelCutter(const TimelineFacts& t, const program::Program& program, CallSequence& sequence)
      : t_(t), h_(t.host), program_(program), sequence_(sequence) {}

  void Run() {
    FindRanges();
    FindLabels();
    uint64_t open_key = 0;
    for (uint32_t i = 0; i < sequence_.calls.size(); ++i) {
      Call& call = sequence_.calls[i];
      const CallType& type = sequence_.types[call.type];
      const bool end = IsOutside(type.kind);
      const uint32_t lane = call.segment;
      const uint32_t range = LabelOf(call);
      const uint32_t step = range != kNone || call.node == kNone || end || program_.steps.empty()
                                ? kNone
                                : program_.StepAt(h_.start_ns[call.node]);
      const uint64_t key = HashPair(HashPair(lane + 1, range), HashPair(step, end));
      if (sequence_.segments.empty() || key != open_key) Open(i, lane, range, step, end);
      open_key = key;
      call.segment = static_cast<uint32_t>(sequence_.segments.size() - 1);
      Segment& segment = sequence_.segments.back();
      segment.last = i + 1;
      segment.graph = segment.graph || type.graph;
      segment.token_hash = HashPair(segment.token_hash, type.token);
    }
  }

 private:
  bool IsLabel(uint32_t node) const {
    return h_.kind[node] == HostKind::kRange && !IsNull(h_.name[node]) &&
           ModuleNameOf(program_.data.Text(h_.name[node])).empty();
  }
  // Few nodes are labels: keep those, each with the label around it.
  void FindRanges() {
    for (uint32_t i = 0; i < h_.size(); ++i) {
      if (!IsLabel(i)) continue;
      uint32_t outer = ranges_.empty() ? kNone : static_cast<uint32_t>(ranges_.size() - 1);
      while (outer != kNone && h_.last[ranges_[outer].node] <= i) outer = ranges_[outer].outer;
      // The program's label and the recorder's label around the same calls are one.
      if (outer != kNone && h_.name[ranges_[outer].node] == h_.name[i]) continue;
      ranges_.push_back({i, outer});
    }
  }
  // The innermost label around a node, or the node itself: position in ranges_. For nodes in order it is the
  // previous answer or next to it.
  uint32_t Around(uint32_t node) {
    if (ranges_.empty() || node < ranges_[0].node) return kNone;
    const auto holds = [&](size_t at) {
      return ranges_[at].node <= node && (at + 1 == ranges_.size() || node < ranges_[at + 1].node);
    };
    if (!holds(near_) && !(near_ + 1 < ranges_.size() && holds(++near_))) {
      const auto after = std::upper_bound(ranges_.begin(), ranges_.end(), node,
                                          [](uint32_t n, const Range& r) { return n < r.node; });
      near_ = static_cast<size_t>(after - ranges_.begin()) - 1;
    }
    auto at = static_cast<uint32_t>(near_);
    while (at != kNone && h_.last[ranges_[at].node] <= node) at = ranges_[at].outer;
    return at;
  }
  uint32_t NameAt(uint32_t range) const { return static_cast<uint32_t>(h_.name[ranges_[range].node]); }

  // Calls of one label are adjacent: count ranges, not calls.
  void FindLabels() {
    std::unordered_map<uint32_t, size_t> calls, instances;
    std::unordered_set<uint32_t> seen;
    uint32_t open = kNone;
    size_t length = 0;
    const auto close = [&] {
      for (uint32_t at = open; at != kNone; at = ranges_[at].outer) {
        calls[NameAt(at)] += length;
        if (seen.insert(at).second) ++instances[NameAt(at)];
      }
      length = 0;
    };
    for (const Call& call : sequence_.calls) {
      const uint32_t label = call.node == kNone ? kNone : Around(call.node);
      if (label != open) close();
      open = label;
      ++length;
    }
    close();
    for (const auto& [name, count] : calls) {
      if (count >= kFewestCalls * instances[name]) labels_.insert(name);
    }
  }

  // The node of the label a call belongs to.
  uint32_t LabelOf(const Call& call) {
    if (call.node == kNone) return kNone;
    const uint32_t innermost = Around(call.node);
    if (innermost == asked_) return answer_;
    uint32_t at = innermost;
    while (at != kNone && labels_.count(NameAt(at)) == 0) at = ranges_[at].outer;
    asked_ = innermost;
    return answer_ = at == kNone ? kNone : ranges_[at].node;
  }

  void Open(uint32_t first, uint32_t lane, uint32_t range, uint32_t step, bool end) {
    Segment& segment = sequence_.segments.emplace_back();
    segment.first = first;
    segment.lane = lane;
    if (range != kNone) {
      segment.name = FoldNumbers(sequence_.Text(h_.name[range]));
    } else if (step != kNone) {
      segment.name = FoldNumbers(program_.step_label);
    } else if (end) {
      segment.name = "end of the run";
    }
    segment.label = segment.name.empty() ? 0 : HashText(segment.name);
  }

  const TimelineFacts& t_;
  const HostTree& h_;
  const program::Program& program_;
  CallSequence& sequence_;
  struct Range {
    uint32_t node, outer;  // outer: position in ranges_
  };
  std::vector<Range> ranges_;  // by node
  size_t near_ = 0;            // the last answer
  std::unordered_set<uint32_t> labels_;
  uint32_t asked_ = kNone, answer_ = kNone;  // the last query and its answer
};

using TokenCounts = std::unordered_map<uint64_t, uint32_t>;

TokenCounts CountTokens(const CallSequence& sequence, const Segment& s) {
  std::vector<uint32_t> of_type(sequence.types.size(), 0);
  for (uint32_t i = s.first; i < s.last; ++i) ++of_type[sequence.calls[i].type];
  TokenCounts out;
  for (size_t type = 0; type < of_type.size(); ++type) {
    if (of_type[type] > 0) out[sequence.types[type].token] += of_type[type];
  }
  return out;
}

// Share of the calls in periods that occur more than once.
double Repeats(const CallSequence& sequence, const Segment& s, uint64_t head) {
  std::unordered_map<uint64_t, std::pair<uint32_t, uint32_t>> periods;  // by hash: periods, calls
  uint64_t hash = 0;
  uint32_t from = s.first;
  const auto close = [&](uint32_t to) {
    auto& [count, calls] = periods[hash];
    ++count;
    calls += to - from;
  };
  for (uint32_t i = s.first; i < s.last; ++i) {
    if (sequence.Token(i) == head && i > from) {
      close(i);
      hash = 0;
      from = i;
    }
    hash = HashPair(hash, sequence.Token(i));
  }
  close(s.last);
  uint32_t repeated = 0;
  for (const auto& [h, period] : periods) repeated += period.first > 1 ? period.second : 0;
  return static_cast<double>(repeated) / static_cast<double>(s.last - s.first);
}

// The call that starts the outermost loop of both ranges; 0 when there is none.
uint64_t FindHead(const CallSequence& a, const Segment& sa, const CallSequence& b, const Segment& sb) {
  const TokenCounts in_a = CountTokens(a, sa), in_b = CountTokens(b, sb);
  const uint32_t most = std::min(sa.last - sa.first, sb.last - sb.first) / 4;
  std::vector<std::pair<uint32_t, uint64_t>> heads;  // by count, then first occurrence
  std::unordered_set<uint64_t> taken;
  std::vector<bool> seen(a.types.size(), false);
  for (uint32_t i = sa.first; i < sa.last; ++i) {
    if (seen[a.calls[i].type]) continue;
    seen[a.calls[i].type] = true;
    const uint64_t token = a.Token(i);
    const auto other = in_b.find(token);
    if (other == in_b.end() || !taken.insert(token).second) continue;
    const uint32_t count = std::min(in_a.at(token), other->second);
    if (count >= 3 && count <= most) heads.push_back({count, token});
  }
  std::stable_sort(heads.begin(), heads.end(),
                   [](const auto& x, const auto& y) { return x.first < y.first; });
  uint64_t best = 0;
  double best_repeats = 0.5;
  uint32_t last_count = 0, same_count = 0;
  size_t tried = 0;
  for (const auto& [count, token] : heads) {
    same_count = count == last_count ? same_count + 1 : 0;
    last_count = count;
    if (same_count >= 2) continue;  // two calls of one loop are candidates for the same loop
    if (++tried > kMostHeads) break;
    const double repeats = std::min(Repeats(a, sa, token), Repeats(b, sb, token));
    if (repeats <= best_repeats) continue;
    best = token;
    best_repeats = repeats;
    if (repeats > 0.9) break;
  }
  return best;
}

std::vector<Segment> CutAt(CallSequence& sequence, const Segment& s, uint64_t head) {
  std::vector<Segment> out;
  for (uint32_t i = s.first; i < s.last; ++i) {
    if (out.empty() || sequence.Token(i) == head) {
      out.push_back(s);
      out.back().first = i;
      out.back().token_hash = 0;
    }
    out.back().last = i + 1;
    out.back().token_hash = HashPair(out.back().token_hash, sequence.Token(i));
  }
  return out;
}

void Replace(CallSequence& sequence, const std::vector<std::vector<Segment>>& cut) {
  std::vector<Segment> segments;
  for (size_t i = 0; i < sequence.segments.size(); ++i) {
    if (cut[i].empty()) {
      segments.push_back(sequence.segments[i]);
    } else {
      segments.insert(segments.end(), cut[i].begin(), cut[i].end());
    }
  }
  sequence.segments = std::move(segments);
  for (uint32_t s = 0; s < sequence.segments.size(); ++s) {
    for (uint32_t i = sequence.segments[s].first; i < sequence.segments[s].last; ++i)
      sequence.calls[i].segment = s;
  }
}

}  // namespace

void CutSegments(const TimelineFacts& timeline, const program::Program& program, CallSequence& sequence) {
  LabelCutter(timeline, program, sequence).Run();
}

namespace {

using LaneTokens = std::vector<TokenCounts>;  // by lane

LaneTokens CountLanes(const CallSequence& sequence) {
  LaneTokens out;
  std::vector<uint32_t> of_type(sequence.types.size(), 0);
  const auto close = [&](uint32_t lane) {
    if (lane == kEndLane) return;
    if (lane >= out.size()) out.resize(lane + 1);
    for (size_t type = 0; type < of_type.size(); ++type) {
      if (of_type[type] > 0) out[lane][sequence.types[type].token] += of_type[type];
    }
    std::fill(of_type.begin(), of_type.end(), 0);
  };
  uint32_t lane = kEndLane;
  for (const Segment& s : sequence.segments) {
    if (s.lane != lane) close(lane);
    lane = s.lane;
    if (lane == kEndLane) continue;
    for (uint32_t i = s.first; i < s.last; ++i) ++of_type[sequence.calls[i].type];
  }
  close(lane);
  return out;
}

// Calls that both have, relative to the larger.
double SharedCalls(const TokenCounts& a, const TokenCounts& b) {
  uint64_t shared = 0, in_a = 0, in_b = 0;
  for (const auto& [token, count] : a) {
    in_a += count;
    const auto it = b.find(token);
    if (it != b.end()) shared += std::min(count, it->second);
  }
  for (const auto& [token, count] : b) in_b += count;
  return static_cast<double>(shared) / static_cast<double>(std::max<uint64_t>({in_a, in_b, 1}));
}

// The elements of the segments, in the segments' order.
template <class T>
void Reorder(const std::vector<Segment>& segments, std::vector<T>& column) {
  std::vector<T> out;
  out.reserve(column.size());
  for (const Segment& s : segments) out.insert(out.end(), column.begin() + s.first, column.begin() + s.last);
  column = std::move(out);
}

// Reorders the calls and segments by the new lanes.
void MoveLanes(const std::vector<uint32_t>& lane_of, CallSequence& sequence) {
  bool moved = false;
  for (uint32_t lane = 0; lane < lane_of.size(); ++lane) moved = moved || lane_of[lane] != lane;
  if (!moved) return;
  for (Segment& s : sequence.segments) {
    if (s.lane != kEndLane) s.lane = lane_of[s.lane];
  }
  std::stable_sort(sequence.segments.begin(), sequence.segments.end(),
                   [](const Segment& x, const Segment& y) { return x.lane < y.lane; });
  Reorder(sequence.segments, sequence.calls);
  Reorder(sequence.segments, sequence.costs);
  for (auto* column : {&sequence.start_ns, &sequence.end_ns, &sequence.span_ns, &sequence.elapsed_ns})
    Reorder(sequence.segments, *column);
  uint32_t first = 0;
  std::vector<uint32_t> place(sequence.calls.size());  // by old position
  for (uint32_t k = 0; k < sequence.segments.size(); ++k) {
    Segment& s = sequence.segments[k];
    for (uint32_t i = s.first; i < s.last; ++i) {
      place[i] = first + i - s.first;
      sequence.calls[place[i]].segment = k;
    }
    s.last = first + s.last - s.first;
    s.first = first;
    first = s.last;
  }
  for (uint32_t& call : sequence.call_of_work) call = place[call];
}

}  // namespace

void PairLanes(const CallSequence& a, CallSequence& b) {
  const LaneTokens in_a = CountLanes(a), in_b = CountLanes(b);
  if (in_a.size() < 2 && in_b.size() < 2) return;
  struct Candidate {
    double shared;
    uint32_t a, b;
  };
  std::vector<Candidate> candidates;
  for (uint32_t i = 0; i < in_a.size(); ++i) {
    for (uint32_t j = 0; j < in_b.size(); ++j) {
      if (const double shared = SharedCalls(in_a[i], in_b[j]); shared > 0)
        candidates.push_back({shared, i, j});
    }
  }
  const auto apart = [](const Candidate& c) { return c.a > c.b ? c.a - c.b : c.b - c.a; };
  std::sort(candidates.begin(), candidates.end(), [&](const Candidate& x, const Candidate& y) {
    if (x.shared != y.shared) return x.shared > y.shared;
    return apart(x) != apart(y) ? apart(x) < apart(y) : x.a < y.a;
  });
  std::vector<uint32_t> lane_of(in_b.size(), kNone);
  std::vector<bool> taken(in_a.size(), false);
  for (const Candidate& c : candidates) {
    if (taken[c.a] || lane_of[c.b] != kNone) continue;
    taken[c.a] = true;
    lane_of[c.b] = c.a;
  }
  auto next = static_cast<uint32_t>(in_a.size());
  for (uint32_t& lane : lane_of) {
    if (lane == kNone) lane = next++;
  }
  MoveLanes(lane_of, b);
}

void CutPeriods(CallSequence& a, CallSequence& b) {
  constexpr uint32_t kLongLabelled = 4096;
  std::vector<std::vector<Segment>> cut_a(a.segments.size()), cut_b(b.segments.size());
  // Ranges of one label correspond by order.
  std::unordered_map<uint64_t, std::vector<uint32_t>> by_label;
  const auto is_long = [](const Segment& s) {
    return s.last - s.first > (s.label == 0 ? kLongCalls : kLongLabelled);
  };
  for (uint32_t i = 0; i < b.segments.size(); ++i) {
    if (is_long(b.segments[i])) by_label[HashPair(b.segments[i].label, b.segments[i].lane)].push_back(i);
  }
  std::unordered_map<uint64_t, size_t> used;
  std::unordered_map<uint64_t, uint64_t> heads;  // of pairs of equal ranges
  for (uint32_t i = 0; i < a.segments.size(); ++i) {
    const Segment& sa = a.segments[i];
    if (!is_long(sa)) continue;
    const uint64_t key = HashPair(sa.label, sa.lane);
    const auto it = by_label.find(key);
    if (it == by_label.end() || used[key] >= it->second.size()) continue;
    const uint32_t j = it->second[used[key]++];
    const Segment& sb = b.segments[j];
    const auto [head, added] = heads.try_emplace(HashPair(sa.token_hash, sb.token_hash), 0);
    if (added) head->second = FindHead(a, sa, b, sb);
    if (head->second == 0) continue;
    cut_a[i] = CutAt(a, sa, head->second);
    cut_b[j] = CutAt(b, sb, head->second);
  }
  Replace(a, cut_a);
  Replace(b, cut_b);
}

}  // namespace nl::compare
