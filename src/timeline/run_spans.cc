// SPDX-License-Identifier: Apache-2.0
#include "timeline/run_spans.h"

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>

#include "ledger/parquet_format.h"
#include "ledger/run_files.h"
#include "ledger/store.h"
#include "timeline/sorted_runs.h"

namespace nl {

namespace {

bool IsDeviceWork(SpanTable table) {
  return table == SpanTable::kKernel || table == SpanTable::kMemcpy || table == SpanTable::kMemset;
}

std::string_view NameIn(SpanTable table, std::string_view text) {
  if (table == SpanTable::kCpuSample) text.remove_prefix(text.rfind(';') + 1);
  return text;
}

std::string_view Tagged(SpanTable table, std::string_view name, std::string& out) {
  out.assign(1, static_cast<char>('a' + static_cast<char>(table)));
  return out.append(name);
}

}  // namespace

StringId RunSpans::Intern(SpanTable table, std::string_view name) const {
  std::string tagged;
  const std::lock_guard lock(mutex_);
  return strings_.Add(Tagged(table, name, tagged));
}

Result<std::unique_ptr<RunSpans>> RunSpans::Open(const std::string& run_folder, const std::string& label,
                                                 const std::atomic<bool>* cancelled) {
  std::unique_ptr<RunSpans> out(new RunSpans);
  out->folder_ = run_folder;
  out->label_ = label;
  out->cancelled_ = cancelled;
  NL_TRY(out->OpenSpanTables());
  NL_TRY(out->FindZero());
  out->cancelled_ = nullptr;  // of the request that opened it
  return out;
}

Result<std::shared_ptr<const ParquetReader>> RunSpans::OpenTable(const std::string& name,
                                                                 const std::atomic<bool>* cancelled) const {
  const std::string file = name + std::string(kParquetSuffix), path = fmt::format("{}/{}", folder_, file);
  NL_ASSIGN(const RunFiles noted, ReadRunFiles(folder_, kCatalogEntryFile));
  const auto it = noted.find(file);
  if (!PathExists(path)) {
    if (it != noted.end()) return DamagedRun(label_, file + " is missing");
    return std::shared_ptr<const ParquetReader>();
  }
  if (it != noted.end()) {
    VerifyOptions options;
    options.cancelled = cancelled != nullptr ? cancelled : cancelled_;
    const Status whole = VerifyRunFile(folder_, file, it->second, options);
    if (!whole.ok() && whole.error().code == ErrorCode::kCancelled) return whole.error();
    if (!whole.ok()) return DamagedRun(label_, whole.error().message);
  }
  NL_ASSIGN(std::unique_ptr<ParquetReader> reader, ParquetReader::Open(path));
  return std::shared_ptr<const ParquetReader>(std::move(reader));
}

Status RunSpans::OpenSpanTables() {
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(folder_, ignored)) {
    if (entry.path().extension() == kParquetSuffix)
      stored_bytes_ += static_cast<int64_t>(entry.file_size(ignored));
  }
  NL_ASSIGN(const std::shared_ptr<const ParquetReader> threads, OpenTable("thread"));
  threads_ = threads == nullptr ? 0 : threads->rows();
  for (size_t i = 0; i < kSpanTables; ++i) {
    TableFile& table = tables_[i];
    NL_ASSIGN(table.file, OpenTable(kSpanTableNames[i]));
    if (table.file == nullptr) continue;
    const bool sample = static_cast<SpanTable>(i) == SpanTable::kCpuSample;
    table.start = table.file->Column("start_ns");
    table.dur = table.file->Column("dur_ns");
    table.thread = table.file->Column("thread_id");
    table.name = table.file->Column(sample ? "stack" : "name");
    table.kind = table.file->Column("kind");
    if (table.start < 0 || table.thread < 0 || table.name < 0 || (table.dur < 0 && !sample))
      return DamagedRun(label_, fmt::format("{} lacks a column", table.file->path()));
    events_ += table.file->rows();
  }
  return {};
}

// The statistics of the file where they are exact, else the rows themselves.
Result<int64_t> RunSpans::FirstStart(const TableFile& table, size_t group) const {
  const ParquetReader::Chunk& chunk = table.file->chunk(group, table.start);
  if (!chunk.has_range) return INT64_MAX;
  if (table.dur < 0 || table.file->chunk(group, table.dur).null_count == 0) return chunk.min;
  std::vector<int64_t> start, dur;
  NL_TRY(table.file->ReadInts(group, table.start, start));
  NL_TRY(table.file->ReadInts(group, table.dur, dur));
  int64_t first = INT64_MAX;
  for (size_t i = 0; i < start.size(); ++i) {
    if (!IsNull(start[i]) && !IsNull(dur[i])) first = std::min(first, start[i]);
  }
  return first;
}

// As FindBounds of analyze/device_work.h has it, so that times mean the same in every reply.
Status RunSpans::FindZero() {
  int64_t zero = INT64_MAX;
  bool on_device = false;
  for (size_t t = 0; t < kSpanTables; ++t) {
    const TableFile& table = tables_[t];
    const auto kind = static_cast<SpanTable>(t);
    if (table.file == nullptr) continue;
    on_device |= IsDeviceWork(kind) && table.file->rows() > 0;
    for (size_t g = 0; g < table.file->groups(); ++g) {
      const ParquetReader::Chunk& chunk = table.file->chunk(g, table.start);
      if (!chunk.has_range) continue;
      groups_.push_back(
          {kind, static_cast<uint32_t>(g), table.file->first_row(g), table.file->rows(g), chunk.min});
      if (kind == SpanTable::kCpuSample && on_device) continue;  // the last table: device work is known
      NL_ASSIGN(const int64_t first, FirstStart(table, g));
      zero = std::min(zero, first);
    }
  }
  if (!on_device) {
    NL_ASSIGN(const std::shared_ptr<const ParquetReader> lives, OpenTable("thread_life"));
    for (size_t g = 0; lives != nullptr && g < lives->groups(); ++g) {
      const TableFile as_spans{lives, lives->Column("start_ns"), lives->Column("dur_ns")};
      if (as_spans.start < 0 || as_spans.dur < 0) return DamagedRun(label_, "thread_life lacks a column");
      NL_ASSIGN(const int64_t first, FirstStart(as_spans, g));
      zero = std::min(zero, first);
    }
  }
  zero_ns_ = zero == INT64_MAX ? 0 : zero;
  for (Group& group : groups_) group.first_start_ns -= zero_ns_;
  std::stable_sort(groups_.begin(), groups_.end(),
                   [](const Group& a, const Group& b) { return a.first_start_ns < b.first_start_ns; });
  return {};
}

bool RunSpans::AllTimed(size_t group) const {
  const Group& of = groups_[group];
  const TableFile& table = tables_[static_cast<size_t>(of.table)];
  return table.file->chunk(of.group, table.start).null_count == 0 &&
         (table.dur < 0 || of.table == SpanTable::kRange ||
          table.file->chunk(of.group, table.dur).null_count == 0);
}

int64_t RunSpans::LastStart(size_t group) const {
  const Group& of = groups_[group];
  const TableFile& table = tables_[static_cast<size_t>(of.table)];
  return table.file->chunk(of.group, table.start).max - zero_ns_;
}

Status RunSpans::ReadTexts(SpanTable table, size_t group, CodedTexts& out) const {
  const TableFile& of = tables_[static_cast<size_t>(table)];
  return of.file->ReadTexts(group, of.name, out);
}

Result<std::vector<StringId>> RunSpans::ReadNames(SpanTable table, size_t group) const {
  CodedTexts texts;
  NL_TRY(ReadTexts(table, group, texts));
  std::vector<StringId> id_of(texts.distinct.size());
  StringId unnamed{};
  {
    const std::lock_guard lock(mutex_);
    std::string tagged;
    for (size_t i = 0; i < id_of.size(); ++i)
      id_of[i] = strings_.Add(Tagged(table, NameIn(table, texts.distinct[i]), tagged));
    unnamed = strings_.Add(Tagged(table, "", tagged));
  }
  std::vector<StringId> out(texts.codes.size());
  for (size_t i = 0; i < out.size(); ++i)
    out[i] = texts.codes[i] == CodedTexts::kNull ? unnamed : id_of[texts.codes[i]];
  return out;
}

// The lane of each row of a row group.
Result<std::vector<LaneSlot>> RunSpans::SlotsOf(SpanTable table, size_t group) const {
  const TableFile& of = tables_[static_cast<size_t>(table)];
  thread_local std::vector<int64_t> threads;
  NL_TRY(of.file->ReadInts(group, of.thread, threads));
  const LaneUse use = table == SpanTable::kCpuSample ? LaneUse::kSamples : LaneUse::kSpans;
  std::vector<LaneSlot> out(threads.size());
  for (size_t i = 0; i < out.size(); ++i) {
    if (!IsNull(threads[i]) && (threads[i] < 0 || threads[i] >= threads_))
      return DamagedRun(label_, fmt::format("{} names a thread that the run does not have", of.file->path()));
    out[i] = SlotOf(threads[i], use);
  }
  if (table != SpanTable::kRange || of.kind < 0) return out;
  CodedTexts kinds;
  NL_TRY(of.file->ReadTexts(group, of.kind, kinds));
  for (size_t i = 0; i < out.size(); ++i) {
    if (kinds.codes[i] != CodedTexts::kNull && kinds.distinct[kinds.codes[i]] == "async")
      out[i] = SlotOf(threads[i], LaneUse::kAsync);
  }
  return out;
}

// Two passes, so that each lane is allocated once.
Result<std::vector<LaneSpans>> RunSpans::Read(size_t group) const {
  const Group& from = groups_[group];
  const TableFile& table = tables_[static_cast<size_t>(from.table)];
  thread_local std::vector<int64_t> of_start, of_dur;
  std::vector<int64_t>&start = of_start, &dur = of_dur;  // a thread-local name costs a call in a loop
  NL_TRY(table.file->ReadInts(from.group, table.start, start));
  if (table.dur >= 0) {
    NL_TRY(table.file->ReadInts(from.group, table.dur, dur));
  } else {
    dur.assign(start.size(), 0);
  }
  NL_ASSIGN(const std::vector<StringId> names, ReadNames(from.table, from.group));
  NL_ASSIGN(const std::vector<LaneSlot> slots, SlotsOf(from.table, from.group));
  const bool instants = from.table == SpanTable::kRange;
  std::vector<size_t> count(static_cast<size_t>(threads_ + 1) * 3, 0);  // by slot
  for (size_t i = 0; i < start.size(); ++i) {
    if (IsNull(start[i])) continue;
    if (IsNull(dur[i])) {
      if (!instants) {
        start[i] = NullOf<int64_t>::value;
        continue;
      }
      dur[i] = 0;
    }
    if (start[i] < -kMostTime_ns || start[i] > kMostTime_ns || dur[i] < 0 || dur[i] > kMostTime_ns)
      return DamagedRun(label_, fmt::format("{} has a time that is not possible", table.file->path()));
    ++count[slots[i]];
  }
  std::vector<LaneSpans> out;
  std::vector<Span*> next(count.size(), nullptr);
  for (size_t slot = 0; slot < count.size(); ++slot) {
    if (count[slot] == 0) continue;
    LaneSpans& lane = out.emplace_back();
    lane.slot = static_cast<LaneSlot>(slot);
    lane.spans.resize(count[slot]);
    next[slot] = lane.spans.data();
  }
  LaneSlot of = 0;
  Span* at = next[of];
  for (size_t i = 0; i < start.size(); ++i) {
    if (IsNull(start[i])) continue;
    if (slots[i] != of) {
      next[of] = at;
      of = slots[i];
      at = next[of];
    }
    *at++ = {start[i] - zero_ns_, dur[i], OwnerOf(from.table, from.first_row + static_cast<int64_t>(i)),
             names[i]};
  }
  for (LaneSpans& lane : out) SortRuns(lane.spans, kDrawnBefore);
  return out;
}

}  // namespace nl
