// SPDX-License-Identifier: Apache-2.0
#include "analyze/program/sampled_host.h"

#include <algorithm>
#include <unordered_map>

#include <fmt/format.h>

#include "analyze/facts/samples.h"

namespace nl::program {

std::string SampledFunction(std::string_view stack) {
  const std::optional<std::string_view> wait = MarkedWait(stack.substr(stack.rfind(';') + 1));
  if (wait) stack = stack.substr(0, stack.find(';') == std::string_view::npos ? 0 : stack.rfind(';'));
  std::string found(stack.substr(stack.rfind(';') + 1));
  for (std::string_view rest = stack; !rest.empty();) {
    const size_t at = rest.rfind(';') + 1;  // 0 for the outermost
    const SampledFrame frame = ParseFrame(rest.substr(at));
    if (frame.language == FrameLanguage::kPython) {  // its lines count together
      found = fmt::format("{} ({})", frame.name, frame.place);
      break;
    }
    rest = rest.substr(0, at == 0 ? 0 : at - 1);
  }
  if (found.empty()) return wait && !wait->empty() ? fmt::format("waiting for {}", *wait) : "waiting";
  if (!wait) return found;
  return wait->empty() ? found + ", waiting" : fmt::format("{}, waiting for {}", found, *wait);
}

SampledHost::SampledHost(const RunData& data) {
  const CpuSampleView& samples = data.cpu_sample;
  std::unordered_map<uint32_t, StringId> of_stack;
  std::unordered_map<std::string, StringId> of_function;
  for (size_t i = 0; i < samples.stack.size(); ++i) {
    if (IsNull(samples.start_ns[i]) || IsNull(samples.thread_id[i]) || IsNull(samples.stack[i])) continue;
    const auto [known, added] = of_stack.try_emplace(static_cast<uint32_t>(samples.stack[i]));
    if (added) {
      const std::string function = SampledFunction(data.Text(samples.stack[i]));
      known->second = of_function.try_emplace(function, samples.stack[i]).first->second;
    }
    threads_[samples.thread_id[i]].push_back({samples.start_ns[i], known->second});
  }
  for (auto& [thread, list] : threads_) {
    std::stable_sort(list.begin(), list.end(),
                     [](const Sample& a, const Sample& b) { return a.time_ns < b.time_ns; });
  }
}

std::pair<size_t, size_t> SampledHost::Between(const std::vector<Sample>& samples, int64_t from_ns,
                                               int64_t to_ns) {
  const auto at = [&](int64_t time_ns) {
    const auto it = std::partition_point(samples.begin(), samples.end(),
                                         [time_ns](const Sample& s) { return s.time_ns < time_ns; });
    return static_cast<size_t>(it - samples.begin());
  };
  return {at(from_ns), at(to_ns)};
}

}  // namespace nl::program
