// SPDX-License-Identifier: Apache-2.0
#pragma once
// The files of a run or of an attachment, as noted when it was sealed: name, size and checksum of each, in
// the document that lies beside them (catalog_entry.json, attachment.json). That document carries a checksum
// of its own text. Whoever reads a file of a run checks it here first, so that a damaged one is an error and
// never another answer. The checksum is CRC-64/XZ (ISA-L), which finds every single changed bit; it is not a
// defence against forgery. Thread rule: free functions; VerifyRunFile remembers, for this process, which
// unchanged files were whole.

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"

namespace nl {

struct RunFile {
  int64_t bytes = 0;
  std::optional<uint64_t> checksum;  // none: written by an older version
};
using RunFiles = std::map<std::string, RunFile>;  // by name relative to the folder

uint64_t Checksum(uint64_t before, std::string_view bytes);  // 0 before the first bytes

// The files below `folder` but for `document_name` and temporary ones. A checksum that is known is not
// computed again.
Result<RunFiles> MeasureRunFiles(const std::string& folder, const std::string& document_name,
                                 const std::map<std::string, uint64_t>& known = {});

// The text of a document that notes `files` and its own checksum.
std::string SealedText(Json document, const RunFiles& files);

// What the document `document_name` in `folder` notes; empty without a document or a list in it. A
// damaged document is an error.
Result<RunFiles> ReadRunFiles(const std::string& folder, const std::string& document_name);

// Reads the whole file and compares it with what was noted. Damage is an Io error that begins with `name`.
struct VerifyOptions {
  const std::atomic<bool>* cancelled = nullptr;
  std::function<void(int64_t bytes)> on_read;  // may be empty
  bool trust_memory = true;                    // a file this process found whole is not read again
};
Status VerifyRunFile(const std::string& folder, const std::string& name, const RunFile& noted,
                     const VerifyOptions& options = {});

// The content of a file of a run, verified when the run notes a checksum for it.
Result<std::string> ReadRunFile(const std::string& run_folder, const std::string& name);

// Every defect among the files of a run and of its attachments, one text for each file ("op.parquet is
// missing"); `unchecked` counts files without a checksum.
struct RunFilesReport {
  std::vector<std::string> defects;
  int64_t unchecked = 0;
};
Result<RunFilesReport> VerifyRunFolder(const std::string& run_folder, const VerifyOptions& options = {});

// "run X is damaged: ...", with what to do.
Error DamagedRun(const std::string& run, const std::string& defect);

}  // namespace nl
