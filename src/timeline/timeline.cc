// SPDX-License-Identifier: Apache-2.0
#include "timeline/timeline.h"

#include <algorithm>
#include <thread>

#include "ledger/derived.h"
#include "ledger/run_files.h"
#include "model/kernel_name.h"
#include "model/run_document.h"
#include "timeline/lines.h"

namespace nl {

namespace {

constexpr size_t kMostGroupBytes = size_t{192} << 20;  // of the row groups that a timeline keeps
constexpr size_t kMostOpenBytes = size_t{1} << 30;     // of all timelines that stay open, without those
constexpr size_t kMostOpen = 16;
constexpr size_t kMostNameBytes = 160;

std::string OverviewName() { return "overview-" + std::to_string(Overview::kVersion); }

Result<std::unique_ptr<Overview>> MakeOverview(const Store& store, const std::string& run_id,
                                               const RunSpans& spans, const OpenTimelineOptions& open) {
  const bool stored = spans.events() >= Timeline::kStoredFromEvents;
  if (stored) {
    const std::string path = FindDerived(store, run_id, OverviewName());
    if (!path.empty()) {
      Result<std::unique_ptr<Overview>> read = ReadOverview(path, spans);
      if (read.ok()) return read;
    }
  }
  OverviewOptions options;
  options.cancelled = open.cancelled;
  if (open.progress) {
    options.progress = [&](int64_t rows, int64_t total_rows) {
      const auto share = static_cast<double>(rows) / static_cast<double>(std::max<int64_t>(total_rows, 1));
      open.progress(static_cast<int64_t>(share * static_cast<double>(spans.stored_bytes())),
                    spans.stored_bytes());
    };
  }
  options.threads = std::max(1u, std::min(4u, std::thread::hardware_concurrency()));
  NL_ASSIGN(std::unique_ptr<Overview> made, BuildOverview(spans, options));
  if (!stored) return made;
  // Where the store cannot be written, the next process makes it again.
  static_cast<void>(
      WriteDerived(store, run_id, OverviewName(), [&](const std::string& path) -> Result<uint64_t> {
        for (;;) {
          NL_ASSIGN(const uint64_t checksum, WriteOverview(*made, spans, path));
          NL_ASSIGN(const std::unique_ptr<ParquetReader> file, ParquetReader::Open(path));
          if (file->size_bytes() <= MostOverviewBytes(spans.stored_bytes()) ||
              made->base_level + 1 >= made->top_level)
            return checksum;
          RaiseBase(*made, spans);
        }
      }));
  return made;
}

Result<bool> IsOrderOnly(const std::string& run_folder) {
  NL_ASSIGN(const std::string text, ReadRunFile(run_folder, kRunDocumentFile));
  NL_ASSIGN(const Json document, ParseJson(text));
  const Json::json_pointer place("/clock/source");
  return document.contains(place) && document[place] == kClockOfOrder;
}

}  // namespace

Result<std::shared_ptr<const Timeline>> Timeline::Open(const Store& store, const CatalogRun& run,
                                                       const OpenTimelineOptions& options) {
  std::shared_ptr<Timeline> out(new Timeline);
  NL_ASSIGN(out->spans_, RunSpans::Open(store.RunPath(run.run_id), run.run_id, options.cancelled));
  NL_TRY(out->Load([&] { return MakeOverview(store, run.run_id, *out->spans_, options); }));
  NL_ASSIGN(out->order_only_, IsOrderOnly(store.RunPath(run.run_id)));
  return std::shared_ptr<const Timeline>(std::move(out));
}

Result<std::shared_ptr<const Timeline>> Timeline::OpenFolder(const std::string& run_folder,
                                                             const OverviewOptions& options) {
  std::shared_ptr<Timeline> out(new Timeline);
  NL_ASSIGN(out->spans_, RunSpans::Open(run_folder, run_folder, options.cancelled));
  NL_TRY(out->Load([&] { return BuildOverview(*out->spans_, options); }));
  return std::shared_ptr<const Timeline>(std::move(out));
}

// The lines are read beside the overview: each takes as long as the other.
Status Timeline::Load(const std::function<Result<std::unique_ptr<Overview>>()>& overview) {
  std::optional<Result<std::vector<LineLane>>> lines;
  {
    const std::jthread reading([&] { lines = ReadLines(*spans_); });
    NL_ASSIGN(overview_, overview());
  }
  if (!lines->ok()) return lines->error();
  overview_->times.clear();
  NL_ASSIGN(lanes_, BuildLanes(*spans_, *overview_, std::move(**lines)));
  for (size_t i = 0; i < lanes_.size(); ++i) {
    if (lanes_[i].slot) lane_of_slot_[*lanes_[i].slot] = static_cast<int64_t>(i);
  }
  return {};
}

int64_t Timeline::LaneOf(LaneSlot slot) const {
  const auto it = lane_of_slot_.find(slot);
  return it == lane_of_slot_.end() ? -1 : it->second;
}

Result<std::shared_ptr<const std::vector<LaneSpans>>> Timeline::Group(size_t group) const {
  {
    const std::lock_guard lock(mutex_);
    const auto it =
        std::find_if(kept_.begin(), kept_.end(), [group](const Kept& kept) { return kept.group == group; });
    if (it != kept_.end()) {
      kept_.splice(kept_.begin(), kept_, it);
      return it->spans;
    }
  }
  NL_ASSIGN(std::vector<LaneSpans> read, spans_->Read(group));
  size_t bytes = 0;
  for (LaneSpans& lane : read) bytes += lane.spans.capacity() * sizeof(Span);
  auto spans = std::make_shared<const std::vector<LaneSpans>>(std::move(read));
  const std::lock_guard lock(mutex_);
  kept_.push_front({group, spans, bytes});
  kept_bytes_ += bytes;
  while (kept_bytes_ > kMostGroupBytes && kept_.size() > 1) {
    kept_bytes_ -= kept_.back().bytes;
    kept_.pop_back();
  }
  return spans;
}

std::string Timeline::DisplayName(StringId name) const {
  std::string_view text = spans_->NameOf(name);
  switch (spans_->TableOf(name)) {
    case SpanTable::kKernel: {
      const std::lock_guard lock(mutex_);
      const auto [it, fresh] = display_names_.try_emplace(static_cast<uint32_t>(name));
      if (fresh) it->second = ParseKernelName(text).short_name;
      return it->second;
    }
    case SpanTable::kCpuSample: text.remove_prefix(text.rfind(';') + 1); break;
    default: break;
  }
  size_t bytes = std::min(text.size(), kMostNameBytes);
  while (bytes > 0 && bytes < text.size() && (static_cast<uint8_t>(text[bytes]) & 0xc0) == 0x80) --bytes;
  return std::string(text.substr(0, bytes));
}

size_t Timeline::Bytes() const {
  size_t out = overview_->Bytes() + spans_->strings().bytes();
  for (const LaneNode& lane : lanes_) out += sizeof(LaneNode) + lane.series.at_ns.size() * 16;
  return out;
}

namespace {

// The timelines of this process that were used last.
class OpenTimelines {
 public:
  Result<std::shared_ptr<const Timeline>> Get(const Store& store, const CatalogRun& run,
                                              const OpenTimelineOptions& options) {
    const std::string key = store.path() + "\n" + run.run_id;
    const std::shared_ptr<Slot> slot = Take(key);
    std::unique_lock opening(slot->mutex, std::defer_lock);
    const bool may_wait = options.too_long == nullptr || run.event_count < Timeline::kStoredFromEvents;
    if (may_wait) opening.lock();
    const bool is_free = may_wait || opening.try_lock();
    if (is_free && slot->timeline != nullptr) return slot->timeline;
    if (!may_wait) {
      *options.too_long = true;
      return Cancelled();
    }
    NL_ASSIGN(slot->timeline, Timeline::Open(store, run, options));
    const std::lock_guard lock(mutex_);
    slot->bytes = slot->timeline->Bytes();
    DropOld();
    return slot->timeline;
  }

 private:
  struct Slot {
    std::mutex mutex;  // held while the timeline is made
    std::string key;
    std::shared_ptr<const Timeline> timeline;
    size_t bytes = 0;
  };
  std::shared_ptr<Slot> Take(const std::string& key) {
    const std::lock_guard lock(mutex_);
    const auto it =
        std::find_if(slots_.begin(), slots_.end(), [&key](const auto& slot) { return slot->key == key; });
    if (it != slots_.end()) {
      slots_.splice(slots_.begin(), slots_, it);
    } else {
      slots_.push_front(std::make_shared<Slot>());
      slots_.front()->key = key;
    }
    return slots_.front();
  }
  void DropOld() {
    size_t bytes = 0, count = 0;
    for (auto it = slots_.begin(); it != slots_.end();) {
      bytes += (*it)->bytes;
      it = ++count > 1 && (bytes > kMostOpenBytes || count > kMostOpen) ? slots_.erase(it) : std::next(it);
    }
  }

  std::mutex mutex_;                        // of slots_ and their bytes
  std::list<std::shared_ptr<Slot>> slots_;  // the last used first
};

}  // namespace

Result<std::shared_ptr<const Timeline>> OpenTimeline(const Store& store, const CatalogRun& run,
                                                     const OpenTimelineOptions& options) {
  static OpenTimelines open;
  return open.Get(store, run, options);
}

}  // namespace nl
