// SPDX-License-Identifier: Apache-2.0
#include "analyze/replay/fix_request.h"

#include <algorithm>
#include <array>
#include <cstdlib>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/near_names.h"
#include "base/plural.h"

namespace nl::replay {

namespace {

// Kinds of requests, and how each is written.
struct Form {
  std::string_view kind, form;
  bool needs_name = false, takes_name = false, takes_share = false;
};
constexpr std::array<Form, 9> kForms = {{
    {"graphs", "graphs"},
    {"sync", "sync[:OP]", false, true},
    {"pinned", "pinned[:OP]", false, true},
    {"host", "host[:PLACE]", false, true},
    {"allocs", "allocs"},
    {"bf16", "bf16[:OP]", false, true},
    {"remove", "remove:OP", true, true},
    {"fuse", "fuse:OP=F", true, true, true},
    {"kernel", "kernel:NAME=F", true, true, true},
}};

const Form* FormOf(std::string_view kind) {
  const auto at = std::find_if(kForms.begin(), kForms.end(), [&](const Form& f) { return f.kind == kind; });
  return at == kForms.end() ? nullptr : &*at;
}

// What a fix of this kind does, and what it is counted in.
struct Words {
  std::string_view what, unit;
};
Words WordsOf(FixKind kind) {
  switch (kind) {
    case FixKind::kGraphs: return {"one graph launches the kernels of a step", "launch"};
    case FixKind::kSync: return {"the host does not wait for the device", "wait"};
    case FixKind::kRemove: return {"calls are removed, with their waits and their device work", "call"};
    case FixKind::kPinned: return {"copies use pinned memory and overlap with kernels", "copy"};
    case FixKind::kHost:
      return {"host code is removed from the step, with the copies of its data", "stretch"};
    case FixKind::kKernels: return {"kernels take {:.0f} % of their time", "kernel"};
    case FixKind::kFuse: return {"operators and their device work take {:.0f} % of their time", "call"};
    case FixKind::kLoop: return {"one call does what a loop does, in {:.0f} % of its time", "call"};
    case FixKind::kBatch: return {"the step takes {:.0f} % of its time", "step"};
    case FixKind::kStreams: return {"kernels of different streams run at the same time", "step"};
  }
  return {};
}

std::string WhatOf(FixKind kind, double left, const std::string& name) {
  std::string out = fmt::format(fmt::runtime(WordsOf(kind).what), 100 * left);
  if (!name.empty()) out += fmt::format(" ({})", name);
  return out;
}

std::string NothingOf(std::string_view kind) {
  if (kind == "sync") return "no call waits for the device in the steady steps";
  if (kind == "pinned") return "no pageable copies in the steady steps";
  if (kind == "host") return "no host code of 150 µs or more in the steady steps";
  if (kind == "allocs") return "nothing allocates or frees device memory in the steady steps";
  return "no kernel is launched by a call of its own in the steady steps";
}

// Where a finding is, in one name.
std::string NameOfPlace(const Finding& f) {
  if (f.kernel) return *f.kernel;
  return f.op.value_or("");
}

}  // namespace

std::vector<std::string> SplitFixes(std::string_view list) {
  std::vector<std::string> out(1);
  int depth = 0;
  for (const char c : list) {
    if (c == '<' || c == '(' || c == '[') ++depth;
    if (c == '>' || c == ')' || c == ']') depth = std::max(0, depth - 1);
    if (c == ',' && depth == 0) {
      out.emplace_back();
    } else if (c != ' ' || !out.back().empty()) {
      out.back() += c;
    }
  }
  for (std::string& item : out) item.erase(item.find_last_not_of(' ') + 1);
  std::erase_if(out, [](const std::string& item) { return item.empty(); });
  return out;
}

Result<std::vector<RequestedFix>> FixRequests::Find(const std::string& item) const {
  if (item == "all") return Sequence();
  if (item == "batch" || item.starts_with("batch=") || item.starts_with("batch:")) {
    NL_ASSIGN(RequestedFix fix, Batch(item));
    return std::vector<RequestedFix>{std::move(fix)};
  }
  const size_t colon = item.find(':');
  const std::string kind = item.substr(0, colon);
  const std::string name = colon == std::string::npos ? "" : item.substr(colon + 1);
  const Form* form = FormOf(kind);
  if (form == nullptr) {
    NL_ASSIGN(RequestedFix fix, OfRule(item));
    return std::vector<RequestedFix>{std::move(fix)};
  }
  const bool named = colon != std::string::npos;
  if ((named && (name.empty() || !form->takes_name)) || (!named && form->needs_name))
    return InvalidInput(fmt::format("--apply: '{}' must be written as {}", item, form->form));
  if (form->takes_share) {
    NL_ASSIGN(RequestedFix fix, OfShare(item, kind, name));
    return std::vector<RequestedFix>{std::move(fix)};
  }
  NL_ASSIGN(RequestedFix fix, OfKind(item, kind, name));
  return std::vector<RequestedFix>{std::move(fix)};
}

Result<RequestedFix> FixRequests::OfKind(const std::string& item, std::string_view kind,
                                         const std::string& name) const {
  if (kind == "bf16") {
    if (!name.empty()) NL_TRY(Known(item, kind, name, {}));
    return Bf16(item, name);
  }
  FixChange change;
  if (kind == "sync") change = {FixKind::kSync, search_.Waits(name)};
  if (kind == "pinned") change = {FixKind::kPinned, search_.PageableCopies(name)};
  if (kind == "host") change = {FixKind::kHost, search_.HostCode(name)};
  if (kind == "allocs") change = {FixKind::kRemove, search_.Allocations()};
  if (kind == "remove") change = {FixKind::kRemove, search_.Calls(name)};
  if (!name.empty()) NL_TRY(Known(item, kind, name, change.targets));
  RequestedFix out = Made(item, std::move(change), name);
  if (kind == "allocs") out.what = "device memory is neither allocated nor freed";
  if (out.count == 0) {
    out.note = NothingOf(kind);
    if (!name.empty()) out.note += fmt::format(" inside {}", name);
  }
  return out;
}

// A name that the steps do not have is a mistake; one that has nothing to fix is an answer.
Status FixRequests::Known(const std::string& item, std::string_view kind, const std::string& name,
                          const FixTargets& found) const {
  if (!found.nodes.empty() || !found.works.empty() || !found.gaps.empty()) return {};
  std::vector<std::string> names;
  if (kind == "host") {
    if (search_.gaps().empty()) return {};
    for (const GapGroup& group : search_.gaps()) names.push_back(group.place);
    return InvalidInput(
               fmt::format("--apply {}: no host code of the steady steps has '{}' in its place", item, name))
        .Hint(NearNamesHint(name, names));
  }
  if (kind == "kernel") {
    return InvalidInput(fmt::format("--apply {}: the steady steps have no kernel '{}'", item, name))
        .Hint(NearNamesHint(name, search_.KernelNamesOfSteps()));
  }
  names = search_.CallNamesOfSteps();
  const NameMatcher matcher(name);
  if (std::any_of(names.begin(), names.end(), [&](const std::string& n) { return matcher.Matches(n); }))
    return {};
  return InvalidInput(fmt::format("--apply {}: the steady steps have no operator or call '{}'", item, name))
      .Hint(NearNamesHint(name, names));
}

Result<RequestedFix> FixRequests::OfShare(const std::string& item, std::string_view kind,
                                          std::string name) const {
  const size_t equals = name.rfind('=');
  char* end = nullptr;
  double left = -1;
  if (equals != std::string::npos) left = std::strtod(name.c_str() + equals + 1, &end);
  const bool number = end != nullptr && *end == '\0' && end != name.c_str() + equals + 1;
  if (equals == 0 || !number || !(left >= 0 && left <= 1)) {
    return InvalidInput(fmt::format("--apply: '{}' must be written as {}, with F from 0 to 1", item,
                                    FormOf(kind)->form))
        .Hint(fmt::format("F is the share of the time that stays: {}:NAME=0.5 is twice as fast", kind));
  }
  name.erase(equals);
  FixChange change;
  change.left = left;
  change.kind = kind == "fuse" ? FixKind::kFuse : FixKind::kKernels;
  change.targets = kind == "fuse" ? search_.CallsWithWork(name) : search_.Kernels(name);
  NL_TRY(Known(item, kind, name, change.targets));
  return Made(item, std::move(change), name);
}

Result<RequestedFix> FixRequests::OfRule(const std::string& item) const {
  const Rule* rule = rules_.Find(item);
  if (rule == nullptr) return Unknown(item);
  if (!rule->fix) {
    return InvalidInput(fmt::format("--apply: the gain of a fix for rule '{}' cannot be predicted", item))
        .Hint("`neurolens what-if RUN` without --apply lists the fixes of this run");
  }
  RequestedFix out;
  out.apply = item;
  out.unit = WordsOf(rule->fix->kind).unit;
  std::vector<std::string> places;
  double left = 0;
  for (const Finding& finding : findings_.findings) {
    if (finding.rule != item || !finding.fix) continue;
    out.count += CountOf(*finding.fix);
    out.changes.push_back(*finding.fix);
    left = finding.fix->left;
    if (const std::string place = NameOfPlace(finding);
        !place.empty() && std::find(places.begin(), places.end(), place) == places.end())
      places.push_back(place);
  }
  const bool one = out.changes.size() == 1 || (rule->fix->left == std::nullopt);
  out.what =
      one ? WhatOf(rule->fix->kind, left, fmt::format("{}", fmt::join(places, ", ")))
          : fmt::format("the fixes of {}", Counted(static_cast<int64_t>(out.changes.size()), "finding"));
  if (out.changes.empty()) {
    out.what = WhatOf(rule->fix->kind, left, "");
    out.note = fmt::format("`neurolens findings` lists nothing of {} in this run", item);
  }
  return out;
}

RequestedFix FixRequests::Bf16(const std::string& item, const std::string& name) const {
  Bf16Products found = FindBf16Products(steps_, roofline_, name);
  RequestedFix out;
  out.apply = item;
  out.what = "fp32 matrix products, convolutions and attention run in bf16";
  if (!name.empty()) out.what += fmt::format(" ({})", name);
  out.unit = "kernel";
  out.count = static_cast<int64_t>(found.limits.size());
  out.limits = std::move(found.limits);
  if (!found.reason.empty()) {
    out.note = found.reason;
  } else if (found.fp32 == 0 && found.unknown == 0) {
    out.note = "no fp32 products in the steady steps";
  } else if (found.fp32 > 0 && out.count == 0) {
    out.note = "the fp32 products are not slower than bf16 ones would be";
  }
  if (found.unknown > 0) {
    out.note += fmt::format("{}{} of products without a recorded type or shape {} unchanged",
                            out.note.empty() ? "" : "; ", Counted(found.unknown, "kernel"),
                            found.unknown == 1 ? "is" : "are");
  }
  return out;
}

Result<RequestedFix> FixRequests::Batch(const std::string& item) const {
  const size_t equals = item.find('=');
  const std::optional<BatchRequest> asked =
      equals == std::string::npos ? std::nullopt : ParseBatch(item.substr(equals + 1));
  if (!asked) {
    return InvalidInput(fmt::format("--apply: '{}' must be written as batch=N or batch=xF", item))
        .Hint("batch=32 is a batch of 32, batch=x2 one of twice the recorded size");
  }
  RequestedFix out;
  out.apply = item;
  out.unit = "kernel";
  out.batch = FindBatchSize(steps_, roofline_, search_.gaps(), *asked);
  const BatchSize& found = *out.batch;
  out.what = "another batch size";
  if (found.from) {
    out.what = fmt::format("the batch grows from {} to {:.4g}", *found.from,
                           static_cast<double>(*found.from) * found.factor);
    if (found.factor < 1) out.what.replace(out.what.find("grows"), 5, "shrinks");
  }
  if (!found.reason.empty()) {
    out.note = "cannot be predicted: " + found.reason;
    return out;
  }
  out.count = found.scaled;
  out.note = "memory is not checked: activations, and the KV cache in inference, grow with the batch";
  if (found.unknown_share > 0.01) {
    out.note += fmt::format(
        "; {:.0f} % of the device time is in kernels without shapes or formula, which the bounds allow for",
        100 * found.unknown_share);
  }
  return out;
}

RequestedFix FixRequests::OfFinding(const Finding& finding) const {
  return Made(finding.rule, *finding.fix, NameOfPlace(finding));
}

std::vector<RequestedFix> FixRequests::Sequence() const {
  std::vector<const Finding*> order;
  const auto add = [&order](const Finding& f) {
    if (f.step_after_ms && f.fix && std::find(order.begin(), order.end(), &f) == order.end())
      order.push_back(&f);
  };
  for (const Finding& finding : findings_.findings) {
    // What a fix presumes may be listed after it.
    for (const Finding& other : findings_.findings) {
      const auto& after = finding.gain_after;
      if (finding.step_after_ms && std::find(after.begin(), after.end(), other.rule) != after.end())
        add(other);
    }
    add(finding);
  }
  std::vector<RequestedFix> out;
  for (const Finding* finding : order) out.push_back(OfFinding(*finding));
  return out;
}

std::vector<RequestedFix> FixRequests::Applicable() const {
  std::vector<RequestedFix> out;
  const auto add = [&out](RequestedFix fix) {
    if (fix.count > 0) out.push_back(std::move(fix));
  };
  for (const Form& form : kForms) {
    if (form.needs_name) continue;
    if (Result<RequestedFix> fix = OfKind(std::string(form.kind), form.kind, ""); fix.ok())
      add(std::move(*fix));
  }
  std::vector<std::string> rules;
  for (const Finding& finding : findings_.findings) {
    if (!finding.fix || std::find(rules.begin(), rules.end(), finding.rule) != rules.end()) continue;
    rules.push_back(finding.rule);
    if (Result<RequestedFix> fix = OfRule(finding.rule); fix.ok()) add(std::move(*fix));
  }
  const std::vector<RequestedFix> sequence = Sequence();
  if (sequence.size() < 2) return out;
  RequestedFix all{"all", "", "fix", static_cast<int64_t>(sequence.size()), {}, {}, {}, ""};
  for (const RequestedFix& fix : sequence) {
    all.what += (all.what.empty() ? "" : ", then ") + fix.apply;
    all.changes.insert(all.changes.end(), fix.changes.begin(), fix.changes.end());
  }
  out.push_back(std::move(all));
  return out;
}

RequestedFix FixRequests::Made(const std::string& item, FixChange change, const std::string& name) const {
  RequestedFix out;
  out.apply = item;
  out.what = WhatOf(change.kind, change.left, name);
  out.unit = WordsOf(change.kind).unit;
  out.count = CountOf(change);
  out.changes.push_back(std::move(change));
  return out;
}

int64_t FixRequests::CountOf(const FixChange& change) const {
  if (change.kind == FixKind::kBatch || change.kind == FixKind::kStreams) return steps_.steps();
  if (change.kind == FixKind::kGraphs) return static_cast<int64_t>(search_.Launches().nodes.size());
  int64_t count = static_cast<int64_t>(change.targets.gaps.size());
  if (change.kind == FixKind::kHost) return count;
  for (const uint32_t node : change.targets.nodes) count += steps_.HasNode(node);
  if (change.kind == FixKind::kFuse) return count;
  if (change.kind == FixKind::kKernels) {
    count = 0;
    for (const uint32_t node : change.targets.nodes) {
      if (steps_.HasNode(node)) steps_.ForEachWorkOf(node, [&](uint32_t) { ++count; });
    }
  }
  for (const uint32_t work : change.targets.works) count += steps_.HasWork(work);
  return count;
}

Error FixRequests::Unknown(const std::string& item) const {
  std::vector<std::string> words = {"all", "batch"}, forms = {"batch=N"};
  for (const Form& form : kForms) {
    words.emplace_back(form.kind);
    forms.emplace_back(form.form);
  }
  for (const Rule& rule : rules_.rules()) {
    if (rule.fix) words.push_back(rule.id);
  }
  std::vector<std::string> here;
  for (const Finding& finding : findings_.findings) {
    if (finding.fix && std::find(here.begin(), here.end(), finding.rule) == here.end())
      here.push_back(finding.rule);
  }
  std::string hint = DidYouMean(Nearest(item.substr(0, item.find_first_of(":=")), words));
  hint += fmt::format("{}fixes: {}, all", hint.empty() ? "" : " ", fmt::join(forms, ", "));
  if (!here.empty()) hint += fmt::format("; rules with findings in this run: {}", fmt::join(here, ", "));
  return InvalidInput(fmt::format("--apply: '{}' is neither a fix nor a rule", item)).Hint(hint);
}

}  // namespace nl::replay
