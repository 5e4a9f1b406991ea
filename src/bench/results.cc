// SPDX-License-Identifier: Apache-2.0
#include "bench/results.h"

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>

#include "base/file_ops.h"
#include "base/record_json.h"
#include "base/time_text.h"
#include "base/uuid.h"

namespace nl::bench {

std::string ResultsFolder(const std::string& store_path) { return store_path + "/bench/results"; }

namespace {

namespace fs = std::filesystem;

constexpr size_t kMostResults = 10'000;
constexpr size_t kShortestIdPrefix = 4;
constexpr int64_t kMostSummaryBytes = 16 << 20;

// Newest first: UUIDv7 begins with the time.
std::vector<std::string> ResultIds(const std::string& store_path) {
  std::vector<std::string> ids;
  std::error_code ec;
  for (fs::directory_iterator it(ResultsFolder(store_path), ec), end; !ec && it != end; it.increment(ec)) {
    std::string name = it->path().filename().string();
    if (IsUuidV7(name)) ids.push_back(std::move(name));
  }
  std::sort(ids.rbegin(), ids.rend());
  return ids;
}

std::string TextOf(const Json& json, const char* name) {
  const auto it = json.find(name);
  return it != json.end() && it->is_string() ? it->get<std::string>() : std::string();
}
std::optional<std::string> MaybeText(const Json& json, const char* name) {
  const auto it = json.find(name);
  return it != json.end() && it->is_string() ? std::optional(it->get<std::string>()) : std::nullopt;
}
std::optional<double> MaybeNumber(const Json& json, const char* name) {
  const auto it = json.find(name);
  return it != json.end() && it->is_number() ? std::optional(it->get<double>()) : std::nullopt;
}

template <class Enum>
bool ReadName(const Json& json, const char* name, Enum& to) {
  const std::string text = TextOf(json, name);
  const auto names = NamesOf(Enum{});
  const auto it = std::find(names.begin(), names.end(), text);
  if (it != names.end()) to = static_cast<Enum>(it - names.begin());
  return it != names.end();
}

Result<Json> ReadObject(const std::string& path, int64_t most_bytes) {
  NL_ASSIGN(const std::string text, ReadWholeFile(path, most_bytes));
  NL_ASSIGN(Json json, ParseJson(text));
  if (!json.is_object()) return InvalidInput("not a JSON object").At(path);
  return json;
}

Result<KeptResult> ReadSummary(const std::string& store_path, const std::string& id) {
  const std::string path = ResultsFolder(store_path) + "/" + id + "/summary.json";
  NL_ASSIGN(const Json json, ReadObject(path, kMostSummaryBytes));
  KeptResult out;
  out.result_id = id;
  out.created_at = TextOf(json, "created_at");
  out.title = TextOf(json, "title");
  out.suite = MaybeText(json, "suite");
  out.hardware = MaybeText(json, "hardware");
  const auto targets = json.find("targets");
  if (!ReadName(json, "kind", out.kind) || targets == json.end() || !targets->is_array())
    return InvalidInput("not a result of bench or prove").At(path);
  for (const Json& one : *targets) {
    KeptTarget target;
    if (!one.is_object() || !ReadName(one, "outcome", target.outcome))
      return InvalidInput("not a result of bench or prove").At(path);
    target.target = TextOf(one, "target");
    target.speedup = MaybeNumber(one, "speedup");
    target.speedup_low = MaybeNumber(one, "speedup_low");
    target.speedup_high = MaybeNumber(one, "speedup_high");
    target.baseline_ms = MaybeNumber(one, "baseline_ms");
    target.optimized_ms = MaybeNumber(one, "optimized_ms");
    out.targets.push_back(std::move(target));
  }
  return out;
}

// Errors are ignored: another process may remove the same ones.
void RemoveOldest(const std::string& store_path) {
  const std::vector<std::string> ids = ResultIds(store_path);
  for (size_t i = kMostResults; i < ids.size(); ++i)
    static_cast<void>(RemoveTree(ResultsFolder(store_path) + "/" + ids[i]));
}

}  // namespace

std::span<const std::string_view> NamesOf(ResultKind) {
  static constexpr std::string_view kNames[] = {"bench", "prove"};
  return kNames;
}
std::span<const std::string_view> NamesOf(KeptOutcome) {
  static constexpr std::string_view kNames[] = {"faster",    "slower",   "same",
                                                "undecided", "rejected", "failed"};
  return kNames;
}
KeptOutcome OutcomeOf(Verdict verdict) {
  switch (verdict) {
    case Verdict::kFaster: return KeptOutcome::kFaster;
    case Verdict::kSlower: return KeptOutcome::kSlower;
    case Verdict::kSame: return KeptOutcome::kSame;
    case Verdict::kUndecided: break;
  }
  return KeptOutcome::kUndecided;
}

void Describe(Record<KeptTarget>& r) {
  r.Name("KeptTarget", "One pair of a stored result");
  r.Field("target", &KeptTarget::target, "GROUP:NAME, or GROUP:NAME_VARIANT; empty for `prove`");
  r.Field("outcome", &KeptTarget::outcome,
          "faster, slower, same or undecided; rejected: a check failed; failed: it cannot be run");
  r.Field("speedup", &KeptTarget::speedup, Unit::kRatio,
          "Time of the baseline over that of the other; null: not measured");
  r.Field("speedup_low", &KeptTarget::speedup_low, Unit::kRatio, "Lower end of its interval");
  r.Field("speedup_high", &KeptTarget::speedup_high, Unit::kRatio, "Upper end of its interval");
  r.Field("baseline_ms", &KeptTarget::baseline_ms, Unit::kMs, "Median time of the baseline, or of A");
  r.Field("optimized_ms", &KeptTarget::optimized_ms, Unit::kMs,
          "Median time of the optimized program, or of B");
}

void Describe(Record<KeptResult>& r) {
  r.Name("KeptResult", "A result of `bench run` or `prove` that is in the store");
  r.Field("result_id", &KeptResult::result_id, "Id; a unique beginning of it is enough");
  r.Field("kind", &KeptResult::kind, "bench or prove");
  r.Field("created_at", &KeptResult::created_at, "When it was kept");
  r.Field("title", &KeptResult::title, "The suite, or both commands");
  r.Field("suite", &KeptResult::suite, "Folder of the suite; null for `prove`");
  r.Field("hardware", &KeptResult::hardware, "GPU or CPU that was measured; null: not known");
  r.Field("targets", &KeptResult::targets, "Every pair with its outcome");
}

Result<std::string> KeepResult(const std::string& store_path, KeptResult result,
                               std::string_view reply_json) {
  result.result_id = NewUuidV7();
  result.created_at = Rfc3339Utc(UnixNowNs());
  const std::string folder = ResultsFolder(store_path);
  NL_TRY(MakeDirectories(folder));
  NL_ASSIGN(TempDir fresh, TempDir::Make("new-", folder));
  NL_TRY(WriteFileAtomically(fresh.path() + "/summary.json", ToJsonText(result, 2) + "\n"));
  NL_TRY(WriteFileAtomically(fresh.path() + "/reply.json", reply_json));
  const std::string to = folder + "/" + result.result_id;
  if (rename(fresh.path().c_str(), to.c_str()) != 0) return FileError("rename", fresh.path());
  fresh.Release();
  NL_TRY(SyncDirectory(folder));
  RemoveOldest(store_path);
  return result.result_id;
}

std::vector<KeptResult> ListResults(const std::string& store_path) {
  std::vector<KeptResult> out;
  for (const std::string& id : ResultIds(store_path)) {
    Result<KeptResult> one = ReadSummary(store_path, id);
    if (one.ok()) out.push_back(*std::move(one));
  }
  return out;
}

Result<WholeResult> ReadResult(const std::string& store_path, std::string_view id) {
  std::vector<std::string> found;
  for (const std::string& one : ResultIds(store_path)) {
    if (one == id || (id.size() >= kShortestIdPrefix && one.starts_with(id))) found.push_back(one);
  }
  if (found.empty())
    return NotFound(fmt::format("no stored result has the id '{}'", id))
        .Hint("`neurolens bench-results` lists them");
  if (found.size() > 1)
    return InvalidInput(fmt::format("'{}' names {} results", id, found.size())).Hint("give more characters");
  WholeResult out;
  NL_ASSIGN(out.result, ReadSummary(store_path, found[0]));
  NL_ASSIGN(out.reply,
            ReadObject(ResultsFolder(store_path) + "/" + found[0] + "/reply.json", int64_t{1} << 30));
  return out;
}

}  // namespace nl::bench
