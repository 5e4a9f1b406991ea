// SPDX-License-Identifier: Apache-2.0
// Each class gathers pieces of evidence from different measurements: time of the device,
// time of the host, the queue between them, shapes. A piece speaks for its class with a
// strength from 0 to 1; the pieces of a class are independent, so their doubts multiply.
#include "analyze/passes/findings/diagnosis.h"

#include <algorithm>

namespace nl::passes::findings {

namespace {

constexpr double kSure = 0.8;    // confidence a class needs
constexpr double kOpen = 0.5;    // nothing stands out below this
constexpr double kSpeaks = 0.3;  // weaker pieces are not counted

struct Candidate {
  const char* bound;
  std::vector<Evidence> evidence;
  double doubt = 1;
  bool possible = true;

  double confidence() const { return possible ? 1 - doubt : 0; }
};

class Judge {
 public:
  explicit Judge(const Features& features) : run_(features.run) {}

  std::vector<Candidate> Candidates() {
    std::vector<Candidate> out;
    const auto util = Get("run.gpu_utilization");
    const double idle = util ? 1 - *util : 0;
    out.push_back({"launch_bound"});
    out.back().possible = util && idle > 0.3;
    // Half of the wall spent idle for the host is a strong sign; the kernels being shorter than
    // their launch calls, and queues being empty, say the same of other measurements.
    Piece(out.back(), Share({"run.idle_host_ms", "run.idle_launch_ms"}),
          "idle waiting for host or launch / wall", 0.1, 0.6);
    Piece(out.back(), Get("run.short_kernel_share"), "run.short_kernel_share", 0.4, 0.9);
    Piece(out.back(), Get("run.empty_queue_share"), "run.empty_queue_share", 0.4, 0.95);

    out.push_back({"cpu_bound"});
    const auto shorter = Get("run.short_kernel_share");
    out.back().possible = util && idle > 0.3 && (!shorter || *shorter < 0.5);
    Piece(out.back(), Share({"run.idle_host_ms"}), "idle waiting for host / wall", 0.1, 0.6);
    Piece(out.back(), Get("run.host_busy_share"), "run.host_busy_share", 0.5, 0.95);
    Piece(out.back(), Get("run.empty_queue_share"), "run.empty_queue_share", 0.4, 0.95);

    out.push_back({"sync_bound"});
    out.back().possible = !util || idle > 0.1;  // behind a busy device the host may well wait
    Piece(out.back(), Get("run.idle_sync_share"), "run.idle_sync_share", 0.1, 0.5);
    Piece(out.back(), Share({"run.sync_ms"}), "host time in blocking syncs / wall", 0.2, 0.7);

    out.push_back({"transfer_bound"});
    Piece(out.back(), Get("run.copies_share"), "run.copies_share", 0.15, 0.6);
    Piece(out.back(), Share({"run.copies_exposed_ms"}), "copies with no kernel at the same time / wall", 0.1,
          0.5);

    out.push_back({"communication_bound"});
    Piece(out.back(), Get("run.communication_share"), "run.communication_share", 0.2, 0.7);
    Piece(out.back(), Share({"run.communication_exposed_ms"}),
          "communication with no compute at the same time / wall", 0.1, 0.5);

    GpuBound(out, util);
    return out;
  }

  // When nothing else stands out: neither idle nor saturated, and what moves is hidden behind compute.
  Candidate Balanced() {
    Candidate out{"balanced"};
    const auto util = Get("run.gpu_utilization");
    out.possible = util && *util > 0.6 && *util < 0.85;
    Piece(out, util, "run.gpu_utilization", 0.4, 0.7);
    if (const auto exposed = Share({"run.copies_exposed_ms", "run.communication_exposed_ms"}))
      Piece(out, 1 - *exposed, "1 - exposed copies and communication / wall", 0.8, 0.98);
    return out;
  }

 private:
  std::optional<double> Get(std::string_view name) const { return run_.Number(name); }
  std::optional<double> Share(std::initializer_list<std::string_view> parts) const {
    const auto wall = Get("run.wall_ms");
    if (!wall || *wall <= 0) return std::nullopt;
    double sum = 0;
    for (const std::string_view part : parts) {
      const auto value = Get(part);
      if (!value) return std::nullopt;
      sum += *value;
    }
    return sum / *wall;
  }
  // Strength 0 at `from`, 0.9 at `to`, straight between.
  void Piece(Candidate& c, std::optional<double> value, const char* what, double from, double to) {
    if (!value) return;
    const double strength = 0.9 * std::clamp((*value - from) / (to - from), 0.0, 1.0);
    if (strength < kSpeaks) return;
    c.doubt *= 1 - strength;
    c.evidence.push_back({"", std::nullopt, what, value, "ratio"});
  }

  // Busy devices: compute or memory, by the families of kernels and by the shapes of products.
  void GpuBound(std::vector<Candidate>& out, const std::optional<double>& util) {
    const bool busy = util && *util > 0.6;
    out.push_back({"gpu_bound_compute"});
    out.back().possible = busy;
    Piece(out.back(), Get("run.compute_family_share"), "run.compute_family_share", 0.5, 0.95);
    Piece(out.back(), Get("run.high_ai_share"), "run.high_ai_share", 0.2, 0.6);
    out.push_back({"gpu_bound_memory"});
    out.back().possible = busy;
    Piece(out.back(), Get("run.memory_family_share"), "run.memory_family_share", 0.35, 0.8);
    Piece(out.back(), Get("run.low_ai_share"), "run.low_ai_share", 0.2, 0.6);
    for (size_t i = out.size() - 2; i < out.size(); ++i) {
      if (out[i].possible && !out[i].evidence.empty())
        out[i].evidence.push_back({"", std::nullopt, "run.gpu_utilization", util, "ratio"});
    }
  }

  const FeatureSubject& run_;
};

std::vector<std::string> WhatWouldSettle(const Features& features, const std::string& nearest) {
  std::vector<std::string> out;
  if (features.Has("device_work") && !features.run.Number("run.wall_ms"))
    out.push_back("a recording with a timeline: of these kernels only the durations are known");
  if (!features.Has("device_work")) out.push_back("a recording with device activity (kernels and copies)");
  if (features.Has("device_work") && !features.Has("launches"))
    out.push_back("runtime API calls linked to kernels, to tell waiting for the host from waiting for work");
  if (nearest == "gpu_bound_compute" || nearest == "gpu_bound_memory" || nearest.empty() ||
      nearest == "balanced") {
    if (!features.Has("kernel_counters"))
      out.push_back(
          "kernel counters (SM and DRAM throughput) of the top kernels, to tell compute from memory");
  }
  if (features.Has("device_work") && !features.Has("shapes"))
    out.push_back("input shapes (record_shapes=True), for the arithmetic intensity of matrix products");
  if (out.empty()) out.push_back("a longer recording of the steady state, without start-up");
  return out;
}

}  // namespace

Diagnosis Diagnose(const Features& features) {
  Judge judge(features);
  std::vector<Candidate> candidates = judge.Candidates();
  const auto weaker = [](const Candidate& a, const Candidate& b) { return a.confidence() < b.confidence(); };
  auto best = std::max_element(candidates.begin(), candidates.end(), weaker);
  if (best->confidence() <= kOpen) {
    candidates.push_back(judge.Balanced());
    best = std::max_element(candidates.begin(), candidates.end(), weaker);
  }
  Diagnosis out;
  out.confidence = best->confidence();
  out.evidence = best->evidence;
  if (out.confidence > kSure && out.evidence.size() >= 2) {
    out.bound = best->bound;
    return out;
  }
  const auto util = features.run.Number("run.gpu_utilization");
  if (out.evidence.empty() && util && *util > 0.85) {
    const bool compute = features.run.Number("run.compute_family_share").value_or(0) >
                         features.run.Number("run.memory_family_share").value_or(0);
    out.nearest = compute ? "gpu_bound_compute" : "gpu_bound_memory";
    out.evidence.push_back({"", std::nullopt, "run.gpu_utilization", util, "ratio"});
    out.confidence = 0.5;
  }
  // A single piece, however strong, is one measurement.
  if (out.evidence.size() < 2) out.confidence = std::min(out.confidence, 0.5);
  if (out.confidence > 0 && out.nearest.empty()) out.nearest = best->bound;
  out.settle = WhatWouldSettle(features, out.nearest);
  return out;
}

}  // namespace nl::passes::findings
