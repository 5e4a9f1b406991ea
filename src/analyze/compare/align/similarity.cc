// SPDX-License-Identifier: Apache-2.0
#include "analyze/compare/align/similarity.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <deque>
#include <unordered_map>

namespace nl {

namespace {

using Op = FingerprintFacts::OpVector;
constexpr size_t kFeatures = FingerprintFacts::kVector.size();
constexpr size_t kLatency = 0, kIntensity = 1;
using Vector = std::array<double, kFeatures>;

struct Pair {
  const Op *a = nullptr, *b = nullptr;  // null: no partner
};

// Takes each op of `b` once, in order, for the first op of `a` with the same key.
template <class KeyOf>
void PairBy(std::vector<Pair>& pairs, std::vector<const Op*>& left_b, KeyOf key_of) {
  std::unordered_map<std::string, std::deque<size_t>> waiting;
  for (size_t i = 0; i < left_b.size(); ++i) waiting[key_of(*left_b[i])].push_back(i);
  for (Pair& pair : pairs) {
    if (pair.b != nullptr) continue;
    const auto it = waiting.find(key_of(*pair.a));
    if (it == waiting.end() || it->second.empty()) continue;
    pair.b = left_b[it->second.front()];
    left_b[it->second.front()] = nullptr;
    it->second.pop_front();
  }
  std::erase(left_b, nullptr);
}

// Every op of both runs once.
std::vector<Pair> Align(const FingerprintFacts& a, const FingerprintFacts& b) {
  std::vector<Pair> pairs;
  std::vector<const Op*> left_b;
  for (const Op& op : a.ops) pairs.push_back({&op, nullptr});
  for (const Op& op : b.ops) left_b.push_back(&op);
  PairBy(pairs, left_b, [](const Op& op) { return op.sig; });
  PairBy(pairs, left_b, [](const Op& op) { return op.type + '\0' + op.name; });
  for (const Op* op : left_b) pairs.push_back({nullptr, op});
  return pairs;
}

double LatencyOf(const Op* op) { return op == nullptr ? 0 : std::max(0.0, op->values[kLatency].value_or(0)); }

double SumOfLatency(const FingerprintFacts& facts) {
  double sum = 0;
  for (const Op& op : facts.ops) sum += LatencyOf(&op);
  return sum;
}

// Intensities span orders of magnitude: their logarithm is what compares.
double Flattened(size_t feature, double value) {
  return feature == kIntensity ? std::log1p(std::max(0.0, value)) : value;
}

// The largest value of each feature in both runs; 1 where there is none.
Vector Ranges(const std::vector<Pair>& pairs) {
  Vector range{};
  for (const Pair& pair : pairs) {
    for (const Op* op : {pair.a, pair.b}) {
      for (size_t f = 0; op != nullptr && f < kFeatures; ++f) {
        if (op->values[f]) range[f] = std::max(range[f], std::fabs(Flattened(f, *op->values[f])));
      }
    }
  }
  for (double& r : range) r = r > 0 ? r : 1;
  return range;
}

class Cosine {
 public:
  void Add(double x, double y, double weight) {
    xy_ += weight * x * y;
    xx_ += weight * x * x;
    yy_ += weight * y * y;
  }
  // 0 when a side has no values.
  double Value() const { return xx_ > 0 && yy_ > 0 ? std::clamp(xy_ / std::sqrt(xx_ * yy_), -1.0, 1.0) : 0; }

 private:
  double xy_ = 0, xx_ = 0, yy_ = 0;
};

Similarity::Divergence DivergenceOf(const Pair& pair, const Vector& range) {
  const Op& shown = pair.a != nullptr ? *pair.a : *pair.b;
  Similarity::Divergence out{shown.name, shown.type,   std::nullopt, std::nullopt,
                             0,          std::nullopt, std::nullopt};
  if (pair.a != nullptr) {
    out.index_a = pair.a->index;
    out.lat_norm_a = pair.a->values[kLatency];
  }
  if (pair.b != nullptr) {
    out.index_b = pair.b->index;
    out.lat_norm_b = pair.b->values[kLatency];
  }
  const double lat_a = LatencyOf(pair.a), lat_b = LatencyOf(pair.b), weight = (lat_a + lat_b) / 2;
  double sum = (lat_a - lat_b) * (lat_a - lat_b);
  for (size_t f = 1; pair.a != nullptr && pair.b != nullptr && f < kFeatures; ++f) {
    if (!pair.a->values[f] || !pair.b->values[f]) continue;
    const double step =
        weight * (Flattened(f, *pair.a->values[f]) - Flattened(f, *pair.b->values[f])) / range[f];
    sum += step * step;
  }
  out.distance = std::sqrt(sum);
  return out;
}

}  // namespace

Similarity CompareFingerprints(const FingerprintFacts& a, const FingerprintFacts& b) {
  Similarity out;
  const std::vector<Pair> pairs = Align(a, b);
  const Vector range = Ranges(pairs);
  Cosine weighted, plain;
  double matched_a = 0, matched_b = 0;
  for (const Pair& pair : pairs) {
    out.divergent.push_back(DivergenceOf(pair, range));
    for (size_t f = 0; f < kFeatures; ++f) {
      plain.Add(pair.a != nullptr ? pair.a->values[f].value_or(0) : 0,
                pair.b != nullptr ? pair.b->values[f].value_or(0) : 0, 1);
    }
    if (pair.a == nullptr || pair.b == nullptr) continue;
    ++out.matched_ops;
    const double lat_a = LatencyOf(pair.a), lat_b = LatencyOf(pair.b);
    matched_a += lat_a;
    matched_b += lat_b;
    for (size_t f = 0; f < kFeatures; ++f) {
      const bool known = pair.a->values[f] && pair.b->values[f];
      if (!known) out.substituted += (pair.a->values[f] ? 0 : 1) + (pair.b->values[f] ? 0 : 1);
      // A feature that only one run measured cannot be compared: 0 on both sides.
      const double x = known ? Flattened(f, *pair.a->values[f]) / range[f] : 0;
      const double y = known ? Flattened(f, *pair.b->values[f]) / range[f] : 0;
      weighted.Add(x, y, (lat_a + lat_b) / 2);
    }
  }
  const double sum_a = SumOfLatency(a), sum_b = SumOfLatency(b);
  out.matched_share_a = sum_a > 0 ? matched_a / sum_a : 0;
  out.matched_share_b = sum_b > 0 ? matched_b / sum_b : 0;
  out.cosine = weighted.Value();
  out.plain = plain.Value();
  if (sum_a + sum_b > 0) out.similarity = out.cosine * (out.matched_share_a + out.matched_share_b) / 2;
  std::stable_sort(out.divergent.begin(), out.divergent.end(),
                   [](const auto& x, const auto& y) { return x.distance > y.distance; });
  if (out.divergent.size() > Similarity::kMostDivergent) out.divergent.resize(Similarity::kMostDivergent);
  return out;
}

void Describe(Record<Similarity::Divergence>& r) {
  using D = Similarity::Divergence;
  r.Name("Divergence", "One op that differs between two fingerprints");
  r.Field("name", &D::name, "Name of the op");
  r.Field("type", &D::type, "Type of the op");
  r.Field("index_a", &D::index_a, "Position in run A; null: no partner there");
  r.Field("index_b", &D::index_b, "Position in run B; null: no partner there");
  r.Field("distance", &D::distance, "Distance of the two feature vectors, weighted by latency");
  r.Field("lat_norm_a", &D::lat_norm_a, Unit::kShare, "Latency relative to run A");
  r.Field("lat_norm_b", &D::lat_norm_b, Unit::kShare, "Latency relative to run B");
}

void Describe(Record<Similarity>& r) {
  r.Name("Similarity", "Similarity of two runs by their fingerprints");
  r.Field("similarity", &Similarity::similarity, "Cosine times the aligned share, 0 to 1");
  r.Field("cosine", &Similarity::cosine, "Cosine over the aligned ops, weighted by latency");
  r.Field("plain", &Similarity::plain, "Unweighted cosine over all ops, unknown features as 0");
  r.Field("matched_share_a", &Similarity::matched_share_a, Unit::kShare, "Latency of run A that aligned");
  r.Field("matched_share_b", &Similarity::matched_share_b, Unit::kShare, "Latency of run B that aligned");
  r.Field("matched_ops", &Similarity::matched_ops, "Aligned pairs of ops");
  r.Field("substituted", &Similarity::substituted,
          "Features of aligned ops that one or both runs did not measure");
  r.Field("divergent", &Similarity::divergent, "Ops that differ most, largest distance first");
}

}  // namespace nl
