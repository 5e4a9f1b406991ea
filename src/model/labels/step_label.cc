// SPDX-License-Identifier: Apache-2.0
#include "model/labels/step_label.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "base/ascii.h"

namespace nl {

namespace {

constexpr std::string_view kProfilerStep = "ProfilerStep", kDecodeStep = "LLM@decode_step";
// As programs call them, in small letters.
constexpr std::array<std::string_view, 7> kOwn = {"step",       "iteration",     "iter",         "train_step",
                                                  "train step", "training_step", "training step"};
constexpr size_t kLongest = 32;  // "training_step", a separator or two, and a number

// Where the number at the end of a label begins, and ends; both at the end of the text where there is none.
struct NumberPlace {
  size_t begin, end;
};
NumberPlace FindNumber(std::string_view name) {
  size_t end = name.size();
  if (end > 0 && (name[end - 1] == ']' || name[end - 1] == ')')) --end;
  size_t begin = end;
  while (begin > 0 && IsDigit(name[begin - 1])) --begin;
  return begin == end ? NumberPlace{name.size(), name.size()} : NumberPlace{begin, end};
}

}  // namespace

namespace {

// What vLLM, and tools for SGLang, call one forward of a batch: "execute_32_context_0(..)_generation_32(..)".
std::string_view ServerStepOf(std::string_view name) {
  const auto has = [name](std::string_view word) { return name.find(word) != std::string_view::npos; };
  return name.starts_with("execute_") && has("context_") && has("_generation_") ? name.substr(0, 7)
                                                                                : std::string_view();
}

}  // namespace

std::string_view StepLabelOf(std::string_view name) {
  // Asked for every event of a trace: most names end here.
  if (name.size() > 12 && name[0] == 'e') {
    if (const std::string_view label = ServerStepOf(name); !label.empty()) return label;
  }
  if (name.size() < 4 || name.size() > kLongest) return {};
  const char first = ToLower(name[0]);
  if (first != 's' && first != 'i' && first != 't' && first != 'p' && first != 'l') return {};
  if (name == kDecodeStep) return name;
  if (name.starts_with(kProfilerStep))
    return name.size() > 13 && name[12] == '#' ? kProfilerStep : std::string_view();
  std::string_view label = name.substr(0, FindNumber(name).begin);
  constexpr std::string_view kBetween = " _#:=-[(";
  while (!label.empty() && kBetween.find(label.back()) != std::string_view::npos) label.remove_suffix(1);
  const bool known = std::any_of(kOwn.begin(), kOwn.end(), [label](std::string_view own) {
    return label.size() == own.size() && std::equal(label.begin(), label.end(), own.begin(),
                                                    [](char a, char b) { return ToLower(a) == b; });
  });
  return known ? label : std::string_view();
}

int64_t StepNumber(std::string_view name, int64_t otherwise) {
  if (!ServerStepOf(name).empty()) return otherwise;  // theirs are sizes
  const NumberPlace place = FindNumber(name);
  // "ProfilerStep#1.5" has none.
  if (place.begin == 0 || name[place.begin - 1] == '.') return otherwise;
  int64_t number = 0;
  const char* end = name.data() + place.end;
  const auto [at, code] = std::from_chars(name.data() + place.begin, end, number);
  return code == std::errc() && at == end ? number : otherwise;
}

}  // namespace nl
