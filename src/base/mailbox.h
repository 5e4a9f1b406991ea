// SPDX-License-Identifier: Apache-2.0
#pragma once
// Mailbox: a folder of small JSON files, how processes speak with the one that has a journal open
// (base/journal.h). A message is on the disk when LeaveMessage returns; whoever takes it removes its file
// after the journal has it, so a crash between the two shows the message again and never loses it.
// Thread rule: free functions; any process.

#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"

namespace nl {

struct Message {
  std::string path;
  Json content;  // an object
};

// Makes the folder when it is missing.
Status LeaveMessage(const std::string& folder, const Json& content);
// In the order they were left. Files that are not JSON objects are removed.
std::vector<Message> PendingMessages(const std::string& folder);

}  // namespace nl
