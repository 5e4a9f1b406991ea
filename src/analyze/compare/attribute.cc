// SPDX-License-Identifier: Apache-2.0
#include "analyze/compare/attribute.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <unordered_map>

#include <fmt/format.h>

#include "analyze/compare/unchanged.h"

namespace nl::compare {

std::string StageOf(const Trail& trail, const Call& call) {
  return call.stage == kNone ? "" : trail.stages[call.stage];
}
std::string ModuleOf(const Trail& trail, const Call& call) {
  return call.module == kNone ? "" : trail.modules[call.module];
}
std::string OpOf(const Trail& trail, const Call& call) {
  return std::string(trail.Text(call.op).substr(0, 200));
}
std::string KernelOf(const Trail& trail, const Call& call) {
  if (IsNull(call.kernel)) return "";
  if (call.kind != CallKind::kKernel) return std::string(trail.Text(call.kernel));
  return trail.run->facts().Find<TimelineFacts>()->KernelNameOf(call.kernel).short_name;
}

namespace {

// Sums of one contribution while it grows.
struct Bucket {
  Cause cause = Cause::kNoise;
  std::string detail, module;
  bool structural = false, significant = false;
  Costs a, b;
  int64_t count_a = 0, count_b = 0;
  std::map<std::string, double> stages;  // time at stake in each, ms
  double p_value = NAN;
  struct Part {
    const Call *a = nullptr, *b = nullptr;  // that show it best
    uint8_t change = 0;
    Costs costs_a, costs_b;
    int64_t count_a = 0, count_b = 0;
  };
  std::unordered_map<uint64_t, Part> parts;
};

class Attributor {
 public:
  Attributor(const Trail& a, const Trail& b, const Alignment& al, const Changes& changes,
             const WorkChange& work, const CompareOptions& options, const std::vector<bool>& only)
      : a_(a), b_(b), al_(al), changes_(changes), work_(work), options_(options), only_(only) {}

  Attribution Run() {
    out_.of_call_a.assign(a_.calls.size(), kNone);
    out_.of_call_b.assign(b_.calls.size(), kNone);
    owner_.assign(al_.calls.size(), kNone);
    judged_.assign(al_.calls.size(), false);
    noise_ = BucketOf(Cause::kNoise, "", "");
    for (const Cluster& cluster : changes_.clusters) AddCluster(cluster);
    AddShapes();
    AddUnchanged();
    AddFollowing();
    MergePlaces();
    FoldSmall();
    Finish();
    return std::move(out_);
  }

 private:
  const Call* A(uint32_t i) const { return al_.calls[i].a == kNone ? nullptr : &a_.calls[al_.calls[i].a]; }
  const Call* B(uint32_t i) const { return al_.calls[i].b == kNone ? nullptr : &b_.calls[al_.calls[i].b]; }
  bool Counts(uint32_t i) const { return only_.empty() || only_[i]; }

  uint32_t BucketOf(Cause cause, const std::string& detail, const std::string& module) {
    const std::string key = fmt::format("{}|{}|{}", static_cast<int>(cause), detail, module);
    const auto [it, added] = bucket_at_.try_emplace(key, static_cast<uint32_t>(buckets_.size()));
    if (added) {
      Bucket& bucket = buckets_.emplace_back();
      bucket.cause = cause;
      bucket.detail = detail;
      bucket.module = module;
    }
    return it->second;
  }

  // ---- structural ----
  void AddCluster(const Cluster& cluster) {
    const auto [it, added] = known_.try_emplace(cluster.signature);
    if (added) it->second = ClassifyCluster(a_, b_, al_, changes_, cluster, work_.layers);
    ClusterCause cause = it->second;
    const Match& segments = al_.segments[al_.segment_of[cluster.first]];
    if (segments.a == kNone || segments.b == kNone) cause = WholeSegment(segments, cause);
    const std::string module = cluster.rewritten ? "" : PlaceOf(cluster);
    const uint32_t bucket = BucketOf(cause.cause, cause.detail, module);
    buckets_[bucket].structural = true;
    for (uint32_t i = cluster.first; i < cluster.last; ++i) {
      if (!cluster.rewritten && !IsStructural(changes_.change[i])) continue;
      owner_[i] = bucket;
      const bool whole = cluster.rewritten || IsWhole(changes_.change[i]);
      Put(bucket, i, whole ? kAllCosts : kDeviceCosts, true);
      if (!whole) host_.push_back(i);
    }
  }

  // A step more or less of something both runs do is work, not a change of the program.
  ClusterCause WholeSegment(const Match& pair, const ClusterCause& otherwise) const {
    const Segment& s = pair.a == kNone ? b_.segments[pair.b] : a_.segments[pair.a];
    for (const Match& other : al_.segments) {
      if (other.a == kNone || other.b == kNone) continue;
      const Segment& step = a_.segments[other.a];
      if (s.label != 0 ? step.label == s.label : step.label == 0 && step.token_hash == s.token_hash)
        return {Cause::kWorkChanged, ""};
    }
    return otherwise;
  }

  // The module with most of the time at stake; "" when half of it is in none.
  std::string PlaceOf(const Cluster& cluster) const {
    std::map<std::string, double> modules;
    double all = 0;
    for (uint32_t i = cluster.first; i < cluster.last; ++i) {
      for (const auto& [trail, call] : {std::pair(&a_, A(i)), std::pair(&b_, B(i))}) {
        if (call == nullptr) continue;
        const double ns = static_cast<double>(call->costs.total_ns()) + 1;
        modules[ModuleOf(*trail, *call)] += ns;
        all += ns;
      }
    }
    const auto most = std::max_element(modules.begin(), modules.end(),
                                       [](const auto& x, const auto& y) { return x.second < y.second; });
    return most == modules.end() || most->second < 0.3 * all ? "" : most->first;
  }

  // ---- shapes ----
  void AddShapes() {
    for (uint32_t i = 0; i < al_.calls.size(); ++i) {
      if (owner_[i] != kNone || (changes_.change[i] & kShapeChanged) == 0) continue;
      const uint32_t bucket = work_.work
                                  ? BucketOf(Cause::kWorkChanged, "", "")
                                  : BucketOf(Cause::kShapeChanged, OpOf(b_, *B(i)), ModuleOf(b_, *B(i)));
      buckets_[bucket].structural = true;
      owner_[i] = bucket;
      Put(bucket, i, kDeviceCosts, true);
      host_.push_back(i);
    }
  }

  // ---- unchanged ----
  void AddUnchanged() {
    std::vector<uint32_t> device;
    for (uint32_t i = 0; i < al_.calls.size(); ++i) {
      if (owner_[i] != kNone) continue;
      device.push_back(i);
      host_.push_back(i);
    }
    std::sort(host_.begin(), host_.end());
    if ((a_.background_ns > 0) != (b_.background_ns > 0)) return AddContention(device);
    const UnchangedInput in{a_, b_, al_, changes_.drift, only_, options_.device_time};
    for (const Verdicted& group : JudgeDevice(in, device)) {
      const uint32_t bucket = DeviceBucket(group);
      for (const uint32_t i : group.pairs) {
        owner_[i] = bucket;
        Put(bucket, i, kDeviceCosts, group.significant);
      }
      Mark(bucket, group);
    }
    for (const Verdicted& group : JudgeHost(in, host_)) {
      uint32_t bucket = noise_;
      if (group.significant) bucket = FollowsFrom(group);
      if (group.significant && bucket == kNone) {
        const Call& call = *B(group.pairs.front());
        bucket = BucketOf(group.delta_ns > 0 ? Cause::kHostSlower : Cause::kHostFaster, OpOf(b_, call),
                          ModuleOf(b_, call));
      }
      const bool counted = group.significant && !buckets_[bucket].structural;
      for (const uint32_t i : group.pairs) Put(bucket, i, kHostCosts, counted);
      if (counted) GiveBackDrift(bucket, group);
      if (bucket != noise_) {
        for (const uint32_t i : group.pairs) judged_[i] = true;
      }
      Mark(bucket, group);
    }
  }

  // What the host's drift makes of a slow place is drift.
  void GiveBackDrift(uint32_t bucket, const Verdicted& group) {
    double drift_ns = 0;
    for (const uint32_t i : group.pairs) {
      if (!Counts(i) || options_.device_time) continue;
      drift_ns +=
          (changes_.drift.by_segment[al_.segment_of[i]] - 1) * static_cast<double>(A(i)->costs.host_ns());
    }
    Move(bucket, noise_, static_cast<int64_t>(drift_ns));
  }

  // Takes `ns` of B's idle time from one bucket to another.
  void Move(uint32_t from, uint32_t to, int64_t ns) {
    buckets_[from].b[CostClass::kOther] -= ns;
    buckets_[to].b[CostClass::kOther] += ns;
  }

  // Behind a change the device waits longer (its queue ran empty) or less (it was busy while the host went
  // on): the idle time of the unchanged calls there that is off the drift belongs to the change. From the
  // call behind it until some in a row are as before.
  void AddFollowing() {
    if (options_.device_time || (a_.background_ns > 0) != (b_.background_ns > 0)) return;
    std::map<std::pair<uint32_t, uint64_t>, std::vector<double>> by_bucket;  // and label: like with like
    for (size_t c = 0; c < changes_.clusters.size(); ++c) {
      const Cluster& cluster = changes_.clusters[c];
      if (cluster.rewritten || owner_[cluster.first] == kNone) continue;
      const auto until = c + 1 < changes_.clusters.size() ? changes_.clusters[c + 1].first
                                                          : static_cast<uint32_t>(al_.calls.size());
      by_bucket[{owner_[cluster.first], LabelOf(cluster.first)}].push_back(FollowingNs(cluster, until));
    }
    for (uint32_t i = 0; i < al_.calls.size(); ++i) {
      const bool reshaped = (changes_.change[i] & kShapeChanged) != 0 && !IsStructural(changes_.change[i]);
      if (reshaped && !judged_[i]) by_bucket[{owner_[i], LabelOf(i)}].push_back(HostOffDriftNs(i));
    }
    for (auto& [key, ns] : by_bucket) {
      // A stall that happened to fall behind one of them is not its doing.
      std::sort(ns.begin(), ns.end());
      const size_t cut = ns.size() >= 5 ? ns.size() / 10 : 0;
      double sum = 0;
      for (const double each : ns) sum += std::clamp(each, ns[cut], ns[ns.size() - 1 - cut]);
      Move(noise_, key.first, static_cast<int64_t>(sum));
    }
  }

  uint64_t LabelOf(uint32_t i) const {
    const Match& segments = al_.segments[al_.segment_of[i]];
    return segments.b != kNone ? b_.segments[segments.b].label : a_.segments[segments.a].label;
  }

  double FollowingNs(const Cluster& cluster, uint32_t until) const {
    constexpr uint32_t kReach = 128, kSettled = 3;  // calls in a row that are as before
    constexpr double kUsual = 0.3;                  // what a single call is off by chance
    double sum = 0;
    for (uint32_t i = cluster.first; i < cluster.last; ++i) {
      if (!IsWhole(changes_.change[i]) && !judged_[i]) sum += HostOffDriftNs(i);
    }
    uint32_t settled = 0;
    for (uint32_t i = cluster.last; i < until && i < cluster.last + kReach && settled < kSettled; ++i) {
      if (IsWhole(changes_.change[i]) || judged_[i] || !Counts(i)) break;
      const double off = OffDriftNs(i);
      const bool usual = std::abs(off) < std::max(2000.0, kUsual * ExpectedIdleNs(i));
      settled = usual ? settled + 1 : 0;
      if (!usual || i == cluster.last) sum += off;
    }
    return sum;
  }

  // Idle time before a call of both runs: what A's would be at B's host speed, and how far B's is off it.
  double ExpectedIdleNs(uint32_t i) const {
    const Costs& a = A(i)->costs;
    return changes_.drift.by_segment[al_.segment_of[i]] * static_cast<double>(a.host_ns()) +
           static_cast<double>(a.idle_ns() - a.host_ns());
  }
  double OffDriftNs(uint32_t i) const {
    return Counts(i) ? static_cast<double>(B(i)->costs.idle_ns()) - ExpectedIdleNs(i) : 0;
  }
  // The same of the host's part alone: the rest of a changed call's idle time is in its bucket already.
  double HostOffDriftNs(uint32_t i) const {
    if (!Counts(i) || A(i) == nullptr || B(i) == nullptr) return 0;
    return static_cast<double>(B(i)->costs.host_ns()) -
           changes_.drift.by_segment[al_.segment_of[i]] * static_cast<double>(A(i)->costs.host_ns());
  }

  // Other work on the same device holds up both the kernels and, through them, the host.
  void AddContention(const std::vector<uint32_t>& unchanged) {
    const uint32_t bucket = BucketOf(Cause::kContention, "", "");
    buckets_[bucket].structural = true;
    for (const uint32_t i : unchanged) {
      owner_[i] = bucket;
      Put(bucket, i, kDeviceCosts, true);
    }
    for (const uint32_t i : host_) Put(bucket, i, kHostCosts, false);
  }

  // Host time that differs right behind a structural change follows from it: the host waits for what
  // was added, or runs ahead while the device is busy with it. kNone when there is no such change.
  uint32_t FollowsFrom(const Verdicted& group) const {
    constexpr uint32_t kReach = 8;
    std::map<uint32_t, size_t> votes;
    for (const uint32_t i : group.pairs) {
      for (uint32_t back = 0; back <= kReach && back <= i; ++back) {
        if (!IsStructural(changes_.change[i - back]) || owner_[i - back] == kNone) continue;
        ++votes[owner_[i - back]];
        break;
      }
    }
    for (const auto& [bucket, count] : votes) {
      if (2 * count > group.pairs.size() && buckets_[bucket].structural) return bucket;
    }
    return kNone;
  }

  uint32_t DeviceBucket(const Verdicted& group) {
    if (!group.significant) return noise_;
    const Call& call = *B(group.pairs.front());
    if (group.common == CommonCause::kClock) return BucketOf(Cause::kClockChanged, "", "");
    return BucketOf(group.delta_ns > 0 ? Cause::kKernelSlower : Cause::kKernelFaster, KernelOf(b_, call),
                    ModuleOf(b_, call));
  }

  void Mark(uint32_t bucket, const Verdicted& group) {
    if (bucket == noise_) return;
    Bucket& to = buckets_[bucket];
    to.significant = true;
    if (std::isnan(to.p_value) || group.p_value < to.p_value) to.p_value = group.p_value;
  }

  // ---- sums ----
  enum Which { kAllCosts, kDeviceCosts, kHostCosts };
  Costs Select(const Costs& costs, Which which) const {
    Costs out = costs;
    if (which == kDeviceCosts) {
      for (const CostClass c : {CostClass::kLaunch, CostClass::kOp, CostClass::kApi, CostClass::kUntraced})
        out[c] = 0;
    } else if (which == kHostCosts) {
      for (const CostClass c : {CostClass::kBusy, CostClass::kSync, CostClass::kOther}) out[c] = 0;
    }
    if (options_.device_time) {
      for (size_t c = 1; c < kCostClasses; ++c) out.ns[c] = 0;
    }
    return out;
  }

  // Counts the call where its device time goes; a slow place of the host counts its calls too.
  void Put(uint32_t bucket, uint32_t i, Which which, bool count) {
    if (!Counts(i)) return;
    Bucket& to = buckets_[bucket];
    const Call *a = A(i), *b = B(i);
    const uint64_t key =
        HashPair(changes_.change[i], HashPair(a == nullptr ? 0 : a->token, b == nullptr ? 0 : b->token));
    // Unchanged work is told by its sum.
    Bucket::Part& part = bucket == noise_ ? unnamed_ : to.parts[key];
    part.change = changes_.change[i];
    const auto add = [&](const Call* call, Costs& sum, Costs& part_sum, int64_t& n, int64_t& part_n,
                         const Call*& best) {
      if (call == nullptr) return;
      const Costs costs = Select(call->costs, which);
      sum.Add(costs);
      part_sum.Add(costs);
      n += count;
      part_n += count;
      if (best == nullptr || call->costs.total_ns() > best->costs.total_ns()) best = call;
    };
    add(a, to.a, part.costs_a, to.count_a, part.count_a, part.a);
    add(b, to.b, part.costs_b, to.count_b, part.count_b, part.b);
    if (count && bucket != noise_) {
      const double delta = (b == nullptr ? 0 : b_.Ms(Select(b->costs, which).total_ns())) -
                           (a == nullptr ? 0 : a_.Ms(Select(a->costs, which).total_ns()));
      to.stages[b != nullptr ? StageOf(b_, *b) : StageOf(a_, *a)] += std::abs(delta);
    }
    if (which == kHostCosts && bucket == noise_) return;
    if (al_.calls[i].a != kNone) out_.of_call_a[al_.calls[i].a] = bucket;
    if (al_.calls[i].b != kNone) out_.of_call_b[al_.calls[i].b] = bucket;
  }

  double Delta(const Bucket& bucket) const { return b_.Ms(bucket.b.total_ns()) - a_.Ms(bucket.a.total_ns()); }

  // One change of which the place is known only here and there: the calls in it are the same.
  void MergePlaces() {
    for (uint32_t i = 0; i < buckets_.size(); ++i) {
      if (i == noise_ || !buckets_[i].structural || !buckets_[i].module.empty()) continue;
      uint32_t best = kNone;
      double most = 0.5;
      for (uint32_t j = 0; j < buckets_.size(); ++j) {
        if (j == i || merged_.count(j) != 0 || buckets_[j].cause != buckets_[i].cause ||
            buckets_[j].detail != buckets_[i].detail)
          continue;
        const double shared = SharedParts(buckets_[i], buckets_[j]);
        if (shared > most) most = shared, best = j;
      }
      if (best == kNone) continue;
      merged_[i] = best;
      Merge(i, best);
    }
  }

  static double SharedParts(const Bucket& of, const Bucket& in) {
    double all = 0, shared = 0;
    for (const auto& [key, part] : of.parts) {
      const auto ns = static_cast<double>(part.costs_a.total_ns() + part.costs_b.total_ns());
      all += ns;
      if (in.parts.count(key) != 0) shared += ns;
    }
    return all <= 0 ? 0 : shared / all;
  }

  void Merge(uint32_t from, uint32_t to) {
    Bucket &f = buckets_[from], &t = buckets_[to];
    t.a.Add(f.a);
    t.b.Add(f.b);
    t.count_a += f.count_a;
    t.count_b += f.count_b;
    t.significant = t.significant || f.significant;
    for (const auto& [stage, ms] : f.stages) t.stages[stage] += ms;
    for (const auto& [key, part] : f.parts) {
      Bucket::Part& p = t.parts[key];
      if (p.a == nullptr) p.a = part.a;
      if (p.b == nullptr) p.b = part.b;
      p.change = part.change;
      p.costs_a.Add(part.costs_a);
      p.costs_b.Add(part.costs_b);
      p.count_a += part.count_a;
      p.count_b += part.count_b;
    }
    f = Bucket();
  }

  // A change nobody would notice is not worth a line: it stays in the sums, inside of noise.
  void FoldSmall() {
    const double least = 1e-4 * std::max(a_.Ms(a_.parts * a_.wall_ns), b_.Ms(b_.parts * b_.wall_ns));
    for (uint32_t i = 0; i < buckets_.size(); ++i) {
      Bucket& bucket = buckets_[i];
      const double at_stake = std::max(a_.Ms(bucket.a.total_ns()), b_.Ms(bucket.b.total_ns()));
      if (i == noise_ || merged_.count(i) != 0 || at_stake >= least) continue;
      merged_[i] = noise_;
      Merge(i, noise_);
    }
  }

  // ---- the result ----
  void Finish() {
    std::vector<uint32_t> place(buckets_.size(), kNone);
    for (uint32_t i = 0; i < buckets_.size(); ++i) {
      if (i == noise_ || merged_.count(i) != 0) continue;
      place[i] = static_cast<uint32_t>(out_.contributions.size());
      out_.contributions.push_back(Make(buckets_[i]));
    }
    const auto last = static_cast<uint32_t>(out_.contributions.size());
    out_.contributions.push_back(Make(buckets_[noise_]));
    for (auto* of_call : {&out_.of_call_a, &out_.of_call_b}) {
      for (uint32_t& at : *of_call) {
        while (merged_.count(at) != 0) at = merged_.at(at);
        at = at == kNone || place[at] == kNone ? last : place[at];
      }
    }
  }

  Contribution Make(const Bucket& bucket) const {
    Contribution out;
    out.cause = bucket.cause;
    out.structural = bucket.structural;
    out.significant = bucket.structural || bucket.significant;
    out.confidence = bucket.structural ? 1 : std::isnan(bucket.p_value) ? 0 : 1 - bucket.p_value;
    if (!std::isnan(bucket.p_value)) out.p_value = bucket.p_value;
    out.module = bucket.module;
    out.stage = StageText(bucket);
    out.count_a = bucket.count_a;
    out.count_b = bucket.count_b;
    out.a_ms = a_.Ms(bucket.a.total_ns());
    out.b_ms = b_.Ms(bucket.b.total_ns());
    out.busy_a_ms = a_.Ms(bucket.a.busy_ns());
    out.busy_b_ms = b_.Ms(bucket.b.busy_ns());
    out.detail = bucket.detail;
    SplitEffects(bucket, out);
    AddParts(bucket, out);
    if (out.cause == Cause::kHostSlower || out.cause == Cause::kHostFaster) AddHostWork(bucket, out);
    return out;
  }

  // Per kind of call: how much more of it there is, at A's price, and how much dearer one got.
  void SplitEffects(const Bucket& bucket, Contribution& out) const {
    for (const auto& [key, part] : bucket.parts) {
      const double busy_a = a_.Ms(part.costs_a.busy_ns()), busy_b = b_.Ms(part.costs_b.busy_ns());
      const auto n_a = static_cast<double>(part.count_a), n_b = static_cast<double>(part.count_b);
      if (n_a > 0 && n_b > 0) {
        const double count_effect = (n_b - n_a) * busy_a / n_a;
        out.count_effect_ms += count_effect;
        out.speed_effect_ms += busy_b - busy_a - count_effect;
      } else if (part.a != nullptr && part.b != nullptr) {
        out.speed_effect_ms += busy_b - busy_a;
      } else {
        out.count_effect_ms += busy_b - busy_a;
      }
    }
    out.idle_effect_ms = b_.Ms(bucket.b.idle_ns()) - a_.Ms(bucket.a.idle_ns());
    // What has no part: device time of unchanged work.
    out.speed_effect_ms += out.busy_b_ms - out.busy_a_ms - out.count_effect_ms - out.speed_effect_ms;
  }

  std::string StageText(const Bucket& bucket) const {
    std::vector<std::pair<double, std::string>> stages;
    double all = 0;
    for (const auto& [name, ms] : bucket.stages) {
      all += ms;
      if (!name.empty()) stages.push_back({ms, name});
    }
    std::sort(stages.rbegin(), stages.rend());
    std::string out;
    for (const auto& [ms, name] : stages) {
      if (ms < 0.1 * all) break;
      out += (out.empty() ? "" : ", ") + name;
    }
    return out;
  }

  static std::string ChangeText(uint8_t change) {
    if ((change & kInserted) != 0) return "added";
    if ((change & kDeleted) != 0) return "removed";
    std::string out;
    const auto add = [&](bool yes, const char* text) {
      if (yes) out += (out.empty() ? "" : ", ") + std::string(text);
    };
    add((change & kOpChanged) != 0, "other operator");
    add((change & kGraphChanged) != 0, "other launch");
    add((change & kTypeChanged) != 0, "other types");
    add((change & kShapeChanged) != 0, "other shapes");
    add((change & kKernelChanged) != 0, "other kernel");
    return out.empty() ? "same" : out;
  }

  void AddParts(const Bucket& bucket, Contribution& out) const {
    constexpr size_t kMostParts = 40, kMostEvidence = 3;
    std::vector<const Bucket::Part*> parts;
    parts.reserve(bucket.parts.size());
    for (const auto& [key, part] : bucket.parts) parts.push_back(&part);
    const auto delta = [this](const Bucket::Part* p) {
      return b_.Ms(p->costs_b.total_ns()) - a_.Ms(p->costs_a.total_ns());
    };
    std::sort(parts.begin(), parts.end(), [&](const auto* x, const auto* y) {
      const double dx = std::abs(delta(x)), dy = std::abs(delta(y));
      if (dx != dy) return dx > dy;
      const auto token = [](const Bucket::Part* p) { return p->b != nullptr ? p->b->token : p->a->token; };
      return token(x) < token(y);
    });
    for (const Bucket::Part* p : parts) {
      if (out.parts.size() == kMostParts) break;
      Contribution::Part& to = out.parts.emplace_back();
      const Call& any = p->b != nullptr ? *p->b : *p->a;
      to.op = OpOf(p->b != nullptr ? b_ : a_, any);
      if (p->a != nullptr) {
        to.kernel_a = KernelOf(a_, *p->a);
        to.shapes_a = std::string(a_.Text(p->a->dims).substr(0, 120));
      }
      if (p->b != nullptr) {
        to.kernel_b = KernelOf(b_, *p->b);
        to.shapes_b = std::string(b_.Text(p->b->dims).substr(0, 120));
      }
      to.change = ChangeText(p->change);
      to.count_a = p->count_a;
      to.count_b = p->count_b;
      to.a_ms = a_.Ms(p->costs_a.total_ns());
      to.b_ms = b_.Ms(p->costs_b.total_ns());
      if (p->a != nullptr && out.evidence_a.size() < kMostEvidence) AddEvidence(a_, *p->a, out.evidence_a);
      if (p->b != nullptr && out.evidence_b.size() < kMostEvidence) AddEvidence(b_, *p->b, out.evidence_b);
    }
    if (out.cause == Cause::kNoise || out.parts.empty()) return;
    // What follows from a change is not the change: the place is that of the largest part that differs.
    const auto changed = std::find_if(out.parts.begin(), out.parts.end(),
                                      [](const Contribution::Part& part) { return part.change != "same"; });
    const Contribution::Part& first = changed == out.parts.end() ? out.parts.front() : *changed;
    out.op = first.op;
    out.kernel_a = first.kernel_a, out.kernel_b = first.kernel_b;
    out.shapes_a = first.shapes_a, out.shapes_b = first.shapes_b;
    // What went and what came are different calls: each side shows its largest.
    for (const Contribution::Part& part : out.parts) {
      if (part.change == "same") continue;
      if (out.kernel_a.empty()) out.kernel_a = part.kernel_a;
      if (out.kernel_b.empty()) out.kernel_b = part.kernel_b;
    }
  }

  // What the host does on the way to a call: operators and Python functions since the call before it.
  struct HostWork {
    int64_t count = 0, ns = 0;
    uint32_t node = kNone;
  };
  static std::map<std::string, HostWork> HostWorkBefore(const Trail& trail, const Call& call) {
    std::map<std::string, HostWork> out;
    if (call.node == kNone) return out;
    const HostTree& host = trail.run->facts().Find<TimelineFacts>()->host;
    const auto at = static_cast<size_t>(&call - trail.calls.data());
    const uint32_t before = at == 0 ? kNone : trail.calls[at - 1].node;
    constexpr uint32_t kMostNodes = 2000;
    for (uint32_t i = call.node, seen = 0; i-- > 0 && seen < kMostNodes; ++seen) {
      if (i == before || host.thread[i] != host.thread[call.node]) break;
      if (host.kind[i] == HostKind::kRange || host.end_ns[i] > host.start_ns[call.node]) continue;
      HostWork& work = out[std::string(trail.Text(host.name[i]).substr(0, 100))];
      ++work.count;
      work.ns += host.end_ns[i] - host.start_ns[i];
      work.node = i;
    }
    return out;
  }

  // The host does more (or less) at this place: say what, when it was recorded.
  void AddHostWork(const Bucket& bucket, Contribution& out) const {
    const Bucket::Part* most = nullptr;
    for (const auto& [key, part] : bucket.parts) {
      if (part.a == nullptr || part.b == nullptr) continue;
      if (most == nullptr || part.costs_b.total_ns() > most->costs_b.total_ns()) most = &part;
    }
    if (most == nullptr) return;
    const auto in_a = HostWorkBefore(a_, *most->a), in_b = HostWorkBefore(b_, *most->b);
    const bool slower = out.cause == Cause::kHostSlower;
    const auto &more = slower ? in_b : in_a, &less = slower ? in_a : in_b;
    std::vector<std::pair<int64_t, std::string>> added;
    for (const auto& [name, work] : more) {
      const auto other = less.find(name);
      if (other == less.end() || other->second.count < work.count) added.push_back({-work.ns, name});
    }
    std::sort(added.begin(), added.end());
    for (size_t i = 0; i < added.size() && i < 3; ++i)
      out.host_work += (i == 0 ? "" : ", ") + added[i].second;
  }

  static void AddEvidence(const Trail& trail, const Call& call, std::vector<EvidenceRow>& to) {
    EvidenceRow row;
    row.what = !IsNull(call.op) ? OpOf(trail, call) : KernelOf(trail, call);
    row.value = trail.Ms(call.costs.total_ns());
    row.unit = "ms";
    if (call.row != kNone) {
      row.table = call.kind == CallKind::kKernel ? "kernel"
                  : call.kind == CallKind::kCopy ? "memcpy"
                                                 : "memset";
      row.row = call.row;
    } else if (call.node != kNone) {
      const HostTree& host = trail.run->facts().Find<TimelineFacts>()->host;
      row.table = host.kind[call.node] == HostKind::kApi ? "api_call" : "op";
      row.row = host.row[call.node];
    } else {
      return;
    }
    to.push_back(std::move(row));
  }

  const Trail &a_, &b_;
  const Alignment& al_;
  const Changes& changes_;
  const WorkChange& work_;
  const CompareOptions& options_;
  const std::vector<bool>& only_;
  Attribution out_;
  std::vector<Bucket> buckets_;
  std::unordered_map<std::string, uint32_t> bucket_at_;
  std::unordered_map<uint64_t, ClusterCause> known_;
  std::vector<uint32_t> owner_;                    // bucket of each pair's device time
  std::vector<bool> judged_;                       // pairs whose host time has a bucket by itself
  std::vector<uint32_t> host_;                     // pairs whose host time is judged by itself
  std::unordered_map<uint32_t, uint32_t> merged_;  // buckets that became part of others
  uint32_t noise_ = 0;
  Bucket::Part unnamed_;  // where parts go that nobody asks for
};

}  // namespace

Attribution Attribute(const Trail& a, const Trail& b, const Alignment& al, const Changes& changes,
                      const WorkChange& work, const CompareOptions& options, const std::vector<bool>& only) {
  return Attributor(a, b, al, changes, work, options, only).Run();
}

}  // namespace nl::compare
