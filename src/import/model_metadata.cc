// SPDX-License-Identifier: Apache-2.0
#include "import/model_metadata.h"

#include <cmath>

namespace nl {

namespace {

constexpr size_t kMostSettings = 512, kLongestText = 4096;
constexpr int64_t kMostInteger = 9007199254740991;  // as the schema of run documents allows

std::optional<int64_t> IntegerIn(const Json& object, const char* name) {
  const auto it = object.find(name);
  if (it == object.end() || !it->is_number_integer()) return std::nullopt;
  const int64_t value = it->get<int64_t>();
  return value >= 0 && value <= kMostInteger ? std::optional(value) : std::nullopt;
}

ModelDims DimsOf(const Json& dims) {
  ModelDims out;
  out.layers = IntegerIn(dims, "layers");
  out.d_model = IntegerIn(dims, "d_model");
  out.d_ff = IntegerIn(dims, "d_ff");
  out.heads = IntegerIn(dims, "heads");
  out.kv_heads = IntegerIn(dims, "kv_heads");
  out.head_dim = IntegerIn(dims, "head_dim");
  out.vocab = IntegerIn(dims, "vocab");
  out.experts = IntegerIn(dims, "experts");
  out.active_experts = IntegerIn(dims, "active_experts");
  return out;
}

bool IsSetting(const Json& value) {
  if (value.is_string()) return value.get_ref<const std::string&>().size() <= kLongestText;
  return value.is_null() || value.is_boolean() || (value.is_number() && std::isfinite(value.get<double>()));
}

}  // namespace

bool TakeModelMetadata(const Json& header, RunDocument& to) {
  const auto it = header.find(kModelMetadata);
  if (it == header.end() || !it->is_object()) return false;
  const Json& model = *it;
  const Json name = model.value("name", Json());
  if (name.is_string() && name.get_ref<const std::string&>().size() <= kLongestText && !name.empty())
    to.model.name = name.get<std::string>();
  to.model.batch_size = IntegerIn(model, "batch_size");
  to.model.sequence_length = IntegerIn(model, "sequence_length");
  const Json millions = model.value("parameters_millions", Json());
  if (millions.is_number() && millions.get<double>() >= 0 && std::isfinite(millions.get<double>()))
    to.model.parameters_millions = millions.get<double>();
  const auto dims = model.find("dims");
  if (dims != model.end() && dims->is_object() && !dims->empty()) to.model.dims = DimsOf(*dims);
  const auto config = model.find("config");
  if (config == model.end() || !config->is_object()) return true;
  std::map<std::string, Json> settings;
  for (const auto& [key, value] : config->items()) {
    if (settings.size() < kMostSettings && IsSetting(value)) settings[key] = value;
  }
  if (!settings.empty()) to.config = std::move(settings);
  return true;
}

}  // namespace nl
