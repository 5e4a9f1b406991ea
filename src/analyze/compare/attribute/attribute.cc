// SPDX-License-Identifier: Apache-2.0
#include "analyze/compare/attribute/attribute.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <unordered_map>

#include <fmt/format.h>

#include "analyze/async_policy.h"
#include "analyze/compare/attribute/unchanged.h"

namespace nl::compare {

std::string StageOf(const CallSequence& sequence, const CallType& call) {
  return call.stage == kNone ? "" : sequence.stages[call.stage];
}
std::string ModuleOf(const CallSequence& sequence, const CallType& call) {
  return call.module == kNone ? "" : sequence.modules[call.module];
}
std::string OpOf(const CallSequence& sequence, const CallType& call) {
  return std::string(sequence.Text(call.op).substr(0, 200));
}
std::string KernelOf(const CallSequence& sequence, const CallType& call) {
  if (IsNull(call.kernel)) return "";
  if (call.kind != CallKind::kKernel) return std::string(sequence.Text(call.kernel));
  return sequence.run->facts().Find<TimelineFacts>()->KernelNameOf(call.kernel).short_name;
}

namespace {

class Attributor {
 public:
  Attributor(const CallSequence& a, const CallSequence& b, const Alignment& al, const Changes& changes,
             const WorkChange& work, const CompareOptions& options, const std::vector<bool>& only,
             const ReplayCosts& replay_costs)
      : a_(a),
        b_(b),
        al_(al),
        changes_(changes),
        work_(work),
        options_(options),
        only_(only),
        replay_costs_(replay_costs) {}

  Attribution Run() {
    out_.of_call_a.assign(a_.calls.size(), kNone);
    out_.of_call_b.assign(b_.calls.size(), kNone);
    owner_.assign(al_.calls.size(), kNone);
    judged_.assign(al_.calls.size(), false);
    noise_ = BucketOf(Cause::kNoise, "", "");
    AddRecording();
    for (const Cluster& cluster : changes_.clusters) AddCluster(cluster);
    AddShapes();
    AddUnchanged();
    if (!UsesReplay()) AddFollowing();
    for (Bucket& bucket : buckets_) bucket.Join(a_, b_);
    MergePlaces();
    JoinSameKernels();
    FoldSmall();
    if (UsesReplay()) ApplyReplayCosts();
    Finish();
    return std::move(out_);
  }

 private:
  const CallType& TypeA(uint32_t i) const { return a_.Type(al_.calls[i].a); }
  const CallType& TypeB(uint32_t i) const { return b_.Type(al_.calls[i].b); }
  const Costs& CostsA(uint32_t i) const { return a_.costs[al_.calls[i].a]; }
  const Costs& CostsB(uint32_t i) const { return b_.costs[al_.calls[i].b]; }
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

  // ---- recording ----
  // Idle time around the work, with nothing recorded: one recording went on for longer than the other. Below
  // this share of the wall it is not worth a line.
  void AddRecording() {
    constexpr double kLeastRecording = 0.01;
    for (uint32_t i = 0; i < al_.calls.size(); ++i) {
      const Match& m = al_.calls[i];
      const bool around = (m.a == kNone || TypeA(i).kind == CallKind::kAround) &&
                          (m.b == kNone || TypeB(i).kind == CallKind::kAround);
      if (!around || options_.device_time) continue;
      const double a_ms = m.a == kNone ? 0 : a_.Ms(CostsA(i).total_ns()),
                   b_ms = m.b == kNone ? 0 : b_.Ms(CostsB(i).total_ns());
      const double wall_ms = std::max(a_.Ms(a_.parts * a_.wall_ns), b_.Ms(b_.parts * b_.wall_ns));
      if (std::abs(b_ms - a_ms) < kLeastRecording * wall_ms) continue;
      recording_ = BucketOf(Cause::kRecording, "", "");
      owner_[i] = recording_;
      judged_[i] = true;
      Put(recording_, i, kAllCosts, false);
    }
  }

  // A replay removes the idle time before a call together with the call: it cannot tell the time around the
  // work from the cost of the first call.
  bool UsesReplay() const { return replay_costs_.Known() && recording_ == kNone; }

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
      if (owner_[i] != kNone || (!cluster.rewritten && !IsStructural(changes_.change[i]))) continue;
      owner_[i] = bucket;
      const bool whole = cluster.rewritten || IsWhole(changes_.change[i]);
      Put(bucket, i, whole ? kAllCosts : kDeviceCosts, true);
      if (!whole) host_.push_back(i);
    }
  }

  // One more or fewer instance of a step that both runs have is work, not a change of the program.
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

  // The module with most of the affected time; "" when none has 30 % of it.
  std::string PlaceOf(const Cluster& cluster) const {
    std::map<std::string, double> modules;
    double all = 0;
    for (uint32_t i = cluster.first; i < cluster.last; ++i) {
      for (const auto& [sequence, call] : {std::pair(&a_, al_.calls[i].a), std::pair(&b_, al_.calls[i].b)}) {
        if (call == kNone) continue;
        const double ns = static_cast<double>(sequence->costs[call].total_ns()) + 1;
        modules[ModuleOf(*sequence, sequence->Type(call))] += ns;
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
      const uint32_t bucket =
          work_.work ? BucketOf(Cause::kWorkChanged, "", "")
                     : BucketOf(Cause::kShapeChanged, OpOf(b_, TypeB(i)), ModuleOf(b_, TypeB(i)));
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
    auto host = std::async(
        kAsyncOrDeferred, [&] { return work_.no_host ? std::vector<GroupVerdict>() : JudgeHost(in, host_); });
    for (const GroupVerdict& group : JudgeDevice(in, device)) {
      const uint32_t bucket = DeviceBucket(group);
      for (const uint32_t i : group.pairs) {
        owner_[i] = bucket;
        Put(bucket, i, kDeviceCosts, true);
      }
      Mark(bucket, group);
    }
    for (const uint32_t i : device) {
      if (owner_[i] != kNone) continue;
      owner_[i] = noise_;
      PutNoise(i, kDeviceCosts);
    }
    for (const GroupVerdict& group : host.get()) {
      uint32_t bucket = FollowsFrom(group);
      if (bucket == kNone) {
        const CallType& type = TypeB(group.pairs.front());
        bucket = BucketOf(group.delta_ns > 0 ? Cause::kHostSlower : Cause::kHostFaster, OpOf(b_, type),
                          ModuleOf(b_, type));
      }
      const bool counted = !buckets_[bucket].structural;
      for (const uint32_t i : group.pairs) {
        Put(bucket, i, kHostCosts, counted);
        judged_[i] = true;
      }
      if (counted) GiveBackDrift(bucket, group);
      Mark(bucket, group);
    }
    for (const uint32_t i : host_) {
      if (!judged_[i]) PutNoise(i, kHostCosts);
    }
  }

  // The part of a slow place that the drift of the host explains is drift.
  void GiveBackDrift(uint32_t bucket, const GroupVerdict& group) {
    double drift_ns = 0;
    for (const uint32_t i : group.pairs) {
      if (!Counts(i) || options_.device_time) continue;
      drift_ns +=
          (changes_.drift.by_segment[al_.segment_of[i]] - 1) * static_cast<double>(CostsA(i).host_ns());
    }
    Move(bucket, noise_, static_cast<int64_t>(drift_ns));
  }

  // Moves `ns` of B's idle time from one bucket to another.
  void Move(uint32_t from, uint32_t to, int64_t ns) {
    buckets_[from].b.waited_ns -= ns;
    buckets_[to].b.waited_ns += ns;
  }

  // After a change the device waits longer (its queue ran empty) or less (it was busy while the host ran
  // ahead): the idle time of the unchanged calls there beyond the drift belongs to the change, from the next
  // call until several in a row are as before.
  void AddFollowing() {
    if (options_.device_time || (a_.background_ns > 0) != (b_.background_ns > 0)) return;
    std::map<std::pair<uint32_t, uint64_t>, std::vector<double>>
        by_bucket;  // and label, so that only alike instances are compared
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
      // A stall that happened to follow one instance is not caused by the change.
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
    constexpr double kUsual = 0.3;                  // by how much a single call varies by chance
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

  // Idle time before a call of both runs: A's at the host speed of B, and by how much B's differs from it.
  double ExpectedIdleNs(uint32_t i) const {
    const Costs& a = CostsA(i);
    return changes_.drift.by_segment[al_.segment_of[i]] * static_cast<double>(a.host_ns()) +
           static_cast<double>(a.idle_ns() - a.host_ns());
  }
  double OffDriftNs(uint32_t i) const {
    return Counts(i) ? static_cast<double>(CostsB(i).idle_ns()) - ExpectedIdleNs(i) : 0;
  }
  // The same for the host part only: the other idle time of a changed call is in its bucket already.
  double HostOffDriftNs(uint32_t i) const {
    if (!Counts(i) || al_.calls[i].a == kNone || al_.calls[i].b == kNone) return 0;
    return static_cast<double>(CostsB(i).host_ns()) -
           changes_.drift.by_segment[al_.segment_of[i]] * static_cast<double>(CostsA(i).host_ns());
  }

  // Work of another program on the device delays the kernels and, through them, the host.
  void AddContention(const std::vector<uint32_t>& unchanged) {
    const uint32_t bucket = BucketOf(Cause::kContention, "", "");
    buckets_[bucket].structural = true;
    for (const uint32_t i : unchanged) {
      owner_[i] = bucket;
      Put(bucket, i, kDeviceCosts, true);
    }
    for (const uint32_t i : host_) Put(bucket, i, kHostCosts, false);
  }

  // Host time that differs directly after a structural change is caused by it: the host waits for the added
  // work, or runs ahead while the device is busy with it. kNone when there is no such change.
  uint32_t FollowsFrom(const GroupVerdict& group) const {
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

  uint32_t DeviceBucket(const GroupVerdict& group) {
    const CallType& call = TypeB(group.pairs.front());
    // On another device every kernel has another duration; that is not a matter of clocks.
    if (group.common == CommonCause::kClock && work_.other_device)
      return BucketOf(group.delta_ns > 0 ? Cause::kKernelSlower : Cause::kKernelFaster, "", "");
    if (group.common == CommonCause::kClock) return BucketOf(Cause::kClockChanged, "", "");
    return BucketOf(group.delta_ns > 0 ? Cause::kKernelSlower : Cause::kKernelFaster, KernelOf(b_, call),
                    ModuleOf(b_, call));
  }

  void Mark(uint32_t bucket, const GroupVerdict& group) {
    if (bucket == noise_) return;
    Bucket& to = buckets_[bucket];
    to.significant = true;
    if (std::isnan(to.p_value) || group.p_value < to.p_value) to.p_value = group.p_value;
  }

  // ---- sums ----
  enum Which { kAllCosts, kDeviceCosts, kHostCosts };
  Costs Select(const Costs& costs, Which which) const {
    if (options_.device_time) return {which == kHostCosts ? 0 : costs.work_ns, 0, 0};
    if (which == kDeviceCosts) return {costs.work_ns, 0, costs.waited_ns};
    if (which == kHostCosts) return {0, costs.on_host_ns, 0};
    return costs;
  }

  // Unchanged work needs only the sum.
  void PutNoise(uint32_t i, Which which) {
    const Match& m = al_.calls[i];
    if (Counts(i)) {
      if (m.a != kNone) buckets_[noise_].a.Add(Select(a_.costs[m.a], which));
      if (m.b != kNone) buckets_[noise_].b.Add(Select(b_.costs[m.b], which));
    }
    if (which == kHostCosts || !Counts(i)) return;
    if (m.a != kNone) out_.of_call_a[m.a] = noise_;
    if (m.b != kNone) out_.of_call_b[m.b] = noise_;
  }

  // Counts the call in the bucket of its device time; a slow place of the host counts its calls too.
  void Put(uint32_t bucket, uint32_t i, Which which, bool count) {
    if (!Counts(i)) return;
    Bucket& to = buckets_[bucket];
    const Match& m = al_.calls[i];
    Bucket::Part& part = PieceOf(to, changes_.change[i], m);
    if (which == kAllCosts) to.made.push_back(i);
    if (which == kDeviceCosts) to.timed.push_back(i);
    if (which == kHostCosts && count) to.hosted.push_back(i);
    const auto add = [&](const CallSequence& sequence, uint32_t call, Costs& sum, Costs& part_sum, int64_t& n,
                         int64_t& part_n, uint32_t& best) {
      if (call == kNone) return;
      const Costs costs = Select(sequence.costs[call], which);
      sum.Add(costs);
      part_sum.Add(costs);
      n += count;
      part_n += count;
      if (best == kNone || sequence.costs[call].total_ns() > sequence.costs[best].total_ns()) best = call;
    };
    add(a_, m.a, to.a, part.costs_a, to.count_a, part.count_a, part.a);
    add(b_, m.b, to.b, part.costs_b, to.count_b, part.count_b, part.b);
    if (count) {
      const double delta = (m.b == kNone ? 0 : b_.Ms(Select(b_.costs[m.b], which).total_ns())) -
                           (m.a == kNone ? 0 : a_.Ms(Select(a_.costs[m.a], which).total_ns()));
      part.at_stake_ms += std::abs(delta);
    }
    if (m.a != kNone) out_.of_call_a[m.a] = bucket;
    if (m.b != kNone) out_.of_call_b[m.b] = bucket;
  }

  // By pair of types; Bucket::Join merges pieces that differ in the same way.
  Bucket::Part& PieceOf(Bucket& bucket, uint8_t change, const Match& m) {
    const uint32_t type_a = m.a == kNone ? kNone : a_.calls[m.a].type,
                   type_b = m.b == kNone ? kNone : b_.calls[m.b].type;
    const auto next = static_cast<uint32_t>(bucket.pieces.size());
    const uint32_t at = bucket.piece_at.FindOrPut(MixedPair(type_a, type_b), next);
    if (at == next) {
      Bucket::Part& part = bucket.pieces.emplace_back();
      part.change = change;
      part.key =
          HashPair(change, HashPair(m.a == kNone ? 0 : a_.Token(m.a), m.b == kNone ? 0 : b_.Token(m.b)));
      part.stage = m.b != kNone ? StageOf(b_, b_.Type(m.b)) : StageOf(a_, a_.Type(m.a));
    }
    return bucket.pieces[at];
  }

  double Delta(const Bucket& bucket) const { return b_.Ms(bucket.b.total_ns()) - a_.Ms(bucket.a.total_ns()); }

  // Merges buckets with the same calls: one change whose module is known only in some places.
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

  // Calls of one operator that launch several kernels can be paired with each other's: where both sides run
  // the same kernels nothing was replaced, there are only more or fewer of them.
  void JoinSameKernels() {
    for (uint32_t i = 0; i < buckets_.size(); ++i) {
      Bucket& bucket = buckets_[i];
      if (bucket.cause != Cause::kKernelReplaced || merged_.count(i) != 0) continue;
      std::set<uint64_t> kernels_a, kernels_b;
      for (const auto* list : {&bucket.made, &bucket.timed}) {
        for (const uint32_t at : *list) {
          const Match& m = al_.calls[at];
          if (m.a != kNone) kernels_a.insert(TypeA(at).kernel_hash);
          if (m.b != kNone) kernels_b.insert(TypeB(at).kernel_hash);
        }
      }
      if (kernels_a != kernels_b || a_.on_host || b_.on_host) continue;
      if (bucket.count_a == bucket.count_b) {
        CountAsUnchanged(i);
        continue;
      }
      bucket.cause = bucket.count_b > bucket.count_a ? Cause::kKernelsAdded : Cause::kKernelsRemoved;
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
    // Unchanged work has no place and is never significant.
    if (to != noise_) {
      t.significant = t.significant || f.significant;
      for (const auto& [stage, ms] : f.stages) t.stages[stage] += ms;
    }
    const auto join = [](const std::vector<uint32_t>& from_list, std::vector<uint32_t>& to_list) {
      to_list.insert(to_list.end(), from_list.begin(), from_list.end());
    };
    join(f.made, t.made), join(f.timed, t.timed), join(f.hosted, t.hosted);
    for (const auto& [key, part] : f.parts) {
      Bucket::Part& p = t.parts[key];
      if (p.a == kNone) p.a = part.a;
      if (p.b == kNone) p.b = part.b;
      p.change = part.change;
      p.costs_a.Add(part.costs_a);
      p.costs_b.Add(part.costs_b);
      p.count_a += part.count_a;
      p.count_b += part.count_b;
    }
    f = Bucket();
  }

  // A negligible change gets no line of its own: it stays in the sums, as noise.
  void FoldSmall() {
    const double least = 1e-4 * std::max(a_.Ms(a_.parts * a_.wall_ns), b_.Ms(b_.parts * b_.wall_ns));
    for (uint32_t i = 0; i < buckets_.size(); ++i) {
      Bucket& bucket = buckets_[i];
      const double at_stake = std::max(a_.Ms(bucket.a.total_ns()), b_.Ms(bucket.b.total_ns()));
      if (i == noise_ || merged_.count(i) != 0 || at_stake >= least) continue;
      CountAsUnchanged(i);
    }
  }

  void CountAsUnchanged(uint32_t bucket) {
    merged_[bucket] = noise_;
    Merge(bucket, noise_);
  }

  // The effect of each change on the wall, from replaying the runs without it; the rest is unchanged work.
  void ApplyReplayCosts() {
    std::vector<const Bucket*> wanted;
    std::vector<uint32_t> at;
    for (uint32_t i = 0; i < buckets_.size(); ++i) {
      if (i == noise_ || merged_.count(i) != 0 || buckets_[i].cause == Cause::kContention) continue;
      wanted.push_back(&buckets_[i]);
      at.push_back(i);
    }
    const std::vector<std::optional<double>> ms = replay_costs_.Of(wanted, a_, b_, al_, changes_.drift);
    for (size_t k = 0; k < at.size(); ++k) {
      if (!ms[k]) continue;
      Bucket &bucket = buckets_[at[k]], &noise = buckets_[noise_];
      // A slow place of the host may be chance: its effect is at most what was measured there, and none if
      // the wall changes in the other direction.
      const double measured = Delta(bucket);
      const bool host = bucket.made.empty() && bucket.timed.empty();
      if (host && *ms[k] * measured < 0) {
        CountAsUnchanged(at[k]);
        continue;
      }
      const double effect = host ? std::clamp(*ms[k], -std::abs(measured), std::abs(measured)) : *ms[k];
      const double more = effect - measured;
      if (IsHidden(bucket, *ms[k])) {
        bucket.hidden_ms = -more;
        continue;
      }
      // Correct the side that has the calls: removed calls cost nothing in B.
      const bool in_a = (bucket.count_b == 0 || b_.Ms(bucket.b.total_ns()) + more < 0) &&
                        a_.Ms(bucket.a.total_ns()) >= more;
      const CallSequence& sequence = in_a ? a_ : b_;
      const int64_t ns = std::llround((in_a ? -more : more) * 1e6 * static_cast<double>(sequence.parts));
      (in_a ? bucket.a : bucket.b).waited_ns += ns;
      (in_a ? noise.a : noise.b).waited_ns -= ns;
    }
  }

  // Device time only, of which the wall shows next to nothing: reported as measured, and as hidden.
  bool IsHidden(const Bucket& bucket, double effect_ms) const {
    constexpr double kShown = 0.1;
    return bucket.made.empty() && bucket.hosted.empty() &&
           std::abs(effect_ms) < kShown * std::abs(Delta(bucket));
  }

  // ---- the result ----
  void Finish() {
    std::vector<uint32_t> place(buckets_.size(), kNone);
    for (uint32_t i = 0; i < buckets_.size(); ++i) {
      if (i == noise_ || merged_.count(i) != 0) continue;
      place[i] = static_cast<uint32_t>(out_.contributions.size());
      out_.contributions.push_back(MakeContribution(a_, b_, buckets_[i]));
    }
    const auto last = static_cast<uint32_t>(out_.contributions.size());
    out_.contributions.push_back(MakeContribution(a_, b_, buckets_[noise_]));
    for (auto* of_call : {&out_.of_call_a, &out_.of_call_b}) {
      for (uint32_t& at : *of_call) {
        while (merged_.count(at) != 0) at = merged_.at(at);
        at = at == kNone || place[at] == kNone ? last : place[at];
      }
    }
  }

  const CallSequence &a_, &b_;
  const Alignment& al_;
  const Changes& changes_;
  const WorkChange& work_;
  const CompareOptions& options_;
  const std::vector<bool>& only_;
  const ReplayCosts& replay_costs_;
  Attribution out_;
  std::vector<Bucket> buckets_;
  std::unordered_map<std::string, uint32_t> bucket_at_;
  std::unordered_map<uint64_t, ClusterCause> known_;
  std::vector<uint32_t> owner_;                    // bucket of the device time of each pair
  std::vector<bool> judged_;                       // pairs whose host time has its own bucket
  std::vector<uint32_t> host_;                     // pairs whose host time is judged separately
  std::unordered_map<uint32_t, uint32_t> merged_;  // buckets that became part of others
  uint32_t noise_ = 0, recording_ = kNone;
};

}  // namespace

Attribution Attribute(const CallSequence& a, const CallSequence& b, const Alignment& al,
                      const Changes& changes, const WorkChange& work, const CompareOptions& options,
                      const std::vector<bool>& only, const ReplayCosts& replay_costs) {
  return Attributor(a, b, al, changes, work, options, only, replay_costs).Run();
}

}  // namespace nl::compare
