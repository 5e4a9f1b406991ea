// SPDX-License-Identifier: Apache-2.0
#pragma once
// ImportFiles: from files (one, or the ranks of one distributed run) to rows in a
// sink and the run document that describes them. Storing and naming the run is the
// caller's (ops/import); nothing here knows a store.
// Thread rule: one call, one thread; uses worker threads inside.

#include <string>
#include <vector>

#include "import/adapter.h"
#include "model/run_document.h"

namespace nl {

struct ImportRequest {
  std::vector<std::string> paths;  // "-" is standard input
  // Ranks of the files taken from their names, one a path; they count where a file says none
  // itself. Empty: the names gives no information.
  std::vector<int64_t> name_ranks;
  std::string format;      // adapter name; empty: detected from the content
  std::string model_name;  // empty: from the file name, with a note
  ImportOptions options;
};

struct ImportResult {
  RunDocument document;  // everything but run_id and created_at
  CounterSet counters;
  std::string content_sha256;  // identity of the imported bytes
  int64_t source_bytes = 0;
  int64_t text_bytes = 0;  // stored bytes read
  int64_t events = 0, ops = 0, kernels = 0, wall_ns = 0;
  struct TableRows {
    std::string table;
    int64_t rows;
  };
  std::vector<TableRows> tables;
};

Result<ImportResult> ImportFiles(const ImportRequest& request, EventSink& sink);

// One hash for the bytes of all files, whatever their names.
std::string ContentSha256(const std::vector<SourceFile>& files);

// What a counter means, with the names of what was found where they are short ("Value whose name looks like a
// secret: HF_TOKEN").
std::string MeaningOf(const CounterSet& counters, const CounterInfo& info);

// The rank a file says it is of, without importing it (reads its first bytes).
Result<RankHint> PeekRank(const std::string& path);

// The part of a run a file is, by its first bytes and its name.
Result<FileRole> PeekRole(const std::string& path);

}  // namespace nl
