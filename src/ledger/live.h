// SPDX-License-Identifier: Apache-2.0
#pragma once
// Recordings that are under way, as a store knows them, and the partial runs that were made of them:
//
//   live/<live_id>.json, .lock          what is recorded and where; the recorder holds the lock to its end
//   live/<live_id>/capture.nlcap/       files of a recording that another machine sends
//   live/<live_id>/making.lock          held by the process that makes a snapshot
//   live/<live_id>/<number>/            one snapshot: a store of its own with one run, not listed anywhere
//   live/<live_id>/<number>/snapshot.json, in_use   written last: without it the snapshot is not whole;
//   readers
//                                       share a lock on in_use, and only unused snapshots are removed
//
// The lock ends with its process, so whatever kills a recorder or a reader, ListLive finds what is left of it
// and removes it. Nothing here reads a capture: ops/live_snapshot.h does.
// Thread rule: free functions; any number of processes on one store. An announcement belongs to one thread.

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/file_ops.h"
#include "base/record.h"
#include "base/result.h"

namespace nl {

enum class LiveState : uint8_t { kRecording, kImporting, kEnded };
std::span<const std::string_view> NamesOf(LiveState state);

// What a recorder counts, where it is on another machine; null: not known.
struct LiveNumbers {
  std::optional<bool> recording;
  std::optional<int64_t> processes, kernels, ranges, lost_records;
};

struct LiveRecording {
  std::string live_id;  // UUIDv7
  LiveState state = LiveState::kRecording;
  std::string directory;             // of the capture
  std::vector<std::string> command;  // that is recorded
  int64_t recorder_pid = 0;
  int64_t started_at_ns = 0;  // Unix time
  std::string sender;         // who sends it, where it is recorded on another machine; empty: this one
  LiveNumbers numbers;        // of a recording that is sent; otherwise they are in the capture
};

// A recording in the list, until this object or its process ends.
class LiveAnnouncement {
 public:
  // `recording.live_id` is made here; so is a folder for the capture where `directory` is empty.
  static Result<std::unique_ptr<LiveAnnouncement>> Make(const std::string& store_path,
                                                        LiveRecording recording);
  ~LiveAnnouncement();
  LiveAnnouncement(const LiveAnnouncement&) = delete;
  LiveAnnouncement& operator=(const LiveAnnouncement&) = delete;

  // The program has ended and its capture, which may have moved, is imported.
  Status Importing(const std::string& directory);
  // Another state, or other numbers, of the same recording.
  Status Change(LiveRecording recording);
  const LiveRecording& recording() const { return recording_; }

 private:
  LiveAnnouncement(std::string store_path, LiveRecording recording, UniqueFd lock)
      : store_path_(std::move(store_path)), recording_(std::move(recording)), lock_(std::move(lock)) {}

  std::string store_path_;
  LiveRecording recording_;
  UniqueFd lock_;
};

std::string LivePath(const std::string& store_path);

// Oldest first. What recorders that no longer run left is removed.
std::vector<LiveRecording> ListLive(const std::string& store_path);
// Folders and files below live/ whose recorder no longer runs.
std::vector<std::string> LiveLeftovers(const std::string& store_path);

// A partial run of a recording.
struct LiveSnapshot {
  std::string path;  // of its store
  std::string run_id;
  int64_t made_at_ns = 0;  // Unix time
  int64_t making_ns = 0;   // how long the import took
  int64_t source_bytes = 0;
  std::shared_ptr<UniqueFd> in_use;  // it is not removed while someone has this
};

// The newest whole snapshot, held; none when there is none.
std::optional<LiveSnapshot> NewestSnapshot(const std::string& store_path, const std::string& live_id);
// The snapshot that has this run, held.
std::optional<LiveSnapshot> SnapshotOfRun(const std::string& store_path, const std::string& run_id);

// Waits for the right to make the next snapshot. Cancelled when the flag is set first.
Result<UniqueFd> LockSnapshots(const std::string& store_path, const std::string& live_id,
                               const std::atomic<bool>* cancelled);
// Under that lock: a fresh folder for the next one, after what was not finished has been removed.
Result<std::string> BeginSnapshot(const std::string& store_path, const std::string& live_id);
// Makes it visible and removes older ones, except the one before it and those in use.
Status FinishSnapshot(const std::string& store_path, const std::string& live_id, LiveSnapshot& snapshot);

}  // namespace nl
