// SPDX-License-Identifier: Apache-2.0
#include "capture/lib/pm_metrics.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace nl::capture {

namespace {

// One counter we want, under the names chips have for it. Those of the Triage groups are made
// for sampling and lie in one pass together (GH100, CUDA 13.0: all of the first names do).
struct WantedMetric {
  const char* what;
  const char* names[3];
};
constexpr WantedMetric kWantedMetrics[] = {
    {"SM active",
     {"TPC.TriageCompute.sm__cycles_active.avg.pct_of_peak_sustained_elapsed",
      "SM_A.TriageAC.sm__cycles_active.avg.pct_of_peak_sustained_elapsed",
      "sm__cycles_active.avg.pct_of_peak_sustained_elapsed"}},
    {"DRAM bytes read",
     {"dram__bytes_read.sum", "FBSP.TriageCompute.dramc__read_throughput.avg.pct_of_peak_sustained_elapsed",
      "dram__read_throughput.avg.pct_of_peak_sustained_elapsed"}},
    {"DRAM bytes written",
     {"dram__bytes_write.sum", "FBSP.TriageCompute.dramc__write_throughput.avg.pct_of_peak_sustained_elapsed",
      "dram__write_throughput.avg.pct_of_peak_sustained_elapsed"}},
    {"warps active",
     {"TPC.TriageCompute.tpc__warps_active_shader_cs_realtime.avg.pct_of_peak_sustained_elapsed",
      "TPC.TriageAC.tpc__warps_active_shader_cs_realtime.avg.pct_of_peak_sustained_elapsed",
      "sm__warps_active.avg.pct_of_peak_sustained_elapsed"}},
    {"tensor pipes active",
     {"TPC.TriageCompute.sm__pipe_tensor_cycles_active_realtime.avg.pct_of_peak_sustained_elapsed",
      "sm__pipe_tensor_cycles_active_realtime.avg.pct_of_peak_sustained_elapsed",
      "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_elapsed"}},
    {"L2 hit rate",
     {"LTS.TriageCompute.lts__average_t_sector_hit_rate_realtime.pct",
      "LTS.TriageAC.lts__average_t_sector_hit_rate_realtime.pct", "lts__t_sector_hit_rate.pct"}},
    {"L2 sectors", {"lts__t_sectors.sum"}},
    {"SM throughput",
     {"TriageCompute.sm__throughput.avg.pct_of_peak_sustained_elapsed",
      "TriageAC.sm__throughput.avg.pct_of_peak_sustained_elapsed",
      "sm__throughput.avg.pct_of_peak_sustained_elapsed"}},
    {"SM clock", {"gpc__cycles_elapsed.avg"}},
    {"warp instructions",
     {"TPC.TriageCompute.sm__inst_executed_realtime.sum", "SM_A.TriageAC.sm__inst_executed_realtime.sum",
      "sm__inst_executed.sum"}},
    {"thread instructions",
     {"SM_A.TriageCompute.sm__thread_inst_executed_pred_on_realtime.sum",
      "sm__thread_inst_executed_pred_on_realtime.sum", "smsp__thread_inst_executed_pred_on.sum"}},
    {"DRAM throughput",
     {"FBSP.TriageCompute.dramc__throughput.avg.pct_of_peak_sustained_elapsed",
      "FBSP.TriageAC.dramc__throughput.avg.pct_of_peak_sustained_elapsed",
      "dram__throughput.avg.pct_of_peak_sustained_elapsed"}},
    {"PCIe bytes read",
     {"PCI.TriageCompute.pcie__read_bytes.sum", "PCI.TriageAC.pcie__read_bytes.sum", "pcie__read_bytes.sum"}},
    {"PCIe bytes written",
     {"PCI.TriageCompute.pcie__write_bytes.sum", "PCI.TriageAC.pcie__write_bytes.sum",
      "pcie__write_bytes.sum"}},
    {"engine active",
     {"FE_B.TriageCompute.gr__cycles_active.avg.pct_of_peak_sustained_elapsed",
      "gr__cycles_active.avg.pct_of_peak_sustained_elapsed"}},
};
constexpr size_t kWantedCount = sizeof kWantedMetrics / sizeof kWantedMetrics[0];
static_assert(kWantedCount <= kMaxCounters);

bool FitsOnePass(const cupti::pm::Functions& call, const char* chip, const uint8_t* availability,
                 const MetricNames& metrics, HostConfig& config) {
  return config.Open(call, chip, availability, metrics) && config.passes() == 1;
}

// The first name of every counter; most chips of a kind know them all.
MetricNames FirstNames() {
  MetricNames first;
  for (const WantedMetric& wanted : kWantedMetrics) first.names[first.count++] = wanted.names[0];
  return first;
}

}  // namespace

bool HostConfig::Ok(const char* function, cupti::Result got) {
  if (got == cupti::kSuccess) return true;
  failed = function;
  result = got;
  return false;
}

bool HostConfig::Open(const cupti::pm::Functions& call, const char* chip, const uint8_t* availability,
                      const MetricNames& metrics) {
  namespace pm = cupti::pm;
  Close();
  call_ = &call;
  auto init = pm::Make<pm::HostInitialize>();
  init.profiler_type = pm::kPmSamplingProfiler;
  init.chip = chip;
  init.availability = availability;
  if (!Ok("cuptiProfilerHostInitialize", call.ProfilerHostInitialize(&init))) return false;
  host_ = init.host;
  if (metrics.count == 0) return true;
  // All in one call: metrics that are added one by one need a pass each (CUPTI 13.0).
  const char* names[kMaxCounters];
  std::memcpy(names, metrics.names, sizeof names);
  auto add = pm::Make<pm::ConfigAddMetrics>();
  add.host = host_;
  add.metrics = names;
  add.count = metrics.count;
  if (!Ok("cuptiProfilerHostConfigAddMetrics", call.ProfilerHostConfigAddMetrics(&add))) return false;
  auto size = pm::Make<pm::GetConfigImageSize>();
  size.host = host_;
  if (!Ok("cuptiProfilerHostGetConfigImageSize", call.ProfilerHostGetConfigImageSize(&size))) return false;
  image_ = static_cast<uint8_t*>(std::calloc(1, size.image_bytes > 0 ? size.image_bytes : 1));
  if (image_ == nullptr) return Ok("memory for the configuration", cupti::kErrorOutOfMemory);
  image_bytes_ = size.image_bytes;
  auto get = pm::Make<pm::GetConfigImage>();
  get.host = host_;
  get.image = image_;
  get.image_bytes = image_bytes_;
  if (!Ok("cuptiProfilerHostGetConfigImage", call.ProfilerHostGetConfigImage(&get))) return false;
  auto passes = pm::Make<pm::GetNumOfPasses>();
  passes.image = image_;
  passes.image_bytes = image_bytes_;
  if (!Ok("cuptiProfilerHostGetNumOfPasses", call.ProfilerHostGetNumOfPasses(&passes))) return false;
  passes_ = passes.passes;
  return true;
}

void HostConfig::Close() {
  if (host_ != nullptr) {
    auto end = cupti::pm::Make<cupti::pm::HostDeinitialize>();
    end.host = host_;
    call_->ProfilerHostDeinitialize(&end);
  }
  std::free(image_);
  host_ = image_ = nullptr;
  image_bytes_ = passes_ = 0;
  failed = nullptr;
  result = cupti::kSuccess;
}

bool HostConfig::Knows(const char* metric) const {
  auto ask = cupti::pm::Make<cupti::pm::GetMetricProperties>();
  ask.host = host_;
  ask.metric = metric;
  return call_->ProfilerHostGetMetricProperties(&ask) == cupti::kSuccess;
}

MetricNames ChooseMetrics(const cupti::pm::Functions& call, const char* chip, const uint8_t* availability,
                          HostConfig& config, char* left_out, size_t left_out_bytes) {
  if (left_out_bytes > 0) left_out[0] = '\0';
  MetricNames chosen = FirstNames();
  if (FitsOnePass(call, chip, availability, chosen, config)) return chosen;
  // Something is missing or too much: one after the other, most wanted first.
  chosen = {};
  HostConfig names;
  if (!names.Open(call, chip, availability, {})) return chosen;
  size_t used = 0;
  for (const WantedMetric& wanted : kWantedMetrics) {
    bool known = false, taken = false;
    for (const char* name : wanted.names) {
      if (taken || name == nullptr || !names.Knows(name)) continue;
      known = true;
      MetricNames more = chosen;
      more.names[more.count++] = name;
      taken = FitsOnePass(call, chip, availability, more, config);
      if (taken) chosen = more;
    }
    if (taken || used >= left_out_bytes) continue;
    const int n = std::snprintf(left_out + used, left_out_bytes - used, "%s%s%s", used > 0 ? ", " : "",
                                wanted.what, known ? "" : " (unknown to the chip)");
    used += n > 0 ? static_cast<size_t>(n) : 0;
  }
  if (chosen.count > 0) config.Open(call, chip, availability, chosen);
  return chosen;
}

}  // namespace nl::capture
