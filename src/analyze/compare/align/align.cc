// SPDX-License-Identifier: Apache-2.0
#include "analyze/compare/align/align.h"

#include <algorithm>
#include <unordered_map>

#include "base/flat_map.h"

namespace nl::compare {

namespace {

constexpr uint64_t kMostCells = 4'000'000;  // in one exact alignment
constexpr uint32_t kMostApart = 128;        // elements per piece where the two have nothing in common
constexpr uint64_t kFirstReach = 32;
constexpr size_t kLongestRun = 64;
constexpr int kMostCuts = 40;  // nested

// Costs are multiples of 4, so that a path's cost and its last step fit in one number, and among paths of the
// same cost the smaller step wins.
enum Step : uint8_t { kPair, kInsert, kDelete };
constexpr uint32_t kSteps = 4, kGapCost = 4 * kSteps;  // of an element without partner
constexpr uint8_t kNoPair = 63 * kSteps;               // more than two elements without partner
constexpr uint32_t kNever = 1u << 29;

uint8_t PairCost(const Element& a, const Element& b) {
  if (a.exact == b.exact) return 0;
  if (a.kernel != 0 && a.kernel == b.kernel) return 1 * kSteps;
  if (a.loose == b.loose) return 2 * kSteps;
  if (a.group != 0 && a.group == b.group) return 5 * kSteps;
  return kNoPair;
}

uint64_t HashOf(const Element& e) {
  return HashPair(HashPair(e.exact, e.loose), HashPair(e.kernel, e.group));
}

// Costs of the pairs of a range, one row per distinct element of A.
class PairCosts {
 public:
  PairCosts(const Element* a, uint32_t a_count, const Element* b, uint32_t b_count) : b_count_(b_count) {
    std::unordered_map<uint64_t, uint32_t> rows;
    row_of_.reserve(a_count);
    for (uint32_t i = 0; i < a_count; ++i) {
      const auto [it, added] = rows.try_emplace(HashOf(a[i]), static_cast<uint32_t>(rows.size()));
      row_of_.push_back(it->second);
      if (!added) continue;
      costs_.resize(costs_.size() + b_count);
      uint8_t* const row = costs_.data() + costs_.size() - b_count;
      for (uint32_t j = 0; j < b_count; ++j) row[j] = PairCost(a[i], b[j]);
    }
  }
  const uint8_t* Row(uint32_t a) const { return costs_.data() + size_t{row_of_[a]} * b_count_; }

 private:
  uint32_t b_count_;
  std::vector<uint32_t> row_of_;
  std::vector<uint8_t> costs_;
};

class Aligner {
 public:
  using Key = uint64_t Element::*;

  Aligner(const std::vector<Element>& a, const std::vector<Element>& b) : a_(a), b_(b) {}

  std::vector<Match> Run() {
    AlignRange(0, Size(a_), 0, Size(b_), 0);
    return std::move(out_);
  }

 private:
  static uint32_t Size(const std::vector<Element>& v) { return static_cast<uint32_t>(v.size()); }

  void AlignRange(uint32_t a0, uint32_t a1, uint32_t b0, uint32_t b1, int depth) {
    while (a0 < a1 && b0 < b1 && a_[a0].exact == b_[b0].exact) out_.push_back({a0++, b0++});
    uint32_t tail = 0;
    while (a1 > a0 && b1 > b0 && a_[a1 - 1].exact == b_[b1 - 1].exact) --a1, --b1, ++tail;
    if (a0 == a1 || b0 == b1) {
      for (; a0 < a1; ++a0) out_.push_back({a0, kNone});
      for (; b0 < b1; ++b0) out_.push_back({kNone, b0});
    } else if (static_cast<uint64_t>(a1 - a0) * (b1 - b0) <= kMostCells) {
      Exact(a0, a1, b0, b1);
    } else {
      CutAtAnchors(a0, a1, b0, b1, depth);
    }
    for (uint32_t i = 0; i < tail; ++i) out_.push_back({a1 + i, b1 + i});
  }

  // Needleman-Wunsch. At equal cost a pair is preferred, then a deletion, then an insertion.
  // First in a band along the diagonal: a path that leaves a band of reach r has r more elements
  // without partner on both sides, so a cheaper path inside the band is optimal.
  void Exact(uint32_t a0, uint32_t a1, uint32_t b0, uint32_t b1, uint64_t reach = kFirstReach) {
    const uint32_t n = a1 - a0, m = b1 - b0, longer = std::max(n, m), apart = longer - std::min(n, m);
    const PairCosts costs(a_.data() + a0, n, b_.data() + b0, m);
    while (FillBand(costs, n, m, reach) >= kGapCost * (apart + 2 * (reach + 1)) && reach < longer) reach *= 4;
    std::vector<Match> back;
    for (uint32_t i = n, j = m; i > 0 || j > 0;) {
      const Step step = i == 0 ? kInsert : j == 0 ? kDelete : steps_[StepAt(i, j)];
      back.push_back({step == kInsert ? kNone : a0 + --i, step == kDelete ? kNone : b0 + --j});
    }
    out_.insert(out_.end(), back.rbegin(), back.rend());
  }

  // The first column of the band in a row of A, and the position of a cell's step.
  uint64_t FirstOf(uint32_t i) const { return i > band_before_ ? i - band_before_ : 0; }
  size_t StepAt(uint32_t i, uint32_t j) const { return i * band_width_ + j - FirstOf(i); }

  // The cost of the best path in the band; steps_ has the path.
  uint32_t FillBand(const PairCosts& costs, uint32_t n, uint32_t m, uint64_t reach) {
    band_before_ = std::min<uint64_t>(n, reach + (n > m ? n - m : 0));
    const uint64_t after = std::min<uint64_t>(m, reach + (m > n ? m - n : 0));
    band_width_ = std::min<uint64_t>(m, band_before_ + after) + 1;
    steps_.resize((n + 1) * band_width_);
    above_.assign(m + 1, kNever);
    row_.assign(m + 1, kNever);
    for (uint32_t j = 0; j <= after; ++j) above_[j] = j * kGapCost;
    for (uint32_t i = 1; i <= n; ++i) {
      const auto first = static_cast<uint32_t>(FirstOf(i));
      const auto last = static_cast<uint32_t>(std::min<uint64_t>(m, i + after));
      const uint32_t* const above = above_.data();
      const uint8_t* const pair_costs = costs.Row(i - 1);
      uint32_t* const row = row_.data();
      Step* const steps = &steps_[StepAt(i, 0)];
      uint32_t left = first == 0 ? i * kGapCost : kNever;
      if (first == 0) row[0] = left;
      for (size_t j = std::max(first, 1u); j <= last; ++j) {
        const uint32_t pair = above[j - 1] + pair_costs[j - 1] + kPair;
        const uint32_t del = above[j] + kGapCost + kDelete, ins = left + kGapCost + kInsert;
        const uint32_t best = std::min(std::min(pair, del), ins);
        steps[j] = static_cast<Step>(best % kSteps);
        row[j] = left = best - best % kSteps;
      }
      std::swap(row_, above_);
    }
    return above_[m];
  }

  // Cuts at anchors: equal elements or, if there are none, equal elements that changed.
  void CutAtAnchors(uint32_t a0, uint32_t a1, uint32_t b0, uint32_t b1, int depth) {
    for (const Key key : {&Element::exact, &Element::loose}) {
      bool common = false;
      const std::vector<Match> anchors = FindAnchors(Keys(a_, key, a0, a1), Keys(b_, key, b0, b1), common);
      if (!common) continue;
      if (anchors.empty() || depth > kMostCuts) return Proportional(a0, a1, b0, b1, depth, key);
      const uint32_t from_a = a0, from_b = b0;
      for (const Match& anchor : anchors) {
        AlignRange(a0, from_a + anchor.a, b0, from_b + anchor.b, depth + 1);
        a0 = from_a + anchor.a;
        b0 = from_b + anchor.b;
        out_.push_back({a0++, b0++});
      }
      return AlignRange(a0, a1, b0, b1, depth + 1);
    }
    NothingInCommon(a0, a1, b0, b1);
  }

  // Elements, else runs of them, that occur exactly once in both; positions from the start of the range.
  static std::vector<Match> FindAnchors(std::vector<uint64_t> a, std::vector<uint64_t> b, bool& common) {
    std::vector<Match> anchors;
    for (size_t length = 1;; length *= 4) {
      bool some = false;
      anchors = Anchors(a, b, some);
      common = common || some;
      if (!some || !anchors.empty() || length == kLongestRun) return anchors;
      MakeRunsFourTimesAsLong(a, length);
      MakeRunsFourTimesAsLong(b, length);
    }
  }

  static std::vector<uint64_t> Keys(const std::vector<Element>& v, Key key, uint32_t from, uint32_t to) {
    std::vector<uint64_t> out;
    out.reserve(to - from);
    for (uint32_t i = from; i < to; ++i) out.push_back(MixedBits(v[i].*key));
    return out;
  }

  // From hashes of `length` consecutive elements to hashes of 4 x length.
  static void MakeRunsFourTimesAsLong(std::vector<uint64_t>& runs, size_t length) {
    for (const size_t step : {length, 2 * length}) {
      const size_t count = runs.size() > step ? runs.size() - step : 0;
      for (size_t i = 0; i < count; ++i) runs[i] = MixedPair(runs[i], runs[i + step]);
      runs.resize(count);
    }
  }

  static std::vector<Match> Anchors(const std::vector<uint64_t>& a, const std::vector<uint64_t>& b,
                                    bool& common) {
    struct Place {
      uint32_t a = kNone, b = kNone, in_a = 0, in_b = 0;
    };
    FlatMap index;
    std::vector<Place> places;
    for (uint32_t i = 0; i < a.size(); ++i) {
      const uint32_t at = index.FindOrPut(a[i], static_cast<uint32_t>(places.size()));
      if (at == places.size()) places.emplace_back();
      ++places[at].in_a;
      places[at].a = i;
    }
    for (uint32_t i = 0; i < b.size(); ++i) {
      const uint32_t at = index.Find(b[i]);
      if (at == FlatMap::kNew) continue;
      common = true;
      ++places[at].in_b;
      places[at].b = i;
    }
    std::vector<Match> once;  // in order of A: a place is added when its key is first seen
    for (const Place& p : places) {
      if (p.in_a == 1 && p.in_b == 1) once.push_back({p.a, p.b});
    }
    return Rising(once);
  }

  // The longest subsequence that rises in both.
  static std::vector<Match> Rising(const std::vector<Match>& all) {
    std::vector<uint32_t> tops, before(all.size(), kNone);
    for (uint32_t i = 0; i < all.size(); ++i) {
      const auto it = std::lower_bound(tops.begin(), tops.end(), all[i].b,
                                       [&](uint32_t top, uint32_t b) { return all[top].b < b; });
      if (it != tops.begin()) before[i] = *(it - 1);
      if (it == tops.end()) {
        tops.push_back(i);
      } else {
        *it = i;
      }
    }
    std::vector<Match> out;
    for (uint32_t i = tops.empty() ? kNone : tops.back(); i != kNone; i = before[i]) out.push_back(all[i]);
    std::reverse(out.begin(), out.end());
    return out;
  }

  // The correspondence is a guess then: pieces of one against pieces of the other.
  void NothingInCommon(uint32_t a0, uint32_t a1, uint32_t b0, uint32_t b1) {
    const uint32_t pieces = (std::max(a1 - a0, b1 - b0) + kMostApart - 1) / kMostApart;
    const auto cut = [pieces](uint32_t from, uint32_t to, uint64_t piece) {
      return from + static_cast<uint32_t>((to - from) * piece / pieces);
    };
    for (uint32_t i = 0; i < pieces; ++i)
      Exact(cut(a0, a1, i), cut(a0, a1, i + 1), cut(b0, b1, i), cut(b0, b1, i + 1), kMostApart);
  }

  // No element is unique: align halves with halves.
  void Proportional(uint32_t a0, uint32_t a1, uint32_t b0, uint32_t b1, int depth, Key key) {
    const uint32_t a = a0 + (a1 - a0) / 2;
    const uint32_t wanted = b0 + (b1 - b0) / 2, reach = std::max<uint32_t>(64, (b1 - b0) / 8);
    uint32_t b = wanted;
    for (uint32_t away = 0; away <= reach; ++away) {
      if (wanted + away < b1 && b_[wanted + away].*key == a_[a].*key) {
        b = wanted + away;
        break;
      }
      if (wanted >= b0 + away && b_[wanted - away].*key == a_[a].*key) {
        b = wanted - away;
        break;
      }
    }
    AlignRange(a0, a, b0, b, depth + 1);
    AlignRange(a, a1, b, b1, depth + 1);
  }

  const std::vector<Element>& a_;
  const std::vector<Element>& b_;
  std::vector<Match> out_;
  // Last step of the best path to each cell of the band.
  std::vector<Step> steps_;
  std::vector<uint32_t> row_, above_;
  uint64_t band_before_ = 0, band_width_ = 0;
};

Element SegmentElement(const Segment& s) {
  const uint64_t loose = HashPair(s.label, s.lane);
  return {HashPair(loose, s.token_hash), loose, 0, 0};
}

// Kernels of these families do the main work of a model: one may replace another.
bool Exchangeable(KernelFamily f) {
  switch (f) {
    case KernelFamily::kGemm:
    case KernelFamily::kAttention:
    case KernelFamily::kConv:
    case KernelFamily::kNorm:
    case KernelFamily::kSoftmax:
    case KernelFamily::kCommunication:
    case KernelFamily::kEmbedding:
    case KernelFamily::kOptimizer: return true;
    default: return false;
  }
}

Element CallElement(const CallType& c) {
  const bool device = c.kind == CallKind::kKernel;
  Element e;
  e.exact = c.token;
  e.loose = c.related_hash;
  e.kernel = device && Exchangeable(c.family) ? c.kernel_hash : 0;
  e.group = device && Exchangeable(c.family) ? 1 + static_cast<uint64_t>(c.family) : 0;
  return e;
}

std::vector<Element> CallElements(const CallSequence& sequence, const Segment& s) {
  std::vector<Element> out;
  out.reserve(s.last - s.first);
  for (uint32_t i = s.first; i < s.last; ++i) out.push_back(CallElement(sequence.Type(i)));
  return out;
}

}  // namespace

std::vector<Match> AlignElements(const std::vector<Element>& a, const std::vector<Element>& b) {
  return Aligner(a, b).Run();
}

Alignment Align(const CallSequence& a, const CallSequence& b) {
  Alignment out;
  std::vector<Element> in_a, in_b;
  for (const Segment& s : a.segments) in_a.push_back(SegmentElement(s));
  for (const Segment& s : b.segments) in_b.push_back(SegmentElement(s));
  out.segments = AlignElements(in_a, in_b);
  out.calls.reserve(std::max(a.calls.size(), b.calls.size()));
  std::unordered_map<uint64_t, std::vector<Match>> known;  // places relative to the segments' starts
  for (uint32_t i = 0; i < out.segments.size(); ++i) {
    const Match& pair = out.segments[i];
    static const Segment nothing;
    const Segment& sa = pair.a == kNone ? nothing : a.segments[pair.a];
    const Segment& sb = pair.b == kNone ? nothing : b.segments[pair.b];
    const auto add = [&](Match m) { out.calls.push_back(m); };
    if (sa.token_hash == sb.token_hash && sa.last - sa.first == sb.last - sb.first) {
      for (uint32_t k = 0; k < sa.last - sa.first; ++k) add({sa.first + k, sb.first + k});
    } else {
      const auto [it, added] = known.try_emplace(HashPair(sa.token_hash, sb.token_hash));
      if (added) it->second = AlignElements(CallElements(a, sa), CallElements(b, sb));
      for (const Match& m : it->second)
        add({m.a == kNone ? kNone : sa.first + m.a, m.b == kNone ? kNone : sb.first + m.b});
    }
    out.segment_of.resize(out.calls.size(), i);
  }
  return out;
}

}  // namespace nl::compare
