// SPDX-License-Identifier: Apache-2.0
#include "analyze/compare/attribute/changes.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <unordered_map>

#include "base/flat_map.h"

namespace nl::compare {

namespace {

// "[[8,512]]" and "[[8,512],[8]]" are the same inputs without and with the output buffer at the end.
bool SameInputs(std::string_view a, std::string_view b) {
  if (a.size() > b.size()) std::swap(a, b);
  return a.size() > 1 && b.size() > a.size() && b[a.size() - 1] == ',' &&
         a.substr(0, a.size() - 1) == b.substr(0, a.size() - 1);
}

}  // namespace

uint8_t ChangeOf(const CallSequence& sequence_a, const CallType* a, const CallSequence& sequence_b,
                 const CallType* b) {
  if (a == nullptr) return kInserted;
  if (b == nullptr) return kDeleted;
  uint8_t out = 0;
  if (a->op_hash != b->op_hash) out |= kOpChanged;
  // A property that only one run recorded does not count as a difference.
  const bool typed = !IsNull(a->types) && !IsNull(b->types), shaped = IsNull(a->dims) == IsNull(b->dims);
  if (typed && a->type_hash != b->type_hash &&
      !SameInputs(sequence_a.Text(a->types), sequence_b.Text(b->types)))
    out |= kTypeChanged;
  if (a->kernel_hash != b->kernel_hash) out |= kKernelChanged;
  if (a->graph != b->graph && a->kernels > 0) out |= kGraphChanged;
  // Grids can only be compared for the same kernel.
  const bool shapes = !IsNull(a->dims) || (out & kKernelChanged) == 0;
  if (shaped && shapes && a->shape_hash != b->shape_hash &&
      !SameInputs(sequence_a.Text(a->dims), sequence_b.Text(b->dims)))
    out |= kShapeChanged;
  return out;
}

namespace {

struct Ratio {
  double value, weight;
};
// The value with half of the weight at or below it, by selection instead of sorting.
double WeightedMedian(std::vector<Ratio>& ratios) {
  if (ratios.empty()) return 1;
  double all = 0;
  for (const Ratio& r : ratios) all += r.weight;
  const auto less = [](const Ratio& x, const Ratio& y) { return x.value < y.value; };
  double below = 0;  // weight before `from`
  auto from = ratios.begin(), to = ratios.end();
  while (to - from > 16) {
    const auto middle = from + (to - from) / 2;
    std::nth_element(from, middle, to, less);
    double weight = below;
    for (auto it = from; it != middle; ++it) weight += it->weight;
    if (2 * weight >= all) {
      to = middle;
    } else {
      below = weight;
      from = middle;
    }
  }
  std::sort(from, to, less);
  for (auto it = from; it != to; ++it) {
    below += it->weight;
    if (2 * below >= all) return it->value;
  }
  return (to - 1)->value;
}

// A call that was deleted in one place and inserted in another of the same pair of segments has only moved.
void PairMoved(const CallSequence& a, const CallSequence& b, Alignment& al) {
  std::vector<Match> calls;
  std::vector<uint32_t> segment_of;
  calls.reserve(al.calls.size());
  segment_of.reserve(al.calls.size());
  const auto same = [](const CallType& c) {
    return HashPair(c.token, HashPair(c.kernel_hash, c.shape_hash));
  };
  for (size_t from = 0; from < al.calls.size();) {
    size_t to = from;
    bool deleted = false, inserted = false;
    for (; to < al.calls.size() && al.segment_of[to] == al.segment_of[from]; ++to) {
      deleted = deleted || al.calls[to].b == kNone;
      inserted = inserted || al.calls[to].a == kNone;
    }
    std::unordered_map<uint64_t, std::vector<uint32_t>> gone;  // calls of A without partner
    if (deleted && inserted) {
      for (size_t i = to; i-- > from;) {
        if (al.calls[i].b == kNone) gone[same(a.Type(al.calls[i].a))].push_back(al.calls[i].a);
      }
    }
    std::vector<uint32_t> moved;
    std::unordered_map<uint32_t, uint32_t> partner;  // by call of B
    if (!gone.empty()) {
      for (size_t i = from; i < to; ++i) {
        if (al.calls[i].a != kNone) continue;
        const auto it = gone.find(same(b.Type(al.calls[i].b)));
        if (it == gone.end() || it->second.empty()) continue;
        partner[al.calls[i].b] = it->second.back();
        moved.push_back(it->second.back());
        it->second.pop_back();
      }
      std::sort(moved.begin(), moved.end());
    }
    for (size_t i = from; i < to; ++i) {
      Match m = al.calls[i];
      if (m.b == kNone && std::binary_search(moved.begin(), moved.end(), m.a)) continue;
      if (m.a == kNone) {
        if (const auto it = partner.find(m.b); it != partner.end()) m.a = it->second;
      }
      calls.push_back(m);
      segment_of.push_back(al.segment_of[i]);
    }
    from = to;
  }
  al.calls = std::move(calls);
  al.segment_of = std::move(segment_of);
}

// Pairs of segments in which more than this share of the calls, or of the host time, was added, removed or
// replaced (compiled instead of eager): there is no unchanged work to compare the rest with.
constexpr double kRewritten = 0.6;

std::vector<bool> FindRewritten(const CallSequence& a, const CallSequence& b, const Alignment& al,
                                const std::vector<uint8_t>& change) {
  struct Side {
    double ns = 0, changed_ns = 0;
    int64_t calls = 0, changed_calls = 0;
    void Add(const Costs& costs, bool changed) {
      const auto host_ns = static_cast<double>(costs.host_ns());
      ns += host_ns;
      ++calls;
      if (changed) changed_ns += host_ns, ++changed_calls;
    }
    bool Rewritten() const {
      return changed_ns > kRewritten * ns ||
             static_cast<double>(changed_calls) > kRewritten * static_cast<double>(calls);
    }
  };
  std::vector<Side> in_a(al.segments.size()), in_b(al.segments.size());
  for (uint32_t i = 0; i < al.calls.size(); ++i) {
    const Match& m = al.calls[i];
    const bool changed = IsWhole(change[i]);
    if (m.a != kNone) in_a[al.segment_of[i]].Add(a.costs[m.a], changed);
    if (m.b != kNone) in_b[al.segment_of[i]].Add(b.costs[m.b], changed);
  }
  std::vector<bool> out(al.segments.size());
  for (size_t i = 0; i < out.size(); ++i) {
    const bool paired = al.segments[i].a != kNone && al.segments[i].b != kNone;
    out[i] = paired && (in_a[i].Rewritten() || in_b[i].Rewritten());
  }
  return out;
}

void FindClusters(const CallSequence& a, const CallSequence& b, const Alignment& al, Changes& out) {
  constexpr uint32_t kBridge = 2;  // unchanged calls within one change
  const std::vector<bool> rewritten = FindRewritten(a, b, al, out.change);
  Cluster* open = nullptr;
  for (uint32_t i = 0; i < al.calls.size(); ++i) {
    const uint32_t segment = al.segment_of[i];
    const bool whole = rewritten[segment];
    if (!whole && !IsStructural(out.change[i])) continue;
    const bool joins =
        open != nullptr && (whole || i - open->last <= kBridge) && al.segment_of[open->first] == segment;
    if (!joins) open = &out.clusters.emplace_back(Cluster{i, i, 0, whole});
    open->last = i + 1;
    const Match& m = al.calls[i];
    const uint64_t tokens = HashPair(m.a == kNone ? 0 : a.Token(m.a), m.b == kNone ? 0 : b.Token(m.b));
    open->signature = HashPair(open->signature, HashPair(out.change[i], tokens));
  }
}

// By how much the host time of single kinds of calls deviates from the drift: the noise of one place.
double SpreadOf(const CallSequence& a, const CallSequence& b, const Alignment& al,
                const std::vector<uint8_t>& change, double drift) {
  struct Sums {
    int64_t a = 0, b = 0;
  };
  std::vector<Sums> of_type(a.types.size());
  for (uint32_t i = 0; i < al.calls.size(); ++i) {
    if (IsWhole(change[i])) continue;
    Sums& sums = of_type[a.calls[al.calls[i].a].type];
    sums.a += a.elapsed_ns[al.calls[i].a];
    sums.b += b.elapsed_ns[al.calls[i].b];
  }
  std::map<uint64_t, std::pair<double, double>> kinds;
  for (size_t type = 0; type < of_type.size(); ++type) {
    auto& [sum_a, sum_b] = kinds[a.types[type].token];
    sum_a += static_cast<double>(of_type[type].a);
    sum_b += static_cast<double>(of_type[type].b);
  }
  std::vector<Ratio> away;
  for (const auto& [token, sums] : kinds) {
    if (sums.first > 0 && sums.second > 0)
      away.push_back(
          {std::abs(std::log(sums.second / sums.first / drift)), std::min(sums.first, sums.second)});
  }
  return away.empty() ? 0 : 1.4826 * WeightedMedian(away);
}

void FindDrift(const CallSequence& a, const CallSequence& b, const Alignment& al, const Changes& changes,
               Drift& out) {
  constexpr size_t kFewest = 20;
  constexpr double kLeast = 0.4, kMost = 2.5;  // outside, the work is not the same
  std::vector<Ratio> all, here;
  out.by_segment.assign(al.segments.size(), NAN);
  std::vector<bool> rewritten(al.segments.size(), false);
  for (const Cluster& c : changes.clusters) rewritten[al.segment_of[c.first]] = c.rewritten;
  const auto close = [&](uint32_t segment) {
    if (here.size() >= kFewest) out.by_segment[segment] = std::clamp(WeightedMedian(here), kLeast, kMost);
    here.clear();
  };
  for (uint32_t i = 0; i < al.calls.size(); ++i) {
    if (i > 0 && al.segment_of[i] != al.segment_of[i - 1]) close(al.segment_of[i - 1]);
    if (IsWhole(changes.change[i]) || rewritten[al.segment_of[i]]) continue;
    const auto in_a = static_cast<double>(a.span_ns[al.calls[i].a]),
               in_b = static_cast<double>(b.span_ns[al.calls[i].b]);
    if (in_a <= 0 || in_b <= 0) continue;
    here.push_back({in_b / in_a, std::min(in_a, in_b)});  // a call that got slow must not dominate
    all.push_back(here.back());
  }
  if (!al.calls.empty()) close(al.segment_of.back());
  out.known = all.size() >= 2 * kFewest;
  out.all = out.known ? std::clamp(WeightedMedian(all), kLeast, kMost) : 1;
  for (double& r : out.by_segment) {
    if (std::isnan(r) || !out.known) r = out.all;
  }
  out.spread = SpreadOf(a, b, al, changes.change, out.all);
}

}  // namespace

Changes FindChanges(const CallSequence& a, const CallSequence& b, Alignment& al) {
  PairMoved(a, b, al);
  Changes out;
  out.change.reserve(al.calls.size());
  std::vector<uint8_t> of_pair;  // by pair of types, in order of appearance
  FlatMap pair_at;
  for (const Match& m : al.calls) {
    if (m.a == kNone || m.b == kNone) {
      out.change.push_back(m.a == kNone ? kInserted : kDeleted);
      continue;
    }
    const uint32_t type_a = a.calls[m.a].type, type_b = b.calls[m.b].type;
    const auto next = static_cast<uint32_t>(of_pair.size());
    const uint32_t at = pair_at.FindOrPut(MixedPair(type_a, type_b), next);
    if (at == next) of_pair.push_back(ChangeOf(a, &a.types[type_a], b, &b.types[type_b]));
    out.change.push_back(of_pair[at]);
  }
  FindClusters(a, b, al, out);
  FindDrift(a, b, al, out, out.drift);
  return out;
}

}  // namespace nl::compare
