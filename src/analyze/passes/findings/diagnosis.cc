// SPDX-License-Identifier: Apache-2.0
// Each bound collects pieces of evidence from different measurements: device time, host
// time, the queue between them, shapes. A piece supports its bound with a strength from 0
// to 1; the pieces of a bound are independent, so that their doubts (1 - strength) multiply.
#include "analyze/passes/findings/diagnosis.h"

#include <algorithm>

namespace nl::passes::findings {

namespace {

constexpr double kConfident = 0.8;  // confidence that a diagnosis needs
constexpr double kUndecided = 0.5;  // below this, no bound stands out
constexpr double kWeakest = 0.3;    // weaker pieces are ignored

struct Candidate {
  RunBound bound;
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
    out.push_back({RunBound::kLaunch});
    out.back().possible = util && idle > 0.3 && Launching();
    // A device that waits for the host half of the time is strong evidence; kernels shorter than
    // their launch calls and empty queues are independent measurements of the same bound.
    Piece(out.back(), Share({"run.idle_host_ms", "run.idle_launch_ms"}),
          "idle waiting for host or launch / wall", 0.1, 0.6);
    Piece(out.back(), Get("run.short_kernel_share"), "run.short_kernel_share", 0.4, 0.9);
    Piece(out.back(), Get("run.empty_queue_share"), "run.empty_queue_share", 0.4, 0.95);

    out.push_back({RunBound::kCpu});
    const auto shorter = Get("run.short_kernel_share");
    out.back().possible = util && idle > 0.3 && (!shorter || *shorter < 0.5 || !Launching());
    Piece(out.back(), Share({"run.idle_host_ms"}), "idle waiting for host / wall", 0.1, 0.6);
    Piece(out.back(), Get("run.host_busy_share"), "run.host_busy_share", 0.5, 0.95);
    Piece(out.back(), IdlePerKernelMs(), "mean idle before a kernel", kMostIdleMs, 0.5, "ms");
    Piece(out.back(), Get("run.empty_queue_share"), "run.empty_queue_share", 0.4, 0.95);

    out.push_back({RunBound::kSync});
    // While the device is busy, a waiting host costs nothing.
    out.back().possible = (!util || idle > 0.1) && Get("run.idle_sync_share").value_or(1) > 0.05;
    Piece(out.back(), Get("run.idle_sync_share"), "run.idle_sync_share", 0.1, 0.5);
    Piece(out.back(), Share({"run.sync_ms"}), "host time in blocking syncs / wall", 0.2, 0.7);

    out.push_back({RunBound::kTransfer});
    Piece(out.back(), Get("run.copies_share"), "run.copies_share", 0.15, 0.6);
    Piece(out.back(), Share({"run.copies_exposed_ms"}), "copies with no kernel at the same time / wall", 0.1,
          0.5);

    out.push_back({RunBound::kCommunication});
    Piece(out.back(), Get("run.communication_share"), "run.communication_share", 0.2, 0.7);
    Piece(out.back(), Share({"run.communication_exposed_ms"}),
          "communication with no compute at the same time / wall", 0.1, 0.5);

    GpuBound(out, util);
    return out;
  }

  // When no other bound stands out: neither idle nor saturated, with transfers hidden by compute.
  Candidate Balanced() {
    Candidate out{RunBound::kBalanced};
    const auto util = Get("run.gpu_utilization");
    out.possible = util && *util > 0.6 && *util < 0.85;
    Piece(out, util, "run.gpu_utilization", 0.4, 0.7);
    if (const auto exposed = Share({"run.copies_exposed_ms", "run.communication_exposed_ms"}))
      Piece(out, 1 - *exposed, "1 - exposed copies and communication / wall", 0.8, 0.98);
    return out;
  }

 private:
  // A host that launches as fast as it can keeps the device waiting for microseconds each time. One that
  // keeps it waiting longer does something else.
  static constexpr double kMostIdleMs = 0.1;
  bool Launching() const { return IdlePerKernelMs().value_or(0) < kMostIdleMs; }
  std::optional<double> IdlePerKernelMs() const {
    const auto host = Get("run.idle_host_ms"), launch = Get("run.idle_launch_ms"),
               kernels = Get("run.kernels");
    if (!host || !launch || !kernels || *kernels <= 0) return std::nullopt;
    return (*host + *launch) / *kernels;
  }
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
  // Strength 0 at `from`, 0.9 at `to`, linear in between.
  void Piece(Candidate& c, std::optional<double> value, const char* what, double from, double to,
             const char* unit = "ratio") {
    if (!value) return;
    const double strength = 0.9 * std::clamp((*value - from) / (to - from), 0.0, 1.0);
    if (strength < kWeakest) return;
    c.doubt *= 1 - strength;
    c.evidence.push_back({std::nullopt, std::nullopt, what, value, unit});
  }

  // Busy devices: compute or memory, by the families of kernels and by the shapes of products.
  void GpuBound(std::vector<Candidate>& out, const std::optional<double>& util) {
    const bool busy = util && *util > 0.6;
    out.push_back({RunBound::kGpuCompute});
    out.back().possible = busy;
    Piece(out.back(), Get("run.compute_family_share"), "run.compute_family_share", 0.5, 0.95);
    Piece(out.back(), Get("run.high_ai_share"), "run.high_ai_share", 0.2, 0.6);
    out.push_back({RunBound::kGpuMemory});
    out.back().possible = busy;
    Piece(out.back(), Get("run.memory_family_share"), "run.memory_family_share", 0.35, 0.8);
    Piece(out.back(), Get("run.low_ai_share"), "run.low_ai_share", 0.2, 0.6);
    for (size_t i = out.size() - 2; i < out.size(); ++i) {
      if (out[i].possible && !out[i].evidence.empty())
        out[i].evidence.push_back({std::nullopt, std::nullopt, "run.gpu_utilization", util, "ratio"});
    }
  }

  const FeatureSubject& run_;
};

std::vector<std::string> MissingEvidence(const Features& features, std::optional<RunBound> nearest) {
  std::vector<std::string> out;
  if (features.Has("device_work") && !features.run.Number("run.wall_ms"))
    out.push_back("a recording with a timeline; only the durations of these kernels are known");
  if (!features.Has("device_work")) out.push_back("a recording with device activity (kernels and copies)");
  if (features.Has("device_work") && !features.Has("launches"))
    out.push_back(
        "runtime API calls linked to kernels, to separate waiting for the host from waiting for work");
  const bool busy = !nearest || nearest == RunBound::kGpuCompute || nearest == RunBound::kGpuMemory ||
                    nearest == RunBound::kBalanced;
  if (busy && !features.Has("kernel_counters")) {
    out.push_back(
        "kernel counters (SM and DRAM throughput) of the top kernels, to separate compute-bound from "
        "memory-bound");
  }
  if (features.Has("device_work") && !features.Has("shapes"))
    out.push_back("input shapes (record_shapes=True), for the arithmetic intensity of matrix products");
  if (out.empty()) out.push_back("a longer recording of the steady state, without warm-up");
  return out;
}

// A program without device work: it runs, or it waits.
Diagnosis DiagnoseHost(const FeatureSubject& run) {
  Diagnosis out;
  const double running = run.Number("run.cpu_running_share").value_or(0);
  const double waiting = run.Number("run.waiting_share").value_or(0);
  out.evidence.push_back({std::nullopt, std::nullopt, "run.cpu_running_share", running, "ratio"});
  out.evidence.push_back({std::nullopt, std::nullopt, "run.waiting_share", waiting, "ratio"});
  if (running > kConfident) {
    out.bound = RunBound::kCpu;
    out.confidence = std::min(0.99, running);
    return out;
  }
  out.confidence = std::min(0.5, running);
  out.nearest = RunBound::kCpu;
  if (waiting > 0.1)
    out.settle.push_back(
        "what the program waits for: `neurolens summary` lists the waits by place and thread");
  return out;
}

}  // namespace

Diagnosis Diagnose(const Features& features) {
  if (features.Has("host_samples")) return DiagnoseHost(features.run);
  Judge judge(features);
  std::vector<Candidate> candidates = judge.Candidates();
  const auto weaker = [](const Candidate& a, const Candidate& b) { return a.confidence() < b.confidence(); };
  auto best = std::max_element(candidates.begin(), candidates.end(), weaker);
  if (best->confidence() <= kUndecided) {
    candidates.push_back(judge.Balanced());
    best = std::max_element(candidates.begin(), candidates.end(), weaker);
  }
  Diagnosis out;
  out.confidence = best->confidence();
  out.evidence = best->evidence;
  if (out.confidence > kConfident && out.evidence.size() >= 2) {
    out.bound = best->bound;
    return out;
  }
  const auto util = features.run.Number("run.gpu_utilization");
  if (out.evidence.empty() && util && *util > 0.85) {
    const bool compute = features.run.Number("run.compute_family_share").value_or(0) >
                         features.run.Number("run.memory_family_share").value_or(0);
    out.nearest = compute ? RunBound::kGpuCompute : RunBound::kGpuMemory;
    out.evidence.push_back({std::nullopt, std::nullopt, "run.gpu_utilization", util, "ratio"});
    out.confidence = 0.5;
  }
  // A single piece of evidence, however strong, is only one measurement.
  if (out.evidence.size() < 2) out.confidence = std::min(out.confidence, 0.5);
  if (out.confidence > 0 && !out.nearest) out.nearest = best->bound;
  out.settle = MissingEvidence(features, out.nearest);
  return out;
}

}  // namespace nl::passes::findings
