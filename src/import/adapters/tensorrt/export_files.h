// SPDX-License-Identifier: Apache-2.0
#pragma once
// What trtexec and the TensorRT engine explorer write, file by file, as plain values.
// One real entry of each (TensorRT 8.4, A100):
//   --exportProfile    { "name" : "MaxPool_2", "timeMs" : 0.062464, "averageMs" : 0.062464,
//                        "medianMs" : 0.062464, "percentage" : 6.143 }     after { "count" : 1 }
//   --exportTimes      { "startEnqMs" : 2.71417, "endEnqMs" : 2.72443, "startH2dMs" : 3.45702, ...
//                        "h2dMs" : 0, "computeMs" : 0.8448, "d2hMs" : 0, "latencyMs" : 0.8448 }
//   --exportLayerInfo  {"Layers": [{"Name": "MaxPool_2", "LayerType": "CudaPooling", "Inputs": [...],
//                        "Outputs": [...], "TacticValue": "0x..."}], "Bindings": ["input", "out"]}
// Numbers are printed with six digits: a start of 3200.06 ms is good to 10 us, durations to 1 ns.
// Thread rule: pure functions over their arguments. Ownership: plain values.

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json.h"
#include "import/adapter.h"

namespace nl::adapters::tensorrt {

enum class Kind : uint8_t { kNone, kProfile, kTimes, kLayers, kBuildMetadata, kProfileMetadata };
// By the first bytes.
Kind KindOf(std::string_view head);
// As messages name it; empty for kNone.
std::string_view KindName(Kind kind);
// "bert" of bert.profile.json.gz, FileRole::kFolder of profile.json, empty where there is no known ending.
std::string SetName(std::string_view file_name);

using Fields = std::vector<std::pair<std::string, std::string>>;  // key, JSON text as written

struct ProfiledLayer {
  std::string name;
  int64_t average_ns = 0;
  Fields fields;  // timeMs, averageMs, medianMs, percentage
};
struct Profile {
  std::optional<int64_t> runs;
  std::vector<ProfiledLayer> layers;
};

struct Query {
  int64_t start_ns = 0, latency_ns = 0;  // first of copy-in and compute; as the file says
  // Null duration: the file does not say; start as written, on the device's clock.
  int64_t h2d_start_ns = 0, h2d_ns = NullOf<int64_t>::value;
  int64_t compute_start_ns = 0, compute_ns = 0;
  int64_t d2h_start_ns = 0, d2h_ns = NullOf<int64_t>::value;
  int64_t enqueue_start_ns = 0, enqueue_ns = NullOf<int64_t>::value;  // on the host's clock
};

struct LayerInfo {
  std::string name, type;   // type: as LayerTypeOf; empty: names only
  std::string dims, types;  // JSON lists as table op holds them; empty: not given
  std::string kernel;       // tactic, else the kind of layer; empty: not given
  Fields fields;            // everything of the layer but its name
};
struct Layers {
  std::vector<LayerInfo> layers;
  Json header = Json::object();  // everything but the layers
};

// The whole decompressed text, padded for scanning.
Result<std::string> ReadText(ImportFile& file);

// For a file that does not parse; `offset` is where.
Error BrokenJson(const ImportFile& file, std::string_view what, int64_t offset);

// Bad entries are counted in the file's counters; a truncated file is an error,
// or counted where that is allowed.
Result<Profile> ReadProfile(ImportFile& file, const std::string& text);
Result<std::vector<Query>> ReadTimes(ImportFile& file, const std::string& text);
Result<Layers> ReadLayers(ImportFile& file, const std::string& text);

}  // namespace nl::adapters::tensorrt
