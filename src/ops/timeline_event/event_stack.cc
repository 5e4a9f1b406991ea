// SPDX-License-Identifier: Apache-2.0
#include "ops/timeline_event/event_stack.h"

#include <fmt/format.h>

#include "base/human.h"
#include "base/plural.h"
#include "base/terminal.h"

namespace nl::ops::timeline_event {

void Describe(Record<StackFrame>& r) {
  using T = StackFrame;
  r.Name("TimelineStackFrame", "A frame of a sampled stack");
  r.Field("name", &T::name, "Function");
  r.Field("place", &T::place, "Its file, or the module of native code; null: not known");
  r.Field("line", &T::line, "Line that ran; null: not known");
  r.Field("language", &T::language, "python, native code, or system for the kernel of the system");
}

void Describe(Record<StackBox>& r) {
  using T = StackBox;
  r.Name("TimelineStackBox", "Neighbouring samples that have the same functions down to a depth");
  r.Field("depth", &T::depth, "Depth, from 0: place of its function in frames");
  r.Field("lane", &T::lane, "Lane it is drawn in");
  r.Field("start_ns", &T::start_ns, Unit::kNs, "Start of its first sample, from the zero of the timeline");
  r.Field("dur_ns", &T::dur_ns, Unit::kNs, "Time of its samples");
  r.Field("samples", &T::samples, "Samples in it");
  r.Field("self_samples", &T::self_samples, "Samples in which its function is the innermost");
}

void Describe(Record<EventStack>& r) {
  using T = EventStack;
  r.Name("TimelineEventStack", "The stack of a CPU sample");
  r.Field("frames", &T::frames, "Frames, outermost first");
  r.Field("box", &T::box,
          "The box at the depth asked for; null without --depth, and where the stack has no such depth");
}

namespace {

StackFrame FrameOf(std::string_view text) {
  const SampledFrame parsed = ParseFrame(text);
  StackFrame out;
  out.name = std::string(parsed.name);
  if (!parsed.place.empty()) out.place = std::string(parsed.place);
  out.line = parsed.line;
  out.language = parsed.language;
  return out;
}

std::optional<StackBox> FindBox(const Timeline& timeline, int64_t thread, int64_t row, int64_t depth) {
  const std::optional<size_t> strip = timeline.strips().StripOf(thread);
  if (!strip) return std::nullopt;
  const std::optional<StripBox> found = timeline.strips().BoxOf(*strip, row, depth);
  if (!found) return std::nullopt;
  StackBox out{found->depth,  std::nullopt,   found->start_ns,
               found->dur_ns, found->samples, found->self_samples};
  for (size_t i = 0; i < timeline.lanes().size(); ++i) {
    if (timeline.lanes()[i].strip == strip) out.lane = static_cast<int64_t>(i);
  }
  return out;
}

}  // namespace

EventStack StackOf(const Timeline& timeline, std::string_view stack, int64_t thread, int64_t row,
                   int64_t depth) {
  EventStack out;
  while (!stack.empty()) {
    const size_t end = std::min(stack.find(';'), stack.size());
    out.frames.push_back(FrameOf(stack.substr(0, end)));
    stack.remove_prefix(std::min(end + 1, stack.size()));
  }
  if (depth >= 0) out.box = FindBox(timeline, thread, row, depth);
  return out;
}

std::string StackText(const EventStack& stack) {
  std::string out;
  if (const auto& box = stack.box) {
    out += fmt::format("\nbox at depth {}: {}, starts at {}, {}, {} of them in the function itself\n",
                       box->depth, HumanMs(static_cast<double>(box->dur_ns) / 1e6),
                       HumanMs(static_cast<double>(box->start_ns) / 1e6), Counted(box->samples, "sample"),
                       HumanCount(box->self_samples));
  }
  out += "\nstack, innermost frame first\n";
  for (size_t depth = stack.frames.size(); depth-- > 0;) {
    const StackFrame& frame = stack.frames[depth];
    out += fmt::format("{:>4}  {}", depth, PrintableName(frame.name, 200));
    if (frame.place) out += "  " + PrintableName(*frame.place, 200);
    if (frame.line) out += fmt::format(":{}", *frame.line);
    out += '\n';
  }
  return out;
}

}  // namespace nl::ops::timeline_event
