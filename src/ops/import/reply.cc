// SPDX-License-Identifier: Apache-2.0
#include "ops/import/reply.h"

namespace nl {

void Describe(Record<ImportedRank>& r) {
  r.Name("ImportedRank", "A rank of a distributed run");
  r.Field("rank", &ImportedRank::rank, "Rank number");
  r.Field("file", &ImportedRank::file, "File that holds it");
}

void Describe(Record<ImportedOp>& r) {
  r.Name("ImportedOp", "An operator with much device time");
  r.Field("name", &ImportedOp::name, "Operator");
  r.Field("calls", &ImportedOp::calls, "Calls");
  r.Field("gpu_ms", &ImportedOp::gpu_ms, Unit::kMs, "Time of the kernels it launched");
}

void Describe(Record<ImportCounter>& r) {
  r.Name("ImportCounter", "Records of the source with the same defect or property");
  r.Field("name", &ImportCounter::name, "Name of the counter");
  r.Field("severity", &ImportCounter::severity, "info, notice, data_loss or error");
  r.Field("count", &ImportCounter::count, "Records");
  r.Field("meaning", &ImportCounter::meaning, "What was found in these records");
  r.Field("advice", &ImportCounter::advice, "What to do about it");
}

std::span<const std::string_view> NamesOf(ImportRanksFrom) {
  static constexpr std::string_view kNames[] = {"content", "file names"};
  return kNames;
}

void Describe(Record<ImportSibling>& r) {
  r.Name("ImportSibling", "A file that was considered as a part of a recording");
  r.Field("file", &ImportSibling::file, "Its path");
  r.Field("taken", &ImportSibling::taken, "Whether it is part of the run");
  r.Field("reason", &ImportSibling::reason, "Why it is, or is not");
}

void Describe(Record<ImportedRun>& r) {
  r.Name("ImportedRun", "A run that the import made or found; details are null or empty for a duplicate");
  r.Field("run_id", &ImportedRun::run_id, "The run");
  r.Field("duplicate", &ImportedRun::duplicate, "The store already holds a run of the same bytes: this one");
  r.Field("files", &ImportedRun::files, "Files it was made of");
  r.Field("siblings", &ImportedRun::siblings,
          "Other files of the folder or the request that were considered");
  r.Field("adapter", &ImportedRun::adapter, "Adapter that read the files; `bundle` for a restored run");
  r.Field("events", &ImportedRun::events, "Events");
  r.Field("source_bytes", &ImportedRun::source_bytes, Unit::kBytes, "Size of the files");
  r.Field("stored_bytes", &ImportedRun::stored_bytes, Unit::kBytes, "Size of the run in the store");
  r.Field("seconds", &ImportedRun::seconds, Unit::kSeconds, "Time the import took");
  r.Field("wall_ms", &ImportedRun::wall_ms, Unit::kMs, "Time from the first to the last event");
  r.Field("ranks", &ImportedRun::ranks, "Ranks of a distributed run");
  r.Field("ranks_from", &ImportedRun::ranks_from, "Where the rank numbers come from");
  r.Field("gpu_utilization", &ImportedRun::gpu_utilization, Unit::kShare,
          "Part of the time in which a device was busy");
  r.Field("clock", &ImportedRun::clock, "Clock of the timeline; `order`: durations without a timeline");
  r.Field("device", &ImportedRun::device, "Name of the first device; empty: none");
  r.Field("precision", &ImportedRun::precision, "Data type of the model");
  r.Field("top_bottleneck", &ImportedRun::top_bottleneck, "Kernel or operator with the most time");
  r.Field("top_ops", &ImportedRun::top_ops, "Operators with the most device time");
  r.Field("tables", &ImportedRun::tables, "Rows by table");
  r.Field("counters", &ImportedRun::counters, "Defects and properties of the source");
}

void Describe(Record<ImportUnmatched>& r) {
  r.Name("ImportUnmatched", "Kernels of a file that are not in the run it is attached to");
  r.Field("reason", &ImportUnmatched::reason, "Why they do not match");
  r.Field("meaning", &ImportUnmatched::meaning, "The reason as a sentence");
  r.Field("kernel", &ImportUnmatched::kernel, "Kernel");
  r.Field("grid", &ImportUnmatched::grid, "Grid in the file");
  r.Field("block", &ImportUnmatched::block, "Block in the file");
  r.Field("run_launches", &ImportUnmatched::run_launches, "Launches of this kernel in the run");
  r.Field("executions", &ImportUnmatched::executions, "Executions in the file");
}

void Describe(Record<KernelMatch>& r) {
  r.Name("KernelMatch", "How the kernels of a file match those of a run");
  r.Field("run_id", &KernelMatch::run_id, "The run");
  r.Field("adapter", &KernelMatch::adapter, "Adapter that read the file");
  r.Field("kernels", &KernelMatch::kernels, "Kernel executions of the file");
  r.Field("matched", &KernelMatch::matched, "Kernel executions of the file that are in the run");
  r.Field("run_kernels", &KernelMatch::run_kernels, "Kernel executions of the run");
  r.Field("run_kernel_ms", &KernelMatch::run_kernel_ms, Unit::kMs, "Kernel time of the run");
  r.Field("covered_kernels", &KernelMatch::covered_kernels, "Kernels of the run that have counters now");
  r.Field("covered_ms", &KernelMatch::covered_ms, Unit::kMs, "Kernel time of the run that got counters");
  r.Field("unmatched", &KernelMatch::unmatched,
          "Kernels that do not match, most executions first, at most 50");
  r.Field("tables", &KernelMatch::tables, "Rows attached, by table");
}

void Describe(Record<ImportAttachment>& r) {
  r.Name("ImportAttachment", "Counters of a file that became part of a run");
  r.Base<KernelMatch>();
  r.Field("attachment_id", &ImportAttachment::attachment_id, "The attachment");
  r.Field("duplicate", &ImportAttachment::duplicate, "The same bytes were attached before");
  r.Field("files", &ImportAttachment::files, "The file");
}

void Describe(Record<ImportFailure>& r) {
  r.Name("ImportFailure", "Files that could not be imported, while others could");
  r.Field("files", &ImportFailure::files, "The files");
  r.Field("code", &ImportFailure::code, "Kind of error");
  r.Field("message", &ImportFailure::message, "What failed, and why");
}

void Describe(Record<ImportSkipped>& r) {
  r.Name("ImportSkipped", "A file or folder that was not imported");
  r.Field("path", &ImportSkipped::path, "Its path");
  r.Field("reason", &ImportSkipped::reason, "Why not");
}

void Describe(Record<ImportReply>& r) {
  r.Name("ImportReply", "Reply of `neurolens import`");
  r.Field("runs", &ImportReply::runs, "Runs made or found, in the order of the files");
  r.Field("attached", &ImportReply::attached, "What --attach added to a run");
  r.Field("errors", &ImportReply::errors, "Files that could not be imported");
  r.Field("skipped", &ImportReply::skipped, "What was left out of folders: stores, own exports, other files");
}

}  // namespace nl
