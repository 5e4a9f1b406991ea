// SPDX-License-Identifier: Apache-2.0
#include "analyze/compare/unchanged.h"

#include <algorithm>
#include <cmath>
#include <unordered_map>

namespace nl::compare {

namespace {

constexpr size_t kFewest = 5;              // instances that can agree
constexpr double kLeastOfWall = 0.003;     // a group below this share of the wall is not worth a verdict
constexpr double kLeastOfWallOnce = 0.02;  // nor one below this that happened in one segment only
constexpr double kLeastOfDrift = 0.02;     // nor one below this share of what the drift makes of the wall
constexpr double kLeastOfBusy = 0.01;      // of all device time, when only that is compared
constexpr double kLeastRatio = 0.03;       // a kernel's time differs by this from run to run
constexpr double kAgreeing = 0.75;         // share of the instances that must point one way

double Median(std::vector<double>& v) {
  if (v.empty()) return 0;
  const auto middle = v.begin() + static_cast<ptrdiff_t>(v.size() / 2);
  std::nth_element(v.begin(), middle, v.end());
  return *middle;
}

// P(|T| >= t) for large n; small n is handled by the number of agreeing instances.
double TwoSided(double t) { return std::erfc(std::abs(t) / std::sqrt(2.0)); }

// What the instances of one group took, and by how much more than expected in B.
struct Instances {
  double sum_a = 0, sum_b = 0, excess = 0;
  std::vector<double> each;  // excess of each

  void Add(double a, double b, double expected) {
    sum_a += a;
    sum_b += b;
    excess += b - expected;
    each.push_back(b - expected);
  }
  // p of the mean excess being 0, after the wildest tenth on each side is set aside.
  double TrimmedP() {
    std::sort(each.begin(), each.end());
    const size_t cut = each.size() / 10, n = each.size() - 2 * cut;
    if (n < kFewest) return 1;
    double sum = 0, squares = 0;
    for (size_t i = cut; i < cut + n; ++i) sum += each[i];
    const double mean = sum / static_cast<double>(n);
    for (size_t i = cut; i < cut + n; ++i) squares += (each[i] - mean) * (each[i] - mean);
    const double error = std::sqrt(squares / static_cast<double>(n) / static_cast<double>(n - 1));
    return error <= 0 ? (mean == 0 ? 1 : 0) : TwoSided(mean / error);
  }
  // Share of the instances that moved the way their sum did.
  double Agreeing() const {
    size_t same = 0;
    for (const double e : each) same += (e > 0) == (excess > 0) && e != 0;
    return static_cast<double>(same) / static_cast<double>(each.size());
  }
  // The typical instance times their number: one stall, however long, does not show in it.
  double Typical() {
    const auto n = static_cast<double>(each.size());
    return Median(each) * n;
  }
};

class Judge {
 public:
  explicit Judge(const UnchangedInput& in) : in_(in) {
    wall_ns_ = static_cast<double>(std::max(in.a.parts * in.a.wall_ns, in.b.parts * in.b.wall_ns));
  }

  const Call& A(uint32_t i) const { return in_.a.calls[in_.alignment.calls[i].a]; }
  const Call& B(uint32_t i) const { return in_.b.calls[in_.alignment.calls[i].b]; }
  bool Counts(uint32_t i) const { return in_.only.empty() || in_.only[i]; }

  template <class Key>
  static std::vector<Verdicted> Group(const std::vector<uint32_t>& pairs, const Key& key) {
    std::unordered_map<uint64_t, uint32_t> at;
    std::vector<Verdicted> out;
    for (const uint32_t i : pairs) {
      const auto [it, added] = at.try_emplace(key(i), static_cast<uint32_t>(out.size()));
      if (added) out.emplace_back();
      out[it->second].pairs.push_back(i);
    }
    return out;
  }

  // Which call of its segment: the same in every step of a loop.
  uint64_t Position(uint32_t i) const {
    const uint32_t call = in_.alignment.calls[i].b;
    const Segment& s = in_.b.segments[in_.b.calls[call].segment];
    return HashPair(HashPair(s.label, s.lane), HashPair(call - s.first, in_.b.calls[call].token));
  }
  // The call with those before it, which tell one use of an operator from another: the same in every layer.
  uint64_t Context(uint32_t i) const {
    uint64_t h = HashPair(B(i).stage, in_.b.segments[B(i).segment].label);
    const uint32_t call = in_.alignment.calls[i].b;
    for (uint32_t back = 0; back < 4 && back <= call; ++back) {
      const Call& c = in_.b.calls[call - back];
      if (c.segment == in_.b.calls[call].segment) h = HashPair(h, c.token);
    }
    return h;
  }
  uint64_t Kind(uint32_t i) const {
    const Call& c = A(i);
    return HashPair(HashPair(c.stage, c.module), HashPair(c.token, c.kernel_hash));
  }

  void Device(Verdicted& group) const {
    Instances all;
    for (const uint32_t i : group.pairs) {
      if (!Counts(i)) continue;
      const auto a = static_cast<double>(A(i).costs.busy_ns());
      all.Add(a, static_cast<double>(B(i).costs.busy_ns()), a);
    }
    group.delta_ns = group.excess_ns = static_cast<int64_t>(all.excess);
    group.base_ns = static_cast<int64_t>(all.sum_a);
    const double least = in_.device_time ? kLeastOfBusy * busy_ns_ : kLeastOfWall * wall_ns_;
    if (all.each.size() < kFewest || all.sum_a <= 0 || all.sum_b <= 0 || std::abs(all.excess) < least) return;
    if (std::abs(std::log(all.sum_b / all.sum_a)) < kLeastRatio || all.Agreeing() < kAgreeing) return;
    group.p_value = all.TrimmedP();
    group.significant = group.p_value < 1e-4;
  }

  void Host(Verdicted& group) const {
    Instances all;
    bool once = true;
    for (const uint32_t i : group.pairs) {
      if (!Counts(i)) continue;
      const auto a = static_cast<double>(A(i).costs.host_ns());
      const uint32_t segment = in_.alignment.segment_of[i];
      all.Add(a, static_cast<double>(B(i).costs.host_ns()), a * in_.drift.by_segment[segment]);
      once = once && segment == in_.alignment.segment_of[group.pairs.front()];
    }
    group.delta_ns = static_cast<int64_t>(all.sum_b - all.sum_a);
    group.excess_ns = static_cast<int64_t>(all.excess);
    // A host that is much faster or slower as a whole is not so everywhere alike.
    const double least = std::max((once ? kLeastOfWallOnce : kLeastOfWall) * wall_ns_,
                                  kLeastOfDrift * std::abs(in_.drift.all - 1) * wall_ns_);
    if (all.each.size() < kFewest || std::abs(all.excess) < least) return;
    if ((all.sum_b > all.sum_a) != (all.excess > 0)) return;
    if (!IsLocal(group, all, once)) return;
    const double typical = all.Typical();
    if (typical * all.excess <= 0 || std::abs(typical) < 0.3 * std::abs(all.excess)) return;
    if (all.Agreeing() < kAgreeing) return;
    group.p_value = all.TrimmedP();
    group.significant = group.p_value < 1e-3;
  }

  // Did the host take longer to get there, beyond its drift and beyond what other kinds of calls are off it?
  // A gap of the device grows by more than the drift where the host was only just ahead: that alone says
  // nothing.
  bool IsLocal(const Verdicted& group, const Instances& gaps, bool once) const {
    double a = 0, b = 0, expected = 0;
    for (const uint32_t i : group.pairs) {
      if (!Counts(i)) continue;
      a += static_cast<double>(A(i).elapsed_ns);
      b += static_cast<double>(B(i).elapsed_ns);
      expected += static_cast<double>(A(i).elapsed_ns) * in_.drift.by_segment[in_.alignment.segment_of[i]];
    }
    if (a <= 0 || b <= 0) a = expected = gaps.sum_a, b = gaps.sum_b;  // launches were not recorded
    const double more = b - expected;
    if (more * gaps.excess <= 0 || std::abs(more) < 0.5 * std::abs(gaps.excess)) return false;
    const double off = std::abs(std::log(std::max(b, 1.0) / std::max(expected, 1.0)));
    return off >= std::max(once ? 1.1 : 0.2, 4 * in_.drift.spread);
  }

  // First each place of a loop by itself, then what is left by kind: a change in one layer is seen as one in
  // all.
  template <class Test, class Key, class Same, class Size>
  std::vector<Verdicted> TwoRounds(const std::vector<uint32_t>& pairs, const Key& kind, const Same& same,
                                   const Size& size, const Test& test) const {
    std::vector<Verdicted> out;
    std::vector<uint32_t> rest;
    for (Verdicted& group : Group(pairs, [this](uint32_t i) { return Position(i); })) {
      if (group.pairs.size() >= kFewest) test(group);
      if (group.significant) {
        out.push_back(std::move(group));
      } else {
        rest.insert(rest.end(), group.pairs.begin(), group.pairs.end());
      }
    }
    std::sort(rest.begin(), rest.end());
    for (Verdicted& group : Group(rest, kind)) {
      test(group);
      out.push_back(std::move(group));
    }
    TakeKindred(out, same, size);
    return out;
  }

  // Calls too few to tell (one prefill, the first of a loop) that do what calls of the same kind were found
  // to do.
  // `size` of a group: what must be alike.
  template <class Same, class Size>
  void TakeKindred(std::vector<Verdicted>& groups, const Same& same, const Size& size) const {
    struct Found {
      double p_value = 1;
      std::vector<double> sizes;
    };
    const auto key = [&same](const Verdicted& group) { return same(group.pairs.front()); };
    std::unordered_map<uint64_t, Found> found;
    for (const Verdicted& group : groups) {
      if (!group.significant) continue;
      Found& to = found[key(group)];
      to.sizes.push_back(size(group));
      to.p_value = std::min(to.p_value, group.p_value);
    }
    for (Verdicted& group : groups) {
      const auto it = group.significant ? found.end() : found.find(key(group));
      if (it == found.end()) continue;
      const double here = size(group);
      const bool alike =
          std::any_of(it->second.sizes.begin(), it->second.sizes.end(), [here](double typical) {
            return here * typical > 0 && std::abs(here) > 0.5 * std::abs(typical) &&
                   std::abs(here) < 2 * std::abs(typical);
          });
      if (!alike) continue;
      group.significant = true;
      group.p_value = it->second.p_value;
    }
  }

  // Did the device do something to all of them: the weighted median of the ratios of kinds, and who agrees.
  bool Shared(const std::vector<uint32_t>& pairs) {
    std::unordered_map<uint64_t, std::pair<double, double>> kinds;
    for (const uint32_t i : pairs) {
      if (!Counts(i)) continue;
      auto& [a, b] = kinds[Kind(i)];
      a += static_cast<double>(A(i).costs.busy_ns());
      b += static_cast<double>(B(i).costs.busy_ns());
    }
    std::vector<std::pair<double, double>> ratios;
    for (const auto& [kind, sums] : kinds) {
      busy_ns_ += sums.first;
      if (sums.first > 0 && sums.second > 0) ratios.push_back({sums.second / sums.first, sums.first});
    }
    std::sort(ratios.begin(), ratios.end());
    double common = 1, slower = 0, faster = 0, seen = 0;
    for (const auto& [ratio, weight] : ratios) {
      if (seen < 0.5 * busy_ns_) common = ratio;
      seen += weight;
      slower += ratio > 1.02 ? weight : 0;
      faster += ratio < 0.98 ? weight : 0;
    }
    return ratios.size() >= 5 && std::abs(std::log(common)) > 0.04 &&
           (common > 1 ? slower : faster) > 0.7 * busy_ns_;
  }

 private:
  const UnchangedInput& in_;
  double wall_ns_ = 0, busy_ns_ = 0;
};

}  // namespace

std::vector<Verdicted> JudgeDevice(const UnchangedInput& in, const std::vector<uint32_t>& pairs) {
  Judge judge(in);
  if (judge.Shared(pairs)) {
    Verdicted all;
    all.pairs = pairs;
    all.significant = true;
    all.p_value = 0;
    all.common = CommonCause::kClock;
    return {std::move(all)};
  }
  return judge.TwoRounds(
      pairs, [&](uint32_t i) { return HashPair(judge.Context(i), judge.A(i).kernel_hash); },
      [&](uint32_t i) { return HashPair(judge.A(i).token, judge.A(i).kernel_hash); },
      [](const Verdicted& g) {
        return static_cast<double>(g.excess_ns) / std::max<double>(1, static_cast<double>(g.base_ns));
      },
      [&](Verdicted& group) { judge.Device(group); });
}

std::vector<Verdicted> JudgeHost(const UnchangedInput& in, const std::vector<uint32_t>& pairs) {
  const Judge judge(in);
  return judge.TwoRounds(
      pairs, [&](uint32_t i) { return judge.Context(i); }, [&](uint32_t i) { return judge.A(i).kin; },
      [](const Verdicted& g) {
        return static_cast<double>(g.excess_ns) / static_cast<double>(g.pairs.size());
      },
      [&](Verdicted& group) { judge.Host(group); });
}

}  // namespace nl::compare
