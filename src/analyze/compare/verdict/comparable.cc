// SPDX-License-Identifier: Apache-2.0
#include "analyze/compare/verdict/comparable.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <unordered_set>

#include <fmt/format.h>

#include "analyze/compare/across.h"
#include "analyze/compare/align/similarity.h"
#include "analyze/facts/fingerprint.h"
#include "analyze/facts/stages.h"
#include "analyze/facts/timeline.h"

namespace nl::compare {

namespace {

// Names of the devices that did work, each once; "" where none is named.
std::string DevicesText(const RunData& data, const TimelineFacts& timeline) {
  std::set<int32_t> used;
  for (const uint32_t device : timeline.work.device) used.insert(timeline.devices[device].device);
  std::set<std::string> names, all;
  for (size_t i = 0; i < data.device.name.size(); ++i) {
    const std::string name(data.Text(data.device.name[i]));
    if (name.empty()) continue;
    all.insert(name);
    if (used.count(data.device.device[i]) != 0) names.insert(name);
  }
  std::string out;
  for (const std::string& name : names.empty() ? all : names) out += (out.empty() ? "" : ", ") + name;
  return out;
}

bool HasHostCalls(const TimelineFacts& timeline) {
  const std::vector<HostKind>& kinds = timeline.host.kind;
  return std::any_of(kinds.begin(), kinds.end(),
                     [](HostKind k) { return k == HostKind::kOp || k == HostKind::kApi; });
}

// The share of a run's time in calls that the other run makes too: the same operator on the same widths, or
// the same kernel. Copies are in every program.
double CommonShare(const CallSequence& mine, const CallSequence& other) {
  std::unordered_set<uint64_t> known;
  for (const CallType& type : other.types) {
    known.insert(type.token);
    if (type.kind == CallKind::kKernel) known.insert(type.kernel_hash);
  }
  double all = 0, common = 0;
  for (uint32_t i = 0; i < mine.calls.size(); ++i) {
    const CallType& type = mine.Type(i);
    if (type.kind != CallKind::kKernel && type.kind != CallKind::kHost) continue;
    const auto ns =
        static_cast<double>(type.kind == CallKind::kHost ? mine.span_ns[i] : mine.costs[i].work_ns);
    all += ns;
    const bool is_common = known.count(type.token) != 0 ||
                           (type.kind == CallKind::kKernel && known.count(type.kernel_hash) != 0);
    if (is_common) common += ns;
  }
  return all <= 0 ? 0 : common / all;
}

// A value of the run document by path ("environment.cuda"); "" when absent.
std::string DocumentText(const Json& document, std::string_view pointer) {
  const Json* at = &document;
  while (!pointer.empty()) {
    const size_t dot = pointer.find('.');
    const std::string key(pointer.substr(0, dot));
    pointer = dot == std::string_view::npos ? std::string_view() : pointer.substr(dot + 1);
    if (!at->is_object() || !at->contains(key)) return "";
    at = &(*at)[key];
  }
  if (at->is_string()) return at->get<std::string>();
  return at->is_number() ? DumpJson(*at) : "";
}

std::string DriverText(const Json& document) {
  const Json devices = document.value("/hardware/devices"_json_pointer, Json::array());
  return devices.empty() ? "" : DocumentText(devices[0], "driver_version");
}

class Finder {
 public:
  Finder(Analysis& run_a, Analysis& run_b, const CallSequence& a, const CallSequence& b, const Alignment& al,
         const Changes& changes)
      : run_a_(run_a), run_b_(run_b), a_(a), b_(b), al_(al), changes_(changes) {}

  Result<Comparable> Run() {
    Environment();
    NL_TRY(Program());
    NL_ASSIGN(const StagesFacts* sa, run_a_.Need<StagesFacts>());
    NL_ASSIGN(const StagesFacts* sb, run_b_.Need<StagesFacts>());
    Model(sa->model, sb->model);
    for (const StagesFacts::Stage& stage : sa->stages) {
      if (const StagesFacts::Stage* other = sb->Find(stage.name); other != nullptr) Input(stage, *other);
    }
    Steps();
    Shapes();
    if (!out_.work_text.empty()) out_.work.work = true;
    return std::move(out_);
  }

 private:
  void Differ(const std::string& what, const std::string& a, const std::string& b,
              const std::string& consequence) {
    if (a == b || a.empty() || b.empty()) return;
    out_.differences.push_back({what, a, b, consequence});
  }

  void Environment() {
    const RunData &a = run_a_.data(), &b = run_b_.data();
    const TimelineFacts &ta = *run_a_.facts().Find<TimelineFacts>(),
                        &tb = *run_b_.facts().Find<TimelineFacts>();
    const std::string device_a = DevicesText(a, ta), device_b = DevicesText(b, tb);
    out_.device_a = device_a;
    out_.device_b = device_b;
    Across("device", device_a, device_b, "different device: no verdict about the program");
    out_.work.other_device = !device_a.empty() && !device_b.empty() && device_a != device_b;
    if (out_.work.other_device) Refuse("the device differs");
    if (a_.on_host != b_.on_host) {
      Differ("device work", a_.on_host ? "none recorded" : "recorded",
             b_.on_host ? "none recorded" : "recorded", "one run has only host time: no verdict");
      Refuse("only one run has device work");
    } else if (!a_.on_host) {
      const int64_t used_a = DevicesWithKernels(ta), used_b = DevicesWithKernels(tb);
      Across("devices with kernels", std::to_string(used_a), std::to_string(used_b),
             "times are of the mean device: no verdict about the program");
      if (used_a != used_b) Refuse("the number of devices differs");
      Host(ta, tb);
    }
    for (const char* path : {"software.backend", "software.version", "software.cuda_version",
                             "source.tool_version", "hardware.host.cpu_model"}) {
      Across(path, DocumentText(a.document, path), DocumentText(b.document, path),
             "may change kernels and host time");
    }
    Across("driver", DriverText(a.document), DriverText(b.document), "may change kernels and host time");
  }

  // What the host did can only be compared where one tool recorded it in both runs.
  void Host(const TimelineFacts& ta, const TimelineFacts& tb) {
    const std::string tool_a = DocumentText(run_a_.data().document, "source.tool"),
                      tool_b = DocumentText(run_b_.data().document, "source.tool");
    Across("source.tool", tool_a, tool_b,
           "different recording tools cost the host different time: no statement about the host");
    const bool host_a = HasHostCalls(ta), host_b = HasHostCalls(tb);
    if (host_a != host_b) {
      Differ("host operators and API calls", host_a ? "recorded" : "not recorded",
             host_b ? "recorded" : "not recorded", "no statement about the host");
    }
    const bool other_tool = !tool_a.empty() && !tool_b.empty() && tool_a != tool_b;
    out_.work.no_host = !host_a || !host_b || other_tool;
    if (host_a != host_b) Refuse("only one run has host operators or API calls");
    if (other_tool) Refuse("different tools recorded the runs");
  }

  // Two programs with next to nothing in common. Operators of CPU models have the same few names and types
  // in all of them: there the fingerprints decide.
  Status Program() {
    constexpr double kLeastCommon = 0.25, kOftenCommon = 0.5, kLeastSimilar = 0.02, kLeastSimilarOnHost = 0.1;
    if (a_.on_host != b_.on_host) return {};
    const double common_a = CommonShare(a_, b_), common_b = CommonShare(b_, a_);
    if (std::max(common_a, common_b) >= kLeastCommon) {
      if (!a_.on_host && std::min(common_a, common_b) >= kOftenCommon) return {};
      NL_ASSIGN(const FingerprintFacts* fa, run_a_.Need<FingerprintFacts>());
      NL_ASSIGN(const FingerprintFacts* fb, run_b_.Need<FingerprintFacts>());
      const double similarity = CompareFingerprints(*fa, *fb).similarity;
      if (similarity >= (a_.on_host ? kLeastSimilarOnHost : kLeastSimilar)) return {};
    }
    const auto percent = [](double share) {
      return fmt::format("{:.0f} % of its time in common calls", 100 * share);
    };
    out_.differences.push_back({"program", percent(common_a), percent(common_b),
                                "different programs: no verdict, and the changes below are guesses"});
    out_.other_program = true;
    Refuse("the runs have little in common");
    return {};
  }

  // A difference that calls for the tables of across.h.
  void Across(const std::string& what, const std::string& a, const std::string& b,
              const std::string& consequence) {
    const size_t before = out_.differences.size();
    Differ(what, a, b, consequence);
    out_.across = out_.across || out_.differences.size() > before;
  }

  // The first reason counts.
  void Refuse(const std::string& reason) {
    if (out_.reason.empty()) out_.reason = reason;
  }

  void Model(const ModelShape& a, const ModelShape& b) {
    const auto dim = [this](const char* name, const Dim& x, const Dim& y) {
      if (!x.value || !y.value || *x.value == *y.value) return;
      Work(fmt::format("{} {} -> {}", name, *x.value, *y.value));
      Differ(name, std::to_string(*x.value), std::to_string(*y.value),
             "different model: the work is different");
      out_.work.layers = out_.work.layers || std::string_view(name) == "layers";
    };
    dim("layers", a.layers, b.layers);
    dim("d_model", a.d_model, b.d_model);
    dim("d_ff", a.d_ff, b.d_ff);
    dim("heads", a.heads, b.heads);
    dim("kv_heads", a.kv_heads, b.kv_heads);
    dim("vocab", a.vocab, b.vocab);
    Differ("dtype", a.dtype, b.dtype, "different data types: see dtype_changed and precision_upcast");
  }

  void Input(const StagesFacts::Stage& a, const StagesFacts::Stage& b) {
    if (!a.tokens || !b.tokens || a.instances.empty() || b.instances.empty()) return;
    if (a.name != "prefill" && a.name != "decode_step") return;
    const double per_a = *a.tokens / static_cast<double>(a.instances.size()),
                 per_b = *b.tokens / static_cast<double>(b.instances.size());
    // Token counts come from a few calls: they count when most calls of the stage have different shapes.
    if (per_a <= 0 || std::abs(per_a - per_b) < 0.005 * per_a || ReshapedShare(a.name) < 0.5) return;
    Differ("tokens per " + a.name, fmt::format("{:.0f}", per_a), fmt::format("{:.0f}", per_b),
           "the work changed: wall time is also given per token");
    Work(fmt::format("{} tokens {:.0f} -> {:.0f}", a.name, per_a, per_b));
    tokens_a_ += *a.tokens;
    tokens_b_ += *b.tokens;
    out_.normalised_by = "token";
    out_.units_a = tokens_a_;
    out_.units_b = tokens_b_;
  }

  double ReshapedShare(const std::string& stage) const {
    int64_t pairs = 0, reshaped = 0;
    std::vector<bool> asked(a_.types.size());
    for (size_t type = 0; type < asked.size(); ++type) {
      const CallType& t = a_.types[type];
      asked[type] = t.stage != kNone && !IsNull(t.dims) && a_.stages[t.stage] == stage;
    }
    for (uint32_t i = 0; i < al_.calls.size(); ++i) {
      const Match& m = al_.calls[i];
      if (m.a == kNone || m.b == kNone || !asked[a_.calls[m.a].type]) continue;
      ++pairs;
      reshaped += (changes_.change[i] & kShapeChanged) != 0;
    }
    return pairs == 0 ? 1 : static_cast<double>(reshaped) / static_cast<double>(pairs);
  }

  // Labels that both runs have, with different numbers of instances.
  void Steps() {
    std::map<std::string, std::pair<int64_t, int64_t>> counts;
    std::map<std::string, bool> both;
    for (const Match& m : al_.segments) {
      const std::string& name = m.a != kNone ? a_.segments[m.a].name : b_.segments[m.b].name;
      if (name.empty()) continue;
      counts[name].first += m.a != kNone;
      counts[name].second += m.b != kNone;
      both[name] = both[name] || (m.a != kNone && m.b != kNone);
    }
    for (const auto& [name, n] : counts) {
      if (!both[name] || n.first == n.second) continue;
      // A label that other labels cut into pieces: more of them give more pieces.
      if (n.first < 2 && n.second < 2) continue;
      Differ("instances of " + name, std::to_string(n.first), std::to_string(n.second),
             "the work changed: wall time is also given per step");
      Work(fmt::format("{} {} -> {} times", name, n.first, n.second));
      if (!out_.normalised_by.empty()) continue;
      out_.normalised_by = "step";
      out_.units_a = static_cast<double>(n.first);
      out_.units_b = static_cast<double>(n.second);
    }
  }

  // Half of the calls of a label with different shapes: the input changed.
  void Shapes() {
    if (!out_.work_text.empty()) return;
    struct Sum {
      int64_t pairs = 0, changed = 0;
      uint32_t first = kNone;
    };
    std::map<uint64_t, Sum> labels;
    uint32_t segment = kNone;
    Sum* sum = nullptr;
    for (uint32_t i = 0; i < al_.calls.size(); ++i) {
      const Match& m = al_.calls[i];
      if (m.a == kNone || m.b == kNone || a_.Type(m.a).kind != CallKind::kKernel) continue;
      if (sum == nullptr || a_.calls[m.a].segment != segment) {
        segment = a_.calls[m.a].segment;
        sum = &labels[a_.segments[segment].label];
      }
      ++sum->pairs;
      if ((changes_.change[i] & kShapeChanged) == 0 || IsNull(a_.Type(m.a).dims)) continue;
      ++sum->changed;
      if (sum->first == kNone) sum->first = i;
    }
    for (const auto& [label, found] : labels) {
      if (found.pairs < 10 || 2 * found.changed < found.pairs) continue;
      const Match& m = al_.calls[found.first];
      const std::string a(a_.Text(a_.Type(m.a).dims).substr(0, 60)),
          b(b_.Text(b_.Type(m.b).dims).substr(0, 60)), stage = StageOf(b_, b_.Type(m.b));
      Work(fmt::format("inputs of {} {} -> {}", OpOf(b_, b_.Type(m.b)), a, b));
      Differ("shapes of " + (stage.empty() ? "the run" : stage), a, b,
             "the work changed: most calls have different shapes");
      return;
    }
  }

  void Work(const std::string& text) { out_.work_text += (out_.work_text.empty() ? "" : "; ") + text; }

  Analysis &run_a_, &run_b_;
  const CallSequence &a_, &b_;
  const Alignment& al_;
  const Changes& changes_;
  Comparable out_;
  double tokens_a_ = 0, tokens_b_ = 0;
};

}  // namespace

Result<Comparable> FindComparable(Analysis& run_a, Analysis& run_b, const CallSequence& a,
                                  const CallSequence& b, const Alignment& al, const Changes& changes) {
  return Finder(run_a, run_b, a, b, al, changes).Run();
}

}  // namespace nl::compare
