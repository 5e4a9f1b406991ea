// SPDX-License-Identifier: Apache-2.0
#include "serve/http/event_log.h"

#include <algorithm>

#include <fmt/format.h>

namespace nl::http {

std::shared_ptr<const std::string> EventLog::Add(std::string_view type, const Json& data) {
  Event event;
  event.id = fmt::format("{}-{}", epoch_, ++last_);
  // JSON on one line: what it holds cannot begin another field.
  event.text = std::make_shared<const std::string>(
      fmt::format("id: {}\nevent: {}\ndata: {}\n\n", event.id, type, DumpJson(data)));
  events_.push_back(event);
  if (events_.size() > kKept) events_.pop_front();
  return event.text;
}

std::shared_ptr<const std::string> EventLog::Passing(std::string_view type, const Json& data) {
  return std::make_shared<const std::string>(fmt::format("event: {}\ndata: {}\n\n", type, DumpJson(data)));
}

std::string EventLog::Since(std::string_view last_event_id) const {
  const auto seen =
      std::find_if(events_.begin(), events_.end(), [&](const Event& e) { return e.id == last_event_id; });
  std::string out;
  if (seen == events_.end()) return out;
  for (auto it = seen + 1; it != events_.end(); ++it) out += *it->text;
  return out;
}

}  // namespace nl::http
