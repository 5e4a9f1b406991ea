// SPDX-License-Identifier: Apache-2.0
#include "analyze/program/labelled_steps.h"

#include <algorithm>
#include <map>
#include <string_view>

#include "model/labels/step_label.h"

namespace nl::program {

LabelledSteps FindLabelledSteps(const RunData& data) {
  std::map<std::string_view, std::vector<Interval>> by_label;
  for (size_t i = 0; i < data.step.start_ns.size(); ++i) {
    const int64_t start_ns = data.step.start_ns[i], dur_ns = data.step.dur_ns[i];
    if (IsNull(start_ns) || IsNull(dur_ns) || dur_ns <= 0) continue;
    const std::string_view name = data.Text(data.step.name[i]), label = StepLabelOf(name);
    by_label[label.empty() ? name : label].push_back({start_ns, start_ns + dur_ns});
  }
  LabelledSteps out;
  for (auto& [label, list] : by_label) {
    std::sort(list.begin(), list.end(),
              [](const Interval& a, const Interval& b) { return a.start_ns < b.start_ns; });
    const auto overlap = [](const Interval& a, const Interval& b) { return b.start_ns < a.end_ns; };
    if (list.size() <= out.steps.size() ||
        std::adjacent_find(list.begin(), list.end(), overlap) != list.end())
      continue;
    out.steps = std::move(list);
    out.label = label;
  }
  return out;
}

}  // namespace nl::program
