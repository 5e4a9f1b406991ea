// SPDX-License-Identifier: Apache-2.0
#include "ops/bench/profile_reply.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>

#include "model/kernel_name.h"

namespace nl {

std::span<const std::string_view> NamesOf(KernelMatchKind) {
  static constexpr std::string_view kNames[] = {"exact", "normalised", "structural", "unmatched"};
  return kNames;
}

void Describe(Record<BenchKernel>& r) {
  r.Name("BenchKernel", "A kernel of the baseline beside the one that takes its place");
  r.Field(
      "match", &BenchKernel::match,
      "exact: the same name; normalised: the same after what tools spell differently; structural: another "
      "kernel for the same step of the program; unmatched: on one side only");
  r.Field("kernel_a", &BenchKernel::kernel_a, "Name in the baseline; null: it has none");
  r.Field("kernel_b", &BenchKernel::kernel_b, "Name in the optimized program; null: it has none");
  r.Field("count_a", &BenchKernel::count_a, "Launches in the baseline");
  r.Field("count_b", &BenchKernel::count_b, "Launches in the optimized program");
  r.Field("a_ms", &BenchKernel::a_ms, Unit::kMs, "Device time in the baseline, all launches");
  r.Field("b_ms", &BenchKernel::b_ms, Unit::kMs, "Device time in the optimized program");
  r.Field("delta_ms", &BenchKernel::delta_ms, Unit::kMs, "b_ms - a_ms");
  r.Field("counters_a", &BenchKernel::counters_a, "Counters of the baseline's; null: none were collected");
  r.Field("counters_b", &BenchKernel::counters_b, "Counters of the optimized program's");
}

void Describe(Record<BenchPairing>& r) {
  r.Name("BenchPairing", "How many kernels were found on both sides, and how");
  r.Field("exact", &BenchPairing::exact, "By their name");
  r.Field("normalised", &BenchPairing::normalised, "By their name without what tools spell differently");
  r.Field("structural", &BenchPairing::structural, "By their place in the program");
  r.Field("unmatched_a", &BenchPairing::unmatched_a, "In the baseline only");
  r.Field("unmatched_b", &BenchPairing::unmatched_b, "In the optimized program only");
}

void Describe(Record<BenchApiCall>& r) {
  r.Name("BenchApiCall", "A function of the CUDA runtime or driver on both sides");
  r.Field("name", &BenchApiCall::name, "Its name");
  r.Field("count_a", &BenchApiCall::count_a, "Calls in the baseline");
  r.Field("count_b", &BenchApiCall::count_b, "Calls in the optimized program");
  r.Field("a_ms", &BenchApiCall::a_ms, Unit::kMs, "Time of the host in them in the baseline");
  r.Field("b_ms", &BenchApiCall::b_ms, Unit::kMs, "Time of the host in them in the optimized program");
  r.Field("delta_ms", &BenchApiCall::delta_ms, Unit::kMs, "b_ms - a_ms");
}

void Describe(Record<BenchProfiledSide>& r) {
  r.Name("BenchProfiledSide", "One program of a profiled pair");
  r.Field("run_id", &BenchProfiledSide::run_id, "Its recording in the store; null: see reason");
  r.Field("bundle", &BenchProfiledSide::bundle, "Folder with its counters, as `deep` writes it");
  r.Field("selected", &BenchProfiledSide::selected, "Kernels that counters were collected for");
  r.Field("counted", &BenchProfiledSide::counted, "Those that have them");
  r.Field("nsys_report", &BenchProfiledSide::nsys_report,
          "Report of Nsight Systems; null: it is not installed, or the profile is not deep_dive");
  r.Field("reason", &BenchProfiledSide::reason, "Why something of it is missing");
}

void Describe(Record<BenchProfile>& r) {
  r.Name("BenchProfile", "Both programs of a pair recorded, outside the timed runs, and compared");
  r.Field("profile", &BenchProfile::profile, "minimal, roofline or deep_dive");
  r.Field("metric_set", &BenchProfile::metric_set, "What Nsight Compute collected; null: see metric_reason");
  r.Field("metric_reason", &BenchProfile::metric_reason, "Why no counters were collected");
  r.Field("iterations", &BenchProfile::iterations, "Runs that were recorded of each side, after the warm-up");
  r.Field("baseline", &BenchProfile::baseline, "The baseline");
  r.Field("optimized", &BenchProfile::optimized, "The optimized program");
  r.Field("pairing", &BenchProfile::pairing, "How kernels were paired; null: none were recorded");
  r.Field("kernels", &BenchProfile::kernels, "Kernels of these runs, the largest change first");
  r.Field("api_calls", &BenchProfile::api_calls, "Calls of CUDA in these runs, the largest change first");
  r.Field("why", &BenchProfile::why, "What explains the difference; null: see reason");
  r.Field("narrative", &BenchProfile::narrative, "The same in sentences");
  r.Field("next", &BenchProfile::next, "Commands worth running");
  r.Field("reason", &BenchProfile::reason, "Why the sides were not compared");
}

namespace {

class Pairing {
 public:
  Pairing(const std::vector<NamedTime>& a, const std::vector<NamedTime>& b)
      : a_(a), b_(b), taken_a_(a.size()), taken_b_(b.size()) {}

  // Pairs what is left and has the same key on both sides; an empty key matches nothing. The first of several
  // takes part.
  void ByKey(KernelMatchKind match, const std::function<std::string(const NamedTime&)>& key_a,
             const std::function<std::string(const NamedTime&)>& key_b) {
    std::map<std::string, size_t> left;
    for (size_t j = b_.size(); j-- > 0;) {
      const std::string key = taken_b_[j] ? "" : key_b(b_[j]);
      if (!key.empty()) left[key] = j;
    }
    for (size_t i = 0; i < a_.size(); ++i) {
      const auto found = taken_a_[i] ? left.end() : left.find(key_a(a_[i]));
      if (found == left.end()) continue;
      Add(match, &a_[i], &b_[found->second]);
      taken_a_[i] = taken_b_[found->second] = true;
      left.erase(found);
    }
  }

  // The one kernel of a family that is left on each side.
  void ByFamily() {
    std::map<KernelFamily, std::pair<std::vector<size_t>, std::vector<size_t>>> left;
    for (size_t i = 0; i < a_.size(); ++i)
      if (!taken_a_[i]) left[ParseKernelName(a_[i].name).family].first.push_back(i);
    for (size_t j = 0; j < b_.size(); ++j)
      if (!taken_b_[j]) left[ParseKernelName(b_[j].name).family].second.push_back(j);
    for (const auto& [family, sides] : left) {
      if (family == KernelFamily::kOther || sides.first.size() != 1 || sides.second.size() != 1) continue;
      Add(KernelMatchKind::kStructural, &a_[sides.first[0]], &b_[sides.second[0]]);
      taken_a_[sides.first[0]] = taken_b_[sides.second[0]] = true;
    }
  }

  std::vector<BenchKernel> Finish() {
    for (size_t i = 0; i < a_.size(); ++i)
      if (!taken_a_[i]) Add(KernelMatchKind::kUnmatched, &a_[i], nullptr);
    for (size_t j = 0; j < b_.size(); ++j)
      if (!taken_b_[j]) Add(KernelMatchKind::kUnmatched, nullptr, &b_[j]);
    std::stable_sort(out_.begin(), out_.end(), [](const BenchKernel& x, const BenchKernel& y) {
      return std::fabs(x.delta_ms) > std::fabs(y.delta_ms);
    });
    return std::move(out_);
  }

 private:
  void Add(KernelMatchKind match, const NamedTime* in_a, const NamedTime* in_b) {
    BenchKernel row;
    row.match = match;
    if (in_a != nullptr) row.kernel_a = in_a->name, row.count_a = in_a->count, row.a_ms = in_a->ms;
    if (in_b != nullptr) row.kernel_b = in_b->name, row.count_b = in_b->count, row.b_ms = in_b->ms;
    row.delta_ms = row.b_ms - row.a_ms;
    out_.push_back(std::move(row));
  }

  const std::vector<NamedTime>&a_, &b_;
  std::vector<bool> taken_a_, taken_b_;
  std::vector<BenchKernel> out_;
};

std::string ShortOf(const NamedTime& kernel) { return ParseKernelName(kernel.name).short_name; }

}  // namespace

std::vector<BenchKernel> PairKernels(const std::vector<NamedTime>& a, const std::vector<NamedTime>& b,
                                     const std::vector<std::pair<std::string, std::string>>& aligned) {
  Pairing pairing(a, b);
  const auto name = [](const NamedTime& kernel) { return kernel.name; };
  pairing.ByKey(KernelMatchKind::kExact, name, name);
  const auto normalised = [](const NamedTime& kernel) { return ParseKernelName(kernel.name).normalized; };
  pairing.ByKey(KernelMatchKind::kNormalised, normalised, normalised);
  for (const auto& [short_a, short_b] : aligned)
    pairing.ByKey(
        KernelMatchKind::kStructural,
        [&wanted = short_a](const NamedTime& kernel) { return ShortOf(kernel) == wanted ? "pair" : "no"; },
        [&wanted = short_b](const NamedTime& kernel) { return ShortOf(kernel) == wanted ? "pair" : ""; });
  pairing.ByFamily();
  return pairing.Finish();
}

BenchPairing CountMatches(const std::vector<BenchKernel>& kernels) {
  BenchPairing out;
  for (const BenchKernel& kernel : kernels) {
    switch (kernel.match) {
      case KernelMatchKind::kExact: ++out.exact; break;
      case KernelMatchKind::kNormalised: ++out.normalised; break;
      case KernelMatchKind::kStructural: ++out.structural; break;
      case KernelMatchKind::kUnmatched: ++(kernel.kernel_a ? out.unmatched_a : out.unmatched_b); break;
    }
  }
  return out;
}

std::vector<BenchApiCall> PairCalls(const std::vector<NamedTime>& a, const std::vector<NamedTime>& b) {
  std::map<std::string, BenchApiCall> calls;
  for (const NamedTime& one : a) calls[one.name].count_a += one.count, calls[one.name].a_ms += one.ms;
  for (const NamedTime& one : b) calls[one.name].count_b += one.count, calls[one.name].b_ms += one.ms;
  std::vector<BenchApiCall> out;
  for (auto& [name, call] : calls) {
    call.name = name;
    call.delta_ms = call.b_ms - call.a_ms;
    out.push_back(std::move(call));
  }
  std::stable_sort(out.begin(), out.end(), [](const BenchApiCall& x, const BenchApiCall& y) {
    return std::fabs(x.delta_ms) > std::fabs(y.delta_ms);
  });
  return out;
}

}  // namespace nl
