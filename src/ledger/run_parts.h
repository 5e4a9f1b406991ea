// SPDX-License-Identifier: Apache-2.0
#pragma once
// The Parquet files that the tables of one run consist of: the run's own and, after them, those of its
// attachments. Rows of a file are numbered after those of the files before it. What reads tables
// (sql_session.h, snapshot.h) verifies a file first. Thread rule: free functions.

#include <atomic>
#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "ledger/run_files.h"

namespace nl {

struct RunSource {
  std::string label;                // how the run is called: value of the `run` column, and in messages
  std::string directory;            // holds <table>.parquet, and attachments below
  std::vector<std::string> tables;  // empty: every .parquet file there
};

struct RunPart {
  std::string label;
  std::string run_folder, name;  // the file is run_folder/name
  RunFile noted;                 // -1 bytes: the run does not note this file

  std::string path() const { return run_folder + "/" + name; }
};
using RunParts = std::map<std::string, std::vector<RunPart>>;  // by table

// A table that the run notes has a part even when its file is missing: reading it is an error.
Result<RunParts> PartsOfRun(const RunSource& run);

// Compares the file with what the run notes. A damaged or missing one is an Io error; NotFound when the whole
// run was removed meanwhile.
Status VerifyRunPart(const RunPart& part, const std::atomic<bool>* cancelled);

// `rm` takes the whole folder away: the run is not damaged, it is gone.
Error RemovedRun(const std::string& label);

// Names of the tables (<name>.parquet) in a run folder, sorted.
std::vector<std::string> TablesIn(const std::string& directory);

}  // namespace nl
