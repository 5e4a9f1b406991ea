// SPDX-License-Identifier: Apache-2.0
#include "ops/received_recording.h"

namespace nl {

Result<ReceivedRecording> ReceivedRecording::Make(const std::string& store_path,
                                                  std::vector<std::string> command, int64_t started_at_ns,
                                                  std::string sender) {
  LiveRecording recording;
  recording.command = std::move(command);
  recording.started_at_ns = started_at_ns;
  recording.sender = std::move(sender);
  NL_ASSIGN(std::unique_ptr<LiveAnnouncement> made, LiveAnnouncement::Make(store_path, std::move(recording)));
  return ReceivedRecording(std::move(made));
}

Status ReceivedRecording::Change(bool importing, const LiveNumbers& numbers) {
  LiveRecording now = announcement_->recording();
  now.state = importing ? LiveState::kImporting : LiveState::kRecording;
  now.numbers = numbers;
  return announcement_->Change(std::move(now));
}

}  // namespace nl
