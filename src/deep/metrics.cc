// SPDX-License-Identifier: Apache-2.0
#include "deep/metrics.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "base/run_program.h"
#include "base/version.h"
#include "machine/describe.h"

namespace nl::deep {

namespace {

std::optional<double> Finite(double value) {
  return std::isfinite(value) ? std::optional(value) : std::nullopt;
}

std::optional<std::string> TextIn(const Json& object, const char* key) {
  const auto found = object.is_object() ? object.find(key) : object.end();
  return object.is_object() && found != object.end() && found->is_string()
             ? std::optional(found->get<std::string>())
             : std::nullopt;
}
std::optional<double> NumberIn(const Json& object, const char* key) {
  const auto found = object.is_object() ? object.find(key) : object.end();
  return object.is_object() && found != object.end() && found->is_number()
             ? std::optional(found->get<double>())
             : std::nullopt;
}
std::optional<int64_t> CountIn(const Json& object, const char* key) {
  const std::optional<double> number = NumberIn(object, key);
  return number ? std::optional(static_cast<int64_t>(*number)) : std::nullopt;
}

// The last line of what a git command prints; none when it fails.
std::optional<std::string> GitSays(const std::string& git, const std::string& folder,
                                   std::vector<std::string> words) {
  std::vector<std::string> command{git, "-C", folder};
  command.insert(command.end(), words.begin(), words.end());
  const Result<ProgramResult> ran = RunProgram(command, [] { return true; });
  if (!ran.ok() || ran->status != 0) return std::nullopt;
  std::string out = ran->out;
  while (!out.empty() && (out.back() == '\n' || out.back() == ' ')) out.pop_back();
  return out;
}

}  // namespace

std::span<const std::string_view> NamesOf(DeepMode) {
  static constexpr std::string_view kNames[] = {"deep", "light"};
  return kNames;
}

std::span<const std::string_view> NamesOf(Utilization) {
  static constexpr std::string_view kNames[] = {"compute_bound", "memory_bound", "balanced",
                                                "low_utilization"};
  return kNames;
}

Utilization Classify(double sm_share, double dram_share) {
  if (sm_share < kLowShare && dram_share < kLowShare) return Utilization::kLow;
  const double high = std::max(sm_share, dram_share), low = std::min(sm_share, dram_share);
  // Shares are measured to a tenth of a point: a gap of 5.0 points is one, whatever doubles make of it.
  constexpr double kRounding = 1e-9;
  if (high < low * kBoundRatio - kRounding && high - low < kBoundGap - kRounding)
    return Utilization::kBalanced;
  return sm_share > dram_share ? Utilization::kComputeBound : Utilization::kMemoryBound;
}

void AddCounters(const CounterValues& counters, DeepKernel& to) {
  to.sm_throughput = Finite(counters.Get(Counter::kSmThroughput));
  to.dram_throughput = Finite(counters.Get(Counter::kDramThroughput));
  to.achieved_occupancy = Finite(counters.Get(Counter::kAchievedOccupancy));
  to.tensor_active = Finite(counters.Get(Counter::kTensorActive));
  to.l2_hit_rate = Finite(counters.Get(Counter::kL2HitRate));
  to.flops = Finite(counters.Get(Counter::kFlops));
  to.dram_bytes = Finite(counters.Get(Counter::kDramBytes));
  to.stalls = {Finite(counters.Get(Counter::kStallMemory)), Finite(counters.Get(Counter::kStallSync)),
               Finite(counters.Get(Counter::kStallDependency)),
               Finite(counters.Get(Counter::kStallContention))};
  if (to.flops && to.dram_bytes && *to.dram_bytes > 0) to.ai = *to.flops / *to.dram_bytes;
  if (counters.dur_ns > 0) {
    const auto ns = static_cast<double>(counters.dur_ns);
    to.measured_ms = ns / 1e6;
    if (to.flops) to.tflops = *to.flops / ns / 1e3;
    if (to.dram_bytes) to.gbps = *to.dram_bytes / ns;
  }
  if (to.sm_throughput && to.dram_throughput)
    to.utilization = Classify(*to.sm_throughput, *to.dram_throughput);
  const std::pair<const char*, std::optional<double>> stalls[] = {{"memory", to.stalls.memory},
                                                                  {"sync", to.stalls.sync},
                                                                  {"dependency", to.stalls.dependency},
                                                                  {"contention", to.stalls.contention}};
  double most = 0;
  for (const auto& [name, share] : stalls) {
    if (!share || *share <= most) continue;
    most = *share;
    to.top_stall = name;
  }
}

void Describe(Record<StallGroups>& r) {
  r.Name("DeepStalls", "Part of the time of warps spent stalled, by group of reasons");
  r.Field("memory", &StallGroups::memory, Unit::kShare, "On memory");
  r.Field("sync", &StallGroups::sync, Unit::kShare, "At barriers");
  r.Field("dependency", &StallGroups::dependency, Unit::kShare, "On results of earlier instructions");
  r.Field("contention", &StallGroups::contention, Unit::kShare, "On busy pipes");
}

void Describe(Record<DeepKernel>& r) {
  r.Name("DeepKernel", "A selected kernel with its time and its counters");
  r.Field("stage", &DeepKernel::stage, "LLM stage that launched it; all: outside of every stage");
  r.Field("kernel", &DeepKernel::kernel, "Short name");
  r.Field("name", &DeepKernel::name, "Name as the timeline spells it");
  r.Field("device", &DeepKernel::device, "Device index");
  r.Field("grid", &DeepKernel::grid, "Grid size, x, y, z; empty: not recorded");
  r.Field("block", &DeepKernel::block, "Block size, x, y, z; empty: not recorded");
  r.Field("shapes", &DeepKernel::shapes, "Input shapes of its operator; null: not recorded");
  r.Field("launches", &DeepKernel::launches, "Launches in the timeline");
  r.Field("total_ms", &DeepKernel::total_ms, Unit::kMs, "Device time in the timeline");
  r.Field("mean_ms", &DeepKernel::mean_ms, Unit::kMs, "Mean device time of a launch");
  r.Field("share", &DeepKernel::share, Unit::kShare, "Part of the device time of all kernels");
  r.Field("source", &DeepKernel::source, "Tool that measured the counters; null: see reason");
  r.Field("reason", &DeepKernel::reason, "Why it has no counters");
  r.Field("measured_ms", &DeepKernel::measured_ms, Unit::kMs, "Duration of the launch that was measured");
  r.Field("sm_throughput", &DeepKernel::sm_throughput, Unit::kShare, "SM throughput / its peak");
  r.Field("dram_throughput", &DeepKernel::dram_throughput, Unit::kShare, "DRAM throughput / its peak");
  r.Field("achieved_occupancy", &DeepKernel::achieved_occupancy, Unit::kShare,
          "Resident warps / the most possible");
  r.Field("tensor_active", &DeepKernel::tensor_active, Unit::kShare,
          "Cycles with active tensor pipes / elapsed");
  r.Field("l2_hit_rate", &DeepKernel::l2_hit_rate, Unit::kShare, "Sectors found in L2");
  r.Field("flops", &DeepKernel::flops, "Floating point operations of the launch");
  r.Field("dram_bytes", &DeepKernel::dram_bytes, Unit::kBytes, "Bytes moved to and from device memory");
  r.Field("ai", &DeepKernel::ai, "Arithmetic intensity, FLOPs per byte of DRAM traffic");
  r.Field("tflops", &DeepKernel::tflops, "Rate achieved, 1e12 FLOP/s");
  r.Field("gbps", &DeepKernel::gbps, "DRAM traffic achieved, 1e9 bytes/s");
  r.Field(
      "utilization", &DeepKernel::utilization,
      "Limit by SM and DRAM throughput: one is 1.3 times the other or 5 points above it; both below 20 %: "
      "low_utilization");
  r.Field("stalls", &DeepKernel::stalls, "Stall groups");
  r.Field("top_stall", &DeepKernel::top_stall, "Largest stall group");
}

void Describe(Record<DeepTool>& r) {
  r.Name("DeepTool", "A program that ran for the bundle");
  r.Field("tool", &DeepTool::tool, "Name: timeline, nsys, ncu");
  r.Field("version", &DeepTool::version, "Version");
  r.Field("command", &DeepTool::command, "Its command line");
  r.Field("exit_status", &DeepTool::exit_status, "Exit status; null: it did not run to its end");
  r.Field("seconds", &DeepTool::seconds, Unit::kSeconds, "Time it took");
  r.Field("problem", &DeepTool::problem, "Why it failed, in its own words");
}

void Describe(Record<DeepPrediction>& r) {
  r.Name("DeepPrediction", "One execution of a stage of a configured model, predicted and measured");
  r.Field("stage", &DeepPrediction::stage, "The stage");
  r.Field("predicted_ms", &DeepPrediction::predicted_ms, Unit::kMs,
          "Device time by its sizes and the device");
  r.Field("measured_ms", &DeepPrediction::measured_ms, Unit::kMs,
          "Device time in the timeline, median; null: it does not have the stage");
  r.Field("ratio", &DeepPrediction::ratio, "Measured / predicted");
  r.Field("modules", &DeepPrediction::modules, "Modules compared: those with at least 1 % of the stage");
  r.Field("median_error", &DeepPrediction::median_error, Unit::kShare,
          "Median of |predicted - measured| / measured over them");
  r.Field("within_20", &DeepPrediction::within_20, Unit::kShare, "Modules with an error of at most 0.2");
}

void Describe(Record<DeepMetrics>& r) {
  r.Name("DeepMetrics", "metrics.json of a bundle of `neurolens deep`");
  r.Field("metrics_version", &DeepMetrics::metrics_version, "Version of this format");
  r.Field("run_id", &DeepMetrics::run_id, "The run in the store; null: the timeline was not recorded");
  r.Field("mode", &DeepMetrics::mode, "deep: counters by replay; light: by PM sampling");
  r.Field("created_at", &DeepMetrics::created_at, "Start, RFC 3339");
  r.Field("partial", &DeepMetrics::partial, "Something failed: the bundle is incomplete");
  r.Field("problems", &DeepMetrics::problems, "What failed");
  r.Field("notes", &DeepMetrics::notes, "What a reader must know");
  r.Field("command", &DeepMetrics::command, "The program");
  r.Field("wall_ms", &DeepMetrics::wall_ms, Unit::kMs,
          "Time from the first to the last event of the timeline");
  r.Field("device_ms", &DeepMetrics::device_ms, Unit::kMs, "Device time of all kernels");
  r.Field("selected_ms", &DeepMetrics::selected_ms, Unit::kMs, "Device time of the selected kernels");
  r.Field("counted_ms", &DeepMetrics::counted_ms, Unit::kMs, "Device time of selected kernels with counters");
  r.Field("selected", &DeepMetrics::selected, "Kernels selected");
  r.Field("counted", &DeepMetrics::counted, "Of these, kernels with counters");
  r.Field("overhead_pct", &DeepMetrics::overhead_pct, Unit::kPercent,
          "Time that recording added to the program, by the recorder's own measure");
  r.Field("overhead_reason", &DeepMetrics::overhead_reason, "Why it is not known");
  r.Field("tools", &DeepMetrics::tools, "Programs that ran, in order");
  r.Field("stages", &DeepMetrics::stages, "Stages and how much of them was selected");
  r.Field("kernels", &DeepMetrics::kernels, "Selected kernels by stage, most device time first");
  r.Field("prediction", &DeepMetrics::prediction,
          "With --config: stages as predicted and as measured; prediction.json has every module");
  r.Field("prediction_reason", &DeepMetrics::prediction_reason, "Why nothing is predicted");
  r.Field("dropped", &DeepMetrics::dropped, "Files left out because of --max-size");
}

void Describe(Record<DeepGpu>& r) {
  r.Name("DeepGpu", "A GPU of the run");
  r.Field("index", &DeepGpu::index, "Device index");
  r.Field("name", &DeepGpu::name, "Name");
  r.Field("memory_gb", &DeepGpu::memory_gb, "Memory, 1e9 bytes");
  r.Field("sm_count", &DeepGpu::sm_count, "Streaming multiprocessors");
  r.Field("compute_capability", &DeepGpu::compute_capability, "Compute capability");
  r.Field("driver_version", &DeepGpu::driver_version, "Driver");
  r.Field("sm_clock_mhz_min", &DeepGpu::sm_clock_mhz_min, "Lowest SM clock sampled while it ran, MHz");
  r.Field("sm_clock_mhz_median", &DeepGpu::sm_clock_mhz_median, "Median SM clock, MHz");
  r.Field("sm_clock_mhz_max", &DeepGpu::sm_clock_mhz_max, "Highest SM clock, MHz");
  r.Field("clocks_reason", &DeepGpu::clocks_reason, "Why the clocks are not known");
}

void Describe(Record<DeepGit>& r) {
  r.Name("DeepGit", "State of the repository that the program was started in");
  r.Field("commit", &DeepGit::commit, "Commit");
  r.Field("branch", &DeepGit::branch, "Branch; null: detached");
  r.Field("modified", &DeepGit::modified, "It has changes that are not committed");
}

void Describe(Record<DeepEnv>& r) {
  r.Name("DeepEnv", "env.json of a bundle of `neurolens deep`");
  r.Field("env_version", &DeepEnv::env_version, "Version of this format");
  r.Field("created_at", &DeepEnv::created_at, "When it was written, RFC 3339");
  r.Field("neurolens_version", &DeepEnv::neurolens_version, "Version of neurolens");
  r.Field("gpus", &DeepEnv::gpus, "GPUs of the run; empty: none was used");
  r.Field("cuda_version", &DeepEnv::cuda_version, "CUDA version");
  r.Field("framework", &DeepEnv::framework, "Framework that issued the work");
  r.Field("framework_version", &DeepEnv::framework_version, "Its version");
  r.Field("frameworks", &DeepEnv::frameworks, "Versions of other libraries, by name");
  r.Field("python_version", &DeepEnv::python_version, "Python version");
  r.Field("cupti_version", &DeepEnv::cupti_version, "CUPTI version");
  r.Field("cpu_model", &DeepEnv::cpu_model, "CPU model");
  r.Field("cores", &DeepEnv::cores, "Logical CPU cores");
  r.Field("memory_gb", &DeepEnv::memory_gb, "Host memory, 1e9 bytes");
  r.Field("os", &DeepEnv::os, "Operating system");
  r.Field("kernel", &DeepEnv::kernel, "Kernel release");
  r.Field("container", &DeepEnv::container, "Kind of container; null: none that is known");
  r.Field("git", &DeepEnv::git, "Repository of the working folder; null: see git_reason");
  r.Field("git_reason", &DeepEnv::git_reason, "Why the repository is not known");
  r.Field("tools", &DeepEnv::tools, "Versions of the tools that are installed, by name");
  r.Field("working_folder", &DeepEnv::working_folder, "Folder that the program was started in");
  r.Field("system", &DeepEnv::system,
          "This machine when the bundle was made, as `neurolens system` describes it");
}

std::optional<DeepGit> GitOf(const std::string& folder, std::string& why_not) {
  const std::string git = FindProgram("git");
  if (git.empty()) {
    why_not = "git is not on PATH";
    return std::nullopt;
  }
  const std::optional<std::string> commit = GitSays(git, folder, {"rev-parse", "HEAD"});
  if (!commit) {
    why_not = "the working folder is not in a git repository with a commit";
    return std::nullopt;
  }
  DeepGit out;
  out.commit = *commit;
  out.branch = GitSays(git, folder, {"symbolic-ref", "--short", "-q", "HEAD"});
  out.modified =
      !GitSays(git, folder, {"status", "--porcelain", "--untracked-files=no"}).value_or("").empty();
  return out;
}

DeepEnv EnvOf(const Json& document) {
  DeepEnv out;
  out.neurolens_version = std::string(kVersion);
  const Json hardware = document.value("hardware", Json::object());
  const Json software = document.value("software", Json::object());
  const Json host = hardware.value("host", Json::object());
  for (const Json& device : hardware.value("devices", Json::array())) {
    DeepGpu gpu;
    gpu.index = CountIn(device, "index");
    gpu.name = TextIn(device, "name");
    gpu.memory_gb = NumberIn(device, "memory_gb");
    gpu.sm_count = CountIn(device, "sm_count");
    gpu.compute_capability = TextIn(device, "compute_capability");
    gpu.driver_version = TextIn(device, "driver_version");
    out.gpus.push_back(std::move(gpu));
  }
  out.framework = TextIn(software, "backend");
  out.framework_version = TextIn(software, "version");
  out.cuda_version = TextIn(software, "cuda_version");
  out.python_version = TextIn(software, "python_version");
  out.cupti_version = TextIn(software, "cupti_version");
  const Json frameworks = software.value("frameworks", Json::object());
  for (const auto& [name, version] : frameworks.items()) {
    if (version.is_string()) out.frameworks[name] = version.get<std::string>();
  }
  out.cpu_model = TextIn(host, "cpu_model");
  out.cores = CountIn(host, "cores");
  out.memory_gb = NumberIn(host, "memory_gb");
  out.os = TextIn(host, "os");
  out.kernel = TextIn(host, "kernel");
  return out;
}

}  // namespace nl::deep
