// SPDX-License-Identifier: Apache-2.0
#include "analyze/compare/attribute/unchanged.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <unordered_map>

#include "base/flat_map.h"
#include "base/median.h"

namespace nl::compare {

namespace {

constexpr size_t kFewest = 5;              // instances needed for agreement
constexpr double kLeastOfWall = 0.003;     // share of the wall below which a group is not judged
constexpr double kLeastOfWallOnce = 0.02;  // the same for a group in one segment only
constexpr double kLeastOfDrift = 0.02;     // the same relative to the effect of the drift on the wall
constexpr double kLeastOfBusy = 0.01;      // of all device time, when only that is compared
constexpr double kLeastRatio = 0.03;       // run-to-run variation of a kernel's duration
constexpr double kAgreeing = 0.75;         // share of the instances that must change in the same direction

// P(|T| >= t) for large n; small n is handled by the number of agreeing instances.
double TwoSided(double t) { return std::erfc(std::abs(t) / std::sqrt(2.0)); }

// Times of the instances of one group, and their excess over the expected time in B.
struct Instances {
  double sum_a = 0, sum_b = 0, excess = 0;
  std::vector<double> each;  // excess of each

  void Add(double a, double b, double expected) {
    sum_a += a;
    sum_b += b;
    excess += b - expected;
    each.push_back(b - expected);
  }
  // p of the mean excess being 0, without the most extreme tenth on each side.
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
  // The median instance times their number: insensitive to a single long stall.
  double Typical() {
    const auto n = static_cast<double>(each.size());
    return UpperMedian(each) * n;
  }
};

class Judge {
 public:
  explicit Judge(const UnchangedInput& in) : in_(in) {
    wall_ns_ = static_cast<double>(std::max(in.a.parts * in.a.wall_ns, in.b.parts * in.b.wall_ns));
  }

  uint32_t CallA(uint32_t i) const { return in_.alignment.calls[i].a; }
  uint32_t CallB(uint32_t i) const { return in_.alignment.calls[i].b; }
  const CallType& A(uint32_t i) const { return in_.a.Type(CallA(i)); }
  const Costs& CostsA(uint32_t i) const { return in_.a.costs[CallA(i)]; }
  const Costs& CostsB(uint32_t i) const { return in_.b.costs[CallB(i)]; }
  bool Counts(uint32_t i) const { return in_.only.empty() || in_.only[i]; }

  // Position of the call in its segment: the same in every step of a loop.
  uint64_t Position(uint32_t i) const {
    const uint32_t call = CallB(i);
    const Segment& s = in_.b.segments[in_.b.calls[call].segment];
    return HashPair(HashPair(s.label, s.lane), HashPair(call - s.first, in_.b.Token(call)));
  }
  // The call with those before it, which distinguish uses of one operator: the same in every layer.
  uint64_t Context(uint32_t i) const {
    const uint32_t call = CallB(i), segment = in_.b.calls[call].segment;
    uint64_t h = HashPair(in_.b.Type(call).stage, in_.b.segments[segment].label);
    for (uint32_t back = 0; back < 4 && back <= call; ++back) {
      if (in_.b.calls[call - back].segment == segment) h = HashPair(h, in_.b.Token(call - back));
    }
    return h;
  }
  static uint64_t KindOf(const CallType& c) {
    return HashPair(HashPair(c.stage, c.module), HashPair(c.token, c.kernel_hash));
  }

  // Sums of one group, in the order of the calls: enough to dismiss most groups.
  struct Sums {
    double a = 0, b = 0, excess = 0;
    double elapsed_a = 0, elapsed_b = 0, elapsed_expected = 0;
    uint32_t pairs = 0, counted = 0, rising = 0, falling = 0;
    uint32_t first = kNone, segment = kNone;
    bool once = true;  // all in one segment

    void Add(double in_a, double in_b, double expected) {
      a += in_a;
      b += in_b;
      excess += in_b - expected;
      ++counted;
      rising += in_b > expected;
      falling += in_b < expected;
    }
    bool Agree() const {
      return static_cast<double>(excess > 0 ? rising : falling) >= kAgreeing * static_cast<double>(counted);
    }
  };

  void AddDevice(uint32_t i, Sums& to) const {
    const auto a = static_cast<double>(CostsA(i).busy_ns());
    to.Add(a, static_cast<double>(CostsB(i).busy_ns()), a);
  }
  bool DeviceMayDiffer(const Sums& s) const {
    const double least = in_.device_time ? kLeastOfBusy * busy_ns_ : kLeastOfWall * wall_ns_;
    if (s.counted < kFewest || s.a <= 0 || s.b <= 0 || std::abs(s.excess) < least) return false;
    return std::abs(std::log(s.b / s.a)) >= kLeastRatio && s.Agree();
  }
  void Device(GroupVerdict& group, const Sums& sums) const {
    group.delta_ns = static_cast<int64_t>(sums.excess);
    Instances all;
    for (const uint32_t i : group.pairs) {
      if (!Counts(i)) continue;
      const auto a = static_cast<double>(CostsA(i).busy_ns());
      all.Add(a, static_cast<double>(CostsB(i).busy_ns()), a);
    }
    group.p_value = all.TrimmedP();
    group.significant = group.p_value < 1e-4;
  }

  double ExpectedNs(uint32_t i, double in_a) const {
    return in_a * in_.drift.by_segment[in_.alignment.segment_of[i]];
  }
  void AddHost(uint32_t i, Sums& to) const {
    const auto a = static_cast<double>(CostsA(i).host_ns());
    to.Add(a, static_cast<double>(CostsB(i).host_ns()), ExpectedNs(i, a));
    const auto elapsed = static_cast<double>(in_.a.elapsed_ns[CallA(i)]);
    to.elapsed_a += elapsed;
    to.elapsed_b += static_cast<double>(in_.b.elapsed_ns[CallB(i)]);
    to.elapsed_expected += ExpectedNs(i, elapsed);
  }
  bool HostMayDiffer(const Sums& s) const {
    // A large drift of the host is not uniform.
    const double least = std::max((s.once ? kLeastOfWallOnce : kLeastOfWall) * wall_ns_,
                                  kLeastOfDrift * std::abs(in_.drift.all - 1) * wall_ns_);
    if (s.counted < kFewest || std::abs(s.excess) < least) return false;
    return (s.b > s.a) == (s.excess > 0) && IsLocal(s) && s.Agree();
  }
  void Host(GroupVerdict& group, const Sums& sums) const {
    group.delta_ns = static_cast<int64_t>(sums.b - sums.a);
    Instances all;
    for (const uint32_t i : group.pairs) {
      if (!Counts(i)) continue;
      const auto a = static_cast<double>(CostsA(i).host_ns());
      all.Add(a, static_cast<double>(CostsB(i).host_ns()), ExpectedNs(i, a));
    }
    const double typical = all.Typical();
    if (typical * all.excess <= 0 || std::abs(typical) < 0.3 * std::abs(all.excess)) return;
    group.p_value = all.TrimmedP();
    group.significant = group.p_value < 1e-3;
  }

  // Did the host take longer, beyond its drift and beyond the deviation of other kinds of calls from it?
  // A longer gap on the device is not enough: it grows by more than the drift where the host was only just
  // ahead.
  bool IsLocal(const Sums& s) const {
    double a = s.elapsed_a, b = s.elapsed_b, expected = s.elapsed_expected;
    if (a <= 0 || b <= 0) a = expected = s.a, b = s.b;  // launches were not recorded
    const double more = b - expected;
    if (more * s.excess <= 0 || std::abs(more) < 0.5 * std::abs(s.excess)) return false;
    const double off = std::abs(std::log(std::max(b, 1.0) / std::max(expected, 1.0)));
    return off >= std::max(s.once ? 1.1 : 0.2, 4 * in_.drift.spread);
  }

  // Pairs by key.
  struct Round {
    std::vector<uint32_t> group_of;  // by position in the list of pairs
    std::vector<Sums> sums;          // by group
  };
  template <class Key, class Add>
  Round Gather(const std::vector<uint32_t>& pairs, const Key& key, const Add& add) const {
    Round out;
    out.group_of.reserve(pairs.size());
    FlatMap at;
    for (const uint32_t i : pairs) {
      const uint32_t group = at.FindOrPut(key(i), static_cast<uint32_t>(out.sums.size()));
      if (group == out.sums.size()) out.sums.emplace_back();
      out.group_of.push_back(group);
      Sums& sums = out.sums[group];
      ++sums.pairs;
      const uint32_t segment = in_.alignment.segment_of[i];
      if (sums.first == kNone) sums.first = i, sums.segment = segment;
      sums.once = sums.once && segment == sums.segment;
      if (Counts(i)) add(i, sums);
    }
    return out;
  }

  // The groups selected by `wanted`, with their pairs.
  template <class Wanted>
  static std::vector<std::pair<uint32_t, GroupVerdict>> Take(const std::vector<uint32_t>& pairs,
                                                             const Round& round, const Wanted& wanted) {
    std::vector<uint32_t> place(round.sums.size(), kNone);
    std::vector<std::pair<uint32_t, GroupVerdict>> out;
    for (uint32_t group = 0; group < round.sums.size(); ++group) {
      if (!wanted(group)) continue;
      place[group] = static_cast<uint32_t>(out.size());
      out.emplace_back(group, GroupVerdict()).second.pairs.reserve(round.sums[group].pairs);
    }
    if (out.empty()) return out;
    for (size_t k = 0; k < pairs.size(); ++k) {
      const uint32_t at = place[round.group_of[k]];
      if (at != kNone) out[at].second.pairs.push_back(pairs[k]);
    }
    return out;
  }

  // First each position of a loop by itself, then the remaining pairs by kind: this finds a change in one
  // layer as well as a change in all. `may` tests the sums, then `test` the instances. For `same` and `size`
  // see TakeSimilar.
  template <class Key, class Add, class May, class Test, class Same, class Size>
  std::vector<GroupVerdict> TwoRounds(const std::vector<uint32_t>& pairs, const Key& kind, const Add& add,
                                      const May& may, const Test& test, const Same& same,
                                      const Size& size) const {
    std::vector<GroupVerdict> out;
    std::unordered_map<uint64_t, Found> found;
    const auto keep = [&](GroupVerdict& group, const Sums& sums) {
      Found& to = found[same(sums.first)];
      to.sizes.push_back(size(sums));
      to.p_value = std::min(to.p_value, group.p_value);
      out.push_back(std::move(group));
    };
    const Round places = Gather(
        pairs, [this](uint32_t i) { return Position(i); }, add);
    std::vector<bool> significant(places.sums.size(), false);
    for (auto& [at, group] : Take(pairs, places, [&](uint32_t g) { return may(places.sums[g]); })) {
      test(group, places.sums[at]);
      significant[at] = group.significant;
      if (group.significant) keep(group, places.sums[at]);
    }
    std::vector<uint32_t> left;
    if (!out.empty()) {
      for (size_t k = 0; k < pairs.size(); ++k) {
        if (!significant[places.group_of[k]]) left.push_back(pairs[k]);
      }
    }
    const std::vector<uint32_t>& rest = out.empty() ? pairs : left;
    const Round kinds = Gather(rest, kind, add);
    significant.assign(kinds.sums.size(), false);
    for (auto& [at, group] : Take(rest, kinds, [&](uint32_t g) { return may(kinds.sums[g]); })) {
      test(group, kinds.sums[at]);
      significant[at] = group.significant;
      if (group.significant) keep(group, kinds.sums[at]);
    }
    if (!found.empty()) TakeSimilar(rest, kinds, significant, found, same, size, out);
    return out;
  }

  struct Found {
    double p_value = 1;
    std::vector<double> sizes;
  };
  // Groups too small to judge (one prefill, the first call of a loop) that differ like groups of the `same`
  // kind, by a similar amount (`size`).
  template <class Same, class Size>
  static void TakeSimilar(const std::vector<uint32_t>& pairs, const Round& round,
                          const std::vector<bool>& significant,
                          const std::unordered_map<uint64_t, Found>& found, const Same& same,
                          const Size& size, std::vector<GroupVerdict>& out) {
    const auto kin = [&](uint32_t group) -> const Found* {
      const auto it = significant[group] ? found.end() : found.find(same(round.sums[group].first));
      if (it == found.end()) return nullptr;
      const double here = size(round.sums[group]);
      const bool alike =
          std::any_of(it->second.sizes.begin(), it->second.sizes.end(), [here](double typical) {
            return here * typical > 0 && std::abs(here) > 0.5 * std::abs(typical) &&
                   std::abs(here) < 2 * std::abs(typical);
          });
      return alike ? &it->second : nullptr;
    };
    for (auto& [at, group] : Take(pairs, round, [&](uint32_t g) { return kin(g) != nullptr; })) {
      const Sums& sums = round.sums[at];
      group.delta_ns = static_cast<int64_t>(sums.b - sums.a);
      group.significant = true;
      group.p_value = kin(at)->p_value;
      out.push_back(std::move(group));
    }
  }

  // Is there a common factor: the weighted median of the ratios of kinds, and the share that agrees with it.
  bool Shared(const std::vector<uint32_t>& pairs) {
    std::vector<std::pair<int64_t, int64_t>> of_type(in_.a.types.size());
    for (const uint32_t i : pairs) {
      if (!Counts(i)) continue;
      auto& [a, b] = of_type[in_.a.calls[CallA(i)].type];
      a += CostsA(i).busy_ns();
      b += CostsB(i).busy_ns();
    }
    std::map<uint64_t, std::pair<double, double>> kinds;
    for (size_t type = 0; type < of_type.size(); ++type) {
      auto& [a, b] = kinds[KindOf(in_.a.types[type])];
      a += static_cast<double>(of_type[type].first);
      b += static_cast<double>(of_type[type].second);
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

std::vector<GroupVerdict> JudgeDevice(const UnchangedInput& in, const std::vector<uint32_t>& pairs) {
  Judge judge(in);
  if (judge.Shared(pairs)) {
    GroupVerdict all;
    all.pairs = pairs;
    all.significant = true;
    all.p_value = 0;
    all.common = CommonCause::kClock;
    return {std::move(all)};
  }
  return judge.TwoRounds(
      pairs, [&](uint32_t i) { return HashPair(judge.Context(i), judge.A(i).kernel_hash); },
      [&](uint32_t i, Judge::Sums& to) { judge.AddDevice(i, to); },
      [&](const Judge::Sums& sums) { return judge.DeviceMayDiffer(sums); },
      [&](GroupVerdict& group, const Judge::Sums& sums) { judge.Device(group, sums); },
      [&](uint32_t i) { return HashPair(judge.A(i).token, judge.A(i).kernel_hash); },
      [](const Judge::Sums& sums) { return std::trunc(sums.excess) / std::max(1.0, std::trunc(sums.a)); });
}

std::vector<GroupVerdict> JudgeHost(const UnchangedInput& in, const std::vector<uint32_t>& pairs) {
  const Judge judge(in);
  return judge.TwoRounds(
      pairs, [&](uint32_t i) { return judge.Context(i); },
      [&](uint32_t i, Judge::Sums& to) { judge.AddHost(i, to); },
      [&](const Judge::Sums& sums) { return judge.HostMayDiffer(sums); },
      [&](GroupVerdict& group, const Judge::Sums& sums) { judge.Host(group, sums); },
      [&](uint32_t i) { return judge.A(i).related_hash; },
      [](const Judge::Sums& sums) { return std::trunc(sums.excess) / static_cast<double>(sums.pairs); });
}

}  // namespace nl::compare
