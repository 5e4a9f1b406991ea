// SPDX-License-Identifier: Apache-2.0
#pragma once
// EventLog: the last events as Server-Sent Events have them, for clients that connect again.
// Thread rule: one thread, that of the server.

#include <deque>
#include <memory>
#include <string>
#include <string_view>

#include "base/json.h"

namespace nl::http {

class EventLog {
 public:
  // `epoch` is different in every process: ids of an earlier one are not known here.
  explicit EventLog(std::string epoch) : epoch_(std::move(epoch)) {}

  // The text of the new event, to be sent to everyone.
  std::shared_ptr<const std::string> Add(std::string_view type, const Json& data);
  // An event that is not kept, such as progress: it has no id.
  static std::shared_ptr<const std::string> Passing(std::string_view type, const Json& data);
  // What a client that saw `last_event_id` has missed, as far as it is kept; nothing for an unknown id.
  std::string Since(std::string_view last_event_id) const;

 private:
  static constexpr size_t kKept = 256;
  struct Event {
    std::string id;
    std::shared_ptr<const std::string> text;
  };
  std::string epoch_;
  int64_t last_ = 0;
  std::deque<Event> events_;
};

}  // namespace nl::http
