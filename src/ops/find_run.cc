// SPDX-License-Identifier: Apache-2.0
#include "ops/find_run.h"

#include <algorithm>
#include <chrono>

#include <fmt/format.h>

#include "base/time_text.h"
#include "base/uuid.h"
#include "import/read/byte_source.h"
#include "ops/import_recording.h"
#include "ops/settings.h"

namespace nl {

namespace {

constexpr std::string_view kLive = "@live";
constexpr int64_t kLeastBetween_ns = 2'000'000'000;
constexpr int64_t kMostOften = 4;  // a snapshot stays for as many times as long as it took to make

std::string StorePathOf(const OpContext& context) {
  return context.settings != nullptr ? context.settings->Get("store") : "";
}

bool NamesLive(std::string_view ref) { return ref == kLive || ref.starts_with("@live:"); }

bool IsFresh(const LiveSnapshot& snapshot, const LiveRecording& recording) {
  const int64_t age_ns = UnixNowNs() - snapshot.made_at_ns;
  if (age_ns >= 0 && age_ns < std::max(kLeastBetween_ns, kMostOften * snapshot.making_ns)) return true;
  return StoredBytes(recording.directory) == snapshot.source_bytes;
}

// Imports what is complete so far.
Result<LiveSnapshot> MakeSnapshot(const OpContext& context, const LiveRecording& recording) {
  const std::string store_path = context.settings->Get("store");
  LiveSnapshot out;
  NL_ASSIGN(out.path, BeginSnapshot(store_path, recording.live_id));
  const Settings settings = context.settings->With("store", out.path);
  OpContext own;
  own.settings = &settings;
  own.cancelled = context.cancelled;
  own.progress = context.progress;
  const auto began = std::chrono::steady_clock::now();
  ImportArguments request;
  request.paths = {recording.directory};
  Result<ImportedRun> run = ImportRecording(own, request, "the recording");
  if (!run.ok()) {
    static_cast<void>(RemoveTree(out.path));
    if (run.error().code != ErrorCode::kInvalidInput) return std::move(run).error();
    return NotFound(fmt::format("nothing to show was recorded yet: {}", run.error().message))
        .Hint("ask again in a second; `neurolens live` shows how far the recording is");
  }
  out.run_id = run->run_id;
  out.source_bytes = run->source_bytes.value_or(0);
  out.made_at_ns = UnixNowNs();
  out.making_ns = std::chrono::nanoseconds(std::chrono::steady_clock::now() - began).count();
  NL_TRY(FinishSnapshot(store_path, recording.live_id, out));
  return out;
}

Result<LiveSnapshot> FreshSnapshot(const OpContext& context, const LiveRecording& recording) {
  const std::string store_path = context.settings->Get("store");
  if (auto newest = NewestSnapshot(store_path, recording.live_id); newest && IsFresh(*newest, recording))
    return *std::move(newest);
  NL_ASSIGN(const UniqueFd making, LockSnapshots(store_path, recording.live_id, context.cancelled));
  // Another request may have made one meanwhile.
  if (auto newest = NewestSnapshot(store_path, recording.live_id); newest && IsFresh(*newest, recording))
    return *std::move(newest);
  return MakeSnapshot(context, recording);
}

Result<FoundRun> OpenLive(LiveSnapshot snapshot) {
  FoundRun out;
  NL_ASSIGN(out.store, Store::Open(snapshot.path, Store::Mode::kReadOnly));
  NL_ASSIGN(out.run, out.store->catalog().Resolve(snapshot.run_id));
  out.in_use = std::move(snapshot.in_use);
  return out;
}

}  // namespace

Result<LiveRecording> FindLive(const std::string& store_path, std::string_view ref) {
  std::vector<LiveRecording> found = ListLive(store_path);
  const std::string_view id = ref == kLive ? "" : ref.substr(kLive.size() + 1);
  std::erase_if(found, [&](const LiveRecording& r) { return !r.live_id.starts_with(id); });
  if (found.empty()) {
    return NotFound(id.empty() ? "no program is being recorded into this store"
                               : fmt::format("no recording under way has an id that starts with '{}'", id))
        .Hint("`neurolens live` lists recordings under way; one that has ended is a run: @latest");
  }
  if (!id.empty() && found.size() > 1)
    return InvalidInput(fmt::format("{} recordings have an id that starts with '{}'", found.size(), id))
        .Hint("`neurolens live` lists them");
  return std::move(found.back());
}

Result<FoundRun> FindRun(const OpContext& context, const std::string& ref) {
  const std::string store_path = StorePathOf(context);
  if (NamesLive(ref)) {
    NL_ASSIGN(const LiveRecording recording, FindLive(store_path, ref));
    NL_ASSIGN(LiveSnapshot snapshot, FreshSnapshot(context, recording));
    return OpenLive(std::move(snapshot));
  }
  // Ids are of runs in the store, but for those of partial runs, which nobody else has.
  if (IsUuidV7(ref)) {
    if (std::optional<LiveSnapshot> partial = SnapshotOfRun(store_path, ref))
      return OpenLive(*std::move(partial));
  }
  FoundRun out;
  NL_ASSIGN(out.store, OpenStore(context, Store::Mode::kReadOnly));
  NL_ASSIGN(out.run, out.store->catalog().Resolve(ref));
  return out;
}

Result<FoundRuns> FindRuns(const OpContext& context, const std::vector<std::string>& refs) {
  const bool live = std::any_of(refs.begin(), refs.end(), [](const std::string& r) { return NamesLive(r); });
  FoundRuns out;
  if (refs.size() == 1 && (live || IsUuidV7(refs[0]))) {
    NL_ASSIGN(FoundRun one, FindRun(context, refs[0]));
    out.store = std::move(one.store);
    out.runs.push_back(std::move(one.run));
    out.in_use = std::move(one.in_use);
    return out;
  }
  if (live)
    return Unsupported("a recording that is under way cannot be queried together with other runs")
        .Hint("ask about it alone, or wait for its end");
  NL_ASSIGN(out.store, OpenStore(context, Store::Mode::kReadOnly));
  NL_ASSIGN(out.runs, ResolveRuns(*out.store, refs));
  return out;
}

}  // namespace nl
