// SPDX-License-Identifier: Apache-2.0
#pragma once
// Which files are the parts of one recording. Some tools write a file for each kind of record
// (908_kernel_trace.csv, 908_hip_api_trace.csv); parts share a name, name no different processes, and their
// clocks overlap or nearly so. A name alone is not enough: containers use the same process ids again and
// again. Thread rule: functions without state; they read the first bytes of files, and whole files in doubt.

#include <functional>
#include <string>
#include <vector>

#include "import/adapter.h"

namespace nl {

// A file considered as a part of the recording another one is of, and why it was taken or not.
struct Sibling {
  std::string path;
  bool taken = false;
  std::string reason;  // "same name '908', same process 908, overlapping clocks"
};

// Files that become one run, and why all but the first are in it, or are not.
struct FileSet {
  std::vector<std::string> paths;
  std::vector<Sibling> siblings = {};
};

// Whether a file that was found, not named, may be read; empty: any.
using MayRead = std::function<bool(const std::string& path)>;

// `path` with the files beside it that are the other parts of its recording.
FileSet WithPartsBeside(const std::string& path, const MayRead& may_read = {});
// Puts together, in order, the files of `paths` that are one recording: parts by the name they
// share, or all of them where no two are the same part.
std::vector<FileSet> GroupParts(const std::vector<std::string>& paths);

}  // namespace nl
