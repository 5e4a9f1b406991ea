// SPDX-License-Identifier: Apache-2.0
#include "analyze/rules/rule.h"

#include <cmath>
#include <filesystem>

#include <fmt/format.h>

#include "base/human.h"
#include "base/plural.h"

namespace nl {

namespace {

constexpr std::string_view kScopes[] = {"run", "stage", "op", "kernel", "gap", "compare"};
constexpr std::string_view kSeverities[] = {"low", "medium", "high"};

// Marks of an optional part, which is a literal with one of these forms.
constexpr std::string_view kOpen = "[", kClose = "]";

// A text that was not recorded becomes a phrase that still reads well in a sentence.
std::string PhraseFor(std::string_view name) {
  const std::string_view what = name.substr(name.find('.') + 1);
  if (what == "module") return "the module around it";
  if (what == "stage") return "its stage";
  if (what == "device") return "the device";
  if (what == "op" || what == "top_op" || what == "launch_op") return "the operators";
  return fmt::format("(unknown {})", what);
}

bool IsForm(std::string_view form) {
  if (form.starts_with("count ") && form.size() > 6) return true;
  if (form.size() == 3 && form[0] == '.' && form[1] >= '0' && form[1] <= '9' && form[2] == 'f') return true;
  for (const std::string_view known : {"", "pct", "ms", "us", "bytes", "count"}) {
    if (form == known) return true;
  }
  return false;
}

bool IsName(std::string_view name) {
  TextProblem ignored;
  const std::optional<Expression> parsed = Expression::Parse(name, ignored);
  return parsed && parsed->names().size() == 1 && parsed->names()[0].text == name;
}

std::string Formatted(double value, std::string_view form) {
  if (form == "pct") return fmt::format("{:.1f} %", 100 * value);
  if (form == "ms") return HumanMs(value);
  if (form == "us") return HumanMs(value / 1e3);
  const bool whole = std::fabs(value) < 1e15;
  if (form == "bytes" && whole) return HumanBytes(std::llround(value));
  if (form == "count" && whole) return HumanCount(std::llround(value));
  if (form.starts_with("count ") && whole) return Counted(std::llround(value), form.substr(6));
  if (form.size() == 3) return fmt::format("{:.{}f}", value, form[1] - '0');
  return fmt::format("{:.4g}", value);
}

template <size_t N>
std::optional<size_t> IndexOf(const std::string_view (&names)[N], std::string_view name) {
  for (size_t i = 0; i < N; ++i) {
    if (names[i] == name) return i;
  }
  return std::nullopt;
}

}  // namespace

std::span<const std::string_view> NamesOf(RuleScope) { return kScopes; }
std::span<const std::string_view> NamesOf(RuleSeverity) { return kSeverities; }
std::string_view RuleScopeName(RuleScope scope) { return kScopes[static_cast<size_t>(scope)]; }
std::string_view RuleSeverityName(RuleSeverity severity) {
  return kSeverities[static_cast<size_t>(severity)];
}
std::optional<RuleScope> ParseRuleScope(std::string_view name) {
  const auto index = IndexOf(kScopes, name);
  return index ? std::optional(static_cast<RuleScope>(*index)) : std::nullopt;
}
std::optional<RuleSeverity> ParseRuleSeverity(std::string_view name) {
  const auto index = IndexOf(kSeverities, name);
  return index ? std::optional(static_cast<RuleSeverity>(*index)) : std::nullopt;
}

std::optional<TextTemplate> TextTemplate::Parse(std::string_view text, TextProblem& problem) {
  TextTemplate out;
  out.text_ = std::string(text);
  std::string literal;
  bool optional = false;
  for (size_t at = 0; at < text.size();) {
    const char c = text[at];
    const bool doubled = at + 1 < text.size() && text[at + 1] == c;
    if (doubled && (c == '[' || c == ']')) {
      if (optional == (c == '[')) {
        problem = {at + 1, c == '[' ? "'[[' inside '[['" : "']]' without '[['"};
        return std::nullopt;
      }
      optional = c == '[';
      if (!literal.empty()) out.parts_.push_back({std::move(literal), "", false, 1});
      literal.clear();
      out.parts_.push_back({"", std::string(1, c), false, at + 1});
      at += 2;
      continue;
    }
    if (c != '{' && c != '}') {
      literal += c;
      ++at;
    } else if (doubled) {
      literal += c;
      at += 2;
    } else if (c == '}') {
      problem = {at + 1, "'}' without '{'; write '}}' for a literal brace"};
      return std::nullopt;
    } else {
      const size_t close = text.find('}', at);
      if (close == std::string_view::npos) {
        problem = {at + 1, "'{' without '}'; write '{{' for a literal brace"};
        return std::nullopt;
      }
      const std::string_view inside = text.substr(at + 1, close - at - 1);
      const size_t colon = std::min(inside.find(':'), inside.size());
      const std::string_view name = inside.substr(0, colon);
      const std::string_view form = colon < inside.size() ? inside.substr(colon + 1) : "";
      if (!IsName(name) || !IsForm(form)) {
        problem = {
            at + 2,
            IsName(name)
                ? fmt::format("unknown format '{}'; use .Nf, pct, ms, us, bytes, count or count NOUN", form)
                : fmt::format("'{}' is not a name", name)};
        return std::nullopt;
      }
      if (!literal.empty()) out.parts_.push_back({std::move(literal), "", false, 1});
      literal.clear();
      out.parts_.push_back({std::string(name), std::string(form), true, at + 2});
      at = close + 1;
    }
  }
  if (optional) {
    problem = {text.size(), "'[[' without ']]'"};
    return std::nullopt;
  }
  if (!literal.empty()) out.parts_.push_back({std::move(literal), "", false, 1});
  return out;
}

std::string TextTemplate::Render(const RuleNames& names) const {
  std::string out;
  size_t optional_from = std::string::npos;  // where the optional part began
  bool lacks = false;                        // one of its values is not known
  for (const Part& part : parts_) {
    if (!part.is_name && part.form == kOpen) {
      optional_from = out.size();
      lacks = false;
    } else if (!part.is_name && part.form == kClose) {
      if (lacks) out.resize(optional_from);
      optional_from = std::string::npos;
    } else if (!part.is_name) {
      out += part.text;
    } else if (const auto text = names.text(part.text)) {
      lacks = lacks || text->empty();
      out += text->empty() ? PhraseFor(part.text) : *text;
    } else if (const auto number = names.number(part.text)) {
      out += Formatted(*number, part.form);
    } else {
      lacks = true;
      out += "unknown";
    }
  }
  return out;
}

const Rule* RuleSet::Find(std::string_view id) const {
  for (const Rule& rule : rules_) {
    if (rule.id == id) return &rule;
  }
  return nullptr;
}

const std::vector<DataKind>& DataKinds() {
  static const std::vector<DataKind> kinds = {
      {"device_work", "kernels, copies or memsets on a device", "record with GPU activities enabled"},
      {"ops", "framework operators", "record with CPU activities enabled"},
      {"launches", "launch calls linked to the work they started",
       "record runtime API calls (CUPTI or roctracer)"},
      {"shapes", "input shapes of operators", "record with record_shapes=True"},
      {"dtypes", "input types of operators", "record with record_shapes=True"},
      {"steps", "labelled steps",
       "label each step: call prof.step() of torch.profiler, or add a range LLM@decode_step"},
      {"steady_steps", "steps that repeat", "record at least three steps of the steady state, after warm-up"},
      {"kernel_counters", "kernel counters", "record with counters (PM sampling) or attach an ncu report"},
      {"ncu_metrics", "Nsight Compute metrics", "attach an ncu report of these kernels"},
      {"clock_samples", "SM clock samples", "record with clock sampling enabled"},
      {"profiler_cost", "the overhead of the profiler", "record with a profiler that reports its overhead"},
      {"host_samples", "CPU samples of a program without device work",
       "record a CPU program with `neurolens run`"},
      {"cpu_samples", "CPU samples", "record with `neurolens run`"},
      {"ranks", "collectives of two or more ranks", "import the folder with the files of all ranks"},
      {"nodes", "a model that ONNX Runtime runs on the CPU", "record with SessionOptions.enable_profiling"},
      {"baseline", "a baseline run", "compare two runs"},
  };
  return kinds;
}

std::string FindProjectRules(const std::string& directory) {
  namespace fs = std::filesystem;
  std::error_code ignored;
  for (fs::path at = directory;; at = at.parent_path()) {
    if (at.empty()) return "";
    const fs::path file = at / ".neurolens_rules.yaml";
    if (fs::is_regular_file(file, ignored)) return file.string();
    if (fs::exists(at / ".git", ignored) || at == at.parent_path()) return "";
  }
}

}  // namespace nl
