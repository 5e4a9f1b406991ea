// SPDX-License-Identifier: Apache-2.0
#include "analyze/compare/unchanged.h"

#include <algorithm>
#include <cmath>
#include <unordered_map>

namespace nl::compare {

namespace {

constexpr size_t kFewest = 5;           // instances that can agree
constexpr double kLeastOfWall = 0.003;  // a group below this share of the wall is not worth a verdict
constexpr double kLeastOfBusy = 0.01;   // or of all device time, when only that is compared
constexpr double kLeastOfWallOnce = 0.02;
constexpr double kLeastRatio = 0.03;  // a kernel's time differs by this from run to run

struct Sample {
  double a, b, excess;
};

double Median(std::vector<double>& v) {
  if (v.empty()) return 0;
  const auto middle = v.begin() + static_cast<ptrdiff_t>(v.size() / 2);
  std::nth_element(v.begin(), middle, v.end());
  return *middle;
}

// P(|T| >= t) for large n; small n is handled by the number of agreeing instances.
double TwoSided(double t) { return std::erfc(std::abs(t) / std::sqrt(2.0)); }

// p of the mean excess being 0, after the wildest tenth on each side is set aside.
double TrimmedP(const std::vector<Sample>& samples) {
  std::vector<double> e;
  e.reserve(samples.size());
  for (const Sample& s : samples) e.push_back(s.excess);
  std::sort(e.begin(), e.end());
  const size_t cut = e.size() / 10, n = e.size() - 2 * cut;
  if (n < kFewest) return 1;
  double sum = 0, squares = 0;
  for (size_t i = cut; i < cut + n; ++i) sum += e[i];
  const double mean = sum / static_cast<double>(n);
  for (size_t i = cut; i < cut + n; ++i) squares += (e[i] - mean) * (e[i] - mean);
  const double error = std::sqrt(squares / static_cast<double>(n) / static_cast<double>(n - 1));
  return error <= 0 ? (mean == 0 ? 1 : 0) : TwoSided(mean / error);
}

// Share of the instances that moved the way their sum did.
double Agreeing(const std::vector<Sample>& samples, double sum) {
  size_t same = 0;
  for (const Sample& s : samples) same += (s.excess > 0) == (sum > 0) && s.excess != 0;
  return static_cast<double>(same) / static_cast<double>(samples.size());
}

class Groups {
 public:
  Groups(const UnchangedInput& in, const std::vector<uint32_t>& pairs) : in_(in), pairs_(pairs) {}

  // Fills groups by key(position).
  template <class Key>
  std::vector<Verdicted> Make(const Key& key) {
    std::unordered_map<uint64_t, uint32_t> at;
    std::vector<Verdicted> out;
    for (const uint32_t i : pairs_) {
      const auto [it, added] = at.try_emplace(key(i), static_cast<uint32_t>(out.size()));
      if (added) out.emplace_back();
      out[it->second].pairs.push_back(i);
    }
    return out;
  }

  const Call& A(uint32_t i) const { return in_.a.calls[in_.alignment.calls[i].a]; }
  const Call& B(uint32_t i) const { return in_.b.calls[in_.alignment.calls[i].b]; }
  bool Counts(uint32_t i) const { return in_.only.empty() || in_.only[i]; }
  double WallNs() const {
    return static_cast<double>(std::max(in_.a.parts * in_.a.wall_ns, in_.b.parts * in_.b.wall_ns));
  }

 private:
  const UnchangedInput& in_;
  const std::vector<uint32_t>& pairs_;
};

}  // namespace

std::vector<Verdicted> JudgeDevice(const UnchangedInput& in, const std::vector<uint32_t>& pairs) {
  Groups groups(in, pairs);
  std::vector<Verdicted> out = groups.Make([&](uint32_t i) {
    const Call& c = groups.A(i);
    return HashPair(HashPair(c.stage, c.module), HashPair(c.token, c.kernel_hash));
  });
  // What the device did to all of them: the weighted median of the groups' ratios.
  struct Sum {
    double a = 0, b = 0;
  };
  std::vector<Sum> sums(out.size());
  double all_a = 0;
  std::vector<std::pair<double, double>> ratios;
  for (size_t g = 0; g < out.size(); ++g) {
    for (const uint32_t i : out[g].pairs) {
      if (!groups.Counts(i)) continue;
      sums[g].a += static_cast<double>(groups.A(i).costs.busy_ns());
      sums[g].b += static_cast<double>(groups.B(i).costs.busy_ns());
    }
    out[g].delta_ns = static_cast<int64_t>(sums[g].b - sums[g].a);
    all_a += sums[g].a;
    if (sums[g].a > 0 && sums[g].b > 0) ratios.push_back({sums[g].b / sums[g].a, sums[g].a});
  }
  std::sort(ratios.begin(), ratios.end());
  double common = 1, slower = 0, faster = 0, seen = 0;
  for (const auto& [ratio, weight] : ratios) {
    if (seen < 0.5 * all_a) common = ratio;
    seen += weight;
    slower += ratio > 1.02 ? weight : 0;
    faster += ratio < 0.98 ? weight : 0;
  }
  const bool shared =
      ratios.size() >= 5 && std::abs(std::log(common)) > 0.04 && (common > 1 ? slower : faster) > 0.7 * all_a;
  for (size_t g = 0; g < out.size(); ++g) {
    Verdicted& group = out[g];
    if (shared) {
      group.common = CommonCause::kClock;
      group.significant = true;
      group.p_value = 0;
      continue;
    }
    const double delta = sums[g].b - sums[g].a;
    const bool worth =
        std::abs(delta) > (in.device_time ? kLeastOfBusy * all_a : kLeastOfWall * groups.WallNs());
    if (!worth || group.pairs.size() < kFewest || sums[g].a <= 0) continue;
    if (std::abs(std::log(sums[g].b / sums[g].a)) < kLeastRatio) continue;
    std::vector<Sample> samples;
    for (const uint32_t i : group.pairs) {
      const auto a = static_cast<double>(groups.A(i).costs.busy_ns()),
                 b = static_cast<double>(groups.B(i).costs.busy_ns());
      samples.push_back({a, b, b - a});
    }
    group.p_value = TrimmedP(samples);
    group.significant = group.p_value < 1e-4 && Agreeing(samples, delta) >= 0.75;
  }
  return out;
}

namespace {

bool OneSegment(const Alignment& al, const std::vector<uint32_t>& pairs) {
  for (const uint32_t i : pairs) {
    if (al.segment_of[i] != al.segment_of[pairs.front()]) return false;
  }
  return true;
}

}  // namespace

std::vector<Verdicted> JudgeHost(const UnchangedInput& in, const std::vector<uint32_t>& pairs) {
  Groups groups(in, pairs);
  // The calls before a call tell one use of an operator from another.
  const auto context = [&](uint32_t i) {
    uint64_t h = 0;
    const uint32_t call = in.alignment.calls[i].b;
    for (uint32_t back = 0; back < 4 && back <= call; ++back) {
      const Call& c = in.b.calls[call - back];
      if (c.segment == in.b.calls[call].segment) h = HashPair(h, c.token);
    }
    return h;
  };
  std::vector<Verdicted> out = groups.Make([&](uint32_t i) {
    const Call& c = groups.B(i);
    const uint64_t label = in.b.segments[c.segment].label;
    return HashPair(HashPair(c.stage, label), context(i));
  });
  for (Verdicted& group : out) {
    std::vector<Sample> samples;
    double sum_a = 0, sum_b = 0, excess = 0;
    for (const uint32_t i : group.pairs) {
      if (!groups.Counts(i)) continue;
      const auto a = static_cast<double>(groups.A(i).costs.host_ns()),
                 b = static_cast<double>(groups.B(i).costs.host_ns());
      const double drift = in.drift.by_segment[in.alignment.segment_of[i]];
      samples.push_back({a, b, b - drift * a});
      sum_a += a;
      sum_b += b;
      excess += samples.back().excess;
    }
    group.delta_ns = static_cast<int64_t>(sum_b - sum_a);
    // What happened in one segment only happened once, in however many calls.
    const bool once = OneSegment(in.alignment, group.pairs);
    if (samples.size() < kFewest ||
        std::abs(excess) < (once ? kLeastOfWallOnce : kLeastOfWall) * groups.WallNs())
      continue;
    if ((sum_b - sum_a > 0) != (excess > 0)) continue;
    // Far off the drift, compared with how far kinds of calls usually are.
    const double off = std::abs(std::log(std::max(sum_b, 1.0) / std::max(sum_a * in.drift.all, 1.0)));
    if (off < std::max(once ? 1.1 : 0.3, 4 * in.drift.spread)) continue;
    std::vector<double> middle;
    for (const Sample& s : samples) middle.push_back(s.excess);
    const double typical = Median(middle) * static_cast<double>(samples.size());
    // One stall is chance, however long: the typical instance must show most of it.
    if (typical * excess <= 0 || std::abs(typical) < 0.3 * std::abs(excess)) continue;
    group.p_value = TrimmedP(samples);
    group.significant = group.p_value < 1e-3 && Agreeing(samples, excess) >= 0.75;
  }
  return out;
}

}  // namespace nl::compare
