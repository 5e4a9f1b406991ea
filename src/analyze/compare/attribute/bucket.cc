// SPDX-License-Identifier: Apache-2.0
#include "analyze/compare/attribute/bucket.h"

#include <algorithm>
#include <cctype>
#include <iterator>
#include <set>

#include "analyze/compare/attribute/attribute.h"
#include "analyze/compare/attribute/cause.h"

namespace nl::compare {

void Bucket::Join(const CallSequence& sequence_a, const CallSequence& sequence_b) {
  const auto better = [](const CallSequence& sequence, uint32_t call, uint32_t& best) {
    if (call == kNone) return;
    if (best == kNone || sequence.costs[call].total_ns() > sequence.costs[best].total_ns()) best = call;
  };
  for (const Part& piece : pieces) {
    if (piece.count_a + piece.count_b > 0) stages[piece.stage] += piece.at_stake_ms;
    Part& part = parts[piece.key];
    part.change = piece.change;
    better(sequence_a, piece.a, part.a);
    better(sequence_b, piece.b, part.b);
    part.costs_a.Add(piece.costs_a);
    part.costs_b.Add(piece.costs_b);
    part.count_a += piece.count_a;
    part.count_b += piece.count_b;
  }
  pieces.clear();
  piece_at = FlatMap();
}

namespace {

class Maker {
 public:
  Maker(const CallSequence& a, const CallSequence& b) : a_(a), b_(b) {}

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
    out.hidden_ms = bucket.hidden_ms;
    out.detail = bucket.detail;
    SplitEffects(bucket, out);
    AddParts(bucket, out);
    if (out.cause == Cause::kHostSlower || out.cause == Cause::kHostFaster) AddHostWork(bucket, out);
    return out;
  }

 private:
  // Per kind of call: the effect of the number of calls at A's cost per call, and of the cost per call.
  void SplitEffects(const Bucket& bucket, Contribution& out) const {
    for (const auto& [key, part] : bucket.parts) {
      const double busy_a = a_.Ms(part.costs_a.busy_ns()), busy_b = b_.Ms(part.costs_b.busy_ns());
      const auto n_a = static_cast<double>(part.count_a), n_b = static_cast<double>(part.count_b);
      if (n_a > 0 && n_b > 0) {
        const double count_effect = (n_b - n_a) * busy_a / n_a;
        out.count_effect_ms += count_effect;
        out.speed_effect_ms += busy_b - busy_a - count_effect;
      } else if (part.a != kNone && part.b != kNone) {
        out.speed_effect_ms += busy_b - busy_a;
      } else {
        out.count_effect_ms += busy_b - busy_a;
      }
    }
    out.idle_effect_ms = b_.Ms(bucket.b.idle_ns()) - a_.Ms(bucket.a.idle_ns());
    // The rest is device time of unchanged work, which has no parts.
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
    add((change & kOpChanged) != 0, "different operator");
    add((change & kGraphChanged) != 0, "different launch");
    add((change & kTypeChanged) != 0, "different types");
    add((change & kShapeChanged) != 0, "different shapes");
    add((change & kKernelChanged) != 0, "different kernel");
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
      const auto token = [this](const Bucket::Part* p) {
        return p->b != kNone ? b_.Token(p->b) : a_.Token(p->a);
      };
      return token(x) < token(y);
    });
    for (const Bucket::Part* p : parts) {
      if (out.parts.size() == kMostParts) break;
      Contribution::Part& to = out.parts.emplace_back();
      to.op = p->b != kNone ? OpOf(b_, b_.Type(p->b)) : OpOf(a_, a_.Type(p->a));
      if (p->a != kNone) {
        to.kernel_a = KernelOf(a_, a_.Type(p->a));
        to.shapes_a = std::string(a_.Text(a_.Type(p->a).dims).substr(0, 120));
      }
      if (p->b != kNone) {
        to.kernel_b = KernelOf(b_, b_.Type(p->b));
        to.shapes_b = std::string(b_.Text(b_.Type(p->b).dims).substr(0, 120));
      }
      to.change = ChangeText(p->change);
      if ((p->change & kKernelChanged) != 0 && p->a != kNone && p->b != kNone && to.kernel_a == to.kernel_b)
        Distinguish(p->a, p->b, to);
      to.count_a = p->count_a;
      to.count_b = p->count_b;
      to.a_ms = a_.Ms(p->costs_a.total_ns());
      to.b_ms = b_.Ms(p->costs_b.total_ns());
      to.busy_a_ms = a_.Ms(p->costs_a.busy_ns());
      to.busy_b_ms = b_.Ms(p->costs_b.busy_ns());
      if (p->a != kNone && out.evidence_a.size() < kMostEvidence) AddEvidence(a_, p->a, out.evidence_a);
      if (p->b != kNone && out.evidence_b.size() < kMostEvidence) AddEvidence(b_, p->b, out.evidence_b);
    }
    if (out.cause == Cause::kNoise || out.parts.empty()) return;
    // Parts that are the same only follow from the change: the place is that of the largest changed part.
    const auto changed = std::find_if(out.parts.begin(), out.parts.end(),
                                      [](const Contribution::Part& part) { return part.change != "same"; });
    const Contribution::Part& first = changed == out.parts.end() ? out.parts.front() : *changed;
    out.op = first.op;
    out.kernel_a = first.kernel_a, out.kernel_b = first.kernel_b;
    out.shapes_a = first.shapes_a, out.shapes_b = first.shapes_b;
    // Removed and added calls are different calls: each side shows its largest.
    for (const Contribution::Part& part : out.parts) {
      if (part.change == "same") continue;
      if (out.kernel_a.empty()) out.kernel_a = part.kernel_a;
      if (out.kernel_b.empty()) out.kernel_b = part.kernel_b;
    }
    if (out.cause == Cause::kAttentionImplChanged) NameAttention(parts, out);
  }

  // Two kernels with one short name: shows the first template argument, tile or suffix that differs. Of calls
  // with several kernels, names those that only one side runs.
  void Distinguish(uint32_t a, uint32_t b, Contribution::Part& to) const {
    std::set<std::string> of_a = NormalNames(a_, a), of_b = NormalNames(b_, b), only_a, only_b;
    std::set_difference(of_a.begin(), of_a.end(), of_b.begin(), of_b.end(),
                        std::inserter(only_a, only_a.end()));
    std::set_difference(of_b.begin(), of_b.end(), of_a.begin(), of_a.end(),
                        std::inserter(only_b, only_b.end()));
    if (only_a.empty() && only_b.empty()) return;
    const std::string name_a = only_a.empty() ? "" : *only_a.begin(),
                      name_b = only_b.empty() ? "" : *only_b.begin();
    const std::string short_a = ShortKernelName(name_a), short_b = ShortKernelName(name_b);
    if (name_a.empty() || name_b.empty()) {
      const std::string& more = name_a.empty() ? short_b : short_a;
      std::string& side = name_a.empty() ? to.kernel_b : to.kernel_a;
      if (more != side) side += " and " + more;
    } else if (short_a != short_b) {
      to.kernel_a = short_a, to.kernel_b = short_b;
    } else {
      const auto [part_a, part_b] = DifferingParts(name_a, name_b);
      to.kernel_a = short_a + " (" + part_a + ")", to.kernel_b = short_b + " (" + part_b + ")";
    }
  }

  // Names of the kernels of a call; of its longest only where the work of calls is not listed.
  static std::set<std::string> NormalNames(const CallSequence& sequence, uint32_t call) {
    const auto* timeline = sequence.run->facts().Find<TimelineFacts>();
    std::set<std::string> out;
    for (uint32_t i = 0; i < sequence.call_of_work.size(); ++i) {
      if (sequence.call_of_work[i] == call && timeline->work.kind[i] == WorkKind::kKernel)
        out.insert(timeline->KernelNameOf(timeline->work.name[i]).normalized);
    }
    const CallType& type = sequence.Type(call);
    if (out.empty() && type.kind == CallKind::kKernel)
      out.insert(timeline->KernelNameOf(type.kernel).normalized);
    return out;
  }

  // The parts of two names between their common start and end, whole words.
  static std::pair<std::string, std::string> DifferingParts(const std::string& a, const std::string& b) {
    const auto word = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; };
    const size_t shorter = std::min(a.size(), b.size());
    size_t from = 0, back = 0;
    while (from < shorter && a[from] == b[from]) ++from;
    while (from > 0 && word(a[from - 1])) --from;
    while (back < shorter - from && a[a.size() - 1 - back] == b[b.size() - 1 - back]) ++back;
    while (back > 0 && word(a[a.size() - back])) --back;
    constexpr size_t kLongest = 40;
    const auto part = [&](const std::string& name) {
      const std::string text = name.substr(from, name.size() - back - from);
      return text.empty() ? std::string("without it") : text.substr(0, kLongest);
    };
    return {part(a), part(b)};
  }

  // Name the kernels that compute attention, not the copies around them, even if those take longer.
  void NameAttention(const std::vector<const Bucket::Part*>& parts, Contribution& out) const {
    const auto is_attention = [](const CallSequence& sequence, uint32_t call) {
      if (call == kNone) return false;
      const CallFacts facts = FactsOf(sequence, call);
      return facts.attention || facts.attention_part;
    };
    const auto in_a =
        std::find_if(parts.begin(), parts.end(), [&](const auto* p) { return is_attention(a_, p->a); });
    const auto in_b =
        std::find_if(parts.begin(), parts.end(), [&](const auto* p) { return is_attention(b_, p->b); });
    if (in_a == parts.end() || in_b == parts.end()) return;
    out.kernel_a = KernelOf(a_, a_.Type((*in_a)->a));
    out.kernel_b = KernelOf(b_, b_.Type((*in_b)->b));
    out.op = OpOf(b_, b_.Type((*in_b)->b));
  }

  // Host work before a call: operators and Python functions since the previous call.
  struct HostWork {
    int64_t count = 0, ns = 0;
    uint32_t node = kNone;
  };
  static std::map<std::string, HostWork> HostWorkBefore(const CallSequence& sequence, uint32_t at) {
    std::map<std::string, HostWork> out;
    const Call& call = sequence.calls[at];
    if (call.node == kNone) return out;
    const HostTree& host = sequence.run->facts().Find<TimelineFacts>()->host;
    const uint32_t before = at == 0 ? kNone : sequence.calls[at - 1].node;
    constexpr uint32_t kMostNodes = 2000;
    for (uint32_t i = call.node, seen = 0; i-- > 0 && seen < kMostNodes; ++seen) {
      if (i == before || host.thread[i] != host.thread[call.node]) break;
      if (host.kind[i] == HostKind::kRange || host.end_ns[i] > host.start_ns[call.node]) continue;
      HostWork& work = out[std::string(sequence.Text(host.name[i]).substr(0, 100))];
      ++work.count;
      work.ns += host.end_ns[i] - host.start_ns[i];
      work.node = i;
    }
    return out;
  }

  // Names the additional (or missing) host work at this place, where it was recorded.
  void AddHostWork(const Bucket& bucket, Contribution& out) const {
    const Bucket::Part* most = nullptr;
    for (const auto& [key, part] : bucket.parts) {
      if (part.a == kNone || part.b == kNone) continue;
      if (most == nullptr || part.costs_b.total_ns() > most->costs_b.total_ns()) most = &part;
    }
    if (most == nullptr) return;
    const auto in_a = HostWorkBefore(a_, most->a), in_b = HostWorkBefore(b_, most->b);
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

  static void AddEvidence(const CallSequence& sequence, uint32_t at, std::vector<EvidenceRow>& to) {
    const Call& call = sequence.calls[at];
    const CallType& type = sequence.Type(at);
    EvidenceRow row;
    row.what = !IsNull(type.op) ? OpOf(sequence, type) : KernelOf(sequence, type);
    row.value = sequence.Ms(sequence.costs[at].total_ns());
    row.unit = "ms";
    if (call.row != kNone) {
      row.table = type.kind == CallKind::kKernel ? "kernel"
                  : type.kind == CallKind::kCopy ? "memcpy"
                                                 : "memset";
      row.row = call.row;
    } else if (call.node != kNone) {
      const HostTree& host = sequence.run->facts().Find<TimelineFacts>()->host;
      row.table = host.kind[call.node] == HostKind::kApi ? "api_call" : "op";
      row.row = host.row[call.node];
    } else {
      return;
    }
    to.push_back(std::move(row));
  }

  const CallSequence &a_, &b_;
};

}  // namespace

Contribution MakeContribution(const CallSequence& a, const CallSequence& b, const Bucket& bucket) {
  return Maker(a, b).Make(bucket);
}

}  // namespace nl::compare
