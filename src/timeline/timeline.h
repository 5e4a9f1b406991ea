// SPDX-License-Identifier: Apache-2.0
#pragma once
// Timeline: a stored run ready to be drawn: its lanes, its overview, and its spans where someone looks closer
// than the overview; and the same of its lines. OpenTimeline keeps those that were used last in memory, for
// all requests of a process. Overview and lines of a run with kStoredFromEvents events or more are stored
// beside the runs of the store (ledger/derived.h); it is a cache: absent, damaged or unwritable, it is made
// again in memory. Thread rule: constant for callers; any number of threads. Ownership: shared with the
// requests that use it.

#include <atomic>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "ledger/store.h"
#include "timeline/lanes.h"
#include "timeline/lines.h"
#include "timeline/overview.h"
#include "timeline/run_spans.h"
#include "timeline/strips.h"

namespace nl {

struct OpenTimelineOptions {
  const std::atomic<bool>* cancelled = nullptr;  // may be null
  std::function<void(int64_t done_bytes, int64_t total_bytes)>
      progress;  // of making the overview; may be empty
  // Not null: a large run that is not open yet sets it and is not opened (Cancelled).
  bool* too_long = nullptr;
};

class Timeline {
 public:
  static constexpr int64_t kStoredFromEvents = 1'000'000;

  static Result<std::shared_ptr<const Timeline>> Open(const Store& store, const CatalogRun& run,
                                                      const OpenTimelineOptions& options);

  // Of a folder with the tables of a run, without a store.
  static Result<std::shared_ptr<const Timeline>> OpenFolder(const std::string& run_folder,
                                                            const OverviewOptions& options,
                                                            const LineOptions& line_options = {});

  const RunSpans& spans() const { return *spans_; }
  const Overview& overview() const { return *overview_; }
  const std::vector<Line>& lines() const { return lines_; }
  const std::vector<LaneNode>& lanes() const { return lanes_; }
  const FlameStrips& strips() const { return *strips_; }
  // The boxes of a strip by depth, from memory where it was drawn lately.
  Result<std::shared_ptr<const std::vector<BucketRow>>> StripRows(size_t strip,
                                                                  const std::atomic<bool>* cancelled) const;
  // The source recorded durations one by one: starts give only the order, and nothing can be drawn.
  bool order_only() const { return order_only_; }
  // Number of the lane of a slot; -1: it has no spans.
  int64_t LaneOf(LaneSlot slot) const;

  // The spans of a row group, from memory where it was read lately.
  Result<std::shared_ptr<const std::vector<LaneSpans>>> Group(size_t group) const;
  // Row groups that have values of lines, and the values of one, from memory where it was read lately.
  Result<const std::vector<LineRows::Group>*> LineGroups(const std::atomic<bool>* cancelled) const {
    return line_rows_->Groups(cancelled);
  }
  Result<std::shared_ptr<const std::vector<LinePart>>> LineGroup(size_t group) const;
  // What a name is shown as: kernels by their short name, CPU samples by the innermost frame.
  std::string DisplayName(StringId name) const;

  size_t Bytes() const;  // in memory, without the row groups

 private:
  Timeline() = default;
  // Gives it what the functions make, its strips and its lanes. They run beside each other.
  Status Load(const std::function<Result<std::unique_ptr<Overview>>()>& overview,
              const std::function<Result<std::vector<Line>>()>& lines, const std::atomic<bool>* cancelled);

  // The row groups that were read last, or the strips that were drawn last.
  template <class Part>
  class KeptGroups {
   public:
    explicit KeptGroups(size_t most_bytes) : most_bytes_(most_bytes) {}
    std::shared_ptr<const std::vector<Part>> Find(size_t group);  // null: it is not kept
    std::shared_ptr<const std::vector<Part>> Keep(size_t group, std::vector<Part> parts);

   private:
    struct Kept {
      size_t group;
      std::shared_ptr<const std::vector<Part>> parts;
      size_t bytes;
    };
    const size_t most_bytes_;
    std::mutex mutex_;
    std::list<Kept> kept_;  // the last used first
    size_t bytes_ = 0;
  };

  std::unique_ptr<RunSpans> spans_;
  std::unique_ptr<Overview> overview_;
  std::unique_ptr<LineRows> line_rows_;
  std::vector<Line> lines_;
  std::unique_ptr<FlameStrips> strips_;
  std::vector<LaneNode> lanes_;
  bool order_only_ = false;
  std::unordered_map<LaneSlot, int64_t> lane_of_slot_;
  mutable KeptGroups<LaneSpans> kept_spans_{size_t{192} << 20};
  mutable KeptGroups<LinePart> kept_values_{size_t{64} << 20};
  mutable KeptGroups<BucketRow> kept_strips_{size_t{128} << 20};
  mutable std::mutex mutex_;  // of display_names_
  mutable std::unordered_map<uint32_t, std::string> display_names_;
};

// From memory, or opened now; a second request for the same run waits for the first.
Result<std::shared_ptr<const Timeline>> OpenTimeline(const Store& store, const CatalogRun& run,
                                                     const OpenTimelineOptions& options);

}  // namespace nl
