// SPDX-License-Identifier: Apache-2.0
#pragma once
// The stack of a CPU sample, frame by frame, and the box of the flame strip that the sample is part of.
// Thread rule: plain values.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/record.h"
#include "model/sampled_frame.h"
#include "timeline/timeline.h"

namespace nl::ops::timeline_event {

struct StackFrame {
  std::string name;
  std::optional<std::string> place;
  std::optional<int64_t> line;
  FrameLanguage language = FrameLanguage::kNative;
};
void Describe(Record<StackFrame>& r);

struct StackBox {
  int64_t depth = 0;
  std::optional<int64_t> lane;
  int64_t start_ns = 0, dur_ns = 0, samples = 0, self_samples = 0;
};
void Describe(Record<StackBox>& r);

struct EventStack {
  std::vector<StackFrame> frames;
  std::optional<StackBox> box;
};
void Describe(Record<EventStack>& r);

// `thread` and `row` are those of the sample; the box is that of `depth`, none below 0.
EventStack StackOf(const Timeline& timeline, std::string_view stack, int64_t thread, int64_t row,
                   int64_t depth);

// Innermost frame first.
std::string StackText(const EventStack& stack);

}  // namespace nl::ops::timeline_event
