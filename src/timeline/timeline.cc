// SPDX-License-Identifier: Apache-2.0
#include "timeline/timeline.h"

#include <algorithm>
#include <thread>

#include <fmt/format.h>

#include "ledger/derived.h"
#include "ledger/run_files.h"
#include "model/kernel_name.h"
#include "model/run_document.h"

namespace nl {

namespace {

constexpr size_t kMostOpenBytes = size_t{1} << 30;  // of all timelines that stay open, without row groups
constexpr size_t kMostOpen = 16;
constexpr size_t kMostNameBytes = 160;

bool IsStored(const RunSpans& spans) { return spans.events() >= Timeline::kStoredFromEvents; }

// What is stored of a run under a name, or what `make` makes, which is stored then where the run is large.
template <class Made>
Result<Made> FromStore(const Store& store, const std::string& run_id, const RunSpans& spans,
                       const std::string& name,
                       const std::function<Result<Made>(const std::string& path)>& read,
                       const std::function<Result<Made>()>& make,
                       const std::function<Result<uint64_t>(Made& made, const std::string& path)>& write) {
  if (IsStored(spans)) {
    const std::string path = FindDerived(store, run_id, name);
    if (!path.empty()) {
      Result<Made> stored = read(path);
      if (stored.ok()) return stored;
    }
  }
  NL_ASSIGN(Made made, make());
  // Where the store cannot be written, the next process makes it again.
  if (IsStored(spans))
    static_cast<void>(
        WriteDerived(store, run_id, name, [&](const std::string& path) { return write(made, path); }));
  return made;
}

using OverviewPtr = std::unique_ptr<Overview>;

Result<OverviewPtr> MakeOverview(const Store& store, const std::string& run_id, const RunSpans& spans,
                                 const OpenTimelineOptions& open) {
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
  // With its lines it is at most kMostShare of the run.
  const int64_t most_bytes = std::max(
      MostOverviewBytes(spans.stored_bytes()) - MostLineBytes(spans.stored_bytes()), MostOverviewBytes(0));
  return FromStore<OverviewPtr>(
      store, run_id, spans, fmt::format("overview-{}", Overview::kVersion),
      [&](const std::string& path) { return ReadOverview(path, spans); },
      [&] { return BuildOverview(spans, options); },
      [&](OverviewPtr& made, const std::string& path) -> Result<uint64_t> {
        for (;;) {
          NL_ASSIGN(const uint64_t checksum, WriteOverview(*made, spans, path));
          NL_ASSIGN(const std::unique_ptr<ParquetReader> file, ParquetReader::Open(path));
          if (file->size_bytes() <= most_bytes || made->base_level + 1 >= made->top_level) return checksum;
          RaiseBase(*made, spans);
        }
      });
}

Result<std::vector<Line>> MakeLines(const Store& store, const std::string& run_id, const RunSpans& spans,
                                    const LineRows& rows, const std::atomic<bool>* cancelled) {
  return FromStore<std::vector<Line>>(
      store, run_id, spans, fmt::format("lines-{}", Line::kVersion),
      [&](const std::string& path) { return ReadLines(path, spans); },
      [&] {
        LineOptions options;
        options.cancelled = cancelled;
        return BuildLines(rows, spans, options);
      },
      [&](std::vector<Line>& made, const std::string& path) { return WriteLines(made, spans, path); });
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
  out->line_rows_ = std::make_unique<LineRows>(*out->spans_);
  NL_TRY(out->Load(
      [&] { return MakeOverview(store, run.run_id, *out->spans_, options); },
      [&] { return MakeLines(store, run.run_id, *out->spans_, *out->line_rows_, options.cancelled); },
      options.cancelled));
  NL_ASSIGN(out->order_only_, IsOrderOnly(store.RunPath(run.run_id)));
  return std::shared_ptr<const Timeline>(std::move(out));
}

Result<std::shared_ptr<const Timeline>> Timeline::OpenFolder(const std::string& run_folder,
                                                             const OverviewOptions& options,
                                                             const LineOptions& line_options) {
  std::shared_ptr<Timeline> out(new Timeline);
  NL_ASSIGN(out->spans_, RunSpans::Open(run_folder, run_folder, options.cancelled));
  out->line_rows_ = std::make_unique<LineRows>(*out->spans_);
  NL_TRY(out->Load([&] { return BuildOverview(*out->spans_, options); },
                   [&] { return BuildLines(*out->line_rows_, *out->spans_, line_options); },
                   options.cancelled));
  return std::shared_ptr<const Timeline>(std::move(out));
}

Status Timeline::Load(const std::function<Result<std::unique_ptr<Overview>>()>& overview,
                      const std::function<Result<std::vector<Line>>()>& lines,
                      const std::atomic<bool>* cancelled) {
  std::optional<Result<std::vector<Line>>> made;
  std::optional<Result<std::unique_ptr<FlameStrips>>> strips;
  {
    const std::jthread making([&] {
      made = lines();
      strips = FlameStrips::Read(*spans_, cancelled);
    });
    NL_ASSIGN(overview_, overview());
  }
  if (!made->ok()) return made->error();
  if (!strips->ok()) return strips->error();
  lines_ = std::move(**made);
  strips_ = std::move(**strips);
  overview_->times.clear();
  NL_ASSIGN(lanes_, BuildLanes(*spans_, *overview_, lines_, *strips_));
  for (size_t i = 0; i < lanes_.size(); ++i) {
    if (lanes_[i].slot) lane_of_slot_[*lanes_[i].slot] = static_cast<int64_t>(i);
  }
  return {};
}

int64_t Timeline::LaneOf(LaneSlot slot) const {
  const auto it = lane_of_slot_.find(slot);
  return it == lane_of_slot_.end() ? -1 : it->second;
}

namespace {

size_t BytesOf(const LaneSpans& lane) { return lane.spans.capacity() * sizeof(Span); }
size_t BytesOf(const LinePart& part) { return (part.at_ns.capacity() + part.value.capacity()) * 8; }
size_t BytesOf(const BucketRow& row) {
  size_t out = 0;
  for (unsigned level = row.base(); level <= row.top(); ++level)
    out += row.Buckets(level).capacity() * sizeof(Bucket) + row.Spans(level).capacity() * sizeof(Span);
  return out;
}

}  // namespace

template <class Part>
std::shared_ptr<const std::vector<Part>> Timeline::KeptGroups<Part>::Find(size_t group) {
  const std::lock_guard lock(mutex_);
  const auto it =
      std::find_if(kept_.begin(), kept_.end(), [group](const Kept& kept) { return kept.group == group; });
  if (it == kept_.end()) return nullptr;
  kept_.splice(kept_.begin(), kept_, it);
  return it->parts;
}

template <class Part>
std::shared_ptr<const std::vector<Part>> Timeline::KeptGroups<Part>::Keep(size_t group,
                                                                          std::vector<Part> parts) {
  size_t bytes = 0;
  for (const Part& part : parts) bytes += BytesOf(part);
  auto shared = std::make_shared<const std::vector<Part>>(std::move(parts));
  const std::lock_guard lock(mutex_);
  kept_.push_front({group, shared, bytes});
  bytes_ += bytes;
  while (bytes_ > most_bytes_ && kept_.size() > 1) {
    bytes_ -= kept_.back().bytes;
    kept_.pop_back();
  }
  return shared;
}

Result<std::shared_ptr<const std::vector<LaneSpans>>> Timeline::Group(size_t group) const {
  if (auto kept = kept_spans_.Find(group)) return kept;
  NL_ASSIGN(std::vector<LaneSpans> read, spans_->Read(group));
  return kept_spans_.Keep(group, std::move(read));
}

Result<std::shared_ptr<const std::vector<LinePart>>> Timeline::LineGroup(size_t group) const {
  if (auto kept = kept_values_.Find(group)) return kept;
  NL_ASSIGN(std::vector<LinePart> read, line_rows_->Read(group));
  return kept_values_.Keep(group, std::move(read));
}

Result<std::shared_ptr<const std::vector<BucketRow>>> Timeline::StripRows(
    size_t strip, const std::atomic<bool>* cancelled) const {
  if (auto kept = kept_strips_.Find(strip)) return kept;
  NL_ASSIGN(std::vector<BucketRow> rows, strips_->Rows(strip, overview_->top_level, cancelled));
  return kept_strips_.Keep(strip, std::move(rows));
}

std::string Timeline::DisplayName(StringId name) const {
  std::string_view text = spans_->NameOf(name);
  if (spans_->TableOf(name) == SpanTable::kKernel) {
    const std::lock_guard lock(mutex_);
    const auto [it, fresh] = display_names_.try_emplace(static_cast<uint32_t>(name));
    if (fresh) it->second = ParseKernelName(text).short_name;
    return it->second;
  }
  size_t bytes = std::min(text.size(), kMostNameBytes);
  while (bytes > 0 && bytes < text.size() && (static_cast<uint8_t>(text[bytes]) & 0xc0) == 0x80) --bytes;
  return std::string(text.substr(0, bytes));
}

size_t Timeline::Bytes() const {
  size_t out = overview_->Bytes() + spans_->strings().bytes();
  for (const Line& line : lines_) out += line.buckets.size() * sizeof(LineBucket);
  out += lanes_.size() * sizeof(LaneNode);
  return out + strips_->Bytes();
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
