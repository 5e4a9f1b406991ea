// SPDX-License-Identifier: Apache-2.0
#include "analyze/cost_model/workload_config.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <span>

#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include "base/file_ops.h"

namespace nl {

namespace embedded {
std::span<const std::string_view> WorkloadFiles();
}

namespace {

constexpr int64_t kMaxWorkloadBytes = 1 << 20;
constexpr int kMaxWorkloadDepth = 32;

// What may be set; below a name that ends in "." anything goes.
constexpr std::array<std::string_view, 22> kWorkloadKeys = {"name",
                                                            "description",
                                                            "variant",
                                                            "variants.",
                                                            "model.task",
                                                            "model.target",
                                                            "model.args.",
                                                            "model.hf.",
                                                            "model.weights",
                                                            "workload.batch",
                                                            "workload.prompt_tokens",
                                                            "workload.output_tokens",
                                                            "workload.latent_size",
                                                            "workload.logits",
                                                            "dtype",
                                                            "attention",
                                                            "device",
                                                            "warmup",
                                                            "repeats",
                                                            "seed",
                                                            "engine.name",
                                                            "engine.args."};

bool IsWorkloadKey(std::string_view path) {
  return std::any_of(kWorkloadKeys.begin(), kWorkloadKeys.end(), [path](std::string_view key) {
    if (!key.ends_with('.')) return path == key;
    return path.starts_with(key) || path == key.substr(0, key.size() - 1);
  });
}

// Plain scalars as YAML 1.1 reads them (PyYAML does); quoted ones are text.
Json ScalarOf(const YAML::Node& node) {
  const std::string& text = node.Scalar();
  if (node.Tag() == "!") return text;
  if (text.empty() || text == "~" || text == "null" || text == "Null" || text == "NULL") return nullptr;
  for (const char* yes : {"true", "True", "TRUE", "yes", "Yes", "on", "On"}) {
    if (text == yes) return true;
  }
  for (const char* no : {"false", "False", "FALSE", "no", "No", "off", "Off"}) {
    if (text == no) return false;
  }
  int64_t integer = 0;
  const char* const end = text.data() + text.size();
  const auto [at, code] = std::from_chars(text.data() + (text[0] == '+' ? 1 : 0), end, integer);
  if (code == std::errc() && at == end) return integer;
  // YAML 1.1 wants a dot in a number with an exponent.
  if (text.find('.') != std::string::npos && text.find_first_not_of("0123456789+-.eE") == std::string::npos) {
    char* stop = nullptr;
    const double number = std::strtod(text.c_str(), &stop);
    if (*stop == '\0') return number;
  }
  return text;
}

Result<Json> JsonOf(const YAML::Node& node, const std::string& origin, int depth = 0) {
  if (depth > kMaxWorkloadDepth) return InvalidInput(fmt::format("{}: nested too deeply", origin));
  if (node.IsNull()) return Json(nullptr);
  if (node.IsScalar()) return ScalarOf(node);
  if (node.IsSequence()) {
    Json out = Json::array();
    for (const auto& item : node) {
      NL_ASSIGN(Json value, JsonOf(item, origin, depth + 1));
      out.push_back(std::move(value));
    }
    return out;
  }
  Json out = Json::object();
  for (const auto& item : node) {
    if (!item.first.IsScalar()) return InvalidInput(fmt::format("{}: a name must be text", origin));
    NL_ASSIGN(Json value, JsonOf(item.second, origin, depth + 1));
    out[item.first.Scalar()] = std::move(value);
  }
  return out;
}

Result<Json> ParseYaml(std::string_view text, const std::string& origin) {
  try {
    return JsonOf(YAML::Load(std::string(text)), origin);
  } catch (const YAML::Exception& e) {
    return InvalidInput(fmt::format("{}:{}: not valid YAML: {}", origin, e.mark.line + 1, e.msg));
  }
}

Status Put(Json& config, const std::string& path, Json value, const std::string& origin) {
  if (!IsWorkloadKey(path))
    return InvalidInput(fmt::format("{}: '{}' is not a setting of a workload", origin, path))
        .Hint(fmt::format("settings are {}", fmt::join(kWorkloadKeys, ", ")));
  Json* at = &config;
  size_t begin = 0;
  for (size_t dot; (dot = path.find('.', begin)) != std::string::npos; begin = dot + 1) {
    Json& inner = (*at)[path.substr(begin, dot - begin)];
    if (inner.is_null()) inner = Json::object();
    if (!inner.is_object())
      return InvalidInput(fmt::format("{}: '{}' is inside of a value that has no names in it", origin, path));
    at = &inner;
  }
  const std::string last = path.substr(begin);
  if (last.empty()) return InvalidInput(fmt::format("{}: '{}' does not name a setting", origin, path));
  (*at)[last] = std::move(value);
  return {};
}

Status CheckNames(const Json& value, const std::string& path, const std::string& origin) {
  for (const auto& [name, inner] : value.items()) {
    const std::string at = path.empty() ? name : path + "." + name;
    const bool open = at == "variants" || at == "model.hf" || at == "model.args" || at == "engine.args";
    if (inner.is_object() && !open) {
      NL_TRY(CheckNames(inner, at, origin));
    } else {
      Json ignored = Json::object();
      NL_TRY(Put(ignored, at, inner, origin));
    }
  }
  return {};
}

using SettingValue = std::pair<std::string, Json>;
Result<std::vector<SettingValue>> ParseSets(const std::vector<std::string>& sets) {
  std::vector<SettingValue> out;
  for (const std::string& text : sets) {
    const size_t equals = text.find('=');
    if (equals == std::string::npos || equals == 0)
      return InvalidInput(fmt::format("--set {}: expected key.path=value", text));
    NL_ASSIGN(Json value, ParseYaml(text.substr(equals + 1), "--set " + text));
    out.emplace_back(text.substr(0, equals), std::move(value));
  }
  return out;
}

Status ApplyVariant(Json& config, const std::string& origin) {
  Json variants = config.value("variants", Json());
  config.erase("variants");
  const Json chosen = config.value("variant", Json());
  if (chosen.is_null()) return {};
  const std::string name = chosen.is_string() ? chosen.get<std::string>() : chosen.dump();
  if (!variants.is_object() || !variants.contains(name) || !variants[name].is_object()) {
    std::vector<std::string> known;
    if (variants.is_object()) {
      for (const auto& item : variants.items()) known.push_back(item.key());
    }
    return InvalidInput(fmt::format("{}: no variant '{}'; known are {}", origin, name,
                                    known.empty() ? "none" : fmt::format("{}", fmt::join(known, ", "))));
  }
  for (const auto& [path, value] : variants[name].items())
    NL_TRY(Put(config, path, value, fmt::format("{}: variant {}", origin, name)));
  return {};
}

void SetDefaults(Json& config) {
  const auto otherwise = [](Json& to, const char* name, Json value) {
    if (!to.contains(name)) to[name] = std::move(value);
  };
  otherwise(config, "dtype", "bf16");
  otherwise(config, "attention", "sdpa");
  otherwise(config, "device", "cuda");
  otherwise(config, "warmup", 2);
  otherwise(config, "repeats", 5);
  otherwise(config, "seed", 0);
  otherwise(config, "workload", Json::object());
  if (!config["workload"].is_object()) return;
  otherwise(config["workload"], "batch", 1);
  otherwise(config["workload"], "logits", "last");
}

Status CheckCounts(const Json& config, const std::string& origin) {
  constexpr std::pair<const char*, int64_t> kCounts[] = {{"/workload/batch", 1},
                                                         {"/workload/prompt_tokens", 1},
                                                         {"/workload/output_tokens", 1},
                                                         {"/workload/latent_size", 1},
                                                         {"/warmup", 0},
                                                         {"/repeats", 1}};
  for (const auto& [pointer, least] : kCounts) {
    const Json::json_pointer at(pointer);
    if (!config.contains(at)) continue;
    const Json& value = config[at];
    if (value.is_number_integer() && value.get<int64_t>() >= least && value.get<int64_t>() <= (1LL << 40))
      continue;
    std::string path(pointer + 1);
    std::replace(path.begin(), path.end(), '/', '.');
    return InvalidInput(fmt::format("{}: '{}' must be a whole number of at least {}, not {}", origin, path,
                                    least, value.dump()));
  }
  return {};
}

Status CheckModel(const Json& config, const std::string& origin) {
  const Json model = config.value("model", Json::object());
  if (!model.is_object()) return InvalidInput(fmt::format("{}: 'model' must have names in it", origin));
  const Json target = model.value("target", Json());
  if (!target.is_null()) {
    if (!target.is_string() || target.get_ref<const std::string&>().find(':') == std::string::npos)
      return InvalidInput(fmt::format("{}: 'model.target' must be package.module:function", origin));
    return {};
  }
  const Json hf = model.value("hf", Json());
  if (!hf.is_object() || !hf.contains("model_type") || !hf["model_type"].is_string())
    return InvalidInput(fmt::format("{}: needs 'model.hf' with a 'model_type', or 'model.target'", origin));
  return {};
}

Status CheckWorkload(const Json& config, const std::string& origin) {
  if (!config["workload"].is_object())
    return InvalidInput(fmt::format("{}: 'workload' must have names in it", origin));
  NL_TRY(CheckCounts(config, origin));
  const Json& dtype = config["dtype"];
  constexpr std::string_view kKnown[] = {"bf16", "bfloat16", "fp16", "float16", "fp32", "float32"};
  if (!dtype.is_string() ||
      std::find(std::begin(kKnown), std::end(kKnown), dtype.get<std::string>()) == std::end(kKnown))
    return InvalidInput(
        fmt::format("{}: dtype {} is not known; use bf16, fp16 or fp32", origin, dtype.dump()));
  const Json& logits = config["workload"]["logits"];
  if (logits != "last" && logits != "all")
    return InvalidInput(fmt::format("{}: 'workload.logits' must be last or all", origin));
  return CheckModel(config, origin);
}

// Text that YAML 1.1 may read as something else is quoted, as JSON quotes it.
std::string PlainOrQuoted(const std::string& text) {
  constexpr std::string_view kPlain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./-: ";
  const bool plain = !text.empty() && ((text[0] | 0x20) >= 'a') && ((text[0] | 0x20) <= 'z') &&
                     text.find_first_not_of(kPlain) == std::string::npos &&
                     text.find(": ") == std::string::npos && text.back() != ':' && text.back() != ' ';
  YAML::Node node(text);
  node.SetTag("?");
  return plain && ScalarOf(node).is_string() ? text : Json(text).dump();
}

std::string YamlScalar(const Json& value) {
  if (value.is_string()) return PlainOrQuoted(value.get_ref<const std::string&>());
  if (value.is_number_float()) {
    std::string text = fmt::format("{}", value.get<double>());
    // A number with an exponent needs a dot in YAML 1.1.
    const size_t exponent = text.find('e');
    if (text.find('.') == std::string::npos)
      text.insert(exponent == std::string::npos ? text.size() : exponent, ".0");
    return text;
  }
  if (!value.is_array()) return value.dump();
  std::string out = "[";
  for (const Json& item : value) out += (out.size() == 1 ? "" : ", ") + YamlScalar(item);
  return out + "]";
}

// The name that a shipped file gives itself.
std::string NameIn(std::string_view yaml) {
  const size_t at = yaml.find("\nname: ");
  if (at == std::string_view::npos) return {};
  const std::string_view rest = yaml.substr(at + 7);
  return std::string(rest.substr(0, rest.find('\n')));
}

}  // namespace

std::vector<std::string> ShippedWorkloads() {
  std::vector<std::string> out;
  for (const std::string_view file : embedded::WorkloadFiles()) out.push_back(NameIn(file));
  std::sort(out.begin(), out.end());
  return out;
}

Result<std::string> ReadWorkload(const std::string& config, bool may_read_files) {
  std::error_code ignored;
  if (may_read_files && std::filesystem::is_regular_file(config, ignored))
    return ReadWholeFile(config, kMaxWorkloadBytes);
  const std::filesystem::path path(config);
  const std::string folder = path.parent_path().filename().string();
  if (folder.empty() || folder == "conf") {
    const std::string name = path.extension() == ".yaml" ? path.stem().string() : path.filename().string();
    for (const std::string_view file : embedded::WorkloadFiles()) {
      if (NameIn(file) == name) return std::string(file);
    }
  }
  return NotFound(fmt::format("{}: no such file, and no workload of that name comes with NeuroLens", config))
      .Hint(fmt::format("known are {}", fmt::join(ShippedWorkloads(), ", ")));
}

Result<Json> ResolveWorkload(std::string_view yaml, const std::string& origin,
                             const std::vector<std::string>& sets) {
  NL_ASSIGN(Json config, ParseYaml(yaml, origin));
  if (!config.is_object()) return InvalidInput(fmt::format("{}: expected names with values", origin));
  NL_TRY(CheckNames(config, "", origin));
  NL_ASSIGN(const std::vector<SettingValue> overrides, ParseSets(sets));
  for (const auto& [path, value] : overrides) {
    if (path == "variant") config["variant"] = value;
  }
  NL_TRY(ApplyVariant(config, origin));
  for (const auto& [path, value] : overrides) NL_TRY(Put(config, path, value, "--set"));
  if (!config.contains("name")) config["name"] = std::filesystem::path(origin).stem().string();
  SetDefaults(config);
  NL_TRY(CheckWorkload(config, origin));
  return config;
}

std::string WorkloadYaml(const Json& config, int indent) {
  std::string out;
  for (const auto& [name, value] : config.items()) {
    out += std::string(static_cast<size_t>(indent), ' ') + PlainOrQuoted(name) + ":";
    out += value.is_object() && !value.empty() ? "\n" + WorkloadYaml(value, indent + 2)
                                               : " " + YamlScalar(value) + "\n";
  }
  return out;
}

}  // namespace nl
