// SPDX-License-Identifier: Apache-2.0
#pragma once
// Which profiles of a folder are the ranks of one distributed run, whatever their format. What a
// file says itself counts first; else its name ("rank0", "rank_0", "rank_0/trace.json"), or numbers
// from 0 on at the end of otherwise equal names ("trace_0", "trace_1").
// Thread rule: pure functions.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "import/adapter.h"
#include "import/file_sets.h"

namespace nl {

// The rank in a file's path below the folder that is imported.
struct NameRank {
  int64_t rank = 0;
  std::string others;       // the path with the number as '#': the same for the ranks of one run
  bool says_rank = false;   // the word rank stands before the number
  bool says_other = false;  // another word does (run_0, seed_1): repetitions, not ranks
};
std::optional<NameRank> RankOfName(std::string_view path);

struct RankedFile {
  std::string path;
  std::string below;                   // path below the folder
  RankHint hint;                       // what the file itself says, and its adapter
  std::vector<std::string> more = {};  // the other files of the same rank, where it is a set
  std::vector<Sibling> siblings = {};  // and why they are
};

// The path below the folder by which a set of files is distinguished from those of other ranks: `set` is the
// name they share. A number is most often of the process, which says nothing where the folder says the rank.
std::string BelowOfSet(std::string_view folder, std::string_view set);

// Files that become one run. `ranks` is as long as `paths` where the names give the ranks, else empty; files
// of one rank are neighbours.
struct FileGroup {
  std::vector<std::string> paths;
  std::vector<int64_t> ranks;
  std::vector<Sibling> siblings = {};  // where the files are the parts of one recording
};

// Single files first, in the order given, then the runs of several ranks, each by rank. Files of
// different formats are never one run.
std::vector<FileGroup> GroupRanks(const std::vector<RankedFile>& files);

}  // namespace nl
