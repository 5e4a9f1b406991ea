// SPDX-License-Identifier: Apache-2.0
#include "import/file_sets.h"

#include <algorithm>
#include <filesystem>
#include <optional>

#include <fmt/format.h>

#include "base/human.h"
#include "import/importer.h"

namespace nl {

namespace {

// A short recording may end its calls before its first kernel begins. A profiler takes longer than this to
// start again.
constexpr int64_t kMostGapNs = 1'000'000'000;

// Time between two spans; 0 when they overlap.
int64_t GapNs(const RecordingSpan& a, const RecordingSpan& b) {
  return std::max<int64_t>({0, a.first_ns - b.last_ns, b.first_ns - a.last_ns});
}

// A file and what is known of its records; reads no more of it than the question at hand needs.
class PartFile {
 public:
  PartFile(std::string path, FileRole role) : path_(std::move(path)), role_(std::move(role)) {}

  const std::string& path() const { return path_; }
  const FileRole& role() const { return role_; }
  const RecordingSpan& span() {
    if (!span_) Read(false);
    return *span_;
  }
  const RecordingSpan& exact_span() {
    if (!span_ || !exact_) Read(true);
    return *span_;
  }

 private:
  void Read(bool exact) {
    const Adapter* adapter = FindAdapter(role_.adapter);
    Result<RecordingSpan> span = adapter != nullptr ? adapter->Span(path_, exact) : RecordingSpan{};
    // What cannot be read says nothing; the import that follows gives the error.
    span_ = span.ok() ? *std::move(span) : RecordingSpan{};
    exact_ = exact;
  }

  std::string path_;
  FileRole role_;
  std::optional<RecordingSpan> span_;
  bool exact_ = false;
};

// Parts of one recording.
class PartSet {
 public:
  explicit PartSet(PartFile first)
      : set_(first.role().set), folder_(std::filesystem::path(first.path()).parent_path().string()) {
    parts_.push_back(std::move(first));
  }

  const std::string& set() const { return set_; }
  const std::string& adapter() const { return parts_[0].role().adapter; }
  const std::string& folder() const { return folder_; }
  bool is_part() const { return !parts_[0].role().part.empty(); }
  bool empty() const { return parts_.empty(); }

  // A part that both have; null: none.
  const PartFile* InBoth(const PartSet& other) const {
    for (const PartFile& a : parts_) {
      for (const PartFile& b : other.parts_) {
        if (a.role().part == b.role().part) return &a;
      }
    }
    return nullptr;
  }

  // Are `other` further parts of this recording? `reason` says why, or why not.
  bool Accepts(PartSet& other, std::string& reason) {
    if (const PartFile* part = InBoth(other)) {
      reason = fmt::format("{} is the {} of this recording",
                           std::filesystem::path(part->path()).filename().string(), part->role().part);
      return false;
    }
    std::string process, clock;
    if (!SameProcess(other, process) || !SameTime(other, clock)) {
      reason = process + clock;
      return false;
    }
    reason = set_.empty() || set_ != other.set_ ? "given together"
             : set_ == FileRole::kFolder        ? "named as files of one recording"
                                                : fmt::format("same name '{}'", set_);
    if (!process.empty()) reason += ", " + process;
    if (!clock.empty()) reason += ", " + clock;
    return true;
  }

  void Take(PartSet& other, const std::string& reason) {
    for (PartFile& part : other.parts_) {
      siblings_.push_back({part.path(), true, reason});
      parts_.push_back(std::move(part));
    }
    if (set_.empty()) set_ = other.set_;
    other.parts_.clear();
  }

  FileSet Files() const {
    FileSet out{{}, siblings_};
    for (const PartFile& part : parts_) out.paths.push_back(part.path());
    return out;
  }

 private:
  // False: both name processes and none is the same. `text`: what was found; empty: nothing known.
  bool SameProcess(PartSet& other, std::string& text) {
    for (PartFile& a : parts_) {
      for (PartFile& b : other.parts_) {
        const std::set<int64_t>&pa = a.span().processes, &pb = b.span().processes;
        if (pa.empty() || pb.empty()) continue;
        const auto both = std::find_if(pa.begin(), pa.end(), [&](int64_t pid) { return pb.count(pid) > 0; });
        if (both == pa.end()) {
          text = fmt::format("of another process ({}, not {})", *pb.begin(), *pa.begin());
          return false;
        }
        text = fmt::format("same process {}", *both);
      }
    }
    return true;
  }

  // False: both have times and they do not overlap.
  bool SameTime(PartSet& other, std::string& text) {
    for (const bool exact : {false, true}) {  // whole files are read only where their ends do not overlap
      std::optional<int64_t> gap_ns;
      for (PartFile& a : parts_) {
        for (PartFile& b : other.parts_) {
          const RecordingSpan& sa = exact ? a.exact_span() : a.span();
          const RecordingSpan& sb = exact ? b.exact_span() : b.span();
          if (!sa.has_times() || !sb.has_times()) continue;
          gap_ns = std::min(gap_ns.value_or(INT64_MAX), GapNs(sa, sb));
        }
      }
      if (!gap_ns) return true;  // no times to compare
      if (*gap_ns <= kMostGapNs) {
        text = *gap_ns == 0 ? "overlapping clocks" : fmt::format("clocks {} apart", HumanDurationNs(*gap_ns));
        return true;
      }
      text = fmt::format("of another recording ({} apart)", HumanDurationNs(*gap_ns));
    }
    return false;
  }

  std::string set_, folder_;
  std::vector<PartFile> parts_;
  std::vector<Sibling> siblings_;
};

}  // namespace

FileSet WithPartsBeside(const std::string& path, const MayRead& may_read) {
  namespace fs = std::filesystem;
  const Result<FileRole> role = PeekRole(path);
  const Adapter* adapter = role.ok() ? FindAdapter(role->adapter) : nullptr;
  if (adapter == nullptr || role->part.empty() || role->set.empty()) return {{path}};
  std::vector<std::string> names;
  std::error_code code;
  const fs::path folder = fs::path(path).parent_path(), self = fs::path(path).filename();
  for (fs::directory_iterator it(folder.empty() ? fs::path(".") : folder, code), end; it != end && !code;
       it.increment(code)) {
    std::error_code ignored;
    const std::string name = it->path().filename().string();
    if (name != self && it->is_regular_file(ignored) && adapter->Role("", name).set == role->set &&
        (!may_read || may_read(it->path().string())))
      names.push_back(name);
  }
  std::sort(names.begin(), names.end());
  std::vector<PartSet> candidates;
  for (const std::string& name : names) {
    const std::string beside = (folder / name).string();
    Result<FileRole> other = PeekRole(beside);
    // The first bytes may say that it stands for itself whatever its name: a table of sums.
    if (other.ok() && other->adapter == role->adapter && !other->part.empty() && other->set == role->set)
      candidates.emplace_back(PartFile(beside, *std::move(other)));
  }
  PartSet recording(PartFile(path, *role));
  // One that overlaps may lead to one that overlaps with it.
  std::vector<std::string> reasons(candidates.size());
  for (bool more = true; more;) {
    more = false;
    for (size_t i = 0; i < candidates.size(); ++i) {
      if (candidates[i].empty() || !recording.Accepts(candidates[i], reasons[i])) continue;
      recording.Take(candidates[i], reasons[i]);
      more = true;
    }
  }
  FileSet out = recording.Files();
  for (size_t i = 0; i < candidates.size(); ++i) {
    if (!candidates[i].empty()) out.siblings.push_back({candidates[i].Files().paths[0], false, reasons[i]});
  }
  return out;
}

std::vector<FileSet> GroupParts(const std::vector<std::string>& paths) {
  std::vector<PartSet> sets;
  for (const std::string& path : paths) {
    Result<FileRole> role = PeekRole(path);
    sets.emplace_back(PartFile(path, role.ok() ? *std::move(role) : FileRole{}));
  }
  std::string reason;
  // First those that share a name and a folder, then names that say nothing: they contradict none.
  for (const bool named : {true, false}) {
    for (bool more = true; more;) {
      more = false;
      for (size_t i = 0; i < sets.size(); ++i) {
        for (size_t k = i + 1; k < sets.size(); ++k) {
          PartSet &a = sets[i], &b = sets[k];
          if (a.empty() || b.empty() || !a.is_part() || !b.is_part() || a.adapter() != b.adapter()) continue;
          const bool fits = named ? a.set() == b.set() && a.folder() == b.folder()
                                  : a.set() == b.set() || a.set().empty() || b.set().empty();
          if (!fits || a.InBoth(b) != nullptr || !a.Accepts(b, reason)) continue;
          a.Take(b, reason);
          more = true;
        }
      }
    }
  }
  std::vector<FileSet> out;
  for (const PartSet& set : sets) {
    if (!set.empty()) out.push_back(set.Files());
  }
  return out;
}

}  // namespace nl
