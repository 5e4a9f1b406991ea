// SPDX-License-Identifier: Apache-2.0
#include "bench/verify.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "analyze/statistics/stats.h"
#include "base/human.h"

namespace nl::bench {

namespace {

constexpr std::string_view kCheckNames[] = {
    "input_signature",   "workload",       "outputs",         "constant_output",
    "aliasing",          "fresh_seed",     "jitter",          "cached_result",
    "precomputed",       "seed_unchanged", "flags_unchanged", "work_in_timed_region",
    "undeclared_stream", "device_work",    "clocks_agree"};
constexpr double kWorkloadShare = 0.01;
constexpr double kLateShare =
    0.25;  // of the timed requests; measured on an H200: one in hundreds without such a stream

// Events and the host's clock are read one after the other; a device cannot work for longer than the run that
// waits for it.
constexpr double kClockShare = 0.02, kClockS = 20e-6;

struct DtypeTolerance {
  double rtol = 0, atol = 0;
};

DtypeTolerance ToleranceOf(const std::string& dtype) {
  if (dtype == "float32") return {1e-5, 1e-8};
  if (dtype == "float16" || dtype == "bfloat16") return {1e-3, 1e-5};
  if (dtype == "float64") return {1e-9, 1e-12};
  return {};  // integers are exact
}

double ValueOf(const Json& v) {
  if (v.is_number()) return v.get<double>();
  if (v.is_boolean()) return v.get<bool>() ? 1 : 0;
  if (v == "inf") return std::numeric_limits<double>::infinity();
  if (v == "-inf") return -std::numeric_limits<double>::infinity();
  return std::numeric_limits<double>::quiet_NaN();
}

bool SameData(const Json& a, const Json& b) { return a["data"] == b["data"]; }

bool IsConstant(const Json& output) {
  const Json& data = output["data"];
  if (data.size() < 2) return false;
  return std::all_of(data.begin(), data.end(), [&](const Json& v) { return v == data[0]; });
}

}  // namespace

std::span<const std::string_view> NamesOf(CheckResult) {
  static constexpr std::string_view kNames[] = {"passed", "failed", "allowed"};
  return kNames;
}
std::span<const std::string_view> VerifyCheckNames() { return kCheckNames; }

void Describe(Record<VerifyCheck>& r) {
  r.Name("VerifyCheck", "One check of a pair of benchmarks");
  r.Field("name", &VerifyCheck::name, "Name of the check");
  r.Field("result", &VerifyCheck::result,
          "passed, failed, or allowed: it failed and bench.yaml gives a reason");
  r.Field("text", &VerifyCheck::text, "What failed, or the reason");
}

std::optional<std::string> OutputsDiffer(const Json& a, const Json& b, const Json& tolerance) {
  const std::string dtype = a["dtype"].get<std::string>();
  if (a["dtype"] != b["dtype"])
    return fmt::format("the output is {} in the baseline and {} in the optimized program", dtype,
                       b["dtype"].get<std::string>());
  const Json& x = a["data"];
  const Json& y = b["data"];
  if (x.size() != y.size()) return fmt::format("{} values against {}", x.size(), y.size());
  if (x.empty()) return "the output is empty";
  DtypeTolerance t = ToleranceOf(dtype);
  if (tolerance.is_object()) {
    const DtypeTolerance asked{tolerance.value("rtol", t.rtol), tolerance.value("atol", t.atol)};
    const bool looser = asked.rtol > t.rtol || asked.atol > t.atol;
    if (looser && tolerance.value("reason", std::string()).empty())
      return "a tolerance looser than that of the dtype needs a reason";
    t = asked;
  }
  for (size_t i = 0; i < x.size(); ++i) {
    if (x[i] == y[i]) continue;
    const double v = ValueOf(x[i]);
    const double w = ValueOf(y[i]);
    // Infinite values have no neighbours: they are equal or not, and here they are not.
    if (!std::isfinite(v) || !std::isfinite(w) || std::fabs(v - w) > t.atol + t.rtol * std::fabs(v))
      return fmt::format("value {} is {:.9g} in the baseline and {:.9g} in the optimized program", i, v, w);
  }
  return std::nullopt;
}

void Verifier::Fail(std::string_view name, const std::string& text) {
  auto& state = done_[std::string(name)];
  if (!state) state = text;
}
void Verifier::Pass(std::string_view name) { done_.try_emplace(std::string(name), std::nullopt); }

Result<Json> Verifier::Ask(Worker& worker, Json request) { return worker.Ask(request, keep_going_); }

// The output of one run: after a new setup, with changed inputs, or both; `run_first` runs once before the
// change.
Result<Json> Verifier::OutputAfter(Worker& worker, std::optional<uint64_t> seed, bool jitter,
                                   bool run_first) {
  if (seed) {
    NL_ASSIGN(const Json ready, Ask(worker, {{"do", "setup"}, {"seed", *seed}}));
  }
  if (run_first) {
    NL_ASSIGN(const Json ran, Ask(worker, {{"do", "run"}, {"n", 1}}));
    Timed(&worker == &b_, ran);
  }
  if (jitter) {
    NL_ASSIGN(const Json changed, Ask(worker, {{"do", "jitter"}}));
    if (changed.value("changed", false) != true) return InvalidInput("the inputs cannot be changed");
  }
  NL_ASSIGN(const Json ran, Ask(worker, {{"do", "run"}, {"n", 1}}));
  Timed(&worker == &b_, ran);
  NL_ASSIGN(Json output, Ask(worker, {{"do", "verify"}}));
  const bool whole = output.contains("data") && output["data"].is_array() && output.contains("dtype") &&
                     output["dtype"].is_string() && output.contains("aliases") &&
                     output["aliases"].is_array();
  if (!whole) return InvalidInput("the answer to verify has no data, dtype or aliases");
  return output;
}

Status Verifier::CompareSides(uint64_t seed) {
  NL_ASSIGN(const Json setup_a, Ask(a_, {{"do", "setup"}, {"seed", seed}}));
  NL_ASSIGN(const Json setup_b, Ask(b_, {{"do", "setup"}, {"seed", seed}}));
  const Json none;
  const auto member = [&](const Json& reply, const char* name) -> const Json& {
    return reply.contains(name) ? reply[name] : none;
  };
  tolerance_ = member(setup_b, "tolerance");
  for (const bool is_b : {false, true}) {
    Side& side = is_b ? side_b_ : side_a_;
    const Json& made_with = member(is_b ? setup_b : setup_a, "toolchain");
    const Json& device = member(is_b ? setup_b : setup_a, "device_name");
    if (made_with.is_string()) side.toolchain = made_with.get<std::string>();
    if (device.is_string()) side.device_name = device.get<std::string>();
  }
  const Json& signature_a = member(setup_a, "signature");
  const Json& signature_b = member(setup_b, "signature");
  if (!signature_a.is_object() || signature_a.empty()) {
    Fail("input_signature", "the baseline gives no input signature");
  } else if (signature_a != signature_b) {
    Fail("input_signature", fmt::format("{} in the baseline, {} in the optimized program",
                                        DumpJson(signature_a), DumpJson(signature_b)));
  } else {
    Pass("input_signature");
  }
  const Json& work_a = member(setup_a, "workload");
  const Json& work_b = member(setup_b, "workload");
  if (work_a.is_object()) {
    for (const auto& [name, value] : work_a.items()) {
      const double x = ValueOf(value);
      const double y = work_b.is_object() && work_b.contains(name) ? ValueOf(work_b[name]) : NAN;
      if (!(std::fabs(x - y) <= kWorkloadShare * std::fabs(x)))
        Fail("workload",
             fmt::format("{} is {:g} in the baseline and {:g} in the optimized program", name, x, y));
    }
  }
  Pass("workload");
  return {};
}

// One side alone: do its inputs reach its output, in every run?
Status Verifier::CheckInputsMatter(Worker& worker, const char* side, uint64_t seed) {
  NL_ASSIGN(const Json first, OutputAfter(worker, seed, false, false));
  if (!first["aliases"].empty())
    Fail("aliasing",
         fmt::format("the output of the {} shares memory with {}", side, DumpJson(first["aliases"])));
  NL_ASSIGN(const Json other, OutputAfter(worker, seed + 1, false, false));
  if (IsConstant(first) || (SameData(first, other) && first["data"].size() < 2))
    Fail("constant_output", fmt::format("every value of the output of the {} is equal", side));
  if (SameData(first, other))
    Fail("fresh_seed", fmt::format("another seed does not change the output of the {}", side));
  NL_ASSIGN(const Json changed, OutputAfter(worker, seed, true, true));
  if (!SameData(first, changed)) return {};
  // Not in a later run: in the first one at least?
  NL_ASSIGN(const Json early, OutputAfter(worker, seed, true, false));
  if (!SameData(first, early)) {
    Fail("cached_result", fmt::format("the {} computes in its first run only", side));
  } else if (!SameData(first, other)) {
    Fail("precomputed", fmt::format("the {} computes in setup, not in the timed function", side));
  }
  Fail("jitter", fmt::format("a changed input does not change the output of the {}", side));
  return {};
}

// What runs on a device: only declared streams, and the same switches on both sides.
Status Verifier::Audit(bool after) {
  Json flags[2];
  for (const bool is_b : {false, true}) {
    Side& side = is_b ? side_b_ : side_a_;
    const char* name = is_b ? "optimized program" : "baseline";
    NL_ASSIGN(const Json seen, Ask(is_b ? b_ : a_, {{"do", "audit"}, {"n", 2}}));
    flags[is_b] = seen.value("flags", Json::object());
    side.peak_bytes = seen.contains("peak_bytes") && seen["peak_bytes"].is_number()
                          ? std::optional(seen["peak_bytes"].get<double>())
                          : std::nullopt;
    side.uses_device = seen.value("device", false);
    if (!side.uses_device) continue;
    if (!seen.contains("undeclared") || !seen.contains("kernels"))
      return InvalidInput("the answer to audit has no kernels or undeclared streams");
    if (!seen["undeclared"].empty())
      Fail("undeclared_stream", fmt::format("the {} runs {} on a stream that get_streams() does not name",
                                            name, DumpJson(seen["undeclared"][0])));
    if (after && seen["kernels"] != side.kernels)
      Fail("device_work", fmt::format("runs of the {} have {} kernels after the timing, {} before it", name,
                                      DumpJson(seen["kernels"]), DumpJson(side.kernels)));
    side.kernels = seen["kernels"];
  }
  if (flags[0] != flags[1])
    Fail("input_signature", fmt::format("switches differ: {} in the baseline, {} in the optimized program",
                                        DumpJson(flags[0]), DumpJson(flags[1])));
  return {};
}

Status Verifier::Before(uint64_t seed) {
  const auto attempt = [&]() -> Status {
    NL_TRY(CompareSides(seed));
    for (const uint64_t next : {seed, seed + 2}) {
      NL_ASSIGN(const Json a, OutputAfter(a_, next, false, false));
      NL_ASSIGN(const Json b, OutputAfter(b_, next, false, false));
      if (const auto difference = OutputsDiffer(a, b, tolerance_)) Fail("outputs", *difference);
    }
    NL_TRY(CheckInputsMatter(a_, "baseline", seed));
    NL_TRY(CheckInputsMatter(b_, "optimized program", seed));
    for (const char* name :
         {"outputs", "constant_output", "aliasing", "fresh_seed", "jitter", "cached_result", "precomputed"})
      Pass(name);
    // Both ready for the timing, with inputs that no run has seen.
    NL_ASSIGN(const Json a, Ask(a_, {{"do", "setup"}, {"seed", seed + 3}}));
    NL_ASSIGN(const Json b, Ask(b_, {{"do", "setup"}, {"seed", seed + 3}}));
    return Audit(false);
  };
  const Status done = attempt();
  if (done.ok()) return {};
  if (done.error().code == ErrorCode::kCancelled) return done;
  // What did not run has failed; the first of them says why.
  for (const std::string_view name : kCheckNames) {
    if (done_.count(name) > 0) continue;
    Fail(name, "cannot run: " + done.error().message);
    break;
  }
  return {};
}

void Verifier::Timed(bool is_b, const Json& reply) {
  const char* side = is_b ? "optimized program" : "baseline";
  if (!reply.contains("reseeded") || reply["reseeded"] != 0)
    Fail("seed_unchanged", fmt::format("the {} sets a random seed while it is timed", side));
  if (!reply.contains("flags_changed") || !reply["flags_changed"].empty())
    Fail("flags_unchanged", fmt::format("the {} changes {} while it is timed", side,
                                        DumpJson(reply.value("flags_changed", Json("flags")))));
  const Json late = reply.value("busy_after_ns", Json(0));
  TimedReplies& replies = is_b ? timed_b_ : timed_a_;
  ++replies.count;
  if (late.is_number() && late > 0) replies.late_ns.push_back(late.get<double>());
  const Result<double> wall_s = MedianSeconds(reply, "ns"), device_s = MedianSeconds(reply, "device_ns");
  if (wall_s.ok() && device_s.ok() && *device_s > *wall_s * (1 + kClockShare) + kClockS)
    replies.beyond_ns.push_back(1e9 * (*device_s - *wall_s));
}

Result<double> MedianSeconds(const Json& reply, const char* name) {
  std::vector<double> times;
  for (const Json& ns : reply.contains(name) && reply[name].is_array() ? reply[name] : Json::array()) {
    if (ns.is_number()) times.push_back(ns.get<double>() / 1e9);
  }
  if (times.empty()) return InvalidInput("the answer to run has no times");
  return Median(std::move(times));
}

// Work on a hidden stream is late in every run. A host that was interrupted between two calls sees the end of
// an idle device late too, now and then.
void Verifier::CheckTimed(const TimedReplies& replies, const char* side) {
  const auto often = [&replies](const std::vector<double>& found) {
    return !found.empty() &&
           static_cast<double>(found.size()) >= kLateShare * static_cast<double>(replies.count);
  };
  const std::string of = HumanCount(replies.count) + " requests";
  if (often(replies.late_ns))
    Fail("undeclared_stream",
         fmt::format(
             "the device is busy for {:.0f} us after the declared streams of the {} have ended, in {} of {}",
             Median(replies.late_ns) / 1e3, side, replies.late_ns.size(), of));
  if (often(replies.beyond_ns))
    Fail("clocks_agree",
         fmt::format("the device works {:.0f} us longer than the wall time that the {} reports, in {} of {}",
                     Median(replies.beyond_ns) / 1e3, side, replies.beyond_ns.size(), of));
}

Status Verifier::After() {
  CheckTimed(timed_a_, "baseline");
  CheckTimed(timed_b_, "optimized program");
  const auto attempt = [&]() -> Status {
    NL_ASSIGN(const Json a, OutputAfter(a_, std::nullopt, true, false));
    NL_ASSIGN(const Json b, OutputAfter(b_, std::nullopt, true, false));
    if (const auto difference = OutputsDiffer(a, b, tolerance_))
      Fail("work_in_timed_region", "after the timed runs, with a changed input: " + *difference);
    return Audit(true);
  };
  const Status done = attempt();
  if (!done.ok() && done.error().code == ErrorCode::kCancelled) return done;
  if (!done.ok()) Fail("work_in_timed_region", "cannot run: " + done.error().message);
  for (const char* name : {"seed_unchanged", "flags_unchanged", "work_in_timed_region", "undeclared_stream",
                           "device_work", "clocks_agree"})
    Pass(name);
  return {};
}

std::vector<VerifyCheck> Verifier::Checks() const {
  std::vector<VerifyCheck> out;
  for (const std::string_view name : kCheckNames) {
    VerifyCheck check{std::string(name), CheckResult::kPassed, std::nullopt};
    const auto found = done_.find(name);
    if (found == done_.end()) {
      check.result = CheckResult::kFailed;
      check.text = "did not run";
    } else if (found->second) {
      check.result = CheckResult::kFailed;
      check.text = *found->second;
    }
    const auto allowed = allow_.find(check.name);
    if (check.result == CheckResult::kFailed && allowed != allow_.end()) {
      check.result = CheckResult::kAllowed;
      check.text = allowed->second;
    }
    out.push_back(std::move(check));
  }
  return out;
}

bool Verifier::passed() const {
  const std::vector<VerifyCheck> checks = Checks();
  return std::none_of(checks.begin(), checks.end(),
                      [](const VerifyCheck& c) { return c.result == CheckResult::kFailed; });
}

}  // namespace nl::bench
