// SPDX-License-Identifier: Apache-2.0
// The stored form of an overview: rows of one table, by kind: run, lanes, row groups, spans, buckets.
#include <algorithm>
#include <map>
#include <optional>

#include <fmt/format.h>

#include "timeline/overview.h"
#include "timeline/overview_table.h"
#include "timeline/row_group_file.h"

namespace nl {

NL_TABLE_DEFINE(OverviewTable, "overview", kind, "Level of detail of a run's timeline", NL_OVERVIEW_COLUMNS)

namespace {

class OverviewWriter {
 public:
  OverviewWriter(const Overview& overview, const RunSpans& spans) : overview_(overview), spans_(spans) {
    for (size_t i = 0; i < kSpanTables; ++i) owner_[i] = Text(kSpanTableNames[i]);
  }

  Result<uint64_t> Write(const std::string& path) {
    NL_TRY(file_.Create(path));
    NL_TRY(AddHeads());
    for (const OverviewRow& row : overview_.rows) {
      for (unsigned level = row.buckets.base(); level <= row.buckets.top(); ++level) {
        for (const Span& span : row.buckets.Spans(level)) NL_TRY(file_.Add(SpanRow(row, level, span)));
      }
    }
    for (const OverviewRow& row : overview_.rows) {
      for (unsigned level = row.buckets.base(); level <= row.buckets.top(); ++level) {
        for (const Bucket& bucket : row.buckets.Buckets(level))
          NL_TRY(file_.Add(BucketOfRow(row, level, bucket)));
      }
    }
    return file_.Finish();
  }

 private:
  Status AddHeads() {
    OverviewRow_ run = Empty("run");
    run.level = static_cast<int32_t>(overview_.base_level);
    run.depth = static_cast<int32_t>(overview_.top_level);
    run.at = overview_.first_ns;
    run.dur_ns = overview_.last_ns - overview_.first_ns;
    run.count = overview_.events;
    run.owner_id = spans_.zero_ns();
    NL_TRY(file_.Add(run));
    for (const OverviewLane& lane : overview_.lanes) {
      OverviewRow_ r = Empty("lane");
      r.lane = static_cast<int32_t>(lane.slot);
      r.depth = static_cast<int32_t>(lane.depths);
      r.at = lane.first_ns;
      r.dur_ns = lane.last_ns - lane.first_ns;
      r.count = lane.count;
      NL_TRY(file_.Add(r));
    }
    for (size_t g = 0; g < overview_.groups.size(); ++g) {
      const OverviewGroup& group = overview_.groups[g];
      OverviewRow_ r = Empty("group");
      r.owner = Text(kSpanTableNames[static_cast<size_t>(spans_.groups()[g].table)]);
      r.owner_id = spans_.groups()[g].group;
      if (group.from_ns <= group.to_ns) {
        r.at = group.from_ns;
        r.dur_ns = group.to_ns - group.from_ns;
      }
      NL_TRY(file_.Add(r));
    }
    return {};
  }

  using OverviewRow_ = OverviewTableRow;

  OverviewRow_ Empty(std::string_view kind) {
    OverviewRow_ out;
    out.kind = Text(kind);
    return out;
  }
  OverviewRow_ SpanRow(const OverviewRow& row, unsigned level, const Span& span) {
    OverviewRow_ out = Empty("span");
    Place(row, level, out);
    out.at = span.start_ns;
    out.dur_ns = span.dur_ns;
    SetName(span.name, out);
    out.owner_id = span.row();
    return out;
  }
  OverviewRow_ BucketOfRow(const OverviewRow& row, unsigned level, const Bucket& bucket) {
    OverviewRow_ out = Empty("bucket");
    Place(row, level, out);
    out.at = bucket.index;
    out.dur_ns = bucket.busy_ns;
    if (level == row.buckets.base()) {  // above it, FillUpper finds them
      out.count = bucket.count;
      out.longest_ns = bucket.longest_ns;
    }
    SetName(bucket.top, out);
    return out;
  }
  static void Place(const OverviewRow& row, unsigned level, OverviewRow_& out) {
    out.lane = static_cast<int32_t>(row.slot);
    out.depth = static_cast<int32_t>(row.depth);
    out.level = static_cast<int32_t>(level);
  }

  StringId Text(std::string_view text) { return strings_.Add(text); }
  // A name of the run as one of the file.
  void SetName(StringId id, OverviewRow_& out) {
    const auto i = static_cast<size_t>(id);
    if (i >= name_.size()) name_.resize(std::max(i + 1, name_.size() * 2), StringId::kNull);
    if (name_[i] == StringId::kNull) name_[i] = Text(spans_.NameOf(id));
    out.name = name_[i];
    out.owner = owner_[static_cast<size_t>(spans_.TableOf(id))];
  }

  const Overview& overview_;
  const RunSpans& spans_;
  StringPool strings_;
  std::vector<StringId> name_;  // by the run's number
  std::array<StringId, kSpanTables> owner_;
  RowGroupFile<OverviewTableColumns, OverviewTableRow> file_{strings_};
};

enum class RowKind : uint8_t { kOther, kRun, kLane, kGroup, kSpan, kBucket };
constexpr std::array<std::string_view, 6> kRowKinds = {"", "run", "lane", "group", "span", "bucket"};

// One row group of the file, all columns.
struct LoadedGroup {
  CodedTexts kind, name, owner;
  std::vector<RowKind> kinds;                    // by code
  std::vector<std::optional<SpanTable>> owners;  // by code
  std::vector<int64_t> lane, depth, level, at, dur_ns, count, longest_ns, owner_id;

  Status Load(const ParquetReader& file, size_t group) {
    const auto column = [&](const char* text) { return file.Column(text); };
    for (const char* needed : {"kind", "lane", "depth", "level", "at", "dur_ns", "count", "longest_ns",
                               "name", "owner", "owner_id"}) {
      if (column(needed) < 0) return InvalidInput(fmt::format("{} lacks the column {}", file.path(), needed));
    }
    NL_TRY(file.ReadTexts(group, column("kind"), kind));
    NL_TRY(file.ReadTexts(group, column("name"), name));
    NL_TRY(file.ReadTexts(group, column("owner"), owner));
    NL_TRY(file.ReadInts(group, column("lane"), lane));
    NL_TRY(file.ReadInts(group, column("depth"), depth));
    NL_TRY(file.ReadInts(group, column("level"), level));
    NL_TRY(file.ReadInts(group, column("at"), at));
    NL_TRY(file.ReadInts(group, column("dur_ns"), dur_ns));
    NL_TRY(file.ReadInts(group, column("count"), count));
    NL_TRY(file.ReadInts(group, column("longest_ns"), longest_ns));
    kinds.clear();
    for (const std::string_view text : kind.distinct) {
      const auto it = std::find(kRowKinds.begin() + 1, kRowKinds.end(), text);
      kinds.push_back(it == kRowKinds.end() ? RowKind::kOther : static_cast<RowKind>(it - kRowKinds.begin()));
    }
    owners.clear();
    for (const std::string_view text : owner.distinct) {
      const auto it = std::find(kSpanTableNames.begin(), kSpanTableNames.end(), text);
      owners.push_back(it == kSpanTableNames.end()
                           ? std::nullopt
                           : std::optional(static_cast<SpanTable>(it - kSpanTableNames.begin())));
    }
    return file.ReadInts(group, column("owner_id"), owner_id);
  }

  RowKind KindOf(size_t i) const {
    return kind.codes[i] == CodedTexts::kNull ? RowKind::kOther : kinds[kind.codes[i]];
  }
  std::optional<SpanTable> TableOf(size_t i) const {
    return owner.codes[i] == CodedTexts::kNull ? std::nullopt : owners[owner.codes[i]];
  }
};

class OverviewLoader {
 public:
  OverviewLoader(const ParquetReader& file, const RunSpans& spans)
      : file_(file), spans_(spans), out_(std::make_unique<Overview>()) {}

  Result<std::unique_ptr<Overview>> Load() {
    LoadedGroup rows;
    for (size_t g = 0; g < file_.groups(); ++g) {
      NL_TRY(rows.Load(file_, g));
      names_.assign((rows.name.distinct.size() + 1) * kSpanTables, StringId::kNull);
      for (size_t i = 0; i < rows.at.size(); ++i) {
        if (!Take(rows, i)) return InvalidInput(fmt::format("{} does not fit the run", file_.path()));
      }
    }
    if (!has_run_ || out_->groups.size() != spans_.groups().size())
      return InvalidInput(fmt::format("{} does not fit the run", file_.path()));
    for (OverviewRow& row : out_->rows) row.buckets.FillUpper();
    return std::move(out_);
  }

 private:
  bool Take(const LoadedGroup& r, size_t i) {
    switch (r.KindOf(i)) {
      case RowKind::kRun: return TakeRun(r, i);
      case RowKind::kLane: return TakeLane(r, i);
      case RowKind::kGroup: return TakeGroup(r, i);
      case RowKind::kSpan: return TakeSpan(r, i);
      case RowKind::kBucket: return TakeBucket(r, i);
      case RowKind::kOther: break;
    }
    return false;
  }
  bool TakeRun(const LoadedGroup& r, size_t i) {
    if (has_run_ || r.owner_id[i] != spans_.zero_ns() || r.level[i] < 0 || r.depth[i] <= r.level[i] ||
        r.depth[i] >= kMostLevels)
      return false;
    has_run_ = true;
    out_->base_level = static_cast<unsigned>(r.level[i]);
    out_->top_level = static_cast<unsigned>(r.depth[i]);
    out_->events = r.count[i];
    out_->first_ns = r.at[i];
    out_->last_ns = r.at[i] + r.dur_ns[i];
    return true;
  }
  bool TakeLane(const LoadedGroup& r, size_t i) {
    if (!GoodSlot(r.lane[i]) || r.depth[i] < 0) return false;
    out_->lanes.push_back({static_cast<LaneSlot>(r.lane[i]), r.count[i], r.at[i], r.at[i] + r.dur_ns[i],
                           static_cast<uint32_t>(r.depth[i])});
    return true;
  }
  bool TakeGroup(const LoadedGroup& r, size_t i) {
    const size_t place = out_->groups.size();
    const std::optional<SpanTable> table = r.TableOf(i);
    if (place >= spans_.groups().size() || spans_.groups()[place].group != r.owner_id[i] ||
        spans_.groups()[place].table != table)
      return false;
    OverviewGroup& group = out_->groups.emplace_back();
    if (!IsNull(r.at[i])) group = {r.at[i], r.at[i] + r.dur_ns[i]};
    return true;
  }
  bool TakeSpan(const LoadedGroup& r, size_t i) {
    OverviewRow* row = RowOf(r, i);
    const std::optional<SpanTable> table = r.TableOf(i);
    if (row == nullptr || !table || r.owner_id[i] < 0 || r.dur_ns[i] < 0) return false;
    row->buckets.MutableSpans(static_cast<unsigned>(r.level[i]))
        .push_back({r.at[i], r.dur_ns[i], OwnerOf(*table, r.owner_id[i]), Name(r, i, *table)});
    return true;
  }
  bool TakeBucket(const LoadedGroup& r, size_t i) {
    OverviewRow* row = RowOf(r, i);
    const std::optional<SpanTable> table = r.TableOf(i);
    if (row == nullptr || !table) return false;
    row->buckets.MutableBuckets(static_cast<unsigned>(r.level[i]))
        .push_back(
            {r.at[i], r.dur_ns[i], r.longest_ns[i], static_cast<uint32_t>(r.count[i]), Name(r, i, *table)});
    return true;
  }

  // Rows come sorted by lane and depth, twice: for the spans and for the buckets.
  OverviewRow* RowOf(const LoadedGroup& r, size_t i) {
    if (!has_run_ || !GoodSlot(r.lane[i]) || r.depth[i] < 0 || r.level[i] < out_->base_level ||
        r.level[i] > out_->top_level)
      return nullptr;
    const auto key = std::pair(static_cast<LaneSlot>(r.lane[i]), static_cast<uint32_t>(r.depth[i]));
    if (last_ != nullptr && last_key_ == key) return last_;
    if (out_->rows.empty()) {
      for (const OverviewLane& lane : out_->lanes) {
        for (uint32_t depth = 0; depth < lane.depths; ++depth)
          out_->rows.push_back({lane.slot, depth, BucketRow(out_->base_level, out_->top_level)});
      }
      for (OverviewRow& row : out_->rows) place_[{row.slot, row.depth}] = &row;
    }
    const auto it = place_.find(key);
    last_key_ = key;
    last_ = it == place_.end() ? nullptr : it->second;
    return last_;
  }
  bool GoodSlot(int64_t slot) const { return slot >= 0 && slot < (spans_.threads() + 1) * 3; }
  StringId Name(const LoadedGroup& r, size_t i, SpanTable table) {
    const size_t code = std::min<size_t>(r.name.codes[i], r.name.distinct.size());  // none: an empty name
    StringId& known = names_[code * kSpanTables + static_cast<size_t>(table)];
    if (known == StringId::kNull)
      known =
          spans_.Intern(table, code == r.name.distinct.size() ? std::string_view() : r.name.distinct[code]);
    return known;
  }

  const ParquetReader& file_;
  const RunSpans& spans_;
  std::unique_ptr<Overview> out_;
  std::vector<StringId> names_;  // by code and table, of the present row group
  bool has_run_ = false;
  std::map<std::pair<LaneSlot, uint32_t>, OverviewRow*> place_;
  std::pair<LaneSlot, uint32_t> last_key_;
  OverviewRow* last_ = nullptr;
};

}  // namespace

Result<uint64_t> WriteOverview(const Overview& overview, const RunSpans& spans, const std::string& path) {
  return OverviewWriter(overview, spans).Write(path);
}

Result<std::unique_ptr<Overview>> ReadOverview(const std::string& path, const RunSpans& spans) {
  NL_ASSIGN(const std::unique_ptr<ParquetReader> file, ParquetReader::Open(path));
  return OverviewLoader(*file, spans).Load();
}

}  // namespace nl
