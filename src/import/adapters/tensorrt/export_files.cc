// SPDX-License-Identifier: Apache-2.0
#include "import/adapters/tensorrt/export_files.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "import/adapters/tensorrt/counters.h"
#include "import/trace_json/counters.h"
#include "import/trace_json/trace_event.h"

namespace nl::adapters::tensorrt {

using trace_json::JsonKind;
using trace_json::JsonValue;
using trace_json::kPadding;
using trace_json::Scan;
using trace_json::SkipSpace;
using trace_json::TraceEvent;

namespace {

constexpr double kMostMs = 366.0 * 24 * 3600 * 1000;

bool MsToNs(const JsonValue& v, int64_t& ns) {
  double ms = 0;
  if (!trace_json::ToDouble(v, ms) || !(ms >= 0) || ms > kMostMs) return false;
  ns = std::llround(ms * 1e6);
  return true;
}

class Texts {
 public:
  std::string Plain(const JsonValue& v) { return trace_json::Unescape(v.text(), bad_); }
  std::string AsJson(const JsonValue& v) { return trace_json::Minify(v.json(), bad_); }
  void Report(CounterSet& counters) const {
    if (bad_) counters.Add(trace_json::kBadUtf8);
  }

 private:
  bool bad_ = false;
};

Error Misplaced(const ImportFile& file, int64_t offset, std::string_view what) {
  return InvalidInput(fmt::format("expected {}", what)).At(file.path, offset);
}

// Gives every object of the array that `text` is to `take`.
template <class Take>
Status ForEachObject(ImportFile& file, const std::string& text, std::string_view what, Take take) {
  const char* const begin = text.data();
  const char* const end = begin + text.size() - kPadding;
  const auto at = [begin](const char* p) { return p - begin; };
  const auto cut = [&](const char* p) -> Status {
    if (!file.options.allow_truncated) {
      return InvalidInput(fmt::format("the file ends inside the {}", what))
          .At(file.path, at(p))
          .Hint("--allow-truncated keeps what is whole");
    }
    file.counters.Add(trace_json::kTruncated, at(p));
    return {};
  };
  static const trace_json::KeyTable none({});
  trace_json::EventScanner scanner(none);
  TraceEvent entry;
  const char* p = SkipSpace(begin, end);
  if (p >= end || *p != '[') return Misplaced(file, at(p), "a list");
  p = SkipSpace(p + 1, end);
  for (bool first = true;; first = false) {
    if (p >= end) return cut(p);
    if (*p == ']') break;
    if (!first) {
      if (*p != ',') return Misplaced(file, at(p), "a comma between two entries");
      p = SkipSpace(p + 1, end);
      if (p >= end) return cut(p);
    }
    if (*p != '{') return Misplaced(file, at(p), "an entry in braces");
    const char* const start = p;
    const Scan scan = scanner.Next(p, end, entry);
    if (scan == Scan::kNeedMore) return cut(start);
    if (scan == Scan::kBad) return Misplaced(file, at(p), "JSON");
    entry.offset = at(start);
    take(entry);
    if (file.options.Cancelled()) return Cancelled();
    p = SkipSpace(p, end);
  }
  p = SkipSpace(p + 1, end);
  if (p < end) file.counters.Add(trace_json::kBadTrailer, at(p));
  return {};
}

}  // namespace

constexpr size_t kMaxExportBytes = 512 << 20;  // read whole; exports of large engines have megabytes

Result<std::string> ReadText(ImportFile& file) {
  std::string text;
  for (;;) {
    const size_t before = text.size(), step = std::max<size_t>(64 << 10, before / 2);
    text.resize(before + step);
    NL_ASSIGN(const size_t n, file.source.Read(text.data() + before, step));
    text.resize(before + n);
    if (file.options.Cancelled()) return Cancelled();
    if (file.options.progress) file.options.progress(file.source.bytes_read(), file.source.bytes_total());
    if (n == 0) break;
    if (text.size() > kMaxExportBytes) return Limit("a trtexec export of over 512 MB").At(file.path);
  }
  text.append(kPadding, '\0');
  return text;
}

Result<Profile> ReadProfile(ImportFile& file, const std::string& text) {
  Profile out;
  Texts texts;
  const auto take = [&](const TraceEvent& e) {
    ProfiledLayer layer;
    bool timed = false;
    int64_t count = 0;
    for (const trace_json::Arg& field : e.extra) {
      const std::string_view key = field.key.text();
      if (key == "averageMs" && !timed) timed = MsToNs(field.value, layer.average_ns);
      if (key == "count" && !e.name.given() && trace_json::ToInt64(field.value, count) && count > 0) {
        out.runs = count;
        return;
      }
      layer.fields.emplace_back(texts.Plain(field.key), texts.AsJson(field.value));
    }
    if (!timed || e.name.kind != JsonKind::kString || e.name.size == 0) {
      file.counters.Add(kBadLayer, e.offset, e.text);
      return;
    }
    layer.name = texts.Plain(e.name);
    out.layers.push_back(std::move(layer));
  };
  NL_TRY(ForEachObject(file, text, "layer profile", take));
  texts.Report(file.counters);
  return out;
}

Result<std::vector<Query>> ReadTimes(ImportFile& file, const std::string& text) {
  std::vector<Query> out;
  const auto take = [&](const TraceEvent& e) {
    Query q;
    int64_t end_enqueue_ns = NullOf<int64_t>::value, enqueue_ns = end_enqueue_ns, latency_ns = end_enqueue_ns;
    bool started = false, computed = false;
    for (const trace_json::Arg& field : e.extra) {
      const std::string_view key = field.key.text();
      int64_t ns = 0;
      if (!MsToNs(field.value, ns)) continue;
      // Before TensorRT 8.2 the copies were called In and Out.
      if (key == "startComputeMs") q.compute_start_ns = ns, started = true;
      if (key == "computeMs") q.compute_ns = ns, computed = true;
      if (key == "startH2dMs" || key == "startInMs") q.h2d_start_ns = ns;
      if (key == "h2dMs" || key == "inMs") q.h2d_ns = ns;
      if (key == "startD2hMs" || key == "startOutMs") q.d2h_start_ns = ns;
      if (key == "d2hMs" || key == "outMs") q.d2h_ns = ns;
      if (key == "startEnqMs") enqueue_ns = ns;
      if (key == "endEnqMs") end_enqueue_ns = ns;
      if (key == "latencyMs") latency_ns = ns;
    }
    if (!started || !computed) {
      file.counters.Add(kBadQuery, e.offset, e.text);
      return;
    }
    if (!IsNull(enqueue_ns) && !IsNull(end_enqueue_ns) && end_enqueue_ns >= enqueue_ns) {
      q.enqueue_start_ns = enqueue_ns;
      q.enqueue_ns = end_enqueue_ns - enqueue_ns;
    }
    const bool copied = !IsNull(q.h2d_ns) && q.h2d_ns > 0;
    q.start_ns = copied ? std::min(q.h2d_start_ns, q.compute_start_ns) : q.compute_start_ns;
    q.latency_ns = !IsNull(latency_ns)
                       ? latency_ns
                       : q.compute_ns + (IsNull(q.h2d_ns) ? 0 : q.h2d_ns) + (IsNull(q.d2h_ns) ? 0 : q.d2h_ns);
    out.push_back(q);
  };
  NL_TRY(ForEachObject(file, text, "query times", take));
  return out;
}

}  // namespace nl::adapters::tensorrt
