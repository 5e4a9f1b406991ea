// SPDX-License-Identifier: Apache-2.0
#pragma once
// A sweep: one command, or one model of a workload file, recorded at every point of a grid of settings,
// several times. Each recording is a run in the store, with the settings as tags; summary.csv has one line
// for each. Thread rule: one request, one thread. Ownership: plain values; files are below the folder.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/record.h"
#include "ops/op.h"

namespace nl {

struct SweepRun {
  std::map<std::string, std::string> settings;
  int64_t repeat = 1;
  std::optional<std::string> run_id;
  std::optional<int64_t> exit_status;
  std::optional<double> wall_ms, busy_ms;
  std::optional<int64_t> kernels;
  std::map<std::string, double> step_ms;  // median by label
  std::optional<std::string> reason;

  // A program too short for the recorder to see anything of it may have ended well too.
  bool ended_well() const { return exit_status == 0; }
};
void Describe(Record<SweepRun>& r);

struct SweepPoint {
  std::map<std::string, std::string> settings;
  int64_t runs = 0, failed = 0;
  std::optional<double> wall_ms, wall_low_ms, wall_high_ms, busy_ms;
  std::map<std::string, double> step_ms;
};
void Describe(Record<SweepPoint>& r);

struct BenchSweep {
  std::string name, config;
  std::vector<std::string> settings;
  int64_t repeats = 1;
  std::vector<SweepPoint> points;
  std::vector<SweepRun> runs;
};
void Describe(Record<BenchSweep>& r);

namespace ops::bench {

struct SweepConfig {
  std::string file, name;
  std::string command;   // with {setting} in it; empty: a workload
  std::string workload;  // name or file of a model
  std::vector<std::string> sets;
  std::vector<std::pair<std::string, std::vector<std::string>>> grid;  // in the order of the file
  std::vector<std::string> tags;
  int64_t repeats = 1;
  std::string detail;
};
// A text as a part of a file name.
std::string FileName(std::string text);
// InvalidInput names what is wrong with the file.
Result<SweepConfig> ReadSweep(const std::string& path);
// Every combination, the last setting varying fastest.
std::vector<std::map<std::string, std::string>> PointsOf(const SweepConfig& config);
// The words of the command at a point. InvalidInput for a name in braces that the grid does not have.
Result<std::vector<std::string>> CommandAt(const SweepConfig& config,
                                           const std::map<std::string, std::string>& point);

// Records all of it, each repeat in another order. `folder` gets logs/ and, after every recording,
// summary.csv: what was recorded stays when it is stopped. An error only for Cancelled and for files.
Status RunSweep(OpContext& context, const SweepConfig& config, const std::string& folder, BenchSweep& out);
std::string SweepCsv(const BenchSweep& sweep);

}  // namespace ops::bench
}  // namespace nl
