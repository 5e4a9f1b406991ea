// SPDX-License-Identifier: Apache-2.0
// The tensorrt adapter: what trtexec exports of an engine, in any combination.

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "import/adapters/tensorrt/counters.h"
#include "import/adapters/tensorrt/engine_rows.h"
#include "import/adapters/tensorrt/export_files.h"
#include "import/trace_json/json_text.h"

namespace nl::adapters::tensorrt {

namespace {

// Linear interpolation between closest ranks.
double PercentileMs(const std::vector<int64_t>& sorted_ns, double p) {
  const double rank = static_cast<double>(sorted_ns.size() - 1) * p / 100;
  const auto low = static_cast<size_t>(rank);
  const size_t high = std::min(low + 1, sorted_ns.size() - 1);
  const auto a = static_cast<double>(sorted_ns[low]), b = static_cast<double>(sorted_ns[high]);
  return (a + (b - a) * (rank - static_cast<double>(low))) / 1e6;
}

void PutLatency(const std::vector<Query>& queries, SourceFacts& about) {
  if (queries.empty()) return;
  std::vector<int64_t> ns;
  double sum_ms = 0;
  for (const Query& q : queries) {
    ns.push_back(q.latency_ns);
    sum_ms += static_cast<double>(q.latency_ns) / 1e6;
  }
  std::sort(ns.begin(), ns.end());
  about.metrics["latency_ms"] = sum_ms / static_cast<double>(ns.size());
  about.metrics["p50_ms"] = PercentileMs(ns, 50);
  about.metrics["p95_ms"] = PercentileMs(ns, 95);
  about.metrics["p99_ms"] = PercentileMs(ns, 99);
  about.notes.push_back(fmt::format("latency_ms and its percentiles are of {} timed queries", ns.size()));
}

// What one set of files holds.
struct Engine {
  ImportFile* profile_file = nullptr;
  ImportFile* layers_file = nullptr;
  ImportFile* times_file = nullptr;
  Profile profile;
  Layers layers;
  std::vector<Query> queries;
};

// The layer information of each profiled layer, in order; layers of one name in their order.
Result<std::vector<const LayerInfo*>> Join(Engine& engine) {
  std::vector<const LayerInfo*> out(engine.profile.layers.size(), nullptr);
  if (engine.layers_file == nullptr) return out;
  std::multimap<std::string_view, const LayerInfo*> by_name;
  for (const LayerInfo& info : engine.layers.layers) by_name.emplace(info.name, &info);
  int64_t unknown = 0;
  for (size_t i = 0; i < out.size(); ++i) {
    const auto found = by_name.find(engine.profile.layers[i].name);
    if (found == by_name.end()) {
      ++unknown;
      continue;
    }
    out[i] = found->second;
    by_name.erase(found);
  }
  if (!out.empty() && unknown == static_cast<int64_t>(out.size())) {
    return InvalidInput("the layer profile and the layer information share no layer: they are of two engines")
        .At(engine.layers_file->path);
  }
  if (unknown > 0) engine.profile_file->counters.Add(kLayerWithoutInfo, -1, {}, unknown);
  if (!by_name.empty())
    engine.layers_file->counters.Add(kLayerNotTimed, -1, {}, static_cast<int64_t>(by_name.size()));
  return out;
}

// "NVIDIA A100-SXM4-40GB", "8.0", "108": as the engine explorer copies them from trtexec's log.
void ReadDevice(const Json& metadata, SourceFacts& about) {
  const auto device = metadata.find("device_information");
  if (device == metadata.end() || !device->is_object()) return;
  SourceFacts::Device out;
  const auto text = [&](const char* key) -> std::optional<std::string> {
    const auto it = device->find(key);
    if (it == device->end() || !it->is_string() || it->get_ref<const std::string&>().empty())
      return std::nullopt;
    return it->get<std::string>();
  };
  out.name = text("Selected Device");
  out.compute_capability = text("Compute Capability");
  int64_t sms = 0;
  if (const auto t = text("SMs"); t && trace_json::ParseInt64(*t, sms) && sms > 0) out.sm_count = sms;
  if (out.name) about.devices.push_back(out);
}

Status ReadPart(ImportFile& file, Engine& engine, SourceFacts& about) {
  NL_ASSIGN(const std::string text, ReadText(file));
  const std::string_view json = std::string_view(text).substr(0, text.size() - trace_json::kPadding);
  switch (KindOf(json.substr(0, kSniffBytes))) {
    case Kind::kProfile: {
      engine.profile_file = &file;
      NL_ASSIGN(engine.profile, ReadProfile(file, text));
      return {};
    }
    case Kind::kTimes: {
      engine.times_file = &file;
      NL_ASSIGN(engine.queries, ReadTimes(file, text));
      return {};
    }
    case Kind::kLayers: {
      engine.layers_file = &file;
      NL_ASSIGN(engine.layers, ReadLayers(file, text));
      file.about.header = engine.layers.header;
      return {};
    }
    case Kind::kBuildMetadata:
    case Kind::kProfileMetadata: {
      Result<Json> parsed = ParseJson(json);
      if (!parsed.ok()) return BrokenJson(file, "metadata", parsed.error().byte_offset);
      file.about.header = *std::move(parsed);
      if (file.about.header.is_object()) ReadDevice(file.about.header, about);
      return {};
    }
    case Kind::kNone: break;
  }
  return InvalidInput("this is not an export of trtexec")
      .At(file.path, 0)
      .Hint("see docs/formats/tensorrt.md");
}

Status PutRows(Engine& engine, ImportFile& first, SourceFacts& about) {
  NL_ASSIGN(const std::vector<const LayerInfo*> info, Join(engine));
  first.facts.TakeOpTypes(first.sink.strings());
  EngineRows rows(first);
  if (!engine.profile.layers.empty()) {
    NL_TRY(rows.PutLayers(engine.profile, info));
    about.order_only = true;  // averages laid end to end are no timeline
    engine.profile_file->counters.Add(kLayerTimesAveraged, -1, {},
                                      static_cast<int64_t>(engine.profile.layers.size()));
    about.notes.push_back(engine.profile.runs
                              ? fmt::format("layer times are averages over {} profiled runs, laid end to end",
                                            *engine.profile.runs)
                              : "layer times are averages over the profiled runs, laid end to end");
    if (!engine.queries.empty()) {
      NL_TRY(rows.PutQuerySamples(engine.queries));
      engine.times_file->counters.Add(kQueriesAsSamples, -1, {}, static_cast<int64_t>(engine.queries.size()));
    }
  } else {
    NL_TRY(rows.PutQueries(engine.queries));
    if (engine.layers_file != nullptr && !engine.layers.layers.empty())
      engine.layers_file->counters.Add(kLayerNotTimed, -1, {},
                                       static_cast<int64_t>(engine.layers.layers.size()));
  }
  return rows.Finish();
}

class TensorrtAdapter final : public Adapter {
 public:
  AdapterInfo Info() const override {
    return {"tensorrt",
            1,
            "TensorRT engines: layer profile, layer information and query times, together or alone",
            "trtexec --exportProfile, --exportLayerInfo, --exportTimes",
            {".profile.json", ".graph.json", ".timing.json", ".json"}};
  }

  int Score(std::string_view head, std::string_view) const override {
    switch (KindOf(head)) {
      case Kind::kProfile:
      case Kind::kTimes: return 90;
      case Kind::kLayers: return 70;
      case Kind::kBuildMetadata:
      case Kind::kProfileMetadata: return 50;
      case Kind::kNone: break;
    }
    return 0;
  }

  FileRole Role(std::string_view head, std::string_view file_name) const override {
    return {std::string(KindName(KindOf(head))), SetName(file_name), ""};
  }

  Status Import(ImportFile& file) const override {
    std::vector<ImportFile> files{file};
    return ImportParts(files);
  }

  Status ImportParts(std::vector<ImportFile>& files) const override {
    Engine engine;
    SourceFacts& about = files.front().about;
    for (ImportFile& file : files) NL_TRY(ReadPart(file, engine, about));
    if (engine.profile.layers.empty() && engine.queries.empty()) {
      return InvalidInput("the file has no times: a run needs a layer profile or query times")
          .At(files.front().path)
          .Hint("run trtexec with --exportProfile or --exportTimes and give that file too");
    }
    about.backend = "tensorrt";
    about.tool = "trtexec";
    about.vendor = "nvidia";
    PutLatency(engine.queries, about);
    return PutRows(engine, files.front(), about);
  }
};

}  // namespace

const Adapter& Describe() {
  static const TensorrtAdapter adapter;
  return adapter;
}

}  // namespace nl::adapters::tensorrt
