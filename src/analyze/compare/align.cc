// SPDX-License-Identifier: Apache-2.0
#include "analyze/compare/align.h"

#include <algorithm>
#include <unordered_map>

namespace nl::compare {

namespace {

constexpr uint32_t kGapCost = 4;  // of an element without partner
constexpr uint32_t kNever = 1u << 29;
constexpr uint64_t kMostCells = 4'000'000;  // of one exact alignment

uint32_t PairCost(const Element& a, const Element& b) {
  if (a.exact == b.exact) return 0;
  if (a.kernel != 0 && a.kernel == b.kernel) return 1;
  if (a.loose == b.loose) return 2;
  if (a.group != 0 && a.group == b.group) return 5;
  return kNever;
}

class Aligner {
 public:
  Aligner(const std::vector<Element>& a, const std::vector<Element>& b) : a_(a), b_(b) {}

  std::vector<Match> Run() {
    Stretch(0, Size(a_), 0, Size(b_), 0);
    return std::move(out_);
  }

 private:
  static uint32_t Size(const std::vector<Element>& v) { return static_cast<uint32_t>(v.size()); }

  void Stretch(uint32_t a0, uint32_t a1, uint32_t b0, uint32_t b1, int depth) {
    while (a0 < a1 && b0 < b1 && a_[a0].exact == b_[b0].exact) out_.push_back({a0++, b0++});
    uint32_t tail = 0;
    while (a1 > a0 && b1 > b0 && a_[a1 - 1].exact == b_[b1 - 1].exact) --a1, --b1, ++tail;
    if (a0 == a1 || b0 == b1) {
      for (; a0 < a1; ++a0) out_.push_back({a0, kNone});
      for (; b0 < b1; ++b0) out_.push_back({kNone, b0});
    } else if (static_cast<uint64_t>(a1 - a0) * (b1 - b0) <= kMostCells) {
      Exact(a0, a1, b0, b1);
    } else {
      CutAndGoOn(a0, a1, b0, b1, depth);
    }
    for (uint32_t i = 0; i < tail; ++i) out_.push_back({a1 + i, b1 + i});
  }

  // Needleman-Wunsch. Of equal costs the pair comes first, then deletions before insertions.
  void Exact(uint32_t a0, uint32_t a1, uint32_t b0, uint32_t b1) {
    const uint32_t n = a1 - a0, m = b1 - b0;
    std::vector<uint8_t> from(static_cast<size_t>(n + 1) * (m + 1));
    std::vector<uint32_t> row(m + 1), above(m + 1);
    for (uint32_t j = 0; j <= m; ++j) above[j] = j * kGapCost;
    for (uint32_t i = 1; i <= n; ++i) {
      row[0] = i * kGapCost;
      uint8_t* const cells = &from[static_cast<size_t>(i) * (m + 1)];
      for (uint32_t j = 1; j <= m; ++j) {
        const uint32_t pair = above[j - 1] + PairCost(a_[a0 + i - 1], b_[b0 + j - 1]);
        const uint32_t del = above[j] + kGapCost, ins = row[j - 1] + kGapCost;
        const uint32_t best = std::min({pair, del, ins});
        row[j] = best;
        cells[j] = best == pair ? 0 : best == ins ? 2 : 1;
      }
      std::swap(row, above);
    }
    std::vector<Match> back;
    for (uint32_t i = n, j = m; i > 0 || j > 0;) {
      const uint8_t step = i == 0 ? 2 : j == 0 ? 1 : from[static_cast<size_t>(i) * (m + 1) + j];
      back.push_back({step == 2 ? kNone : a0 + --i, step == 1 ? kNone : b0 + --j});
    }
    out_.insert(out_.end(), back.rbegin(), back.rend());
  }

  // Elements, else runs of them, that occur once in both are certain to correspond.
  void CutAndGoOn(uint32_t a0, uint32_t a1, uint32_t b0, uint32_t b1, int depth) {
    std::vector<Match> anchors;
    for (const uint32_t length : {1u, 4u, 16u, 64u}) {
      anchors = Anchors(a0, a1, b0, b1, length);
      if (!anchors.empty()) break;
    }
    if (anchors.empty() || depth > 40) return Proportional(a0, a1, b0, b1, depth);
    for (const Match& anchor : anchors) {
      Stretch(a0, anchor.a, b0, anchor.b, depth + 1);
      out_.push_back(anchor);
      a0 = anchor.a + 1;
      b0 = anchor.b + 1;
    }
    Stretch(a0, a1, b0, b1, depth + 1);
  }

  std::vector<Match> Anchors(uint32_t a0, uint32_t a1, uint32_t b0, uint32_t b1, uint32_t length) const {
    struct Place {
      uint32_t a = kNone, b = kNone, in_a = 0, in_b = 0;
    };
    std::unordered_map<uint64_t, Place> places;
    places.reserve(a1 - a0);
    const auto visit = [length](const std::vector<Element>& v, uint32_t from, uint32_t to, const auto& fn) {
      for (uint32_t i = from; i + length <= to; ++i) {
        uint64_t h = 0;
        for (uint32_t k = 0; k < length; ++k) h = HashPair(h, v[i + k].exact);
        fn(h, i);
      }
    };
    visit(a_, a0, a1, [&](uint64_t h, uint32_t i) {
      Place& p = places[h];
      ++p.in_a;
      p.a = i;
    });
    visit(b_, b0, b1, [&](uint64_t h, uint32_t i) {
      const auto it = places.find(h);
      if (it == places.end()) return;
      ++it->second.in_b;
      it->second.b = i;
    });
    std::vector<Match> once;
    for (const auto& [h, p] : places) {
      if (p.in_a == 1 && p.in_b == 1) once.push_back({p.a, p.b});
    }
    std::sort(once.begin(), once.end(), [](const Match& x, const Match& y) { return x.a < y.a; });
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

  // Nothing is unique: halves of the one against halves of the other.
  void Proportional(uint32_t a0, uint32_t a1, uint32_t b0, uint32_t b1, int depth) {
    const uint32_t a = a0 + (a1 - a0) / 2;
    const uint32_t wanted = b0 + (b1 - b0) / 2, reach = std::max<uint32_t>(64, (b1 - b0) / 8);
    uint32_t b = wanted;
    for (uint32_t away = 0; away <= reach; ++away) {
      if (wanted + away < b1 && b_[wanted + away].exact == a_[a].exact) {
        b = wanted + away;
        break;
      }
      if (wanted >= b0 + away && b_[wanted - away].exact == a_[a].exact) {
        b = wanted - away;
        break;
      }
    }
    Stretch(a0, a, b0, b, depth + 1);
    Stretch(a, a1, b, b1, depth + 1);
  }

  const std::vector<Element>& a_;
  const std::vector<Element>& b_;
  std::vector<Match> out_;
};

Element SegmentElement(const Segment& s) {
  const uint64_t loose = HashPair(s.label, s.lane);
  return {HashPair(loose, s.token_hash), loose, 0, 0};
}

// Work of these families is a model's backbone: one may be exchanged for another.
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
  e.loose = c.kin;
  e.kernel = device && Exchangeable(c.family) ? c.kernel_hash : 0;
  e.group = device && Exchangeable(c.family) ? 1 + static_cast<uint64_t>(c.family) : 0;
  return e;
}

std::vector<Element> CallElements(const Trail& trail, const Segment& s) {
  std::vector<Element> out;
  out.reserve(s.last - s.first);
  for (uint32_t i = s.first; i < s.last; ++i) out.push_back(CallElement(trail.Type(i)));
  return out;
}

}  // namespace

std::vector<Match> AlignElements(const std::vector<Element>& a, const std::vector<Element>& b) {
  return Aligner(a, b).Run();
}

Alignment Align(const Trail& a, const Trail& b) {
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
