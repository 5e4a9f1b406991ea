// SPDX-License-Identifier: Apache-2.0
#include "ledger/catalog.h"

#include <algorithm>
#include <charconv>
#include <iterator>

#include <fmt/format.h>

#include "base/record_json.h"

namespace nl {

namespace {

constexpr size_t kMinPrefix = 4;
constexpr size_t kShortId = 8;
constexpr int64_t kCandidates = 8;

// Fills one field from its member of `json`, when there is one. False: it has the wrong type.
bool ReadField(const FieldInfo& field, const Json& json, CatalogRun& run) {
  const auto it = json.find(field.name);
  if (it == json.end()) return true;
  char* const at = reinterpret_cast<char*>(&run) + field.offset;
  switch (field.type->kind) {
    case TypeInfo::Kind::kString:
      if (!it->is_string()) return false;
      *reinterpret_cast<std::string*>(at) = it->get<std::string>();
      return true;
    case TypeInfo::Kind::kInt:
      if (!it->is_number_integer()) return false;
      *reinterpret_cast<int64_t*>(at) = it->get<int64_t>();
      return true;
    default:  // tags
      if (!it->is_object()) return false;
      for (const auto& [key, value] : it->items()) {
        if (value.is_string()) run.tags[key] = value.get<std::string>();
      }
      return true;
  }
}

std::string NameOf(const CatalogRun& run) {
  return fmt::format("{} ({}{}{})", run.run_id, run.model, run.model.empty() ? "" : ", ", run.source_name);
}

Error Ambiguous(std::string_view ref, const std::vector<CatalogRun>& runs) {
  std::string list;
  const size_t shown = std::min(runs.size(), static_cast<size_t>(kCandidates));
  for (size_t i = 0; i < shown; ++i) list += (i == 0 ? "" : ", ") + NameOf(runs[i]);
  if (runs.size() > shown) list += ", ...";
  return InvalidInput(fmt::format("'{}' names more than one run: {}", ref, list))
      .Hint("give more characters of the id");
}

bool LooksLikeIdPrefix(std::string_view ref) {
  return ref.size() >= kMinPrefix && ref.size() <= 36 && std::all_of(ref.begin(), ref.end(), [](char c) {
           return c == '-' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
         });
}

Result<CatalogRun> ResolveLatest(Catalog& catalog, std::string_view ref) {
  int64_t back = 0;
  std::string_view rest = ref.substr(std::string_view("@latest").size());
  if (!rest.empty()) {
    const char* end = rest.data() + rest.size();
    const auto parsed = std::from_chars(rest.data() + 1, end, back);
    if (rest[0] != '~' || rest.size() < 2 || parsed.ec != std::errc() || parsed.ptr != end || back < 0) {
      return InvalidInput(fmt::format("'{}' is not a run; write @latest or @latest~2", ref));
    }
  }
  NL_ASSIGN(auto found, catalog.Latest(back));
  if (found) return *std::move(found);
  NL_ASSIGN(int64_t count, catalog.Count());
  return NotFound(fmt::format("no such run: {}: the store holds {}", ref, count))
      .Hint("neurolens import FILE adds one");
}

Result<std::vector<CatalogRun>> FindByTag(Catalog& catalog, std::string_view ref) {
  RunFilter filter;
  if (const size_t equals = ref.find('='); equals != std::string_view::npos) {
    filter.tags.emplace_back(ref.substr(0, equals), ref.substr(equals + 1));
    return catalog.List(filter);
  }
  NL_ASSIGN(std::vector<CatalogRun> runs, catalog.List(filter));
  std::vector<CatalogRun> by_value;
  std::vector<CatalogRun> by_key;
  for (CatalogRun& run : runs) {
    const bool value_matches =
        std::any_of(run.tags.begin(), run.tags.end(), [&](const auto& tag) { return tag.second == ref; });
    if (value_matches) {
      by_value.push_back(std::move(run));
    } else if (run.tags.count(std::string(ref)) > 0) {
      by_key.push_back(std::move(run));
    }
  }
  return by_value.empty() ? by_key : by_value;
}

// Runs whose model has this name, newest first; without one, runs whose model has it in its name.
Result<std::vector<CatalogRun>> FindByModel(Catalog& catalog, std::string_view ref) {
  RunFilter filter;
  filter.model = std::string(ref);
  NL_ASSIGN(std::vector<CatalogRun> similar, catalog.List(filter));
  std::vector<CatalogRun> exact;
  std::copy_if(similar.begin(), similar.end(), std::back_inserter(exact),
               [ref](const CatalogRun& run) { return run.model == ref; });
  return exact.empty() ? similar : exact;
}

}  // namespace

void Describe(Record<CatalogRun>& r) {
  r.Name("CatalogRun", "A run as the catalog of the store lists it");
  r.Field("run_id", &CatalogRun::run_id, "Identifier (UUIDv7), also the name of the run's folder");
  r.Field("created_at_ns", &CatalogRun::created_at_ns, Unit::kNs, "Unix time of the import");
  r.Field("backend", &CatalogRun::backend, "Framework that ran the model; empty: not known");
  r.Field("model", &CatalogRun::model, "Name of the model; empty: not known");
  r.Field("device", &CatalogRun::device, "Name of the first device; empty: none, or not known");
  r.Field("device_count", &CatalogRun::device_count, "Devices of the run");
  r.Field("precision", &CatalogRun::precision, "Data type of the model; empty: not known");
  r.Field("adapter", &CatalogRun::adapter, "Adapter that read the source");
  r.Field("tool", &CatalogRun::tool, "Profiler that wrote the source; empty: not known");
  r.Field("source_name", &CatalogRun::source_name, "Name of the first source file");
  r.Field("source_bytes", &CatalogRun::source_bytes, Unit::kBytes, "Size of all source files");
  r.Field("content_sha256", &CatalogRun::content_sha256,
          "Identity of the imported bytes; empty: never a duplicate");
  r.Field("wall_ns", &CatalogRun::wall_ns, Unit::kNs, "Time from the first to the last event");
  r.Field("event_count", &CatalogRun::event_count, "Events of the run");
  r.Field("op_count", &CatalogRun::op_count, "Operators of the run");
  r.Field("kernel_count", &CatalogRun::kernel_count, "Kernels of the run");
  r.Field("lost_records", &CatalogRun::lost_records, "Records of the source that could not be kept");
  r.Field("stored_bytes", &CatalogRun::stored_bytes, Unit::kBytes, "Size of the run in the store");
  r.Field("schema_version", &CatalogRun::schema_version, "Version of the run document's schema");
  r.Field("tags", &CatalogRun::tags, "Tags by key");
}

Json CatalogRunToJson(const CatalogRun& run) { return ToDocument(run); }

Result<CatalogRun> CatalogRunFromJson(const Json& json) {
  if (!json.is_object()) return InvalidInput("a catalog entry must be a JSON object");
  CatalogRun run;
  for (const FieldInfo& field : RecordOf<CatalogRun>().fields) {
    if (!ReadField(field, json, run))
      return InvalidInput(fmt::format("catalog entry: '{}' has the wrong type", field.name));
  }
  if (run.run_id.empty()) return InvalidInput("catalog entry: 'run_id' is missing");
  return run;
}

void Describe(Record<RunChoice>& r) {
  r.Name("RunChoice", "A value that runs can be filtered by");
  r.Field("value", &RunChoice::value, "The value");
  r.Field("runs", &RunChoice::runs, "Runs that have it");
}

void Describe(Record<RunChoices>& r) {
  r.Name("RunChoices",
         "What the runs of a store can be filtered by; of each kind the 200 most frequent values");
  r.Field("models", &RunChoices::models, "Models");
  r.Field("devices", &RunChoices::devices, "Names of first devices");
  r.Field("backends", &RunChoices::backends, "Frameworks that ran the models");
  r.Field("formats", &RunChoices::formats, "Formats of the sources");
  r.Field("tags", &RunChoices::tags, "Tags, as KEY=VALUE");
}

void Describe(Record<WorkloadHistory>& r) {
  r.Name("WorkloadHistory",
         "Wall times of the newest runs of one workload: same model, devices, type and backend");
  r.Field("model", &WorkloadHistory::model, "Name of the model");
  r.Field("device", &WorkloadHistory::device, "Name of the first device; empty: none, or not known");
  r.Field("device_count", &WorkloadHistory::device_count, "Devices of a run");
  r.Field("precision", &WorkloadHistory::precision, "Data type of the model; empty: not known");
  r.Field("backend", &WorkloadHistory::backend, "Framework that ran the model; empty: not known");
  r.Field("wall_ns", &WorkloadHistory::wall_ns, Unit::kNs, "Wall times, oldest first");
}

const std::vector<std::string>& RunSortNames() {
  static const std::vector<std::string> names = {"added",     "created", "model",   "backend", "device",
                                                 "wall",      "events",  "kernels", "stored",  "name",
                                                 "precision", "format",  "id"};
  return names;
}

Status CheckBaselineName(std::string_view name) {
  const bool printable = std::all_of(name.begin(), name.end(), [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte > 0x20 && byte != 0x7f;
  });
  const bool good = !name.empty() && name.size() <= 100 && printable &&
                    std::string_view("@-=").find(name[0]) == std::string_view::npos;
  if (good) return {};
  return InvalidInput(fmt::format("'{}' cannot be the name of a baseline", name))
      .Hint("1 to 100 characters without spaces, not starting with @, - or =");
}

Result<CatalogRun> Catalog::Resolve(std::string_view ref) {
  if (ref.empty())
    return InvalidInput("a run is named by id, id prefix, @latest, tag or model, not by nothing");
  if (ref.substr(0, 7) == "@latest") return ResolveLatest(*this, ref);
  NL_ASSIGN(auto exact, Find(ref));
  if (exact) return *std::move(exact);
  if (LooksLikeIdPrefix(ref)) {
    NL_ASSIGN(std::vector<CatalogRun> runs, FindByPrefix(ref, kCandidates + 1));
    if (runs.size() == 1) return std::move(runs[0]);
    if (runs.size() > 1) return Ambiguous(ref, runs);
  }
  NL_ASSIGN(std::vector<CatalogRun> tagged, FindByTag(*this, ref));
  if (tagged.size() == 1) return std::move(tagged[0]);
  if (tagged.size() > 1) return Ambiguous(ref, tagged);
  NL_ASSIGN(std::vector<CatalogRun> runs, FindByModel(*this, ref));
  if (runs.size() == 1 && runs[0].model == ref) return std::move(runs[0]);
  if (!runs.empty() && runs[0].model == ref)
    return Ambiguous(ref, runs).Hint("these runs have one model name: give an id, a tag or @latest");
  std::string hint = "neurolens ls lists the runs; an id prefix needs at least 4 characters";
  if (!runs.empty())
    hint = fmt::format("a model name must be given in full, for example {}; {}", runs[0].model, hint);
  return NotFound(fmt::format("no run is named '{}'", ref)).Hint(hint);
}

Result<std::string> Catalog::ShortId(std::string_view run_id) {
  NL_ASSIGN(const auto neighbours, Neighbours(run_id));
  size_t shared = 0;  // bytes that another id has in common with this one
  for (const std::string& other : {neighbours.first, neighbours.second}) {
    const size_t most = std::min(run_id.size(), other.size());
    const auto differs =
        std::mismatch(run_id.begin(), run_id.begin() + static_cast<std::ptrdiff_t>(most), other.begin());
    shared = std::max(shared, static_cast<size_t>(differs.first - run_id.begin()));
  }
  size_t size = std::max(kShortId, shared + 1);
  if (size < run_id.size() && run_id[size - 1] == '-') ++size;
  return std::string(run_id.substr(0, size));
}

}  // namespace nl
