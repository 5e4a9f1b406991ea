// SPDX-License-Identifier: Apache-2.0
#include "ledger/live.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <filesystem>
#include <thread>

#include <fmt/format.h>

#include "base/json.h"
#include "base/uuid.h"
#include "ledger/store.h"

namespace nl {

namespace {

constexpr char kAnnouncementSuffix[] = ".json";
constexpr char kMakingLock[] = "making.lock", kSnapshotFile[] = "snapshot.json", kInUse[] = "in_use";
constexpr auto kLookEvery = std::chrono::milliseconds(20);
constexpr int kLockAttempts = 8;
constexpr mode_t kOwnOnly = 0600, kOwnOnlyFolder = 0700;  // commands have secrets in them

std::string PathOf(const std::string& store_path, std::string_view live_id, std::string_view suffix = "") {
  return fmt::format("{}/{}{}", LivePath(store_path), live_id, suffix);
}

std::vector<std::string> EntriesOf(const std::string& folder) {
  std::vector<std::string> out;
  std::error_code code;
  for (std::filesystem::directory_iterator it(folder, code), end; !code && it != end; it.increment(code))
    out.push_back(it->path().filename().string());
  std::sort(out.begin(), out.end());
  return out;
}

// The recordings that live/ has anything of.
std::vector<std::string> LiveIds(const std::string& store_path) {
  std::vector<std::string> out;
  for (const std::string& name : EntriesOf(LivePath(store_path))) {
    std::string id = name.substr(0, name.find('.'));
    if (IsUuidV7(id) && (out.empty() || out.back() != id)) out.push_back(std::move(id));
  }
  return out;
}

// A lock on a file that exists and still has its name; an invalid descriptor when another process has it.
UniqueFd TryLock(const std::string& path, int flags, int kind) {
  UniqueFd fd(::open(path.c_str(), flags | O_CLOEXEC, kOwnOnly));
  struct stat info {};
  if (!fd.valid() || ::flock(fd.get(), kind | LOCK_NB) != 0) return {};
  if (::fstat(fd.get(), &info) != 0 || info.st_nlink == 0) return {};
  return fd;
}

template <class T>
Json ValueOrNull(const std::optional<T>& value) {
  return value ? Json(*value) : Json();
}

Json ToJson(const LiveRecording& r) {
  return {{"live_id", r.live_id},
          {"state", NamesOf(r.state)[static_cast<size_t>(r.state)]},
          {"directory", r.directory},
          {"command", r.command},
          {"recorder_pid", r.recorder_pid},
          {"started_at_ns", r.started_at_ns},
          {"sender", r.sender},
          {"recording", ValueOrNull(r.numbers.recording)},
          {"processes", ValueOrNull(r.numbers.processes)},
          {"kernels", ValueOrNull(r.numbers.kernels)},
          {"ranges", ValueOrNull(r.numbers.ranges)},
          {"lost_records", ValueOrNull(r.numbers.lost_records)}};
}

std::optional<LiveRecording> ReadAnnouncement(const std::string& store_path, const std::string& live_id) {
  const Result<std::string> text = ReadWholeFile(PathOf(store_path, live_id, kAnnouncementSuffix));
  const Result<Json> json = text.ok() ? ParseJson(*text) : Result<Json>(text.error());
  if (!json.ok() || !json->is_object()) return std::nullopt;
  const auto text_of = [&](const char* key) {
    return json->contains(key) && (*json)[key].is_string() ? (*json)[key].get<std::string>() : "";
  };
  const auto number_of = [&](const char* key) {
    return json->contains(key) && (*json)[key].is_number_integer() ? (*json)[key].get<int64_t>() : 0;
  };
  LiveRecording out;
  out.live_id = live_id;
  out.state = text_of("state") == "importing" ? LiveState::kImporting : LiveState::kRecording;
  out.directory = text_of("directory");
  out.recorder_pid = number_of("recorder_pid");
  out.started_at_ns = number_of("started_at_ns");
  out.sender = text_of("sender");
  const auto count_of = [&](const char* key) -> std::optional<int64_t> {
    return json->contains(key) && (*json)[key].is_number_integer() ? std::optional(number_of(key))
                                                                   : std::nullopt;
  };
  if (json->contains("recording") && (*json)["recording"].is_boolean())
    out.numbers.recording = (*json)["recording"].get<bool>();
  out.numbers.processes = count_of("processes");
  out.numbers.kernels = count_of("kernels");
  out.numbers.ranges = count_of("ranges");
  out.numbers.lost_records = count_of("lost_records");
  for (const Json& word : json->value("command", Json::array()))
    if (word.is_string()) out.command.push_back(word.get<std::string>());
  return out;
}

// Numbers of the snapshots of a recording, whole or not, newest last.
std::vector<int64_t> SnapshotNumbers(const std::string& folder) {
  std::vector<int64_t> out;
  for (const std::string& name : EntriesOf(folder)) {
    int64_t number = 0;
    const char* end = name.data() + name.size();
    if (const auto [at, bad] = std::from_chars(name.data(), end, number); bad == std::errc() && at == end)
      out.push_back(number);
  }
  std::sort(out.begin(), out.end());
  return out;
}

// A whole snapshot, held; none when it is not whole or is being removed.
std::optional<LiveSnapshot> OpenLiveSnapshot(const std::string& path) {
  LiveSnapshot out;
  out.path = path;
  UniqueFd held = TryLock(fmt::format("{}/{}", path, kInUse), O_RDONLY, LOCK_SH);
  if (!held.valid()) return std::nullopt;
  const Result<std::string> text = ReadWholeFile(fmt::format("{}/{}", path, kSnapshotFile));
  const Result<Json> json = text.ok() ? ParseJson(*text) : Result<Json>(text.error());
  if (!json.ok() || !json->is_object() || !json->contains("run_id") || !(*json)["run_id"].is_string())
    return std::nullopt;
  out.run_id = (*json)["run_id"].get<std::string>();
  out.made_at_ns = json->value("made_at_ns", int64_t{0});
  out.making_ns = json->value("making_ns", int64_t{0});
  out.source_bytes = json->value("source_bytes", int64_t{0});
  out.in_use = std::make_shared<UniqueFd>(std::move(held));
  return out;
}

// Removes a snapshot unless someone reads it. One that was never finished has no reader.
void RemoveSnapshot(const std::string& path) {
  const std::string in_use = fmt::format("{}/{}", path, kInUse);
  const UniqueFd lock = TryLock(in_use, O_RDONLY, LOCK_EX);
  if (lock.valid() || !PathExists(in_use)) static_cast<void>(RemoveTree(path));
}

// The recorder has gone. What a reader still uses stays for the next look.
void RemoveRecording(const std::string& store_path, const std::string& live_id) {
  ::unlink(PathOf(store_path, live_id, kAnnouncementSuffix).c_str());
  const std::string folder = PathOf(store_path, live_id);
  // Whoever makes a snapshot now finishes it; the next look removes it.
  const UniqueFd making = TryLock(fmt::format("{}/{}", folder, kMakingLock), O_RDONLY, LOCK_EX);
  if (making.valid() || !PathExists(fmt::format("{}/{}", folder, kMakingLock))) {
    for (const int64_t number : SnapshotNumbers(folder)) RemoveSnapshot(fmt::format("{}/{}", folder, number));
    if (SnapshotNumbers(folder).empty()) static_cast<void>(RemoveTree(folder));
  }
  if (!PathExists(folder)) ::unlink(PathOf(store_path, live_id, kStagingLockSuffix).c_str());
}

bool RecorderRuns(const std::string& store_path, const std::string& live_id) {
  const std::string path = PathOf(store_path, live_id, kStagingLockSuffix);
  // Shared: two that look at the same time must not take each other for the recorder.
  return PathExists(path) && !TryLock(path, O_RDONLY, LOCK_SH).valid();
}

// Removes what a dead recorder left; with its lock, so that a recorder that just begins is not taken for one.
void Sweep(const std::string& store_path, const std::string& live_id) {
  const std::string path = PathOf(store_path, live_id, kStagingLockSuffix);
  const UniqueFd lock = TryLock(path, O_RDONLY, LOCK_EX);
  if (lock.valid() || !PathExists(path)) RemoveRecording(store_path, live_id);
}

}  // namespace

std::span<const std::string_view> NamesOf(LiveState) {
  static constexpr std::string_view kNames[] = {"recording", "importing", "ended"};
  return kNames;
}

std::string LivePath(const std::string& store_path) { return store_path + "/live"; }

Result<std::unique_ptr<LiveAnnouncement>> LiveAnnouncement::Make(const std::string& store_path,
                                                                 LiveRecording recording) {
  NL_TRY(MakeDirectories(store_path));
  const std::string folder = LivePath(store_path);
  if (::mkdir(folder.c_str(), kOwnOnlyFolder) != 0 && errno != EEXIST)
    return FileError("create folder", folder);
  for (int attempt = 0; attempt < kLockAttempts; ++attempt) {
    recording.live_id = NewUuidV7();
    const std::string path = PathOf(store_path, recording.live_id, kStagingLockSuffix);
    UniqueFd lock = TryLock(path, O_RDWR | O_CREAT | O_EXCL, LOCK_EX);
    if (!lock.valid()) continue;
    std::unique_ptr<LiveAnnouncement> out(
        new LiveAnnouncement(store_path, std::move(recording), std::move(lock)));
    if (out->recording_.directory.empty()) {
      const std::string own = PathOf(store_path, out->recording_.live_id);
      if (::mkdir(own.c_str(), kOwnOnlyFolder) != 0) return FileError("create folder", own);
      out->recording_.directory = own + "/capture.nlcap";
      NL_TRY(MakeDirectories(out->recording_.directory));
    }
    NL_TRY(WriteFileAtomically(PathOf(store_path, out->recording_.live_id, kAnnouncementSuffix),
                               DumpJson(ToJson(out->recording_)), kOwnOnly));
    return out;
  }
  return IoError(fmt::format("cannot lock a file in {}", folder), 0)
      .Hint("the file system may not support flock: choose another store");
}

LiveAnnouncement::~LiveAnnouncement() { RemoveRecording(store_path_, recording_.live_id); }

Status LiveAnnouncement::Importing(const std::string& directory) {
  LiveRecording now = recording_;
  now.state = LiveState::kImporting;
  now.directory = directory;
  return Change(std::move(now));
}

Status LiveAnnouncement::Change(LiveRecording recording) {
  recording_ = std::move(recording);
  return WriteFileAtomically(PathOf(store_path_, recording_.live_id, kAnnouncementSuffix),
                             DumpJson(ToJson(recording_)), kOwnOnly);
}

std::vector<LiveRecording> ListLive(const std::string& store_path) {
  std::vector<LiveRecording> out;
  for (const std::string& id : LiveIds(store_path)) {
    if (!RecorderRuns(store_path, id)) {
      Sweep(store_path, id);
    } else if (std::optional<LiveRecording> recording = ReadAnnouncement(store_path, id)) {
      out.push_back(*std::move(recording));
    }
  }
  return out;
}

std::vector<std::string> LiveLeftovers(const std::string& store_path) {
  std::vector<std::string> out;
  for (const std::string& id : LiveIds(store_path))
    if (!RecorderRuns(store_path, id)) out.push_back(PathOf(store_path, id));
  return out;
}

std::optional<LiveSnapshot> NewestSnapshot(const std::string& store_path, const std::string& live_id) {
  const std::string folder = PathOf(store_path, live_id);
  const std::vector<int64_t> numbers = SnapshotNumbers(folder);
  for (auto number = numbers.rbegin(); number != numbers.rend(); ++number) {
    if (std::optional<LiveSnapshot> found = OpenLiveSnapshot(fmt::format("{}/{}", folder, *number)))
      return found;
  }
  return std::nullopt;
}

std::optional<LiveSnapshot> SnapshotOfRun(const std::string& store_path, const std::string& run_id) {
  for (const std::string& id : LiveIds(store_path)) {
    const std::string folder = PathOf(store_path, id);
    for (const int64_t number : SnapshotNumbers(folder)) {
      std::optional<LiveSnapshot> found = OpenLiveSnapshot(fmt::format("{}/{}", folder, number));
      if (found && found->run_id == run_id) return found;
    }
  }
  return std::nullopt;
}

Result<UniqueFd> LockSnapshots(const std::string& store_path, const std::string& live_id,
                               const std::atomic<bool>* cancelled) {
  const std::string folder = PathOf(store_path, live_id);
  if (::mkdir(folder.c_str(), kOwnOnlyFolder) != 0 && errno != EEXIST)
    return FileError("create folder", folder);
  const std::string path = fmt::format("{}/{}", folder, kMakingLock);
  for (;;) {
    UniqueFd lock = TryLock(path, O_RDWR | O_CREAT, LOCK_EX);
    if (lock.valid()) return lock;
    if (!PathExists(folder)) return NotFound("the recording has ended");
    if (cancelled != nullptr && cancelled->load(std::memory_order_relaxed)) return Cancelled();
    std::this_thread::sleep_for(kLookEvery);
  }
}

Result<std::string> BeginSnapshot(const std::string& store_path, const std::string& live_id) {
  const std::string folder = PathOf(store_path, live_id);
  int64_t last = 0;
  for (const int64_t number : SnapshotNumbers(folder)) {
    last = number;
    const std::string path = fmt::format("{}/{}", folder, number);
    if (!PathExists(fmt::format("{}/{}", path, kSnapshotFile))) RemoveSnapshot(path);
  }
  std::string path = fmt::format("{}/{}", folder, last + 1);
  if (::mkdir(path.c_str(), kOwnOnlyFolder) != 0) return FileError("create folder", path);
  return path;
}

Status FinishSnapshot(const std::string& store_path, const std::string& live_id, LiveSnapshot& snapshot) {
  const std::string in_use = fmt::format("{}/{}", snapshot.path, kInUse);
  UniqueFd held = TryLock(in_use, O_RDWR | O_CREAT, LOCK_SH);
  if (!held.valid()) return FileError("lock", in_use);
  NL_TRY(WriteFileAtomically(fmt::format("{}/{}", snapshot.path, kSnapshotFile),
                             DumpJson({{"run_id", snapshot.run_id},
                                       {"made_at_ns", snapshot.made_at_ns},
                                       {"making_ns", snapshot.making_ns},
                                       {"source_bytes", snapshot.source_bytes}})));
  snapshot.in_use = std::make_shared<UniqueFd>(std::move(held));
  const std::string folder = PathOf(store_path, live_id);
  std::vector<int64_t> numbers = SnapshotNumbers(folder);
  numbers.resize(numbers.size() > 2 ? numbers.size() - 2 : 0);
  for (const int64_t number : numbers) RemoveSnapshot(fmt::format("{}/{}", folder, number));
  return {};
}

}  // namespace nl
