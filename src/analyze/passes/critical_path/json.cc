// SPDX-License-Identifier: Apache-2.0
// The critical path as JSON.

#include <algorithm>

#include "analyze/facts/critical_path.h"
#include "base/units.h"

namespace nl {

namespace {

Json Share(int64_t part_ns, int64_t whole_ns) {
  return whole_ns > 0 ? Json(static_cast<double>(part_ns) / static_cast<double>(whole_ns)) : Json();
}

bool IsWork(PathClass c) {
  return c == PathClass::kKernel || c == PathClass::kCopy || c == PathClass::kCommunication;
}

// Kernels by their short name, with the raw one beside it.
void PutName(Json& to, const RunData& data, StringId name, bool is_kernel) {
  if (IsNull(name)) {
    to["name"] = Json();
    return;
  }
  const std::string raw(data.Text(name));
  to["name"] = is_kernel ? ParseKernelName(raw).short_name : raw;
  if (is_kernel) to["raw_name"] = raw;
}

std::string_view Bound(PathClass c) {
  switch (c) {
    case PathClass::kHostOp:
    case PathClass::kPython:
    case PathClass::kHostRange:
    case PathClass::kApi: return "host";
    case PathClass::kLaunch:
    case PathClass::kLaunchLatency: return "launch";
    case PathClass::kSyncWait: return "sync";
    case PathClass::kKernel:
    case PathClass::kDeviceGap: return "kernel";
    case PathClass::kCopy: return "copy";
    case PathClass::kCommunication: return "communication";
    case PathClass::kUnrecorded: break;
  }
  return "unrecorded";
}

Json Shares(const CriticalPathFacts& facts) {
  Json out = Json::array();
  for (size_t c = 0; c < kPathClasses; ++c) {
    const auto what = static_cast<PathClass>(c);
    out.push_back({{"class", PathClassName(what)},
                   {"bound", Bound(what)},
                   {"ms", Ms(facts.ns_by_class[c])},
                   {"share", Share(facts.ns_by_class[c], facts.wall_ns)}});
  }
  std::stable_sort(out.begin(), out.end(), [](const Json& a, const Json& b) { return a["ms"] > b["ms"]; });
  return out;
}

Json BoundBy(const CriticalPathFacts& facts) {
  Json out = Json::array();
  for (size_t c = 0; c < kPathClasses; ++c) {
    const std::string_view bound = Bound(static_cast<PathClass>(c));
    auto at = std::find_if(out.begin(), out.end(), [&](const Json& b) { return b["bound"] == bound; });
    if (at == out.end()) {
      out.push_back({{"bound", bound}, {"ns", 0}});
      at = out.end() - 1;
    }
    (*at)["ns"] = (*at)["ns"].get<int64_t>() + facts.ns_by_class[c];
  }
  std::stable_sort(out.begin(), out.end(), [](const Json& a, const Json& b) { return a["ns"] > b["ns"]; });
  for (Json& b : out) {
    const int64_t ns = b["ns"];
    b.erase("ns");
    b["ms"] = Ms(ns);
    b["share"] = Share(ns, facts.wall_ns);
  }
  return out;
}

Json Slack(const CriticalPathFacts& facts, const RunData& data, size_t limit) {
  Json histogram = Json::array();
  for (size_t i = 0; i < facts.slack_histogram.size(); ++i) {
    const bool last = i == facts.kSlackBelowNs.size();
    histogram.push_back({{"below_ms", last ? Json() : Json(Ms(facts.kSlackBelowNs[i]))},
                         {"work_items", facts.slack_histogram[i]}});
  }
  Json kernels = Json::array();
  for (size_t i = 0; i < std::min(limit, facts.kernels.size()); ++i) {
    const auto& k = facts.kernels[i];
    Json entry;
    PutName(entry, data, k.name, k.kind == WorkKind::kKernel);
    entry["calls"] = k.calls;
    entry["total_ms"] = Ms(k.total_ns);
    entry["on_path_ms"] = Ms(k.on_path_ns);
    entry["on_path_share"] = Share(k.on_path_ns, k.total_ns);
    entry["min_slack_ms"] = Ms(k.min_slack_ns);
    entry["median_slack_ms"] = Ms(k.median_slack_ns);
    kernels.push_back(std::move(entry));
  }
  return {{"histogram", std::move(histogram)}, {"kernels", std::move(kernels)}};
}

// The longest segments, in time order.
Json Segments(const CriticalPathFacts& facts, const RunData& data, size_t limit) {
  std::vector<const CriticalPathFacts::Segment*> longest;
  longest.reserve(facts.segments.size());
  for (const auto& s : facts.segments) longest.push_back(&s);
  const size_t n = std::min(limit, longest.size());
  const auto longer = [](const auto* a, const auto* b) {
    const int64_t x = a->end_ns - a->start_ns, y = b->end_ns - b->start_ns;
    return x != y ? x > y : a->start_ns < b->start_ns;
  };
  std::partial_sort(longest.begin(), longest.begin() + static_cast<ptrdiff_t>(n), longest.end(), longer);
  longest.resize(n);
  std::sort(longest.begin(), longest.end(),
            [](const auto* a, const auto* b) { return a->start_ns < b->start_ns; });
  Json out = Json::array();
  const int64_t origin_ns = facts.segments.empty() ? 0 : facts.segments[0].start_ns;
  for (const auto* s : longest) {
    Json entry{{"class", PathClassName(s->what)}};
    PutName(entry, data, s->name, IsWork(s->what) && s->what != PathClass::kCopy);
    entry["start_ms"] = Ms(s->start_ns - origin_ns);
    entry["ms"] = Ms(s->end_ns - s->start_ns);
    out.push_back(std::move(entry));
  }
  return out;
}

}  // namespace

Json ToJson(const CriticalPathFacts& facts, const RunData& data, size_t limit) {
  Json out;
  out["wall_ms"] = Ms(facts.wall_ns);
  out["reason"] = facts.reason.empty() ? Json() : Json(facts.reason);
  out["bound_by"] = BoundBy(facts);
  out["shares"] = Shares(facts);
  out["sums"] = {{"wall_ns", facts.wall_ns}, {"path_ns", facts.path_ns}};
  out["contributors"] = Json::array();
  for (size_t i = 0; i < std::min(limit, facts.contributors.size()); ++i) {
    const auto& c = facts.contributors[i];
    Json entry{{"class", PathClassName(c.what)}};
    PutName(entry, data, c.name, IsWork(c.what) && c.what != PathClass::kCopy);
    entry["ms"] = Ms(c.ns);
    entry["share"] = Share(c.ns, facts.wall_ns);
    entry["segments"] = c.segments;
    out["contributors"].push_back(std::move(entry));
  }
  out["contributors_total"] = facts.contributors.size();
  out["segments"] = Segments(facts, data, limit);
  out["segments_total"] = facts.segments.size();
  out["slack"] = Slack(facts, data, limit);
  out["launch_latency_floor_ms"] = Ms(facts.launch_floor_ns);
  out["inferred_waits"] = facts.inferred_waits;
  out["impossible_edges"] = facts.impossible_edges;
  return out;
}

Json ToJson(const WhatIfResult& r) {
  return {{"selector", r.selector},
          {"factor", r.factor},
          {"matched", r.matched},
          {"matched_ms", Ms(r.matched_ns)},
          {"old_wall_ms", Ms(r.old_wall_ns)},
          {"new_wall_ms", Ms(r.new_wall_ns)},
          {"saved_ms", Ms(r.old_wall_ns - r.new_wall_ns)}};
}

}  // namespace nl
