// SPDX-License-Identifier: Apache-2.0
#include "analyze/passes/stages/find_stages.h"

#include <algorithm>
#include <initializer_list>
#include <map>
#include <tuple>
#include <unordered_map>

#include <fmt/format.h>

#include "analyze/facts/attribution.h"
#include "analyze/program/training.h"
#include "analyze/waits/cold_calls.h"
#include "base/has_any.h"
#include "model/labels/nvtx_label.h"

namespace nl::passes::stages {

namespace {

using Key = std::pair<LlmStage, std::string>;  // stage, sub-stage
using Collected = std::map<Key, std::vector<StageSpan>>;

// Of two that start together, the outer one.
bool Earlier(const StageSpan& a, const StageSpan& b) {
  return std::tie(a.start_ns, b.end_ns, a.range_row) < std::tie(b.start_ns, a.end_ns, b.range_row);
}

std::vector<FoundStage> Sorted(Collected collected) {
  std::vector<FoundStage> out;
  for (auto& [key, spans] : collected) {
    FoundStage stage;
    const std::string name(LlmStageName(key.first));
    stage.name = key.second.empty() ? name : name + "::" + key.second;
    if (!key.second.empty()) {
      const size_t up = key.second.rfind("::");
      stage.parent = up == std::string::npos ? name : name + "::" + key.second.substr(0, up);
    }
    std::sort(spans.begin(), spans.end(), Earlier);
    stage.spans = std::move(spans);
    out.push_back(std::move(stage));
  }
  return out;
}

// A label inside the same label on its thread is not another instance: the program and the recorder may both
// set it. Spans that start and end in different places are separate, such as requests served concurrently.
void DropNested(const RunData& data, std::vector<StageSpan>& spans) {
  std::sort(spans.begin(), spans.end(), Earlier);
  std::map<ThreadId, int64_t> until_ns;
  std::erase_if(spans, [&](const StageSpan& span) {
    if (IsNull(span.thread) || data.Text(data.range.kind[span.range_row]) != "span") return false;
    int64_t& until = until_ns.try_emplace(span.thread, INT64_MIN).first->second;
    if (span.end_ns <= until) return true;
    until = span.end_ns;
    return false;
  });
}

// Spans of one kind of label. Those that the profiler projected to the device are used only if the host has
// none.
struct Labelled {
  Collected host, device;
  void Add(const Key& key, const StageSpan& span) { (span.on_device ? device : host)[key].push_back(span); }
  Collected Take(const RunData& data) {
    for (auto& [key, spans] : host) DropNested(data, spans);
    return std::move(host.empty() ? device : host);
  }
};

Forward ForwardOf(const EngineStep& step, const StageSpan& span) {
  Forward f;
  f.thread = span.thread;
  f.start_ns = f.end_ns = span.start_ns;
  f.language = true;
  f.tokens = step.tokens;
  f.head_tokens = step.context + step.generation;
  if (step.context > 0) return f;
  f.batch = step.generation;
  f.q_len = 1;
  if (!f.tokens) f.tokens = step.generation;
  if (step.generation_keys) f.kv_len = *step.generation_keys / step.generation;
  return f;
}

// Labels a person or the recorder set; without any, those of a serving engine.
Collected FromLabels(const RunData& data, const TimelineFacts& t, std::vector<Forward>& forwards) {
  Labelled own, engine;
  struct Meaning {
    std::optional<LlmLabel> own;
    std::optional<EngineStep> engine;
  };
  std::unordered_map<uint32_t, Meaning> labels;
  std::map<uint32_t, EngineStep> step_of_row;
  for (uint32_t row = 0; row < data.range.name.size(); ++row) {
    const StringId name = data.range.name[row];
    if (IsNull(name) || IsNull(data.range.start_ns[row]) || IsNull(data.range.dur_ns[row])) continue;
    const auto [it, added] = labels.try_emplace(static_cast<uint32_t>(name));
    if (added) it->second = {ParseLlmLabel(data.Text(name)), ParseEngineLabel(data.Text(name))};
    const Meaning& meaning = it->second;
    if (!meaning.own && !meaning.engine) continue;
    StageSpan span;
    span.start_ns = data.range.start_ns[row];
    span.end_ns = span.start_ns + std::max<int64_t>(data.range.dur_ns[row], 0);
    span.thread = data.range.thread_id[row];
    span.process = ProcessOf(data, span.thread);
    span.range_row = row;
    span.on_device = std::binary_search(t.device_ranges.begin(), t.device_ranges.end(), row);
    if (meaning.own) {
      own.Add({meaning.own->stage, std::string(meaning.own->sub)}, span);
    } else {
      engine.Add({meaning.engine->stage(), ""}, span);
      step_of_row.emplace(row, *meaning.engine);
    }
  }
  Collected out = own.Take(data);
  if (!out.empty()) return out;
  out = engine.Take(data);
  for (const auto& [key, spans] : out) {
    for (const StageSpan& span : spans) forwards.push_back(ForwardOf(step_of_row.at(span.range_row), span));
  }
  std::sort(forwards.begin(), forwards.end(), [](const Forward& a, const Forward& b) {
    return std::tie(a.thread, a.start_ns) < std::tie(b.thread, b.start_ns);
  });
  return out;
}

// The outermost op or module call around the first op of a forward that begins after `after_ns`; the calls of
// a loop around several forwards are not part of any of them.
uint32_t CallOf(const RunData& data, const TimelineFacts& t, const Forward& f, int64_t after_ns) {
  uint32_t out = f.first_node;
  for (uint32_t up = f.first_node; up != kNone; up = t.host.parent[up]) {
    const bool module =
        t.host.kind[up] == HostKind::kPython && !ModuleNameOf(data.Text(t.host.name[up])).empty();
    if ((module || t.host.kind[up] == HostKind::kOp) && t.host.start_ns[up] >= after_ns) out = up;
  }
  return out;
}

// What is recorded into a graph does not run then.
std::vector<Forward> OutsideCapture(const RunData& data, const TimelineFacts& t,
                                    std::vector<Forward> forwards) {
  const std::map<ThreadId, std::vector<Interval>> captures = GraphCaptures(*data.strings, t.host);
  std::erase_if(forwards, [&](const Forward& f) {
    const auto it = captures.find(f.thread);
    if (it == captures.end()) return false;
    return std::any_of(it->second.begin(), it->second.end(),
                       [&](const Interval& c) { return f.start_ns >= c.start_ns && f.start_ns < c.end_ns; });
  });
  return forwards;
}

// A forward lasts from its outermost call until the next one of its thread begins; the last one until its
// own calls end.
Collected FromForwards(const RunData& data, const TimelineFacts& t, const std::vector<Forward>& forwards) {
  std::vector<StageSpan> spans;
  for (size_t i = 0; i < forwards.size(); ++i) {
    const Forward& f = forwards[i];
    const bool follows = i > 0 && forwards[i - 1].thread == f.thread;
    const uint32_t call = CallOf(data, t, f, follows ? forwards[i - 1].end_ns : INT64_MIN);
    StageSpan span;
    span.start_ns = t.host.start_ns[call];
    span.end_ns = std::max(f.end_ns, t.host.end_ns[call]);
    span.thread = f.thread;
    span.process = ProcessOf(data, f.thread);
    if (follows) spans.back().end_ns = span.start_ns;
    spans.push_back(span);
  }
  Collected out;
  for (size_t i = 0; i < forwards.size(); ++i) {
    const auto prefill = forwards[i].IsPrefill();
    if (prefill) out[{*prefill ? LlmStage::kPrefill : LlmStage::kDecodeStep, ""}].push_back(spans[i]);
  }
  return out;
}

// The kernels of the busiest stream in order, by name.
struct Sequence {
  std::vector<uint32_t> work;  // positions in TimelineFacts::work
  std::vector<uint32_t> name;
};
Sequence BusiestStream(const TimelineFacts& t) {
  std::vector<int64_t> count(t.streams.size(), 0);
  for (size_t k = 0; k < t.work.size(); ++k) count[t.work.stream[k]] += t.work.kind[k] == WorkKind::kKernel;
  Sequence out;
  if (count.empty()) return out;
  const auto stream = static_cast<uint32_t>(std::max_element(count.begin(), count.end()) - count.begin());
  for (uint32_t k = 0; k < t.work.size(); ++k) {
    if (t.work.kind[k] != WorkKind::kKernel || t.work.stream[k] != stream) continue;
    out.work.push_back(k);
    out.name.push_back(static_cast<uint32_t>(t.work.name[k]));
  }
  return out;
}

struct Period {
  size_t first = 0, length = 0, count = 0;  // count repeats of `length` kernels from `first` on
};

// The distance between calls of a kernel that runs once per step is the period; the rarest kernels are
// tried first. A period holds when 95 % of the kernels are the same one period later, and has at least
// `least` of the kernels that `counted` marks.
Period FindPeriod(const std::vector<uint32_t>& name, const std::vector<uint8_t>& counted, size_t least) {
  constexpr size_t kMinRepeats = 4, kMarkers = 32;
  std::unordered_map<uint32_t, std::vector<size_t>> places;
  for (size_t i = 0; i < name.size(); ++i) places[name[i]].push_back(i);
  std::vector<const std::vector<size_t>*> markers;
  for (const auto& [id, at] : places) {
    if (at.size() >= kMinRepeats) markers.push_back(&at);
  }
  std::sort(markers.begin(), markers.end(), [](const auto* a, const auto* b) {
    return a->size() != b->size() ? a->size() < b->size() : a->front() < b->front();
  });
  Period best;
  for (size_t m = 0; m < std::min(markers.size(), kMarkers); ++m) {
    const std::vector<size_t>& at = *markers[m];
    std::map<size_t, size_t> distance;
    for (size_t i = 1; i < at.size(); ++i) ++distance[at[i] - at[i - 1]];
    const auto mode = std::max_element(distance.begin(), distance.end(),
                                       [](const auto& a, const auto& b) { return a.second < b.second; });
    const size_t length = mode->first;
    if (mode->second + 1 < kMinRepeats || length < 4 || at.back() + 1 < length) continue;
    const auto last = counted.begin() + static_cast<ptrdiff_t>(at.back()) + 1;
    if (static_cast<size_t>(std::count(last - static_cast<ptrdiff_t>(length), last, 1)) < least) continue;
    // The period ends with the marker; repeats are counted backwards from its last call.
    size_t count = 0;
    for (size_t end = at.back() + 1; end >= length; end -= length, ++count) {
      size_t same = 0;
      for (size_t i = 0; i < length; ++i) same += name[end - length + i] == name[at.back() + 1 - length + i];
      if (20 * same < 19 * length) break;
    }
    if (count >= kMinRepeats && count * length > best.count * best.length)
      best = {at.back() + 1 - count * length, length, count};
  }
  return best;
}

// Kernels that only a backward pass or an optimizer runs.
bool IsTrainingKernel(std::string_view raw) {
  return HasAny(raw, {"backward", "_bwd", "Backward", "dgrad", "wgrad", "multi_tensor_apply", "FusedAdam"});
}
// Attention over a key-value cache, or what fills one.
bool ReadsCache(std::string_view raw) {
  return HasAny(raw, {"splitkv", "split_kv", "SplitKV", "paged", "Paged", "kvcache", "kv_cache", "KVCache",
                      "reshape_and_cache", "masked_multihead_attention", "mmha", "flash_decod", "FlashDecod",
                      "decode_attention", "BatchDecode", "batch_decode", "_fwd_grouped_kernel_stage"});
}

Collected FromKernels(const RunData& data, const TimelineFacts& t, std::string& reason) {
  const Sequence s = BusiestStream(t);
  const auto count = [&](size_t from, size_t to, const auto& fits) {
    size_t found = 0;
    for (size_t i = from; i < to; ++i) found += fits(t.work.name[s.work[i]]);
    return found;
  };
  const auto attention = [&](StringId name) {
    return t.KernelNameOf(name).family == KernelFamily::kAttention;
  };
  const auto cache = [&](StringId name) { return ReadsCache(data.Text(name)); };
  for (const auto& [id, parsed] : t.kernel_names) {
    if (!IsTrainingKernel(data.Text(static_cast<StringId>(id)))) continue;
    reason = "backward or optimizer kernels show a training run, which has no inference stages";
    return {};
  }
  std::vector<uint8_t> attends(s.work.size());
  for (size_t i = 0; i < attends.size(); ++i) attends[i] = attention(t.work.name[s.work[i]]);
  // A model has several layers: what holds one attention kernel is a layer, never a step.
  Period p = FindPeriod(s.name, attends, 2);
  const bool layers = p.count > 0;
  if (!layers) p = FindPeriod(s.name, attends, 0);
  if (p.count == 0) {
    reason = "no stage labels, no operator shapes that show forward passes, and no repeating kernel sequence";
    return {};
  }
  const size_t end = p.first + p.length;
  if (count(p.first, end, attention) == 0) {
    reason =
        "no stage labels, no operator shapes that show forward passes, and the repeating kernel sequence has "
        "no attention kernel";
    return {};
  }
  if (!layers) {
    reason =
        "no stage labels, and what repeats in the kernel sequence is one layer of a model, which does not "
        "show where a "
        "step begins";
    return {};
  }
  if (count(p.first, end, cache) == 0) {
    reason =
        "no stage labels, and no kernel reads a key-value cache: nothing shows that text is generated token "
        "by token";
    return {};
  }
  Collected out;
  const auto add = [&](LlmStage stage, size_t from, size_t to) {
    StageSpan span;
    span.on_device = true;
    span.start_ns = t.work.start_ns[s.work[from]];
    span.end_ns = t.work.end_ns[s.work[to - 1]];
    for (size_t i = from; i < to; ++i) span.end_ns = std::max(span.end_ns, t.work.end_ns[s.work[i]]);
    out[{stage, ""}].push_back(span);
  };
  // The prefill has about as many kernels as a step: what comes before the first step, at most that many.
  const size_t before = std::min(p.first, p.length);
  if (2 * before >= p.length && count(p.first - before, p.first, attention) > 0)
    add(LlmStage::kPrefill, p.first - before, p.first);
  for (size_t i = 0; i < p.count; ++i)
    add(LlmStage::kDecodeStep, p.first + i * p.length, p.first + (i + 1) * p.length);
  return out;
}

}  // namespace

int32_t ProcessOf(const RunData& data, ThreadId thread) {
  const auto i = static_cast<size_t>(thread);
  if (IsNull(thread) || i >= data.thread.process_id.size()) return -1;
  return IsNull(data.thread.process_id[i]) ? -1 : static_cast<int32_t>(data.thread.process_id[i]);
}

FoundStages FindStages(const RunData& data, const TimelineFacts& timeline,
                       const std::vector<Forward>& forwards) {
  FoundStages out;
  Collected found = FromLabels(data, timeline, out.forwards);
  if (!found.empty()) {
    out.source = "labels";
    out.by_engine = !out.forwards.empty();
    out.stages = Sorted(std::move(found));
    return out;
  }
  out.inferred = true;
  if (program::HasBackward(data)) {
    out.reason = "backward operators show a training run, which has no inference stages";
    return out;
  }
  const std::vector<Forward> run = OutsideCapture(data, timeline, forwards);
  if (GenerateTokens(run)) {
    found = FromForwards(data, timeline, run);
    out.source = "op shapes";
  } else if (!forwards.empty()) {
    out.reason = run.empty()
                     ? "no stage labels, and the operators are being captured into a graph: nothing is served"
                     : "no stage labels, and nothing shows that text is generated token by token (no "
                       "key-value cache, no language-model head)";
  } else {
    found = FromKernels(data, timeline, out.reason);
    out.source = "kernel sequence";
  }
  if (found.empty()) out.source.clear();
  out.stages = Sorted(std::move(found));
  return out;
}

}  // namespace nl::passes::stages
