// SPDX-License-Identifier: Apache-2.0
#include "import/rank_groups.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <tuple>

#include "base/ascii.h"

namespace nl {

namespace {

constexpr size_t kMaxDigits = 6;  // more is a time stamp or a process id

bool IsLetter(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0; }

// The digits at `at`, when they are few enough for a rank.
std::optional<std::pair<int64_t, size_t>> NumberAt(std::string_view text, size_t at) {
  size_t end = at;
  while (end < text.size() && IsDigit(text[end])) ++end;
  if (end == at || end - at > kMaxDigits) return std::nullopt;
  int64_t value = 0;
  for (size_t i = at; i < end; ++i) value = value * 10 + (text[i] - '0');
  return std::pair(value, end);
}

NameRank FoundRank(std::string_view path, int64_t rank, size_t from, size_t to) {
  NameRank out;
  out.rank = rank;
  out.others = std::string(path.substr(0, from)) + "#" + std::string(path.substr(to));
  return out;
}

// "rank" and a number, the last such place in the path.
std::optional<NameRank> AfterTheWord(std::string_view path) {
  const std::string lower = ToLower(path);
  for (size_t at = lower.rfind("rank"); at != std::string::npos;
       at = at == 0 ? std::string::npos : lower.rfind("rank", at - 1)) {
    if (at > 0 && IsLetter(lower[at - 1])) continue;  // "frank0"
    size_t digits = at + 4;
    if (digits < lower.size() && std::string_view("_-.= ").find(lower[digits]) != std::string_view::npos)
      ++digits;
    if (const auto number = NumberAt(lower, digits)) {
      NameRank out = FoundRank(path, number->first, digits, number->second);
      out.says_rank = true;
      return out;
    }
  }
  return std::nullopt;
}

// Names people give to repetitions and to parts of a sweep.
bool SaysOther(std::string_view word) {
  static constexpr std::string_view kWords[] = {"run",     "iter", "iteration", "step",  "trial",  "rep",
                                                "repeat",  "seed", "epoch",     "try",   "sample", "attempt",
                                                "version", "v",    "batch",     "bs",    "seq",    "layer",
                                                "test",    "case", "base",      "rerun", "part"};
  return std::find(std::begin(kWords), std::end(kWords), word) != std::end(kWords);
}

// A number of its own at the end of the file's stem.
std::optional<NameRank> AtTheEnd(std::string_view path) {
  const size_t slash = path.rfind('/');
  const size_t name = slash == std::string_view::npos ? 0 : slash + 1;
  size_t end = path.find('.', name + 1);
  // "trace.0.json": a number between two dots belongs to the stem.
  while (end != std::string_view::npos && end + 1 < path.size() && IsDigit(path[end + 1])) {
    size_t next = end + 1;
    while (next < path.size() && IsDigit(path[next])) ++next;
    if (next < path.size() && path[next] != '.') break;
    end = next < path.size() ? next : std::string_view::npos;
  }
  if (end == std::string_view::npos) end = path.size();
  size_t from = end;
  while (from > name && IsDigit(path[from - 1])) --from;
  const auto number = NumberAt(path, from);
  if (!number || number->second != end) return std::nullopt;
  if (from == name) return FoundRank(path, number->first, from, end);
  if (std::string_view("_-.").find(path[from - 1]) == std::string_view::npos) return std::nullopt;
  NameRank out = FoundRank(path, number->first, from, end);
  size_t word = from - 1;
  while (word > name && IsLetter(path[word - 1])) --word;
  out.says_other = SaysOther(ToLower(path.substr(word, from - 1 - word)));
  return out;
}

// The ranks of one run told by names: two or more, and where only numbers tell, all from 0 on.
using Members = std::map<int64_t, const RankedFile*>;  // by rank
bool AreRanks(const Members& members, bool says_rank) {
  if (members.size() < 2) return false;
  return says_rank ||
         (members.begin()->first == 0 && members.rbegin()->first == static_cast<int64_t>(members.size()) - 1);
}

void Put(const RankedFile& file, FileGroup& group) {
  group.paths.push_back(file.path);
  group.paths.insert(group.paths.end(), file.more.begin(), file.more.end());
  group.siblings.insert(group.siblings.end(), file.siblings.begin(), file.siblings.end());
}

}  // namespace

std::string BelowOfSet(std::string_view folder, std::string_view set) {
  const bool numbered = !set.empty() && set.find_first_not_of("0123456789") == std::string_view::npos;
  if (set == FileRole::kFolder || (numbered && AfterTheWord(folder))) set = {};
  return std::string(folder) + "/" + std::string(set);
}

std::optional<NameRank> RankOfName(std::string_view path) {
  std::optional<NameRank> out = AfterTheWord(path);
  return out ? out : AtTheEnd(path);
}

std::vector<FileGroup> GroupRanks(const std::vector<RankedFile>& files) {
  std::map<std::pair<std::string, int64_t>, Members> said;              // adapter, world size
  std::map<std::tuple<std::string, std::string, bool>, Members> named;  // adapter, other part, says rank
  std::vector<FileGroup> groups;
  std::vector<const RankedFile*> alone;
  for (const RankedFile& file : files) {
    const RankHint& hint = file.hint;
    if (hint.rank && hint.world_size) {
      if (*hint.world_size > 1 && said[{hint.adapter, *hint.world_size}].emplace(*hint.rank, &file).second)
        continue;
      alone.push_back(&file);
      continue;
    }
    const std::optional<NameRank> name = RankOfName(file.below);
    if (!name || name->says_other ||
        !named[{hint.adapter, name->others, name->says_rank}].emplace(name->rank, &file).second)
      alone.push_back(&file);
  }
  std::vector<FileGroup> together;
  for (const auto& [key, members] : said) {
    FileGroup& group = together.emplace_back();
    for (const auto& [rank, file] : members) Put(*file, group);
  }
  for (const auto& [key, members] : named) {
    if (!AreRanks(members, std::get<bool>(key))) {
      for (const auto& [rank, file] : members) alone.push_back(file);
      continue;
    }
    FileGroup& group = together.emplace_back();
    for (const auto& [rank, file] : members) {
      Put(*file, group);
      group.ranks.resize(group.paths.size(), rank);
    }
  }
  for (const RankedFile& file : files) {
    if (std::find(alone.begin(), alone.end(), &file) != alone.end()) Put(file, groups.emplace_back());
  }
  std::move(together.begin(), together.end(), std::back_inserter(groups));
  return groups;
}

}  // namespace nl
