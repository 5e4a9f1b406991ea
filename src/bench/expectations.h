// SPDX-License-Identifier: Apache-2.0
#pragma once
// Expectations: what the pairs of a suite reached on one kind of machine, kept in the suite as
// expectations_HARDWARE.json, and how a new measurement stands against them. Intervals are compared, not
// fixed shares. Figures of other sources do not count for these. Thread rule: plain values;
// the file is replaced at once.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/record.h"
#include "base/result.h"
#include "bench/interleave.h"
#include "bench/suite.h"

namespace nl::bench {

// A median with its 99 % interval.
struct ExpectedTime {
  double median_ms = 0, low_ms = 0, high_ms = 0;
};
void Describe(Record<ExpectedTime>& r);
ExpectedTime ExpectedOf(const TimeSummary& times);

// What a figure belongs to: not the commit, but what can change it.
struct Provenance {
  std::string sources_sha256;  // of both programs and the declared inputs
  std::string hardware, toolchain;
};
void Describe(Record<Provenance>& r);

struct Expectation {
  std::string target;
  ExpectedTime baseline, optimized;
  double speedup = 0, speedup_low = 0, speedup_high = 0;
  Provenance provenance;
};
void Describe(Record<Expectation>& r);

struct ExpectationFile {
  std::string schema = "neurolens.expectations.v1";
  std::string hardware;
  std::vector<Expectation> expectations;  // by target
};
void Describe(Record<ExpectationFile>& r);

// met: the intervals of the speedup overlap. changed: the sources are others.
enum class ExpectationStatus : uint8_t { kImproved, kRegressed, kMet, kNew, kChanged, kMissing };
std::span<const std::string_view> NamesOf(ExpectationStatus);

struct ExpectationResult {
  std::string target;
  ExpectationStatus status = ExpectationStatus::kNew;
  std::optional<double> expected_speedup, speedup;
  std::string text;
};
void Describe(Record<ExpectationResult>& r);

// Lower-case letters, digits and underscores: of a GPU's name, or of this machine's CPU below `root`.
std::string HardwareKey(const std::string& device_name, const std::string& root = "");

std::string ExpectationPath(const std::string& suite_root, const std::string& hardware);
// The files of a suite, for each hardware, sorted.
std::vector<std::string> ExpectationPaths(const std::string& suite_root);
// Empty without the file; InvalidInput for one that cannot be read.
Result<ExpectationFile> ReadExpectations(const std::string& path);

// NotFound for a source or input that is gone.
Result<std::string> SourcesSha256(const Target& target);

// Every measured pair, then what is expected and was not measured (`whole`: the whole suite was to run).
std::vector<ExpectationResult> CompareWith(const ExpectationFile& expected,
                                           const std::vector<Expectation>& measured, bool whole);

// Takes the measured pairs over. InvalidInput, and nothing is written, for a regression (unless `accept`) or
// for figures of other hardware.
Status UpdateExpectations(const std::string& path, ExpectationFile file,
                          const std::vector<Expectation>& measured, bool accept_regressions);

// What cannot be right in the files of a suite.
std::vector<SuiteProblem> CheckExpectations(const Suite& suite);

}  // namespace nl::bench
