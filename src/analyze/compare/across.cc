// SPDX-License-Identifier: Apache-2.0
#include "analyze/compare/across.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>

#include <fmt/format.h>

#include "analyze/facts/accounting.h"
#include "analyze/facts/roofline.h"

namespace nl {

std::span<const std::string_view> NamesOf(NearerRoofline) {
  static constexpr std::array<std::string_view, 3> kNames = {"a", "b", "same"};
  return kNames;
}

void Describe(Record<AcrossRow>& r) {
  r.Name("AcrossRow", "An operator or kernel family on both sides");
  r.Field("name", &AcrossRow::name, "Operator or family; as A spells it, else as B does");
  r.Field("name_b", &AcrossRow::name_b, "The operator in B, where its name differs");
  r.Field("calls_a", &AcrossRow::calls_a, "Calls of an operator, executions of a family's kernels, in run A");
  r.Field("calls_b", &AcrossRow::calls_b, "The same in run B");
  r.Field("a_ms", &AcrossRow::a_ms, Unit::kMs,
          "Self device time in run A: durations of the kernels it launched itself, of the mean device");
  r.Field("b_ms", &AcrossRow::b_ms, Unit::kMs, "The same in run B");
  r.Field("ratio", &AcrossRow::ratio, Unit::kRatio, "b_ms / a_ms");
  r.Field("efficiency_a", &AcrossRow::efficiency_a, Unit::kShare,
          "Roofline time relative to measured time in run A, of the calls with a known cost");
  r.Field("efficiency_b", &AcrossRow::efficiency_b, Unit::kShare, "The same in run B");
  r.Field("nearer", &AcrossRow::nearer, "The side nearer to its roofline; null: unknown");
  r.Field("reason", &AcrossRow::reason, "Why an efficiency is unknown");
}

void Describe(Record<AcrossSetups>& r) {
  r.Name("AcrossSetups", "Two devices, software versions or recording tools compared in device time");
  r.Field("setup_a", &AcrossSetups::setup_a, "Device of run A; empty: not named");
  r.Field("setup_b", &AcrossSetups::setup_b, "Device of run B; empty: not named");
  r.Field("devices_a", &AcrossSetups::devices_a, "Devices of run A that ran kernels");
  r.Field("devices_b", &AcrossSetups::devices_b, "Devices of run B that ran kernels");
  r.Field("device_a_ms", &AcrossSetups::device_a_ms, Unit::kMs,
          "Busy time of the mean device in run A, overlap counted once");
  r.Field("device_b_ms", &AcrossSetups::device_b_ms, Unit::kMs, "The same in run B");
  r.Field("ratio", &AcrossSetups::ratio, Unit::kRatio, "device_b_ms / device_a_ms");
  r.Field("operators", &AcrossSetups::operators, "By operator, most device time first");
  r.Field("families", &AcrossSetups::families, "By kernel family, most device time first");
}

namespace compare {

namespace {

struct AcrossSum {
  std::string name;
  int64_t calls = 0, ns = 0;
  int64_t assessed_ns = 0;
  double roof_ns = 0;
  std::string reason;  // of the largest part that is not assessed
  int64_t reason_ns = -1;

  void Assess(const RooflinePoint& p) {
    if (p.roof_ns) {
      assessed_ns += p.measured_ns;
      roof_ns += *p.roof_ns;
    } else {
      Unknown(p.reason, p.measured_ns);
    }
  }
  void Unknown(const std::string& why, int64_t unknown_ns) {
    if (unknown_ns <= reason_ns) return;
    reason_ns = unknown_ns;
    reason = why;
  }
};
using Sums = std::map<std::string, AcrossSum>;  // by name

struct AcrossSide {
  Sums operators, families;
  int64_t devices = 0;
  double busy_ms = 0;
};

Result<AcrossSide> SideOf(Analysis& run) {
  AcrossSide out;
  NL_ASSIGN(const TimelineFacts* timeline, run.Need<TimelineFacts>());
  NL_ASSIGN(const RooflineFacts* roofline, run.Need<RooflineFacts>());
  NL_ASSIGN(const AccountingFacts* accounts, run.Need<AccountingFacts>());
  out.devices = DevicesWithKernels(*timeline);
  int64_t busy_ns = 0;
  for (const TimeParts& parts : accounts->devices) busy_ns += parts.busy_ns();
  out.busy_ms = static_cast<double>(busy_ns) / 1e6 / static_cast<double>(std::max<int64_t>(1, out.devices));
  for (const RooflinePoint& p : roofline->points) {
    AcrossSum& sum = out.operators[std::string(run.data().Text(p.op))];
    sum.calls += p.calls;
    sum.ns += p.measured_ns;
    sum.Assess(p);
  }
  const auto family_of = [&](StringId name) -> AcrossSum& {
    return out.families[std::string(KernelFamilyName(timeline->KernelNameOf(name).family))];
  };
  const DeviceWork& work = timeline->work;
  for (uint32_t i = 0; i < work.size(); ++i) {
    const bool kernel = work.kind[i] == WorkKind::kKernel;
    AcrossSum& sum = kernel ? family_of(work.name[i])
                            : out.families[work.kind[i] == WorkKind::kMemcpy ? "memcpy" : "memset"];
    ++sum.calls;
    sum.ns += work.end_ns[i] - work.start_ns[i];
    if (!kernel) sum.Unknown("copies and memsets have no roofline", sum.ns);
  }
  for (const RooflinePoint& p : roofline->kernels) family_of(p.kernel).Assess(p);
  for (auto& [name, sum] : out.families) {
    if (sum.reason_ns < 0 && sum.assessed_ns < sum.ns)
      sum.Unknown("launched outside any recorded operator", sum.ns - sum.assessed_ns);
  }
  return out;
}

// A name without what belongs to a vendor or a compiler's numbering: "aten::cudnn_convolution" and
// "aten::miopen_convolution" are convolution, "cudnn-conv.1.0" is cudnn-conv.
std::string CommonName(std::string name) {
  for (const char* vendor : {"cudnn_", "miopen_", "mkldnn_", "cudnn-", "miopen-"}) {
    if (const size_t at = name.find(vendor); at != std::string::npos)
      name.erase(at, std::string_view(vendor).size());
  }
  const size_t last = name.find_last_not_of(".0123456789");
  return last == std::string::npos ? name : name.substr(0, last + 1);
}

class AcrossTable {
 public:
  AcrossTable(const AcrossSide& a, const AcrossSide& b) : a_(a), b_(b) {}

  static std::optional<double> RatioOf(double a_ms, double b_ms) {
    return a_ms > 0 ? std::optional(b_ms / a_ms) : std::nullopt;
  }

  // Equal names first, then names that only differ in vendor and numbering.
  std::vector<AcrossRow> Rows(const Sums& a, const Sums& b, bool by_common_name) const {
    std::vector<AcrossRow> out;
    std::map<std::string, std::pair<AcrossSum, AcrossSum>> rest;
    for (const auto& [name, sum] : a) {
      if (const auto it = b.find(name); it != b.end()) {
        out.push_back(Row(name, name, &sum, &it->second));
      } else {
        Join(name, sum, rest[by_common_name ? CommonName(name) : name].first);
      }
    }
    for (const auto& [name, sum] : b) {
      if (a.count(name) == 0) Join(name, sum, rest[by_common_name ? CommonName(name) : name].second);
    }
    for (const auto& [name, sums] : rest) {
      const auto& [in_a, in_b] = sums;
      out.push_back(
          Row(in_a.name, in_b.name, in_a.calls > 0 ? &in_a : nullptr, in_b.calls > 0 ? &in_b : nullptr));
    }
    std::stable_sort(out.begin(), out.end(), [](const AcrossRow& x, const AcrossRow& y) {
      return std::max(x.a_ms.value_or(0), x.b_ms.value_or(0)) >
             std::max(y.a_ms.value_or(0), y.b_ms.value_or(0));
    });
    return out;
  }

 private:
  static void Join(const std::string& name, const AcrossSum& from, AcrossSum& to) {
    if (to.name.empty() || from.ns > to.ns) to.name = name;
    to.calls += from.calls;
    to.ns += from.ns;
    to.assessed_ns += from.assessed_ns;
    to.roof_ns += from.roof_ns;
    to.Unknown(from.reason, from.reason_ns);
  }

  static double Ms(const AcrossSum& sum, const AcrossSide& side) {
    return static_cast<double>(sum.ns) / 1e6 / static_cast<double>(std::max<int64_t>(1, side.devices));
  }

  AcrossRow Row(const std::string& name_a, const std::string& name_b, const AcrossSum* a,
                const AcrossSum* b) const {
    AcrossRow out;
    out.name = a != nullptr ? name_a : name_b;
    if (a != nullptr && b != nullptr && name_a != name_b) out.name_b = name_b;
    if (a != nullptr) out.calls_a = a->calls, out.a_ms = Ms(*a, a_);
    if (b != nullptr) out.calls_b = b->calls, out.b_ms = Ms(*b, b_);
    if (a == nullptr || b == nullptr) return out;
    out.ratio = RatioOf(*out.a_ms, *out.b_ms);
    std::string why_a, why_b;
    out.efficiency_a = EfficiencyOf(*a, why_a);
    out.efficiency_b = EfficiencyOf(*b, why_b);
    if (out.efficiency_a && out.efficiency_b) {
      constexpr double kSame = 0.02;
      const double more = *out.efficiency_b - *out.efficiency_a;
      out.nearer = std::abs(more) < kSame ? NearerRoofline::kSame
                   : more > 0             ? NearerRoofline::kB
                                          : NearerRoofline::kA;
      return out;
    }
    out.reason = why_a == why_b
                     ? why_a
                     : (why_a.empty() ? "" : "A: " + why_a) + (why_a.empty() || why_b.empty() ? "" : "; ") +
                           (why_b.empty() ? "" : "B: " + why_b);
    return out;
  }

  // Known where at least half of the time is assessed.
  static std::optional<double> EfficiencyOf(const AcrossSum& sum, std::string& why) {
    if (sum.ns <= 0 || 2 * sum.assessed_ns < sum.ns) {
      why = sum.reason.empty() ? "no device time" : sum.reason;
      return std::nullopt;
    }
    const double efficiency = sum.roof_ns / static_cast<double>(sum.assessed_ns);
    if (efficiency <= 1) return efficiency;
    why = fmt::format("the roofline gives {:.0f} %: the cost model or the peak is wrong here",
                      100 * efficiency);
    return std::nullopt;
  }

  const AcrossSide &a_, &b_;
};

}  // namespace

int64_t DevicesWithKernels(const TimelineFacts& timeline) {
  std::set<uint32_t> devices;
  const DeviceWork& work = timeline.work;
  for (uint32_t i = 0; i < work.size(); ++i) {
    if (work.kind[i] == WorkKind::kKernel) devices.insert(work.device[i]);
  }
  return static_cast<int64_t>(devices.size());
}

Result<AcrossSetups> CompareAcross(Analysis& run_a, Analysis& run_b) {
  NL_ASSIGN(const AcrossSide a, SideOf(run_a));
  NL_ASSIGN(const AcrossSide b, SideOf(run_b));
  AcrossSetups out;
  out.devices_a = a.devices;
  out.devices_b = b.devices;
  out.device_a_ms = a.busy_ms;
  out.device_b_ms = b.busy_ms;
  const AcrossTable table(a, b);
  out.ratio = AcrossTable::RatioOf(a.busy_ms, b.busy_ms);
  out.operators = table.Rows(a.operators, b.operators, true);
  out.families = table.Rows(a.families, b.families, false);
  return out;
}

}  // namespace compare
}  // namespace nl
