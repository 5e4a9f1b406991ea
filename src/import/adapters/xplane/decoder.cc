// SPDX-License-Identifier: Apache-2.0
#include "import/adapters/xplane/decoder.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include <fmt/format.h>

#include "import/adapters/xplane/counters.h"
#include "import/adapters/xplane/xspace_format.h"

namespace nl::adapters::xplane {

namespace {

constexpr int64_t kYearNs = int64_t{366} * 24 * 3600 * 1'000'000'000;
constexpr int64_t kMaxNs = int64_t{1} << 62;
constexpr size_t kMaxLocalBytes = 48 << 20;  // of strings, before the numbers start again

int64_t FloorNs(int64_t ps) { return ps >= 0 ? ps / 1000 : -((-(ps + 1)) / 1000) - 1; }

void QuoteJson(std::string_view text, std::string& out) {
  out.assign(1, '"');
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      fmt::format_to(std::back_inserter(out), "\\u{:04x}", static_cast<unsigned>(c));
    } else {
      out += c;
    }
  }
  out += '"';
}

// "$profiler.py:307 trace" is "profiler.py(307): trace" in a run.
std::string PythonName(std::string_view text) {
  text.remove_prefix(1);
  const size_t space = text.find(' ');
  const size_t colon = text.substr(0, space).rfind(':');
  if (space == std::string_view::npos || colon == std::string_view::npos) return std::string(text);
  return fmt::format("{}({}): {}", text.substr(0, colon), text.substr(colon + 1, space - colon - 1),
                     text.substr(space + 1));
}

}  // namespace

void Decoder::ClearRows() {
  batch.Clear();
  arg_owner.clear();
  work.clear();
  steps.clear();
  bad_utf8.clear();
  counters.Clear();
  if (strings.bytes() < kMaxLocalBytes) return;
  strings.Clear();
  table_names_.fill(StringId::kNull);
  words_.fill(StringId::kNull);
  for (PlaneNames& names : names_) {
    for (std::vector<StringId>* ids : {&names.event, &names.stat, &names.quoted})
      std::fill(ids->begin(), ids->end(), StringId::kNull);
    for (auto& [number, text] : names.number) text = StringId::kNull;
  }
}

void Decoder::Decode(const Piece& piece) {
  line_ = &map_.lines[piece.line];
  plane_ = &map_.planes[line_->plane];
  plane_names_ = &names_[line_->plane];
  if (plane_names_->event.size() != plane_->events.items().size() ||
      plane_names_->stat.size() != plane_->stats.items().size()) {
    plane_names_->event.assign(plane_->events.items().size(), StringId::kNull);
    plane_names_->stat.assign(plane_->stats.items().size(), StringId::kNull);
    plane_names_->quoted.assign(plane_->stats.items().size(), StringId::kNull);
    plane_names_->kernel_details.assign(plane_->stats.items().size(), 0);
    plane_names_->number.assign(plane_->stats.items().size(), {0, StringId::kNull});
    plane_names_->step_label.assign(plane_->events.items().size(), Answer::kUnknown);
  }
  WireReader reader(piece.bytes);
  WireField f;
  Event event;
  uint32_t known = strings.size();
  while (reader.Next(f)) {
    if (!f.Is(kLineEvents, WireType::kBytes)) continue;
    if (ReadEvent(f.bytes, event)) Map(event);
    if (strings.size() == known) continue;
    known = strings.size();
    for (const StringId text : strings.TakeBadUtf8()) bad_utf8.emplace_back(text, event.offset);
  }
}

bool Decoder::ReadEvent(std::string_view bytes, Event& event) {
  event = {};
  event.offset = bytes.data() - map_.file;
  stats_.clear();
  WireReader reader(bytes);
  WireField f;
  int64_t unknown = 0;
  bool good = true;
  while (reader.Next(f)) {
    if (f.Is(kEventStats, WireType::kBytes)) {
      good &= plane_->ReadStat(f.bytes, stats_.emplace_back(), unknown);
    } else if (f.Is(kEventMetadataId, WireType::kVarint)) {
      event.metadata_id = f.Int();
    } else if (f.Is(kEventOffsetPs, WireType::kVarint)) {
      event.offset_ps = f.Int();
    } else if (f.Is(kEventDurationPs, WireType::kVarint)) {
      event.duration_ps = f.Int();
      event.has_duration = true;
    } else if (f.Is(kEventOccurrences, WireType::kVarint)) {
      event.occurrences = f.Int();
      event.has_occurrences = true;
    } else {
      ++unknown;
    }
  }
  if (!reader.ok() || !good) {
    counters.Add(kBadEvent, event.offset);
    return false;
  }
  if (unknown > 0) counters.Add(kUnknownField, event.offset, {}, unknown);
  event.name = plane_->events.Find(event.metadata_id);
  if (event.has_occurrences) {
    const bool named = event.name != IdTable<EventName>::kNone;
    counters.Add(kUntimedEvent, event.offset,
                 named ? plane_->events.At(event.name).text : std::string_view());
    return false;
  }
  return PlaceInTime(bytes, event);
}

// Start and end are cut to whole nanoseconds, so that events that touch still touch.
bool Decoder::PlaceInTime(std::string_view, Event& event) {
  int64_t end_ps = 0;
  const bool overflow =
      __builtin_add_overflow(line_->timestamp_ns, FloorNs(event.offset_ps), &event.start_ns);
  if (overflow || event.start_ns > kMaxNs || event.start_ns < -kMaxNs) {
    counters.Add(kBadTimestamp, event.offset);
    return false;
  }
  if (event.duration_ps < 0 || event.duration_ps / 1000 > kYearNs ||
      __builtin_add_overflow(event.offset_ps, event.duration_ps, &end_ps)) {
    counters.Add(kBadDuration, event.offset);
    event.dur_ns = NullOf<int64_t>::value;
    return true;
  }
  event.dur_ns = FloorNs(end_ps) - FloorNs(event.offset_ps);
  if (event.offset_ps % 1000 != 0 || end_ps % 1000 != 0) counters.Add(kCutTimes);
  return true;
}

const StatValue* Decoder::FindStat(StatKind kind) const {
  for (const StatValue& stat : stats_) {
    if (stat.kind == kind) return &stat;
  }
  return nullptr;
}

StringId Decoder::NameOf(const Event& event) {
  if (event.name == IdTable<EventName>::kNone) return StringId::kNull;
  StringId& id = plane_names_->event[event.name];
  if (id != StringId::kNull) return id;
  const EventName& name = plane_->events.At(event.name);
  return id = strings.Text(name.kind == NameKind::kPython ? PythonName(name.text) : std::string(name.text));
}

StringId Decoder::StatNameOf(const StatValue& stat) {
  if (stat.name == IdTable<StatName>::kNone) {
    const fmt::format_int number(stat.id);
    return strings.Text(std::string_view(number.data(), number.size()));
  }
  StringId& id = plane_names_->stat[stat.name];
  if (id == StringId::kNull) id = strings.Text(plane_->stats.At(stat.name).text);
  return id;
}

StringId Decoder::TextOf(const StatValue& stat) {
  std::string_view text;
  if (stat.type == StatValue::kRef) {
    const uint32_t at = plane_->stats.Find(static_cast<int64_t>(stat.number));
    if (at == IdTable<StatName>::kNone) return StringId::kNull;
    StringId& id = plane_names_->stat[at];
    if (id == StringId::kNull) id = strings.Text(plane_->stats.At(at).text);
    return id;
  }
  return plane_->TextOf(stat, text) ? strings.Text(text) : StringId::kNull;
}

StringId Decoder::JsonOf(const StatValue& stat) {
  switch (stat.type) {
    case StatValue::kRef: {
      const uint32_t at = plane_->stats.Find(static_cast<int64_t>(stat.number));
      if (at == IdTable<StatName>::kNone) break;
      StringId& id = plane_names_->quoted[at];
      if (id == StringId::kNull) {
        QuoteJson(plane_->stats.At(at).text, text_);
        id = strings.Text(text_);
      }
      return id;
    }
    case StatValue::kText: QuoteJson(stat.text, text_); return strings.Text(text_);
    case StatValue::kDouble:
      text_ = std::isfinite(stat.real) ? fmt::format("{}", stat.real) : fmt::format("\"{}\"", stat.real);
      return strings.Text(text_);
    case StatValue::kInt: {
      const bool named = stat.name != IdTable<StatName>::kNone;
      std::pair<uint64_t, StringId> none{0, StringId::kNull};
      auto& last = named ? plane_names_->number[stat.name] : none;
      if (last.first == stat.number && last.second != StringId::kNull) return last.second;
      const fmt::format_int number(static_cast<int64_t>(stat.number));
      last = {stat.number, strings.Text(std::string_view(number.data(), number.size()))};
      return last.second;
    }
    case StatValue::kNone: return strings.Text("null");
    case StatValue::kBytes:
    case StatValue::kUint: break;
  }
  const fmt::format_int number(stat.number);
  return strings.Text(std::string_view(number.data(), number.size()));
}

const KernelDetails& Decoder::DetailsOf(const StatValue& stat) {
  if (stat.type == StatValue::kRef) {
    const uint32_t at = plane_->stats.Find(static_cast<int64_t>(stat.number));
    if (at != IdTable<StatName>::kNone) {
      uint32_t& place = plane_names_->kernel_details[at];
      if (place == 0) {
        kernel_details_.push_back(ParseKernelDetails(plane_->stats.At(at).text));
        place = static_cast<uint32_t>(kernel_details_.size());
      }
      return kernel_details_[place - 1];
    }
  }
  one_details_ = ParseKernelDetails(stat.type == StatValue::kText ? stat.text : std::string_view());
  return one_details_;
}

void Decoder::KeepArg(Table table, size_t row, StringId key, StringId value) {
  ArgsRow arg;
  StringId& owner = table_names_[static_cast<size_t>(table)];
  if (owner == StringId::kNull) owner = strings.Text(kAllTables[static_cast<size_t>(table)]->name);
  arg.owner = owner;
  arg.owner_id = static_cast<RowId>(row);
  arg.key = key;
  arg.value = value;
  batch.args.Add(arg);
  arg_owner.push_back(static_cast<uint8_t>(table));
}

void Decoder::KeepArg(Table table, size_t row, std::string_view key, int64_t value) {
  const fmt::format_int number(value);
  const StringId text = strings.Text(key);
  KeepArg(table, row, text, strings.Text(std::string_view(number.data(), number.size())));
}

void Decoder::KeepStat(Table table, size_t row, const StatValue& stat) {
  if (stat.type == StatValue::kBytes) {
    counters.Add(kBytesNotStored, stat.text.data() - map_.file);
    return;
  }
  const bool dangling = stat.type == StatValue::kRef &&
                        plane_->stats.Find(static_cast<int64_t>(stat.number)) == IdTable<StatName>::kNone;
  if (stat.name == IdTable<StatName>::kNone || dangling) {
    counters.Add(kMissingMetadata);
    if (plane_->cut) return;
  }
  const StringId key = StatNameOf(stat);
  KeepArg(table, row, key, JsonOf(stat));
}

void Decoder::KeepOdd(Table table, size_t row, const Event& event) {
  if (event.name == IdTable<EventName>::kNone) {
    counters.Add(kMissingMetadata, plane_->cut ? -1 : event.offset);
    if (!plane_->cut) KeepArg(table, row, "metadata_id", event.metadata_id);
  }
  if (IsNull(event.dur_ns)) KeepArg(table, row, "duration_ps", event.duration_ps);
}

void Decoder::Map(const Event& event) {
  switch (line_->kind) {
    case LineKind::kThread: return MapHost(event);
    case LineKind::kWork: return MapWork(event);
    case LineKind::kOps: return MapOp(event);
    case LineKind::kSteps: return MapRange(event, WordId(kStep), true);
    case LineKind::kModules: return MapRange(event, WordId(kModule), false);
    case LineKind::kCounters: return MapCounter(event);
    case LineKind::kLabels: return MapRange(event, strings.Text(line_->name), false);
  }
}

}  // namespace nl::adapters::xplane
