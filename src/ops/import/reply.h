// SPDX-License-Identifier: Apache-2.0
#pragma once
// Reply of `neurolens import`. Other operations import through it and read what became of a file.

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/record.h"

namespace nl {

struct ImportedRank {
  int64_t rank = 0;
  std::optional<std::string> file;
};
void Describe(Record<ImportedRank>& r);

struct ImportedOp {
  std::string name;
  int64_t calls = 0;
  double gpu_ms = 0;
};
void Describe(Record<ImportedOp>& r);

struct ImportCounter {
  std::string name, severity;
  int64_t count = 0;
  std::string meaning, advice;
};
void Describe(Record<ImportCounter>& r);

// How the ranks of a run are known.
enum class ImportRanksFrom : uint8_t { kContent, kFileNames };
std::span<const std::string_view> NamesOf(ImportRanksFrom from);

// A file of the same folder or request, and why it is a part of the recording or not.
struct ImportSibling {
  std::string file;
  bool taken = false;
  std::string reason;
};
void Describe(Record<ImportSibling>& r);

// A run that the import made or found. Only the first three are known of a duplicate, and the adapter
// of a restored bundle; the rest is then null or empty.
struct ImportedRun {
  std::string run_id;
  bool duplicate = false;
  std::vector<std::string> files;
  std::vector<ImportSibling> siblings;
  std::optional<std::string> adapter;
  std::optional<int64_t> events, source_bytes, stored_bytes;
  std::optional<double> seconds, wall_ms;
  std::vector<ImportedRank> ranks;
  std::optional<ImportRanksFrom> ranks_from;
  std::optional<double> gpu_utilization;
  std::optional<std::string> clock, device, precision, top_bottleneck;
  std::vector<ImportedOp> top_ops;
  std::map<std::string, int64_t> tables;
  std::vector<ImportCounter> counters;
};
void Describe(Record<ImportedRun>& r);

struct ImportUnmatched {
  std::string reason, meaning, kernel;
  std::optional<std::string> grid, block, run_launches;
  int64_t executions = 0;
};
void Describe(Record<ImportUnmatched>& r);

// How the kernels of a file were matched with those of a run; kept with the attachment too.
struct KernelMatch {
  std::string run_id, adapter;
  int64_t kernels = 0, matched = 0, run_kernels = 0, covered_kernels = 0;
  double run_kernel_ms = 0, covered_ms = 0;
  std::vector<ImportUnmatched> unmatched;
  std::map<std::string, int64_t> tables;
};
void Describe(Record<KernelMatch>& r);

struct ImportAttachment : KernelMatch {
  std::string attachment_id;
  bool duplicate = false;
  std::vector<std::string> files;
};
void Describe(Record<ImportAttachment>& r);

struct ImportFailure {
  std::vector<std::string> files;
  std::string code, message;
};
void Describe(Record<ImportFailure>& r);

// A file or folder below a folder that was given, and why it was not imported.
struct ImportSkipped {
  std::string path, reason;
};
void Describe(Record<ImportSkipped>& r);

struct ImportReply {
  std::vector<ImportedRun> runs;
  std::optional<ImportAttachment> attached;
  std::vector<ImportFailure> errors;
  std::vector<ImportSkipped> skipped;
};
void Describe(Record<ImportReply>& r);

}  // namespace nl
