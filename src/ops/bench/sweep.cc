// SPDX-License-Identifier: Apache-2.0
#include "ops/bench/sweep.h"

#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <filesystem>
#include <random>
#include <set>

#include <fmt/format.h>

#include "analyze/cost_model/workload_config.h"
#include "analyze/facts/accounting.h"
#include "analyze/statistics/stats.h"
#include "base/file_ops.h"
#include "bench/command.h"
#include "ops/open_analysis.h"
#include "ops/record_run.h"
#include "report/text_table.h"

namespace nl {

void Describe(Record<SweepRun>& r) {
  r.Name("SweepRun", "One recording of a sweep");
  r.Field("settings", &SweepRun::settings, "Settings of its point");
  r.Field("repeat", &SweepRun::repeat, "Which repeat, from 1");
  r.Field("run_id", &SweepRun::run_id, "The run in the store; null: see reason");
  r.Field("exit_status", &SweepRun::exit_status, "Of the program; null: it could not be started");
  r.Field("wall_ms", &SweepRun::wall_ms, Unit::kMs, "From its start to its end");
  r.Field("busy_ms", &SweepRun::busy_ms, Unit::kMs,
          "Time in which the GPUs worked, summed over them; null: no GPU was used");
  r.Field("kernels", &SweepRun::kernels, "Kernels that were recorded");
  r.Field("step_ms", &SweepRun::step_ms, "Median time in ms of the steps that the program labels, by label");
  r.Field("reason", &SweepRun::reason, "What failed, or why the recording is not in the store");
}

void Describe(Record<SweepPoint>& r) {
  r.Name("SweepPoint", "One combination of settings, over its repeats");
  r.Field("settings", &SweepPoint::settings, "The settings");
  r.Field("runs", &SweepPoint::runs, "Recordings of programs that ended well; the values below are of these");
  r.Field("failed", &SweepPoint::failed, "Those that failed");
  r.Field("wall_ms", &SweepPoint::wall_ms, Unit::kMs, "Median wall time; null: all failed");
  r.Field("wall_low_ms", &SweepPoint::wall_low_ms, Unit::kMs, "Shortest");
  r.Field("wall_high_ms", &SweepPoint::wall_high_ms, Unit::kMs, "Longest");
  r.Field("busy_ms", &SweepPoint::busy_ms, Unit::kMs, "Median time in which the GPUs worked");
  r.Field("step_ms", &SweepPoint::step_ms, "Median time in ms of labelled steps, by label");
}

void Describe(Record<BenchSweep>& r) {
  r.Name("BenchSweep", "A command or model recorded over a grid of settings");
  r.Field("name", &BenchSweep::name, "Name of the sweep; the tag `sweep` of its runs");
  r.Field("config", &BenchSweep::config, "File that describes it");
  r.Field("settings", &BenchSweep::settings, "Names of the settings");
  r.Field("repeats", &BenchSweep::repeats, "Recordings of each point");
  r.Field("points", &BenchSweep::points, "By combination of settings");
  r.Field("runs", &BenchSweep::runs, "Every recording, in the order they were made");
}

namespace ops::bench {

namespace {

namespace fs = std::filesystem;

constexpr size_t kMostRuns = 10'000;

Error BadSweep(const std::string& path, const std::string& text) {
  return InvalidInput(fmt::format("{}: {}", path, text))
      .Hint(
          "a sweep has a `grid` of settings with lists of values, and a `command` with {setting} in it, or a "
          "`workload`");
}

// Throws YAML::Exception for what is not text, a list or a map where one must be.
Result<SweepConfig> FromYaml(const YAML::Node& root, SweepConfig out) {
  static const std::set<std::string> kKnown{"name", "command", "workload", "set",
                                            "grid", "repeats", "tags",     "detail"};
  if (!root.IsMap()) return BadSweep(out.file, "not a map");
  for (const auto& entry : root) {
    const std::string key = entry.first.as<std::string>();
    if (kKnown.count(key) == 0) return BadSweep(out.file, fmt::format("unknown entry '{}'", key));
  }
  out.name = root["name"].as<std::string>(fs::path(out.file).stem().string());
  out.command = root["command"].as<std::string>("");
  out.workload = root["workload"].as<std::string>("");
  out.detail = root["detail"].as<std::string>("");
  out.repeats = root["repeats"].as<int64_t>(1);
  if (const YAML::Node sets = root["set"])
    for (const auto& entry : sets)
      out.sets.push_back(entry.first.as<std::string>() + "=" + entry.second.as<std::string>());
  if (const YAML::Node tags = root["tags"])
    for (const auto& entry : tags)
      out.tags.push_back(entry.first.as<std::string>() + "=" + entry.second.as<std::string>());
  if (const YAML::Node grid = root["grid"]) {
    for (const auto& entry : grid) {
      std::vector<std::string> values;
      if (entry.second.IsScalar())
        values.push_back(entry.second.as<std::string>());
      else
        for (const YAML::Node& value : entry.second) values.push_back(value.as<std::string>());
      if (values.empty())
        return BadSweep(out.file,
                        fmt::format("'{}' of the grid has no values", entry.first.as<std::string>()));
      out.grid.emplace_back(entry.first.as<std::string>(), std::move(values));
    }
  }
  if (out.grid.empty()) return BadSweep(out.file, "the grid is missing");
  if (out.command.empty() == out.workload.empty())
    return BadSweep(out.file, "it needs either a `command` or a `workload`");
  if (out.repeats < 1) return BadSweep(out.file, "`repeats` must be at least 1");
  return out;
}

std::string Number(const std::optional<double>& value) { return value ? fmt::format("{:.6g}", *value) : ""; }

std::set<std::string> StepNames(const BenchSweep& sweep) {
  std::set<std::string> out;
  for (const SweepRun& run : sweep.runs)
    for (const auto& [name, ms] : run.step_ms) out.insert(name);
  return out;
}

std::string LastLine(const std::string& path) {
  const Result<std::string> text = ReadWholeFile(path, 64 << 20);
  if (!text.ok()) return "";
  const size_t end = text->find_last_not_of(" \n\r\t");
  if (end == std::string::npos) return "nothing";
  const size_t begin = text->rfind('\n', end);
  constexpr size_t kMostBytes = 300;
  return text->substr(begin + 1, std::min(end - begin, kMostBytes));
}

// Time on the GPUs and of labelled steps.
Status AddTimes(OpContext& context, SweepRun& run) {
  AnalysisParams params;
  params.run = *run.run_id;
  NL_ASSIGN(const OpenAnalysis open, Analyze(context, params));
  NL_ASSIGN(const AccountingFacts* accounts, open.analysis->Need<AccountingFacts>());
  if (run.kernels.value_or(0) > 0) {
    double busy_ms = 0;
    for (const auto& device : accounts->devices) busy_ms += static_cast<double>(device.busy_ns()) / 1e6;
    run.busy_ms = busy_ms;
  }
  NL_TRY(open.analysis->Load(NL_READS(Step, name, dur_ns)));
  const RunData& data = open.analysis->data();
  std::map<std::string, std::vector<double>> steps;
  for (size_t i = 0; i < data.step.name.size(); ++i) {
    if (IsNull(data.step.name[i]) || IsNull(data.step.dur_ns[i])) continue;
    steps[std::string(data.Text(data.step.name[i]))].push_back(static_cast<double>(data.step.dur_ns[i]) /
                                                               1e6);
  }
  for (auto& [name, ms] : steps) run.step_ms[name] = Median(std::move(ms));
  return {};
}

// Whether `text` had it.
bool Replace(std::string& text, const std::string& what, const std::string& with) {
  bool found = false;
  for (size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + with.size())) {
    text.replace(at, what.size(), with);
    found = true;
  }
  return found;
}

// Nothing in it has a meaning for a shell.
bool IsPlain(const std::string& value) {
  return std::all_of(value.begin(), value.end(), [](unsigned char c) {
    return std::isalnum(c) != 0 ||
           std::string_view("_-.,:/=+@%").find(static_cast<char>(c)) != std::string_view::npos;
  });
}

class Sweeper {
 public:
  Sweeper(OpContext& context, const SweepConfig& config, const std::string& folder, BenchSweep& out)
      : context_(context), config_(config), folder_(folder), out_(out) {}

  Status Run() {
    const std::vector<std::map<std::string, std::string>> points = PointsOf(config_);
    for (int64_t repeat = 1; repeat <= config_.repeats; ++repeat) {
      std::vector<size_t> order(points.size());
      for (size_t i = 0; i < order.size(); ++i) order[i] = i;
      // So that drift of the machine is not a difference between points.
      std::mt19937_64 random(static_cast<uint64_t>(repeat));
      std::shuffle(order.begin(), order.end(), random);
      for (const size_t at : order) {
        if (context_.Cancelled()) return Cancelled();
        if (context_.progress)
          context_.progress(config_.name, static_cast<int64_t>(out_.runs.size()),
                            static_cast<int64_t>(points.size()) * config_.repeats);
        out_.runs.push_back(One(points[at], repeat));
        NL_TRY(WriteFileAtomically(folder_ + "/summary.csv", SweepCsv(out_)));
      }
    }
    for (const auto& point : points) out_.points.push_back(Summary(point));
    return {};
  }

 private:
  // A point that fails, for lack of memory perhaps, does not end the sweep.
  SweepRun One(const std::map<std::string, std::string>& point, int64_t repeat) {
    SweepRun run;
    run.settings = point;
    run.repeat = repeat;
    const Status done = Record(run);
    if (!done.ok()) run.reason = done.error().message;
    return run;
  }

  Status Record(SweepRun& run) {
    NL_ASSIGN(const std::vector<std::string> words, CommandAt(config_, run.settings));
    const std::string name = fmt::format("{:04}", out_.runs.size() + 1);
    const std::string log = fmt::format("{}/logs/{}", folder_, name);
    RecordParams params;
    params.command = {
        "/bin/sh", "-c",         "out=$1 err=$2; shift 2; exec \"$@\" </dev/null >\"$out\" 2>\"$err\"",
        "sh",      log + ".out", log + ".err"};
    params.command.insert(params.command.end(), words.begin(), words.end());
    if (!config_.detail.empty()) params.detail = config_.detail;
    params.out = fmt::format("{}/profiles/{}_{}.nlcap", folder_, FileName(config_.name), name);
    std::vector<std::string> tags = config_.tags;
    tags.push_back("sweep=" + config_.name);
    tags.push_back(fmt::format("repeat={}", run.repeat));
    for (const auto& [key, value] : run.settings) tags.push_back(key + "=" + value);
    NL_ASSIGN(const capture::LaunchOptions launch, params.Options());
    NL_ASSIGN(const RecordedRun recorded, RecordAndImport(context_, launch, tags));
    // The run has what it holds.
    const Status removed = RemoveTree(recorded.capture.directory);
    run.run_id = recorded.run_id;
    run.exit_status = recorded.capture.exit_status;
    run.wall_ms = recorded.capture.wall_ms;
    run.kernels = recorded.capture.kernels;
    if (recorded.capture.exit_status != 0)
      return InvalidInput(fmt::format("the program ended with status {}; logs/{}.err ends in: {}",
                                      recorded.capture.exit_status, name, LastLine(log + ".err")));
    NL_TRY(recorded.imported);
    NL_TRY(removed);
    return AddTimes(context_, run);
  }

  SweepPoint Summary(const std::map<std::string, std::string>& point) const {
    SweepPoint out;
    out.settings = point;
    std::vector<double> walls, busy;
    std::map<std::string, std::vector<double>> steps;
    for (const SweepRun& run : out_.runs) {
      if (run.settings != point) continue;
      if (!run.ended_well()) {
        ++out.failed;
        continue;
      }
      ++out.runs;
      walls.push_back(*run.wall_ms);
      if (run.busy_ms) busy.push_back(*run.busy_ms);
      for (const auto& [name, ms] : run.step_ms) steps[name].push_back(ms);
    }
    if (walls.empty()) return out;
    out.wall_low_ms = *std::min_element(walls.begin(), walls.end());
    out.wall_high_ms = *std::max_element(walls.begin(), walls.end());
    out.wall_ms = Median(std::move(walls));
    if (!busy.empty()) out.busy_ms = Median(std::move(busy));
    for (auto& [name, ms] : steps) out.step_ms[name] = Median(std::move(ms));
    return out;
  }

  OpContext& context_;
  const SweepConfig& config_;
  const std::string& folder_;
  BenchSweep& out_;
};

}  // namespace

std::string FileName(std::string text) {
  std::replace_if(
      text.begin(), text.end(), [](char c) { return std::isalnum(static_cast<unsigned char>(c)) == 0; }, '_');
  return text;
}

// The one place where yaml-cpp's exceptions are caught.
Result<SweepConfig> ReadSweep(const std::string& path) {
  NL_ASSIGN(const std::string text, ReadWholeFile(path, 16 << 20));
  SweepConfig config;
  config.file = path;
  try {
    NL_ASSIGN(config, FromYaml(YAML::Load(text), std::move(config)));
  } catch (const YAML::Exception& error) {
    return BadSweep(path, error.what());
  }
  size_t runs = static_cast<size_t>(config.repeats);
  for (const auto& [name, values] : config.grid) runs = std::min(runs * values.size(), kMostRuns + 1);
  if (runs > kMostRuns) return BadSweep(path, fmt::format("the grid has more than {} recordings", kMostRuns));
  // Before anything runs: a wrong name is found here.
  for (const auto& point : PointsOf(config)) NL_TRY(CommandAt(config, point));
  return config;
}

std::vector<std::map<std::string, std::string>> PointsOf(const SweepConfig& config) {
  std::vector<std::map<std::string, std::string>> out(1);
  for (const auto& [name, values] : config.grid) {
    std::vector<std::map<std::string, std::string>> more;
    for (const auto& point : out) {
      for (const std::string& value : values) {
        more.push_back(point);
        more.back()[name] = value;
      }
    }
    out = std::move(more);
  }
  return out;
}

Result<std::vector<std::string>> CommandAt(const SweepConfig& config,
                                           const std::map<std::string, std::string>& point) {
  if (!config.workload.empty()) {
    std::vector<std::string> sets = config.sets;
    for (const auto& [key, value] : point) sets.push_back(key + "=" + value);
    NL_ASSIGN(const std::string text, ReadWorkload(config.workload, true));
    NL_TRY(ResolveWorkload(text, config.workload, sets));
    std::vector<std::string> words{"python3", "-m", "neurolens.models", "run", "--config", config.workload};
    for (const std::string& set : sets) words.insert(words.end(), {"--set", set});
    return words;
  }
  // Marks instead of braces, which only a shell understands: a value is never more than a part of one word.
  std::string text = config.command;
  std::vector<std::pair<std::string, std::string>> values;  // mark, value
  for (const auto& [key, value] : point) {
    const std::string mark = fmt::format("neurolens_setting_{}_", values.size());
    if (!Replace(text, "{" + key + "}", mark))
      return BadSweep(config.file, fmt::format("the command does not use {{{}}}", key));
    values.emplace_back(mark, value);
  }
  NL_ASSIGN(const nl::bench::Command command, nl::bench::ParseCommand(text));
  std::vector<std::string> words = command.words;
  for (const auto& [mark, value] : values) {
    if (command.shell && !IsPlain(value))
      return BadSweep(
          config.file,
          fmt::format("the command needs a shell, which would read '{}' as more than a word", value));
    for (std::string& word : words) Replace(word, mark, value);
  }
  return words;
}

Status RunSweep(OpContext& context, const SweepConfig& config, const std::string& folder, BenchSweep& out) {
  out.name = config.name;
  out.config = config.file;
  for (const auto& [name, values] : config.grid) out.settings.push_back(name);
  out.repeats = config.repeats;
  return Sweeper(context, config, folder, out).Run();
}

std::string SweepCsv(const BenchSweep& sweep) {
  const std::set<std::string> steps = StepNames(sweep);
  std::vector<TextColumn> columns;
  for (const std::string& name : sweep.settings) columns.push_back({name});
  for (const char* name : {"repeat", "run_id", "exit_status", "wall_ms", "busy_ms", "kernels"})
    columns.push_back({name});
  for (const std::string& name : steps) columns.push_back({name + "_ms"});
  columns.push_back({"reason"});
  TextTable table(std::move(columns));
  for (const SweepRun& run : sweep.runs) {
    std::vector<std::string> row;
    for (const std::string& name : sweep.settings) row.push_back(run.settings.at(name));
    row.insert(row.end(), {std::to_string(run.repeat), run.run_id.value_or(""),
                           run.exit_status ? std::to_string(*run.exit_status) : "", Number(run.wall_ms),
                           Number(run.busy_ms), run.kernels ? std::to_string(*run.kernels) : ""});
    for (const std::string& name : steps) {
      const auto found = run.step_ms.find(name);
      row.push_back(found == run.step_ms.end() ? "" : Number(found->second));
    }
    row.push_back(run.reason.value_or(""));
    table.AddRow(std::move(row));
  }
  return table.Csv();
}

}  // namespace ops::bench
}  // namespace nl
