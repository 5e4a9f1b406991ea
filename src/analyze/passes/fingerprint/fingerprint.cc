// SPDX-License-Identifier: Apache-2.0
// One vector per op of the run document.

#include "analyze/facts/fingerprint.h"

#include <map>

#include <fmt/format.h>

#include "analyze/cost_model/kernel_counters.h"
#include "analyze/facts/roofline.h"
#include "analyze/pass.h"
#include "base/sha256.h"

namespace nl {
namespace passes::fingerprint {

namespace {

Json Field(const Json& object, const char* name) {
  const auto it = object.find(name);
  return it == object.end() ? Json() : *it;
}
std::optional<double> Number(const Json& object, const char* name) {
  const auto it = object.find(name);
  return it == object.end() || !it->is_number() ? std::nullopt : std::optional<double>(it->get<double>());
}
std::string Text(const Json& object, const char* name) {
  const auto it = object.find(name);
  return it == object.end() || !it->is_string() ? std::string() : it->get<std::string>();
}

// Sorted keys, no spaces, without the id and the time of storing.
std::string Canonical(const Json& document) {
  nlohmann::json sorted = document;
  if (sorted.is_object()) {
    sorted.erase("created_at");
    sorted.erase("run_id");
  }
  return sorted.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

// The document writes null where the tables have an empty type.
std::string SiteKey(const std::string& name, const Json& shapes, Json types) {
  if (types.is_array()) {
    for (Json& type : types) {
      if (type.is_null()) type = "";
    }
  }
  return name + '\0' + DumpJson(shapes) + '\0' + DumpJson(types);
}

class Builder {
 public:
  Builder(const RunData& data, const RooflineFacts& roofline, FingerprintFacts& out)
      : data_(data), roofline_(roofline), counters_(data), out_(out) {}

  void Build() {
    out_.source_run_sha = Sha256Hex(Canonical(data_.document));
    FindHardware();
    const Json timeline = Field(data_.document, "timeline");
    if (!timeline.is_array()) return;
    IndexSites();
    double total_ms = 0;
    for (const Json& op : timeline) total_ms += Number(op, "duration_ms").value_or(0);
    std::map<std::string, int64_t> seen;
    for (const Json& op : timeline) AddOp(op, total_ms, seen);
  }

 private:
  void FindHardware() {
    const Json hardware = Field(data_.document, "hardware");
    const Json devices = hardware.is_object() ? Field(hardware, "devices") : Json();
    const Peaks* peaks = roofline_.peaks.empty() ? nullptr : &roofline_.peaks.begin()->second;
    if (peaks) peak_gbps_ = peaks->dram_gbps;
    const bool named = devices.is_array() && !devices.empty();
    if (const std::string name = named ? Text(devices[0], "name") : ""; !name.empty())
      out_.hardware.device = name;
    if (devices.is_array()) out_.hardware.devices = static_cast<int64_t>(devices.size());
    if (peaks) out_.hardware.peaks = *peaks;
  }

  void IndexSites() {
    for (const RooflinePoint& p : roofline_.points) {
      const auto parse = [&](StringId id) {
        auto json = ParseJson(data_.Text(id));
        return json.ok() ? *std::move(json) : Json();
      };
      sites_.emplace(SiteKey(std::string(data_.Text(p.op)), parse(p.dims), parse(p.types)), &p);
    }
  }

  void AddOp(const Json& op, double total_ms, std::map<std::string, int64_t>& seen) {
    FingerprintFacts::OpVector v;
    v.name = Text(op, "op_name");
    v.type = Text(op, "op_type");
    v.index = static_cast<int64_t>(Number(op, "op_index").value_or(static_cast<double>(out_.ops.size())));
    const Json shapes = Field(op, "shapes"), dtypes = Field(op, "dtypes");
    const std::string identity =
        v.type + '\0' + DumpJson(shapes) + '\0' + DumpJson(dtypes) + '\0' + Text(op, "module");
    v.sig = Sha256Hex(identity + '\0' + std::to_string(seen[identity]++)).substr(0, 16);
    const auto duration_ms = Number(op, "duration_ms");
    if (duration_ms && total_ms > 0) v.values[0] = *duration_ms / total_ms;
    const Json kernels = Field(op, "kernels");
    v.values[2] = Weighted(kernels, "achieved_occupancy", Counter::kAchievedOccupancy);
    v.values[3] = Weighted(kernels, "warp_execution_efficiency", Counter::kWarpExecutionEfficiency);
    v.values[4] = Weighted(kernels, "l2_hit_rate", Counter::kL2HitRate);
    SetTraffic(op, kernels, SiteKey(v.name, shapes, dtypes), v);
    out_.ops.push_back(std::move(v));
  }

  // Mean over the kernels by their duration; null when one that took time has no value.
  std::optional<double> Weighted(const Json& kernels, const char* name, Counter counter) const {
    double sum = 0, total_ms = 0;
    if (!kernels.is_array()) return std::nullopt;
    for (const Json& k : kernels) {
      const double ms = Number(k, "duration_ms").value_or(0);
      auto value = Number(k, name);
      if (ms <= 0) continue;
      if (const CounterSum* sum = value ? nullptr : counters_.OfName(Text(k, "name")))
        value = sum->Mean(counter);
      if (!value) return std::nullopt;
      sum += ms * *value;
      total_ms += ms;
    }
    return total_ms > 0 ? std::optional<double>(sum / total_ms) : std::nullopt;
  }

  // Bytes of DRAM traffic of a kernel, or of all calls of one in an aggregated timeline.
  std::optional<double> Moved(const Json& kernel) const {
    const auto read = Number(kernel, "dram_read_gb"), write = Number(kernel, "dram_write_gb");
    if (read && write) return (*read + *write) * 1e9;
    const CounterSum* sum = counters_.OfName(Text(kernel, "name"));
    const auto bytes = sum == nullptr ? std::nullopt : sum->Sum(Counter::kDramBytes);
    if (!bytes) return std::nullopt;
    return *bytes / static_cast<double>(sum->executions()) * Number(kernel, "calls").value_or(1);
  }

  void SetTraffic(const Json& op, const Json& kernels, const std::string& site,
                  FingerprintFacts::OpVector& v) const {
    double bytes = 0, ms = 0;
    bool counted = kernels.is_array() && !kernels.empty();
    for (size_t i = 0; counted && i < kernels.size(); ++i) {
      const auto moved = Moved(kernels[i]);
      counted = moved.has_value();
      if (!counted) break;
      bytes += *moved;
      ms += Number(kernels[i], "duration_ms").value_or(0);
    }
    const auto at = sites_.find(site);
    std::optional<double> flops = Number(op, "flops");
    if (!flops && at != sites_.end()) flops = at->second->flops;
    if (counted) {
      if (flops && bytes > 0) v.values[1] = *flops / bytes;
      if (ms > 0 && peak_gbps_) v.values[5] = bytes / (ms * 1e6) / *peak_gbps_;
      if (v.values[1]) v.ai_source = CostSource::kCounters;
      return;
    }
    const auto op_bytes = Number(op, "bytes");
    if (flops && op_bytes && *op_bytes > 0) {
      v.values[1] = *flops / *op_bytes;
    } else if (at != sites_.end()) {
      v.values[1] = at->second->Ai();
    }
    if (v.values[1]) v.ai_source = CostSource::kShapes;
  }

  const RunData& data_;
  const RooflineFacts& roofline_;
  const KernelCounters counters_;
  FingerprintFacts& out_;
  std::optional<double> peak_gbps_;
  std::map<std::string, const RooflinePoint*> sites_;
};

class FingerprintPass final : public Pass {
 public:
  PassInfo Info() const override {
    return {FingerprintFacts::kName,
            "A short vector per op, to compare runs by",
            {RooflineFacts::kName},
            kKernelCounterReads};
  }
  Status Run(const RunData& data, const AnalysisOptions&, FactBoard& facts) const override {
    FingerprintFacts out;
    Builder(data, facts.Get<RooflineFacts>(), out).Build();
    facts.Put(std::move(out));
    return {};
  }
};

}  // namespace

const Pass& Describe() {
  static const FingerprintPass pass;
  return pass;
}

}  // namespace passes::fingerprint

}  // namespace nl
