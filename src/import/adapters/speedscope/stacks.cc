// SPDX-License-Identifier: Apache-2.0
#include "import/adapters/speedscope/stacks.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "import/adapters/speedscope/counters.h"
#include "import/trace_json/json_text.h"

namespace nl::adapters::speedscope {

Unit UnitOf(std::string_view name) {
  if (name == "nanoseconds") return Unit::kNanoseconds;
  if (name == "microseconds") return Unit::kMicroseconds;
  if (name == "milliseconds") return Unit::kMilliseconds;
  if (name == "seconds") return Unit::kSeconds;
  return name == "bytes" ? Unit::kBytes : Unit::kNone;
}

bool Scaled(std::string_view text, Unit unit, int64_t& out) {
  static constexpr double kFactors[] = {1, 1, 1, 1e3, 1e6, 1e9};
  if (unit <= Unit::kNanoseconds && trace_json::ParseInt64(text, out)) return true;
  const bool decimal = text.find_first_of("eE") == std::string_view::npos;
  if (decimal && unit == Unit::kMicroseconds) return trace_json::ParseMicrosToNs(text, out);
  if (decimal && unit == Unit::kMilliseconds)
    return trace_json::ParseMicrosToNs(std::string(text) + "e3", out);
  if (decimal && unit == Unit::kSeconds) return trace_json::ParseMicrosToNs(std::string(text) + "e6", out);
  double value = 0;
  if (!trace_json::ParseDouble(text, value)) return false;
  value *= kFactors[static_cast<size_t>(unit)];
  if (!(std::abs(value) < 9e18)) return false;
  out = std::llround(value);
  return true;
}

void ForEachField(std::string_view json,
                  const std::function<void(std::string_view key, std::string_view value)>& fn) {
  using trace_json::JsonValue;
  using trace_json::Scan;
  const char* p = json.data();
  const char* end = p + json.size();
  if (json.empty() || *p != '{') return;
  for (++p;;) {
    while (p < end && (trace_json::IsSpace(*p) || *p == ',')) ++p;
    if (p >= end || *p != '"') return;
    JsonValue key, value;
    ++p;
    if (ScanString(p, end, key) != Scan::kOk) return;
    p = trace_json::SkipSpace(p, end);
    if (p >= end || *p != ':') return;
    p = trace_json::SkipSpace(p + 1, end);
    if (ScanValue(p, end, value) != Scan::kOk) return;
    fn(key.text(), value.json());
  }
}

void Stacks::AddFrame(const Json& frame) {
  std::string text = "[unknown]";
  if (frame.is_object()) {
    const auto name = frame.find("name"), file = frame.find("file"), line = frame.find("line");
    if (name != frame.end() && name->is_string() && !name->get_ref<const std::string&>().empty())
      text = name->get<std::string>();
    if (file != frame.end() && file->is_string() && !file->get_ref<const std::string&>().empty()) {
      const bool lined = line != frame.end() && line->is_number_integer();
      text += lined ? fmt::format(" ({}:{})", file->get<std::string>(), line->get<int64_t>())
                    : fmt::format(" ({})", file->get<std::string>());
    }
  }
  std::replace(text.begin(), text.end(), ';', ':');
  frames_.push_back(strings_.Add(text));
}

StringId Stacks::Frame(int64_t number, int64_t place) {
  if (number >= 0 && number < static_cast<int64_t>(frames_.size()))
    return frames_[static_cast<size_t>(number)];
  counters_.Add(kMissingFrame, place);
  return strings_.Add(fmt::format("frame {}", number));
}

StringId Stacks::Text(const std::vector<int64_t>& stack, int64_t place) {
  const auto [it, added] = texts_.try_emplace(stack, StringId::kNull);
  if (added) {
    std::string text;
    for (const int64_t frame : stack) {
      if (!text.empty()) text += ';';
      text += strings_.Text(Frame(frame, place));
    }
    it->second = strings_.Add(text);
  }
  return it->second;
}

}  // namespace nl::adapters::speedscope
