// SPDX-License-Identifier: Apache-2.0
#include "bench/expectations.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <filesystem>

#include <fmt/format.h>

#include "base/ascii.h"
#include "base/file_ops.h"
#include "base/json.h"
#include "base/record_json.h"
#include "base/sha256.h"
#include "machine/host.h"

namespace nl::bench {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPrefix = "expectations_";
// The standard error of a median is 1.2533 sigma / sqrt(n); sigma is the interquartile range / 1.349.
constexpr double kMedianError = 1.2533 / 1.349;
constexpr double kLevel99 = 2.576;

double Number(const Json& json, const char* name) {
  return json.contains(name) && json[name].is_number() ? json[name].get<double>() : NAN;
}
std::string Text(const Json& json, const char* name) {
  return json.contains(name) && json[name].is_string() ? json[name].get<std::string>() : "";
}
const Json& Member(const Json& json, const char* name) {
  static const Json none = Json::object();
  return json.contains(name) && json[name].is_object() ? json[name] : none;
}

ExpectedTime TimeOf(const Json& json) {
  return {Number(json, "median_ms"), Number(json, "low_ms"), Number(json, "high_ms")};
}

Expectation ExpectationOf(const Json& json) {
  Expectation out;
  out.target = Text(json, "target");
  out.baseline = TimeOf(Member(json, "baseline"));
  out.optimized = TimeOf(Member(json, "optimized"));
  out.speedup = Number(json, "speedup");
  out.speedup_low = Number(json, "speedup_low");
  out.speedup_high = Number(json, "speedup_high");
  const Json& from = Member(json, "provenance");
  out.provenance = {Text(from, "sources_sha256"), Text(from, "hardware"), Text(from, "toolchain")};
  return out;
}

const Expectation* Find(const std::vector<Expectation>& list, const std::string& target) {
  const auto at =
      std::find_if(list.begin(), list.end(), [&](const Expectation& e) { return e.target == target; });
  return at == list.end() ? nullptr : &*at;
}

std::string Slug(std::string_view name) {
  std::string out;
  for (const char c : name) {
    if (std::isalnum(static_cast<unsigned char>(c)) != 0) {
      out += ToLower(c);
    } else if (!out.empty() && out.back() != '_') {
      out += '_';
    }
  }
  while (!out.empty() && out.back() == '_') out.pop_back();
  return out;
}

ExpectationStatus StatusOf(const Expectation& expected, const Expectation& measured) {
  if (expected.provenance.sources_sha256 != measured.provenance.sources_sha256)
    return ExpectationStatus::kChanged;
  if (measured.speedup_low > expected.speedup_high) return ExpectationStatus::kImproved;
  if (measured.speedup_high < expected.speedup_low) return ExpectationStatus::kRegressed;
  return ExpectationStatus::kMet;
}

std::string Range(const Expectation& e) {
  return fmt::format("{:.3f}× ({:.3f}–{:.3f})", e.speedup, e.speedup_low, e.speedup_high);
}

// What is wrong with one entry, whatever was measured; empty: nothing.
std::string WrongWith(const Expectation& e, const Suite& suite) {
  const Provenance& from = e.provenance;
  if (from.sources_sha256.empty() || from.hardware.empty() || from.toolchain.empty())
    return "provenance is missing: sources, hardware or toolchain";
  if (!(e.speedup_low <= e.speedup && e.speedup <= e.speedup_high))
    return "the speedup lies outside its own interval";
  const double low = e.baseline.low_ms / e.optimized.high_ms;
  const double high = e.baseline.high_ms / e.optimized.low_ms;
  if (!(e.speedup_high >= low && e.speedup_low <= high))
    return fmt::format("the speedup {} is not that of its times, {:.3f}–{:.3f}", Range(e), low, high);
  if (e.speedup_high < 1) return fmt::format("it expects a slowdown, {}, which hides a regression", Range(e));
  const auto target = std::find_if(suite.targets.begin(), suite.targets.end(),
                                   [&](const Target& t) { return t.Label() == e.target; });
  if (target == suite.targets.end()) return "the suite no longer has this pair";
  const Result<std::string> sha = SourcesSha256(*target);
  if (!sha.ok()) return sha.error().message;
  return *sha == from.sources_sha256 ? "" : "the sources have changed since it was measured";
}

// Headers beside a C++ source that it includes by name: they are part of it.
std::vector<std::string> LocalHeaders(const std::string& file, const std::string& text) {
  std::vector<std::string> out;
  constexpr std::string_view kInclude = "#include \"";
  for (size_t at = text.find(kInclude); at != std::string::npos; at = text.find(kInclude, at + 1)) {
    const size_t from = at + kInclude.size();
    const fs::path path = fs::path(file).parent_path() / text.substr(from, text.find('"', from) - from);
    std::error_code error;
    if (fs::is_regular_file(path, error)) out.push_back(path.string());
  }
  return out;
}

}  // namespace

void Describe(Record<ExpectedTime>& r) {
  r.Name("ExpectedTime", "A median time with its 99 % interval");
  r.Field("median_ms", &ExpectedTime::median_ms, Unit::kMs, "Median");
  r.Field("low_ms", &ExpectedTime::low_ms, Unit::kMs, "Lower end of its interval");
  r.Field("high_ms", &ExpectedTime::high_ms, Unit::kMs, "Upper end of its interval");
}
void Describe(Record<Provenance>& r) {
  r.Name("Provenance", "What a recorded figure belongs to");
  r.Field("sources_sha256", &Provenance::sources_sha256, "SHA-256 of both programs and their inputs");
  r.Field("hardware", &Provenance::hardware, "GPU, or CPU where none is used");
  r.Field("toolchain", &Provenance::toolchain, "Interpreter and libraries, or compiler");
}
void Describe(Record<Expectation>& r) {
  r.Name("Expectation", "What a pair reached");
  r.Field("target", &Expectation::target, "The pair");
  r.Field("baseline", &Expectation::baseline, "Time of the baseline");
  r.Field("optimized", &Expectation::optimized, "Time of the optimized program");
  r.Field("speedup", &Expectation::speedup, Unit::kRatio, "Time of the baseline over that of the optimized");
  r.Field("speedup_low", &Expectation::speedup_low, Unit::kRatio, "Lower end of its interval");
  r.Field("speedup_high", &Expectation::speedup_high, Unit::kRatio, "Upper end of its interval");
  r.Field("provenance", &Expectation::provenance, "What it was measured with");
}
void Describe(Record<ExpectationFile>& r) {
  r.Name("ExpectationFile", "The file expectations_HARDWARE.json of a suite");
  r.Field("schema", &ExpectationFile::schema, "neurolens.expectations.v1");
  r.Field("hardware", &ExpectationFile::hardware, "Key of the hardware, as in the name of the file");
  r.Field("expectations", &ExpectationFile::expectations, "By target");
}
void Describe(Record<ExpectationResult>& r) {
  r.Name("ExpectationResult", "A pair against what is expected of it");
  r.Field("target", &ExpectationResult::target, "The pair");
  r.Field("status", &ExpectationResult::status,
          "improved or regressed: the intervals of the speedup do not overlap; met: they do; new: nothing is "
          "expected yet; changed: the expectation is of other sources; missing: expected, not measured");
  r.Field("expected_speedup", &ExpectationResult::expected_speedup, Unit::kRatio, "What is expected");
  r.Field("speedup", &ExpectationResult::speedup, Unit::kRatio, "What was measured");
  r.Field("text", &ExpectationResult::text, "Both with their intervals");
}
std::span<const std::string_view> NamesOf(ExpectationStatus) {
  static constexpr std::string_view kNames[] = {"improved", "regressed", "met", "new", "changed", "missing"};
  return kNames;
}

ExpectedTime ExpectedOf(const TimeSummary& t) {
  const double runs = static_cast<double>(std::max<int64_t>(t.runs, 1));
  const double error = kLevel99 * kMedianError * (t.p75_ms - t.p25_ms) / std::sqrt(runs);
  return {t.median_ms, std::max(0.0, t.median_ms - error), t.median_ms + error};
}

std::string HardwareKey(const std::string& device_name, const std::string& root) {
  if (!device_name.empty()) return Slug(device_name);
  const machine::Host host = machine::ReadHost(machine::RootFiles(root));
  return fmt::format("cpu_{}_{}_threads", Slug(host.cpu.model.value_or("unknown")),
                     host.cpu.threads.value_or(0));
}

std::string ExpectationPath(const std::string& suite_root, const std::string& hardware) {
  return fmt::format("{}/{}{}.json", suite_root, kPrefix, hardware);
}

Result<ExpectationFile> ReadExpectations(const std::string& path) {
  ExpectationFile out;
  if (!fs::exists(path)) return out;
  NL_ASSIGN(const std::string text, ReadWholeFile(path, 64 << 20));
  NL_ASSIGN(const Json json, ParseJson(text));
  if (Text(json, "schema") != out.schema || !json.contains("expectations") ||
      !json["expectations"].is_array())
    return InvalidInput(fmt::format("{} is not a file of expectations", path));
  out.hardware = Text(json, "hardware");
  for (const Json& entry : json["expectations"]) {
    if (!entry.is_object() || Text(entry, "target").empty())
      return InvalidInput(fmt::format("{} has an entry without a target", path));
    out.expectations.push_back(ExpectationOf(entry));
  }
  return out;
}

Result<std::string> SourcesSha256(const Target& target) {
  Sha256 hash;
  for (const Program* program : {&target.baseline, &target.optimized}) {
    if (program->file.empty()) {
      hash.Update(program->command);
    } else {
      NL_ASSIGN(const std::string text, ReadWholeFile(program->file, 1 << 30));
      hash.Update(text);
      for (const std::string& header : LocalHeaders(program->file, text)) {
        NL_ASSIGN(const std::string sha, FileSha256Hex(header));
        hash.Update(sha);
      }
    }
    hash.Update(std::string_view("\0", 1));
  }
  for (const std::string& input : target.inputs) {
    NL_ASSIGN(const std::string sha, FileSha256Hex(input));
    hash.Update(sha);
  }
  return hash.FinishHex();
}

std::vector<ExpectationResult> CompareWith(const ExpectationFile& expected,
                                           const std::vector<Expectation>& measured, bool whole) {
  std::vector<ExpectationResult> out;
  for (const Expectation& now : measured) {
    ExpectationResult result{now.target, ExpectationStatus::kNew, std::nullopt, now.speedup, ""};
    const Expectation* before = Find(expected.expectations, now.target);
    if (before == nullptr) {
      result.text = fmt::format("{} measured, nothing expected yet", Range(now));
    } else {
      result.status = StatusOf(*before, now);
      result.expected_speedup = before->speedup;
      result.text = fmt::format("{} measured, {} expected", Range(now), Range(*before));
      if (result.status == ExpectationStatus::kChanged) result.text += " of other sources";
    }
    out.push_back(std::move(result));
  }
  if (!whole) return out;
  for (const Expectation& before : expected.expectations) {
    if (Find(measured, before.target) != nullptr) continue;
    out.push_back({before.target, ExpectationStatus::kMissing, before.speedup, std::nullopt,
                   fmt::format("{} expected, not measured", Range(before))});
  }
  return out;
}

Status UpdateExpectations(const std::string& path, ExpectationFile file,
                          const std::vector<Expectation>& measured, bool accept_regressions) {
  for (const ExpectationResult& result : CompareWith(file, measured, false)) {
    if (result.status == ExpectationStatus::kRegressed && !accept_regressions)
      return InvalidInput(
                 fmt::format("{} has regressed ({}): nothing is written", result.target, result.text))
          .Hint("--accept-regressions takes it over");
  }
  for (const Expectation& now : measured) {
    if (file.hardware.empty()) file.hardware = HardwareKey(now.provenance.hardware);
    const auto at = std::find_if(file.expectations.begin(), file.expectations.end(),
                                 [&](const Expectation& e) { return e.target == now.target; });
    if (at == file.expectations.end()) {
      file.expectations.push_back(now);
    } else {
      *at = now;
    }
  }
  for (const Expectation& e : file.expectations) {
    if (e.provenance.hardware != file.expectations.front().provenance.hardware)
      return InvalidInput(fmt::format("{} would mix figures of {} and {}: nothing is written", path,
                                      file.expectations.front().provenance.hardware, e.provenance.hardware));
  }
  std::sort(file.expectations.begin(), file.expectations.end(),
            [](const Expectation& a, const Expectation& b) { return a.target < b.target; });
  return WriteFileAtomically(path, ToJsonText(file, 2) + "\n");
}

std::vector<std::string> ExpectationPaths(const std::string& suite_root) {
  std::vector<std::string> files;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(suite_root, error)) {
    const std::string name = entry.path().filename().string();
    if (name.rfind(kPrefix, 0) == 0 && entry.path().extension() == ".json")
      files.push_back(entry.path().string());
  }
  std::sort(files.begin(), files.end());
  return files;
}

std::vector<SuiteProblem> CheckExpectations(const Suite& suite) {
  std::vector<SuiteProblem> out;
  for (const std::string& path : ExpectationPaths(suite.root)) {
    const Result<ExpectationFile> file = ReadExpectations(path);
    if (!file.ok()) {
      out.push_back({SuiteProblemKind::kBadFile, path, file.error().message});
      continue;
    }
    for (const Expectation& e : file->expectations) {
      if (const std::string wrong = WrongWith(e, suite); !wrong.empty())
        out.push_back({SuiteProblemKind::kExpectation, path, fmt::format("{}: {}", e.target, wrong)});
    }
  }
  return out;
}

}  // namespace nl::bench
