// SPDX-License-Identifier: Apache-2.0
// Layer information: kinds, shapes, types and tactics of an engine's layers.

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "base/ascii.h"
#include "import/adapters/tensorrt/counters.h"
#include "import/adapters/tensorrt/export_files.h"
#include "import/trace_json/json_text.h"

namespace nl::adapters::tensorrt {

namespace {

std::string TextAt(const Json& object, const char* key) {
  const auto it = object.find(key);
  return it != object.end() && it->is_string() ? it->get<std::string>() : std::string();
}

// As ONNX names the operator, so that layers pair with the nodes of other runs of the model;
// what ONNX does not have (Reformat, NoOp) keeps TensorRT's name.
std::string TypeOf(const Json& layer) {
  static constexpr std::pair<std::string_view, std::string_view> kOnnx[] = {
      {"Convolution", "Conv"},
      {"Deconvolution", "ConvTranspose"},
      {"MatrixMultiply", "MatMul"},
      {"FullyConnected", "Gemm"},
      {"SoftMax", "Softmax"},
      {"Concatenation", "Concat"},
      {"Normalization", "LayerNormalization"}};
  const std::string parameter = TextAt(layer, "ParameterType");
  if (parameter == "Pooling") {
    const std::string pooling = TextAt(layer, "PoolingType");
    return pooling == "MAX" ? "MaxPool" : pooling == "AVERAGE" ? "AveragePool" : parameter;
  }
  for (const auto& [trt, onnx] : kOnnx) {
    if (parameter == trt) return std::string(onnx);
  }
  const std::string type = TextAt(layer, "LayerType");
  return parameter.empty() || parameter == "PointWise" ? type : parameter;
}

// "Channel major FP16 format where channel % 8 == 0" is float16, as ONNX Runtime spells it.
std::string_view ElementType(std::string_view format) {
  static constexpr std::pair<std::string_view, std::string_view> kTypes[] = {
      {"BF16", "bfloat16"}, {"BFloat16", "bfloat16"}, {"FP16", "float16"}, {"Half", "float16"},
      {"FP32", "float"},    {"Float", "float"},       {"FP8", "float8"},   {"FP4", "float4"},
      {"Int8", "int8"},     {"INT8", "int8"},         {"Int4", "int4"},    {"INT4", "int4"},
      {"Int32", "int32"},   {"INT32", "int32"},       {"Int64", "int64"},  {"INT64", "int64"},
      {"Bool", "bool"},     {"BOOL", "bool"},         {"UInt8", "uint8"},  {"UINT8", "uint8"}};
  for (const auto& [word, type] : kTypes) {
    if (format.find(word) != std::string_view::npos) return type;
  }
  return {};
}

void PutInputs(const Json& layer, LayerInfo& out) {
  const auto inputs = layer.find("Inputs");
  if (inputs == layer.end() || !inputs->is_array()) return;
  Json dims = Json::array(), types = Json::array();
  for (const Json& input : *inputs) {
    if (!input.is_object()) return;
    const auto extents = input.find("Dimensions");
    if (extents == input.end() || !extents->is_array() ||
        !std::all_of(extents->begin(), extents->end(), [](const Json& e) { return e.is_number_integer(); }))
      return;
    dims.push_back(*extents);
    types.push_back(ElementType(TextAt(input, "Format/Datatype") + " " + TextAt(input, "Datatype")));
  }
  out.dims = DumpJson(dims);
  out.types = DumpJson(types);
}

LayerInfo ReadLayer(const Json& layer) {
  LayerInfo out;
  out.name = TextAt(layer, "Name");
  out.type = TypeOf(layer);
  PutInputs(layer, out);
  // Myelin and pooling layers name no tactic: their kind stands for the kernel.
  out.kernel = TextAt(layer, "TacticName");
  if (out.kernel.empty()) out.kernel = TextAt(layer, "LayerType");
  for (const auto& [key, value] : layer.items()) {
    if (key != "Name") out.fields.emplace_back(key, DumpJson(value));
  }
  return out;
}

}  // namespace

Kind KindOf(std::string_view head) {
  const size_t first = head.find_first_not_of(" \n\r\t");
  if (first == std::string_view::npos) return Kind::kNone;
  const auto has = [&](std::string_view word) { return head.find(word) != std::string_view::npos; };
  if (head[first] == '[') {
    if (has("\"startComputeMs\"") && has("\"computeMs\"")) return Kind::kTimes;
    return has("\"averageMs\"") && has("\"timeMs\"") ? Kind::kProfile : Kind::kNone;
  }
  if (head[first] != '{') return Kind::kNone;
  const size_t key = head.find_first_not_of(" \n\r\t", first + 1);
  const std::string_view opening = key == std::string_view::npos ? std::string_view() : head.substr(key);
  if (opening.starts_with("\"Layers\"") || (opening.starts_with("\"Bindings\"") && has("\"Layers\"")))
    return Kind::kLayers;
  if (has("\"model_options\"") && has("\"build_options\"")) return Kind::kBuildMetadata;
  return has("\"device_information\"") && has("\"inference_options\"") ? Kind::kProfileMetadata : Kind::kNone;
}

std::string_view KindName(Kind kind) {
  switch (kind) {
    case Kind::kProfile: return "layer profile";
    case Kind::kTimes: return "query times";
    case Kind::kLayers: return "layer information";
    case Kind::kBuildMetadata: return "build metadata";
    case Kind::kProfileMetadata: return "profile metadata";
    case Kind::kNone: break;
  }
  return {};
}

std::string SetName(std::string_view name) {
  for (const std::string_view ending : {".gz", ".zst", ".json"}) {
    if (name.ends_with(ending)) name.remove_suffix(ending.size());
  }
  const std::string lower = ToLower(name);
  for (const std::string_view part :
       {"build.metadata", "profile.metadata", "graph.metadata", "metadata", "layer_info", "layer-info",
        "layerinfo", "layers", "graph", "profile", "timing", "times"}) {
    if (!lower.ends_with(part)) continue;
    const size_t left = lower.size() - part.size();
    if (left == 0) return FileRole::kFolder;
    const char before = lower[left - 1];
    if (left > 1 && (before == '.' || before == '_' || before == '-'))
      return std::string(name.substr(0, left - 1));
  }
  return {};
}

Error BrokenJson(const ImportFile& file, std::string_view what, int64_t offset) {
  return InvalidInput(fmt::format("the {} is not complete JSON: it is damaged or truncated", what))
      .At(file.path, offset);
}

Result<Layers> ReadLayers(ImportFile& file, const std::string& text) {
  const std::string_view json = std::string_view(text).substr(0, text.size() - trace_json::kPadding);
  Result<Json> parsed = ParseJson(json);
  if (!parsed.ok()) return BrokenJson(file, "layer information", parsed.error().byte_offset);
  const auto list = parsed->find("Layers");
  if (!parsed->is_object() || list == parsed->end() || !list->is_array())
    return InvalidInput("layer information without a list of layers").At(file.path, 0);
  Layers out;
  int64_t names_only = 0;
  for (const Json& layer : *list) {
    if (layer.is_object()) {
      out.layers.push_back(ReadLayer(layer));
    } else if (layer.is_string()) {
      out.layers.push_back({layer.get<std::string>(), "", "", "", "", {}});
      ++names_only;
    }
  }
  if (names_only > 0) file.counters.Add(kLayerNamesOnly, -1, {}, names_only);
  for (const auto& [key, value] : parsed->items()) {
    if (key != "Layers") out.header[key] = value;
  }
  return out;
}

}  // namespace nl::adapters::tensorrt
