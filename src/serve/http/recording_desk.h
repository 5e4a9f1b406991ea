// SPDX-License-Identifier: Apache-2.0
#pragma once
// RecordingDesk: recordings of other machines that are sent while they grow (`neurolens run --serve`). Their
// files are uploads in pieces (upload_desk.h); here they get a place in the list of recordings under way, so
// that
// @live answers about them as about those of this machine (ops/received_recording.h).
//
//   POST   /api/v1/recordings      {"command": [...], "started_at": ...}: 201 and its live_id
//   PUT    /api/v1/recordings/ID   {"uploads": [...], "state": ..., numbers}: what it has now; a sign of life
//   DELETE /api/v1/recordings/ID   it is over
//
// A recording whose sender is silent for a minute leaves the list; its uploads stay as long as any. Only the
// one who began a recording, or an admin, may change it. Thread rule: any thread.

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "base/record.h"
#include "ops/received_recording.h"
#include "serve/http/message.h"
#include "serve/http/router.h"
#include "serve/uploads/upload_store.h"

namespace nl::http {

inline constexpr std::chrono::seconds kSenderSilence{60};
inline constexpr size_t kMostRecordings = 64, kMostRecordingFiles = 10'000;

struct RecordingReply {
  std::string live_id;
};
void Describe(Record<RecordingReply>& r);

class RecordingDesk {
 public:
  using ClockFn = std::function<std::chrono::steady_clock::time_point()>;
  RecordingDesk(std::string store_path, const uploads::UploadStore& uploads,
                ClockFn now = std::chrono::steady_clock::now)
      : store_path_(std::move(store_path)), uploads_(uploads), now_(std::move(now)) {}

  Response Answer(const Route& route, const Request& request);
  // Takes those from the list whose senders are silent.
  void DropSilent();
  // Takes all from the list.
  void Stop();

 private:
  struct Entry {
    std::string owner;
    ReceivedRecording recording;
    std::chrono::steady_clock::time_point heard;
  };
  Response Make(const Request& request);
  Response Change(const std::string& id, const Request& request);
  Response End(const std::string& id, const Request& request);
  // The recording of this caller, with the lock held; else the problem.
  std::map<std::string, Entry>::iterator Find(const std::string& id, const Request& request,
                                              Response& problem);

  const std::string store_path_;
  const uploads::UploadStore& uploads_;
  const ClockFn now_;
  std::mutex mutex_;
  bool stopped_ = false;
  std::map<std::string, Entry> entries_;
};

}  // namespace nl::http
