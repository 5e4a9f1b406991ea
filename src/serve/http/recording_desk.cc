// SPDX-License-Identifier: Apache-2.0
#include "serve/http/recording_desk.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/record_json.h"
#include "base/terminal.h"
#include "base/time_text.h"
#include "serve/http/problem.h"

namespace nl::http {

namespace {

constexpr size_t kMostCommandWords = 10'000;
constexpr char kRecordingsPath[] = "/api/v1/recordings/";

Error WrongMember(const std::string& name, const char* expected) {
  return InvalidInput(fmt::format("'{}' must be {}", PrintableName(name, 80), expected));
}

Result<std::vector<std::string>> TextsOf(const std::string& name, const Json& value, size_t most) {
  if (!value.is_array() || value.size() > most) return WrongMember(name, "a list of strings");
  std::vector<std::string> out;
  for (const Json& item : value) {
    if (!item.is_string()) return WrongMember(name, "a list of strings");
    out.push_back(item.get<std::string>());
  }
  return out;
}

Result<Json> ObjectOf(const std::string& body) {
  NL_ASSIGN(Json given, ParseJson(body));
  if (!given.is_object()) return InvalidInput("the body must be a JSON object");
  return given;
}

struct NewRecording {
  std::vector<std::string> command;
  int64_t started_at_ns = 0;
};

Result<NewRecording> RecordingOf(const std::string& body) {
  NL_ASSIGN(const Json given, ObjectOf(body));
  NewRecording out;
  out.started_at_ns = UnixNowNs();
  for (const auto& [key, value] : given.items()) {
    const std::string& name = key;  // clang 14 does not capture structured bindings
    if (name == "command") {
      NL_ASSIGN(out.command, TextsOf(name, value, kMostCommandWords));
    } else if (name == "started_at") {
      const Error wrong = WrongMember(name, "a time such as 2026-01-31T14:25:01Z");
      if (!value.is_string()) return wrong;
      const Result<int64_t> at = ParseTimePoint(value.get<std::string>());
      if (!at.ok()) return wrong;
      out.started_at_ns = *at;
    } else {
      return InvalidInput(fmt::format("unknown member '{}'", PrintableName(name, 80)))
          .Hint("a recording has command and started_at");
    }
  }
  if (out.command.empty()) return InvalidInput("'command' is missing").Hint("the program and its arguments");
  return out;
}

struct RecordingChange {
  bool importing = false;
  LiveNumbers numbers;
  std::vector<std::string> uploads;
};

Result<RecordingChange> ChangeOf(const std::string& body) {
  NL_ASSIGN(const Json given, ObjectOf(body));
  RecordingChange out;
  const std::pair<const char*, std::optional<int64_t>*> counts[] = {
      {"processes", &out.numbers.processes},
      {"kernels", &out.numbers.kernels},
      {"ranges", &out.numbers.ranges},
      {"lost_records", &out.numbers.lost_records}};
  for (const auto& [key, value] : given.items()) {
    const std::string& name = key;
    const auto count =
        std::find_if(std::begin(counts), std::end(counts), [&](const auto& c) { return name == c.first; });
    if (name == "uploads") {
      NL_ASSIGN(out.uploads, TextsOf(name, value, kMostRecordingFiles));
    } else if (name == "state") {
      if (value != "recording" && value != "importing") return WrongMember(name, "recording or importing");
      out.importing = value == "importing";
    } else if (name == "recording") {
      if (!value.is_boolean()) return WrongMember(name, "true or false");
      out.numbers.recording = value.get<bool>();
    } else if (count != std::end(counts)) {
      if (!value.is_number_unsigned() || value.get<uint64_t>() > (uint64_t{1} << 53))
        return WrongMember(name, "a count");
      *count->second = value.get<int64_t>();
    } else {
      return InvalidInput(fmt::format("unknown member '{}'", PrintableName(name, 80)));
    }
  }
  return out;
}

Response RecordingResponse(int status, const ReceivedRecording& recording) {
  Response out;
  out.status = status;
  out.body = ToJsonText(RecordingReply{recording.live_id()}, 2) + "\n";
  out.headers.emplace_back("Cache-Control", "no-store");
  if (status == 201) out.headers.emplace_back("Location", kRecordingsPath + recording.live_id());
  return out;
}

}  // namespace

void Describe(Record<RecordingReply>& r) {
  r.Name("RecordingReply", "A recording that another machine sends while it grows");
  r.Field("live_id", &RecordingReply::live_id, "Its id, in paths and in the replies of `live`");
}

Response RecordingDesk::Answer(const Route& route, const Request& request) {
  if (route.rest.empty()) return Make(request);
  return request.method == "PUT" ? Change(route.rest[0], request) : End(route.rest[0], request);
}

Response RecordingDesk::Make(const Request& request) {
  Result<NewRecording> wanted = RecordingOf(request.body);
  if (!wanted.ok()) return ProblemOf(wanted.error());
  const std::lock_guard lock(mutex_);
  if (stopped_ || entries_.size() >= kMostRecordings)
    return BusyProblem(stopped_ ? "the server stops" : "too many recordings are under way");
  const std::string owner = request.identity.Label();
  Result<ReceivedRecording> made =
      ReceivedRecording::Make(store_path_, std::move(wanted->command), wanted->started_at_ns,
                              fmt::format("{} at {}", owner, request.client));
  if (!made.ok()) return ProblemOf(made.error());
  Response out = RecordingResponse(201, *made);
  const std::string id = made->live_id();
  entries_.emplace(id, Entry{owner, *std::move(made), now_()});
  return out;
}

std::map<std::string, RecordingDesk::Entry>::iterator RecordingDesk::Find(const std::string& id,
                                                                          const Request& request,
                                                                          Response& problem) {
  const auto found = entries_.find(id);
  if (found == entries_.end()) {
    problem = ProblemOf(NotFound(fmt::format("no recording {} is under way here", PrintableName(id, 80)))
                            .Hint("begin it again: POST /api/v1/recordings"));
  } else if (found->second.owner != request.identity.Label() &&
             !auth::Allows(request.identity.role, auth::Role::kAdmin)) {
    problem = ProblemOf(403, InvalidInput("the recording belongs to another user"));
    return entries_.end();
  }
  return found;
}

Response RecordingDesk::Change(const std::string& id, const Request& request) {
  const Result<RecordingChange> change = ChangeOf(request.body);
  if (!change.ok()) return ProblemOf(change.error());
  Response problem;
  const std::lock_guard lock(mutex_);
  const auto found = Find(id, request, problem);
  if (found == entries_.end()) return problem;
  Entry& entry = found->second;
  entry.heard = now_();
  // The files under their own names and without a copy: they grow as the uploads do.
  for (const std::string& upload : change->uploads) {
    const Status linked = uploads_.LinkInto(upload, entry.recording.directory(), ".nlc");
    if (!linked.ok()) return ProblemOf(linked.error());
  }
  const Status changed = entry.recording.Change(change->importing, change->numbers);
  return changed.ok() ? RecordingResponse(200, entry.recording) : ProblemOf(changed.error());
}

Response RecordingDesk::End(const std::string& id, const Request& request) {
  Response out;
  const std::lock_guard lock(mutex_);
  const auto found = Find(id, request, out);
  if (found == entries_.end()) return out;
  entries_.erase(found);
  out.status = 204;
  return out;
}

void RecordingDesk::DropSilent() {
  std::vector<Entry> silent;  // they leave the disk without the lock
  const std::lock_guard lock(mutex_);
  const auto now = now_();
  for (auto it = entries_.begin(); it != entries_.end();) {
    if (now - it->second.heard < kSenderSilence) {
      ++it;
      continue;
    }
    silent.push_back(std::move(it->second));
    it = entries_.erase(it);
  }
}

void RecordingDesk::Stop() {
  std::map<std::string, Entry> last;
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
    last.swap(entries_);
  }
}

}  // namespace nl::http
