// SPDX-License-Identifier: Apache-2.0
#pragma once
// FlameStrips: the CPU samples of a run as boxes. A sample has the time until the next sample of its thread,
// so neighbouring samples whose stacks begin with the same functions share one box at each of these depths.
// The samples stay in memory (24 bytes each); the boxes of a thread are made when its strip is drawn first.
// docs/timeline.md defines the times. Thread rule: constant once read. Ownership: borrows the spans.

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/result.h"
#include "timeline/bucket_row.h"
#include "timeline/run_spans.h"

namespace nl {

struct StripSample {
  int64_t start_ns = 0, dur_ns = 0;  // dur_ns > 0
  uint32_t row = 0;                  // of cpu_sample
  uint32_t stack = 0;                // place among the stacks

  int64_t end_ns() const { return start_ns + dur_ns; }
};

// The samples of one thread.
struct FlameStrip {
  int64_t thread = NullOf<int64_t>::value;
  uint32_t depths = 0;
  std::vector<StripSample> samples;  // by time, without overlap; never empty
};

// Samples that have the same frames down to `depth`.
struct StripBox {
  int64_t depth = 0, start_ns = 0, dur_ns = 0;
  int64_t samples = 0, self_samples = 0;  // self: the frame of the box is the innermost one
};

class FlameStrips {
 public:
  static constexpr uint32_t kMostDepths = 512;  // frames further in are not drawn
  static constexpr size_t kMostEntries = 1'000'000;

  // The table is verified already (RunSpans::Open). Empty where no CPU sample has a time.
  static Result<std::unique_ptr<FlameStrips>> Read(const RunSpans& spans, const std::atomic<bool>* cancelled);

  const std::vector<FlameStrip>& strips() const { return strips_; }  // by thread
  // Place of the strip of a thread; none: it has no samples.
  std::optional<size_t> StripOf(int64_t thread) const;
  // The functions of a stack, outermost first.
  std::span<const StringId> Frames(uint32_t stack) const;
  size_t Bytes() const;

  // A row for each depth, with levels from the lowest one that leaves `most_entries` or fewer up to `top`.
  Result<std::vector<BucketRow>> Rows(size_t strip, unsigned top, const std::atomic<bool>* cancelled,
                                      size_t most_entries = kMostEntries) const;
  // The same of a level below theirs, of the window [from_ns, to_ns), which begins and ends with a bucket.
  std::vector<BucketRow> CloseRows(size_t strip, const std::vector<BucketRow>& rows, unsigned level,
                                   int64_t from_ns, int64_t to_ns) const;
  // The box at a depth that has the sample of a row of cpu_sample; none: it has no such frame.
  std::optional<StripBox> BoxOf(size_t strip, int64_t row, int64_t depth) const;

 private:
  explicit FlameStrips(const RunSpans& spans) : spans_(spans) {}
  struct Box {
    int64_t start_ns, dur_ns;
    size_t first, last;  // samples
  };
  class StackReader;
  Status ReadGroup(const ParquetReader& file, size_t group, StackReader& reader,
                   std::vector<std::vector<StripSample>>& by_thread);
  uint32_t AddStack(const std::vector<StringId>& frames);
  bool Continues(const FlameStrip& strip, size_t sample, size_t depth) const;
  template <class Take>
  void EachBox(const FlameStrip& strip, size_t first, size_t last, const Take& take) const;
  Span SpanOf(const FlameStrip& strip, size_t depth, const Box& box) const;

  const RunSpans& spans_;
  std::vector<FlameStrip> strips_;
  std::vector<StringId> frames_;  // of all stacks
  std::vector<size_t> ends_;      // of each stack in frames_
};

}  // namespace nl
