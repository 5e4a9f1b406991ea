// SPDX-License-Identifier: Apache-2.0
// What rules may say of a program without device work: its hottest function, what it waits for, the GIL.
#include "analyze/facts/samples.h"

#include <algorithm>

#include <fmt/format.h>

#include "analyze/features/parts.h"

namespace nl {

namespace {

void AddHotFunction(const SamplesFacts& facts, Features& out) {
  const auto python = TopFunctions(facts, true, 1), native = TopFunctions(facts, false, 1);
  if (python.empty() && native.empty()) return;
  const SampledFunction& hot = python.empty() ? *native[0] : *python[0];
  auto& n = out.run.numbers;
  n["run.hot_share"] = hot.self_share;
  n["run.hot_ms"] = hot.self_ms.value_or(0);
  n["run.hot_is_python"] = hot.language == FrameLanguage::kPython;
  // Library code that a Python function calls is not a loop of the interpreter.
  const bool library = !native.empty() && !ParseFrame("x [" + native[0]->file.value_or("") + "]").interpreter;
  n["run.hot_native_share"] = library ? native[0]->self_share : 0;
  const std::string place = hot.Place();
  out.run.texts["run.hot_function"] = hot.name;
  out.run.texts["run.hot_place"] =
      place.empty() || hot.name == "[" + place + "]" ? hot.name : fmt::format("{} ({})", hot.name, place);
}

void AddWaits(const SampledTime& time, double wall_ms, Features& out) {
  auto& n = out.run.numbers;
  double for_core_ms = 0;
  for (const SampledWait& wait : time.waits) for_core_ms += wait.what == kWaitsForCore.wait ? wait.ms : 0;
  n["run.waiting_ms"] = time.waiting_ms() - for_core_ms;
  n["run.waiting_share"] = (time.waiting_ms() - for_core_ms) / wall_ms;
  if (time.waits.empty()) return;
  const SampledWait& longest = time.waits[0];
  const auto is = [&](std::initializer_list<std::string_view> of) {
    return std::find(of.begin(), of.end(), longest.what) != of.end();
  };
  n["run.longest_wait_ms"] = longest.ms;
  n["run.wait_is_sleep"] = is({"sleep"});
  n["run.wait_is_core"] = is({kWaitsForCore.wait});
  n["run.wait_is_process"] = is({"wait for a process"});
  n["run.wait_is_lock"] = is({"futex", kWaitsForGil.wait});
  n["run.wait_is_io"] =
      is({"poll", "select", "epoll_wait", "read", "readv", "pread", "recv", "recvmsg", "accept", "connect",
          "write", "writev", "pwrite", "send", "sendmsg", "fsync", "fdatasync", kWaitsForDisk.wait});
  out.run.texts["run.wait_call"] = longest.what;
  out.run.texts["run.wait_place"] =
      longest.where ? fmt::format("{} ({})", *longest.where, longest.what) : longest.what;
}

void AddCoreWaits(const SamplesFacts& facts, Features& out) {
  if (facts.samples == 0 || !facts.running_ms) return;
  out.available.push_back("cpu_samples");
  double ms = 0;
  for (const SampledWait& wait : facts.waits) {
    if (wait.what != kWaitsForCore.wait) continue;
    if (ms == 0) out.run.texts["run.core_wait_place"] = wait.where.value_or("");
    ms += wait.ms;
  }
  auto& n = out.run.numbers;
  n["run.core_wait_ms"] = ms;
  n["run.core_wait_share"] = ms > 0 ? ms / (ms + *facts.running_ms) : 0;
}

}  // namespace

void AddSampleFeatures(const SamplesFacts& facts, double wall_ms, Features& out) {
  out.run.numbers["run.has_samples"] = facts.samples > 0;
  out.run.numbers["run.records"] += static_cast<double>(facts.samples);
  AddCoreWaits(facts, out);
  if (!facts.time || wall_ms <= 0) return;
  out.available.push_back("host_samples");
  auto& n = out.run.numbers;
  n["run.cpu_ms"] = facts.running_ms.value_or(0);
  n["run.cpu_running_share"] = facts.time->running_ms() / wall_ms;
  n["run.cores_busy"] = facts.running_ms.value_or(0) / wall_ms;
  AddHotFunction(facts, out);
  AddWaits(*facts.time, wall_ms, out);
  if (!facts.gil_wait_ms) return;
  n["run.gil_wait_ms"] = *facts.gil_wait_ms;
  n["run.gil_held_share"] = std::min(1.0, facts.gil_held_ms.value_or(0) / wall_ms);
  int64_t waiting = 0;
  for (const SampledThread& thread : facts.threads) waiting += thread.gil_wait_ms.value_or(0) > 0 ? 1 : 0;
  n["run.gil_threads"] = static_cast<double>(waiting);
  const double wanted_ms = *facts.gil_wait_ms + facts.gil_held_ms.value_or(0);
  if (wanted_ms > 0) n["run.gil_wait_share"] = *facts.gil_wait_ms / wanted_ms;
  out.run.texts["run.gil_holder"] = facts.gil_holder.value_or("");
}

}  // namespace nl
