// SPDX-License-Identifier: Apache-2.0
#include "queue/entry.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/record_json.h"

namespace nl::queue {

namespace {

bool Read(const Json& json, std::string& to) {
  if (json.is_string()) to = json.get<std::string>();
  return json.is_string();
}
bool Read(const Json& json, int64_t& to) {
  if (json.is_number_integer()) to = json.get<int64_t>();
  return json.is_number_integer();
}
bool Read(const Json& json, double& to) {
  if (json.is_number()) to = json.get<double>();
  return json.is_number();
}
bool Read(const Json& json, bool& to) {
  if (json.is_boolean()) to = json.get<bool>();
  return json.is_boolean();
}
bool Read(const Json& json, EntryState& to) {
  const std::optional<EntryState> state =
      json.is_string() ? StateOfName(json.get_ref<const std::string&>()) : std::nullopt;
  if (state) to = *state;
  return state.has_value();
}
bool Read(const Json& json, std::vector<std::string>& to) {
  if (!json.is_array()) return false;
  to.clear();
  for (const Json& one : json) {
    if (!one.is_string()) return false;
    to.push_back(one.get<std::string>());
  }
  return true;
}
template <class T>
bool Read(const Json& json, std::optional<T>& to) {
  to.reset();
  if (json.is_null()) return true;
  return Read(json, to.emplace());
}

using ReadFn = bool (*)(const Json& json, Entry& entry);
template <auto kMember>
constexpr ReadFn Member() {
  return [](const Json& json, Entry& entry) { return Read(json, entry.*kMember); };
}

// Names as Describe has them; EntryTest holds the two against each other.
constexpr std::pair<std::string_view, ReadFn> kMembers[] = {
    {"entry_id", Member<&Entry::entry_id>()},
    {"name", Member<&Entry::name>()},
    {"state", Member<&Entry::state>()},
    {"command", Member<&Entry::command>()},
    {"script_bytes", Member<&Entry::script_bytes>()},
    {"working_folder", Member<&Entry::working_folder>()},
    {"gpu", Member<&Entry::gpu>()},
    {"max_attempts", Member<&Entry::max_attempts>()},
    {"max_interruptions", Member<&Entry::max_interruptions>()},
    {"imports", Member<&Entry::imports>()},
    {"position", Member<&Entry::position>()},
    {"cancel_requested", Member<&Entry::cancel_requested>()},
    {"attempts", Member<&Entry::attempts>()},
    {"failures", Member<&Entry::failures>()},
    {"overlaps", Member<&Entry::overlaps>()},
    {"interruptions", Member<&Entry::interruptions>()},
    {"created_at", Member<&Entry::created_at>()},
    {"started_at", Member<&Entry::started_at>()},
    {"finished_at", Member<&Entry::finished_at>()},
    {"duration_ms", Member<&Entry::duration_ms>()},
    {"exit_status", Member<&Entry::exit_status>()},
    {"overlap", Member<&Entry::overlap>()},
    {"overlap_reason", Member<&Entry::overlap_reason>()},
    {"reason", Member<&Entry::reason>()},
    {"engine", Member<&Entry::engine>()},
    {"slurm_batch", Member<&Entry::slurm_batch>()},
    {"slurm_task", Member<&Entry::slurm_task>()},
    {"slurm_job", Member<&Entry::slurm_job>()},
    {"node", Member<&Entry::node>()},
    {"run_ids", Member<&Entry::run_ids>()},
    {"import_problem", Member<&Entry::import_problem>()},
};

}  // namespace

std::span<const std::string_view> NamesOf(EntryState) {
  static constexpr std::string_view kNames[] = {"queued", "submitted", "running",    "done",
                                                "failed", "cancelled", "interrupted"};
  return kNames;
}

std::string_view NameOf(EntryState state) { return NamesOf(state)[static_cast<size_t>(state)]; }

std::optional<EntryState> StateOfName(std::string_view name) {
  const auto names = NamesOf(EntryState{});
  const auto it = std::find(names.begin(), names.end(), name);
  if (it == names.end()) return std::nullopt;
  return static_cast<EntryState>(it - names.begin());
}

bool IsOver(EntryState state) { return state >= EntryState::kDone; }

void Describe(Record<Entry>& r) {
  r.Name("QueueEntry", "A command of the queue and what became of it");
  r.Field("entry_id", &Entry::entry_id, "Id");
  r.Field("name", &Entry::name, "Name that the user gave it");
  r.Field("state", &Entry::state, "State; the last four are final");
  r.Field("command", &Entry::command, "Command and arguments; of a script its arguments only");
  r.Field("script_bytes", &Entry::script_bytes, Unit::kBytes,
          "Size of the script; null: the entry is a command");
  r.Field("working_folder", &Entry::working_folder, "Folder it runs in");
  r.Field("gpu", &Entry::gpu, "It waits until no other GPU work runs");
  r.Field("max_attempts", &Entry::max_attempts, "Most starts of an entry that fails; 0: as the runner says");
  r.Field("max_interruptions", &Entry::max_interruptions,
          "Most times it is queued again after its runner died");
  r.Field("imports", &Entry::imports, "Recordings and profiles that are imported after it succeeded");
  r.Field("position", &Entry::position, "Order in the queue, lowest first; 0: not decided yet");
  r.Field("cancel_requested", &Entry::cancel_requested, "Someone asked to cancel it");
  r.Field("attempts", &Entry::attempts, "Times it was started");
  r.Field("failures", &Entry::failures, "Attempts that failed");
  r.Field("overlaps", &Entry::overlaps, "Times it was queued again because other GPU work ran beside it");
  r.Field("interruptions", &Entry::interruptions, "Attempts that ended because the runner died");
  r.Field("created_at", &Entry::created_at, "Time it was added (RFC 3339, UTC)");
  r.Field("started_at", &Entry::started_at, "Time of the last start");
  r.Field("finished_at", &Entry::finished_at, "Time of the end of the last attempt");
  r.Field("duration_ms", &Entry::duration_ms, Unit::kMs, "Duration of the last attempt; null: not measured");
  r.Field("exit_status", &Entry::exit_status,
          "Exit status of the last attempt, 128 + signal if one ended it");
  r.Field("overlap", &Entry::overlap, "Other GPU work ran during the last attempt; null: not known");
  r.Field("overlap_reason", &Entry::overlap_reason, "Which work that was, or why it is not known");
  r.Field("reason", &Entry::reason, "Why the last attempt did not succeed");
  r.Field("engine", &Entry::engine, "What ran it last: local or slurm");
  r.Field("slurm_batch", &Entry::slurm_batch, "Submission to Slurm it was part of");
  r.Field("slurm_task", &Entry::slurm_task, "Its task in the array job; null: a job of its own");
  r.Field("slurm_job", &Entry::slurm_job, "Job id of Slurm");
  r.Field("node", &Entry::node, "Machine it ran on; null: this one, or not started");
  r.Field("run_ids", &Entry::run_ids, "Runs of the ledger made from its recordings");
  r.Field("import_problem", &Entry::import_problem, "Why a recording could not be imported");
}

std::string TitleOf(const Entry& entry) {
  if (entry.name) return *entry.name;
  const std::string words = fmt::format("{}", fmt::join(entry.command, " "));
  if (!entry.script_bytes) return words;
  return fmt::format("script of {} bytes{}{}", *entry.script_bytes, words.empty() ? "" : " ", words);
}

Status Apply(const Json& json, Entry& entry) {
  for (const auto& [name, value] : json.items()) {
    const auto member = std::find_if(std::begin(kMembers), std::end(kMembers),
                                     [&name = name](const auto& known) { return known.first == name; });
    // A name of a later version is left out.
    if (member != std::end(kMembers) && !member->second(value, entry))
      return InvalidInput(fmt::format("member {} of a queue entry has the wrong type", name));
  }
  return {};
}

Json Difference(const Entry& before, const Entry& after) {
  const Json old = ToDocument(before), now = ToDocument(after);
  Json out = Json::object();
  for (const auto& [name, value] : now.items()) {
    if (old.at(name) != value) out[name] = value;
  }
  return out;
}

}  // namespace nl::queue
