// SPDX-License-Identifier: Apache-2.0
#pragma once
// A recording of another machine that is received while it grows: in the list of recordings under way, with a
// folder for its files, so that @live answers about it as about those of this machine (ledger/live.h).
// Thread rule: one thread at a time. Ownership: it leaves the list, and its folder the disk, with this
// object.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ledger/live.h"

namespace nl {

class ReceivedRecording {
 public:
  // `sender`: who sends it, for people.
  static Result<ReceivedRecording> Make(const std::string& store_path, std::vector<std::string> command,
                                        int64_t started_at_ns, std::string sender);

  const std::string& live_id() const { return announcement_->recording().live_id; }
  // For the files of the capture.
  const std::string& directory() const { return announcement_->recording().directory; }
  // `importing`: the program has ended. `numbers`: what the recorder counts.
  Status Change(bool importing, const LiveNumbers& numbers);

 private:
  explicit ReceivedRecording(std::unique_ptr<LiveAnnouncement> announcement)
      : announcement_(std::move(announcement)) {}
  std::unique_ptr<LiveAnnouncement> announcement_;
};

}  // namespace nl
