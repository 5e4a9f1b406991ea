// SPDX-License-Identifier: Apache-2.0
#include "import/adapters/xplane/space_map.h"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

#include "import/adapters/xplane/counters.h"
#include "import/adapters/xplane/xspace_format.h"

namespace nl::adapters::xplane {

// Nearly every stat is a short number and then one value: read without a loop over fields.
bool Plane::ReadQuickly(std::string_view bytes, StatValue& out) const {
  const auto* p = reinterpret_cast<const uint8_t*>(bytes.data());
  const uint8_t* end = p + bytes.size();
  const auto varint = [&p, end](uint64_t& value) {
    value = 0;
    for (unsigned shift = 0; p < end && shift < 63; shift += 7) {
      const uint8_t byte = *p++;
      value |= uint64_t{byte & 0x7fu} << shift;
      if (byte < 0x80) return true;
    }
    return false;
  };
  uint64_t id = 0;
  if (bytes.size() < 4 || *p++ != (kStatMetadataId << 3) || !varint(id) || p >= end) return false;
  switch (*p++) {
    case kStatUint << 3: out.type = StatValue::kUint; break;
    case kStatInt << 3: out.type = StatValue::kInt; break;
    case kStatRef << 3: out.type = StatValue::kRef; break;
    default: return false;
  }
  if (!varint(out.number) || p != end) return false;
  out.id = static_cast<int64_t>(id);
  out.name = stats.Find(out.id);
  out.kind = out.name != IdTable<StatName>::kNone ? stats.At(out.name).kind : StatKind::kOther;
  return true;
}

bool Plane::ReadStat(std::string_view bytes, StatValue& out, int64_t& unknown) const {
  if (ReadQuickly(bytes, out)) return true;
  WireReader reader(bytes);
  WireField f;
  out = {};
  while (reader.Next(f)) {
    if (f.Is(kStatMetadataId, WireType::kVarint)) {
      out.id = f.Int();
    } else if (f.Is(kStatRef, WireType::kVarint)) {
      out.type = StatValue::kRef;
      out.number = f.value;
    } else if (f.Is(kStatUint, WireType::kVarint)) {
      out.type = StatValue::kUint;
      out.number = f.value;
    } else if (f.Is(kStatInt, WireType::kVarint)) {
      out.type = StatValue::kInt;
      out.number = f.value;
    } else if (f.Is(kStatDouble, WireType::kFixed64)) {
      out.type = StatValue::kDouble;
      out.real = f.Double();
    } else if (f.Is(kStatText, WireType::kBytes)) {
      out.type = StatValue::kText;
      out.text = f.bytes;
    } else if (f.Is(kStatBytes, WireType::kBytes)) {
      out.type = StatValue::kBytes;
      out.text = f.bytes;
    } else {
      ++unknown;
    }
  }
  if (!reader.ok()) return false;
  out.name = stats.Find(out.id);
  if (out.name != IdTable<StatName>::kNone) out.kind = stats.At(out.name).kind;
  return true;
}

bool Plane::TextOf(const StatValue& stat, std::string_view& out) const {
  if (stat.type == StatValue::kText) {
    out = stat.text;
    return true;
  }
  if (stat.type != StatValue::kRef) return false;
  const uint32_t at = stats.Find(static_cast<int64_t>(stat.number));
  if (at == IdTable<StatName>::kNone) return false;
  out = stats.At(at).text;
  return true;
}

namespace {

bool IsUpper(std::string_view text, size_t at) {
  return at < text.size() && text[at] >= 'A' && text[at] <= 'Z';
}

NameKind NameKindOf(std::string_view name) {
  if (name.starts_with('$')) return NameKind::kPython;
  if (name.starts_with("cuda") && IsUpper(name, 4)) return NameKind::kCudaRuntime;
  if (name.starts_with("cu") && IsUpper(name, 2)) return NameKind::kCudaDriver;
  if (name.starts_with("hip") && IsUpper(name, 3)) return NameKind::kHip;
  if (name == "MemoryAllocation") return NameKind::kAllocation;
  return name == "MemoryDeallocation" ? NameKind::kRelease : NameKind::kPlain;
}

PlaneKind PlaneKindOf(std::string_view name) {
  if (name.starts_with("/device:GPU:")) return PlaneKind::kGpu;
  if (name.starts_with("/device:") || name.starts_with("#Chip")) return PlaneKind::kOtherDevice;
  return PlaneKind::kHost;
}

int64_t NumberBehind(std::string_view name, std::string_view prefix) {
  if (!name.starts_with(prefix)) return NullOf<int64_t>::value;
  name.remove_prefix(prefix.size());
  int32_t number = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
  return error == std::errc() && number >= 0 ? number : NullOf<int64_t>::value;
}

// Lines that the profiler or TensorBoard adds beside the streams of a device; what they
// show is on the streams already, or (TPU) has no streams.
LineKind LineKindOf(const Plane& plane, std::string_view name) {
  if (plane.kind == PlaneKind::kHost) return LineKind::kThread;
  if (name == "_counters_") return LineKind::kCounters;
  if (name == "Steps" || name == "Sparse Core Steps") return LineKind::kSteps;
  if (name == "XLA Modules" || name == "Sparse Core Modules") return LineKind::kModules;
  if (name == "XLA Ops" || name == "Sparse Core Ops")
    return plane.kind == PlaneKind::kGpu ? LineKind::kOps : LineKind::kWork;
  for (const std::string_view derived :
       {"Async XLA Ops", "Framework Ops", "Framework Name Scope", "TensorFlow Ops", "TensorFlow Name Scope",
        "Source code", "Launch Stats", "XLA TraceMe", "Host Offload Ops", "Tensor Core Sync Flag",
        "Sparse Core Syncs"}) {
    if (name == derived) return LineKind::kLabels;
  }
  return plane.kind == PlaneKind::kGpu ? LineKind::kWork : LineKind::kLabels;
}

class Mapper {
 public:
  Mapper(std::string_view bytes, const std::string& path, const ImportOptions& options, CounterSet& counters)
      : bytes_(bytes), path_(path), options_(options), counters_(counters) {
    map_.file = bytes.data();
  }

  Result<SpaceMap> Map() {
    WireReader reader(bytes_);
    WireField f;
    while (reader.Next(f)) {
      if (options_.Cancelled()) return Cancelled();
      NL_TRY(TakeSpaceField(f));
    }
    if (!reader.ok()) {
      NL_TRY(Damage("the file", reader));
      if (reader.cut() && f.number == kSpacePlanes) NL_TRY(MapPlane(f.bytes));
    }
    std::stable_partition(map_.pieces.begin(), map_.pieces.end(), [this](const Piece& piece) {
      return map_.planes[map_.lines[piece.line].plane].kind == PlaneKind::kHost;
    });
    if (map_.planes.empty()) return InvalidInput("not an XSpace: it has no planes").At(path_, 0);
    return std::move(map_);
  }

 private:
  int64_t OffsetOf(const char* p) const { return p - bytes_.data(); }

  // The error for a message that does not fit together, unless it may be cut.
  Status Damage(const char* what, const WireReader& reader) {
    const int64_t offset = OffsetOf(reader.start());
    if (options_.allow_truncated) {
      if (!damaged_) counters_.Add(kTruncated, offset);
      damaged_ = true;
      return {};
    }
    const auto left = static_cast<uint64_t>(bytes_.data() + bytes_.size() - reader.position());
    if (reader.cut() && reader.wanted() > left) {
      return InvalidInput(fmt::format("{} is truncated: {} bytes are missing", what, reader.wanted() - left))
          .At(path_, offset)
          .Hint("--allow-truncated keeps what is whole");
    }
    return InvalidInput(fmt::format("{} is damaged: no field of an XSpace here", what))
        .At(path_, offset)
        .Hint("--allow-truncated keeps what is whole before it");
  }

  Status TakeSpaceField(const WireField& f) {
    if (f.Is(kSpacePlanes, WireType::kBytes)) return MapPlane(f.bytes);
    if (f.Is(kSpaceErrors, WireType::kBytes))
      map_.errors.push_back(f.bytes);
    else if (f.Is(kSpaceWarnings, WireType::kBytes))
      map_.warnings.push_back(f.bytes);
    else if (f.Is(kSpaceHostnames, WireType::kBytes))
      map_.hostnames.push_back(f.bytes);
    else
      counters_.Add(kUnknownField);
    return {};
  }

  Status MapPlane(std::string_view bytes) {
    const auto index = static_cast<uint32_t>(map_.planes.size());
    Plane& plane = map_.planes.emplace_back();
    std::vector<std::string_view> lines;
    WireReader reader(bytes);
    WireField f;
    while (reader.Next(f)) TakePlaneField(f, plane, lines);
    if (!reader.ok()) {
      NL_TRY(Damage("a plane", reader));
      plane.cut = true;
      if (reader.cut() && f.number == kPlaneLines) lines.push_back(f.bytes);
    }
    plane.events.Seal();
    plane.stats.Seal();
    plane.kind =
        lines.empty() && !plane.name.starts_with("/device:") ? PlaneKind::kFacts : PlaneKindOf(plane.name);
    plane.number = NumberBehind(plane.name, plane.kind == PlaneKind::kGpu ? "/device:GPU:" : "/device:TPU:");
    for (const std::string_view line : lines) NL_TRY(MapLine(index, line));
    return {};
  }

  void TakePlaneField(const WireField& f, Plane& plane, std::vector<std::string_view>& lines) {
    if (f.Is(kPlaneLines, WireType::kBytes)) {
      lines.push_back(f.bytes);
    } else if (f.Is(kPlaneName, WireType::kBytes)) {
      plane.name = f.bytes;
    } else if (f.Is(kPlaneEventMetadata, WireType::kBytes)) {
      if (!TakeEventName(f.bytes, plane)) counters_.Add(kBadMetadata, OffsetOf(f.bytes.data()));
    } else if (f.Is(kPlaneStatMetadata, WireType::kBytes)) {
      if (!TakeStatName(f.bytes, plane)) counters_.Add(kBadMetadata, OffsetOf(f.bytes.data()));
    } else if (f.Is(kPlaneStats, WireType::kBytes)) {
      plane.own_stats.push_back(f.bytes);
    } else if (!f.Is(kPlaneId, WireType::kVarint)) {
      counters_.Add(kUnknownField, OffsetOf(f.bytes.data() != nullptr ? f.bytes.data() : bytes_.data()));
    }
  }

  // Key and value of one entry of a map; proto3 leaves out a key of 0.
  static bool Entry(std::string_view bytes, int64_t& key, std::string_view& value) {
    WireReader reader(bytes);
    WireField f;
    key = 0;
    while (reader.Next(f)) {
      if (f.Is(kMapKey, WireType::kVarint)) key = f.Int();
      if (f.Is(kMapValue, WireType::kBytes)) value = f.bytes;
    }
    return reader.ok();
  }

  bool TakeEventName(std::string_view bytes, Plane& plane) {
    int64_t key = 0;
    std::string_view value;
    if (!Entry(bytes, key, value)) return false;
    EventName name;
    std::string_view display;
    WireReader reader(value);
    WireField f;
    while (reader.Next(f)) {
      if (f.Is(kMetadataName, WireType::kBytes))
        name.text = f.bytes;
      else if (f.Is(kMetadataDisplayName, WireType::kBytes))
        display = f.bytes;
      else if (f.Is(kMetadataStats, WireType::kBytes))
        name.stats.push_back(f.bytes);
      else if (f.Is(kMetadataBytes, WireType::kBytes) && !f.bytes.empty())
        counters_.Add(kBytesNotStored, OffsetOf(f.bytes.data()));
      else if (f.number > kMetadataChildren)
        counters_.Add(kUnknownField, OffsetOf(reader.start()));
    }
    if (!reader.ok()) return false;
    name.kind = NameKindOf(name.text);
    if (!display.empty() && display != name.text) {
      name.full = name.text;
      name.text = display;
    }
    plane.events.Put(key) = std::move(name);
    return true;
  }

  bool TakeStatName(std::string_view bytes, Plane& plane) {
    int64_t key = 0;
    std::string_view value;
    if (!Entry(bytes, key, value)) return false;
    WireReader reader(value);
    WireField f;
    StatName name;
    while (reader.Next(f)) {
      if (f.Is(kMetadataName, WireType::kBytes)) name.text = f.bytes;
    }
    if (!reader.ok()) return false;
    name.kind = StatKindOf(name.text);
    plane.stats.Put(key) = name;
    return true;
  }

  // Cuts the line into pieces at event boundaries; its name and time may stand after the events.
  Status MapLine(uint32_t plane_index, std::string_view bytes) {
    Plane& plane = map_.planes[plane_index];
    Line line;
    line.plane = plane_index;
    line.offset = OffsetOf(bytes.data());
    const auto index = static_cast<uint32_t>(map_.lines.size());
    const size_t first_piece = map_.pieces.size();
    const char* begin = bytes.data();
    WireReader reader(bytes);
    WireField f;
    bool events = false;
    while (reader.Next(f)) {
      if (f.Is(kLineEvents, WireType::kBytes)) {
        events = true;
        const auto size = static_cast<size_t>(reader.position() - begin);
        if (size < std::max<size_t>(options_.chunk_bytes, 1)) continue;
        map_.pieces.push_back({index, {begin, size}});
        begin = reader.position();
        continue;
      }
      if (f.Is(kLineId, WireType::kVarint))
        line.id = f.Int();
      else if (f.Is(kLineName, WireType::kBytes))
        line.name = f.bytes;
      else if (f.Is(kLineTimestampNs, WireType::kVarint))
        line.timestamp_ns = f.Int();
      else if (f.Is(kLineDisplayId, WireType::kVarint))
        line.display_id = f.Int();
      else if (f.Is(kLineDisplayName, WireType::kBytes))
        line.display_name = f.bytes;
      else if (!f.Is(kLineDurationPs, WireType::kVarint))
        counters_.Add(kUnknownField, OffsetOf(reader.start()));
    }
    const char* end = bytes.data() + bytes.size();
    if (!reader.ok()) {
      NL_TRY(Damage("a line", reader));
      end = reader.start();
    }
    if (!events) return {};
    if (begin < end) map_.pieces.push_back({index, {begin, static_cast<size_t>(end - begin)}});
    if (map_.pieces.size() == first_piece) return {};
    line.kind = LineKindOf(plane, line.name);
    plane.has_op_line |= line.kind == LineKind::kOps;
    if (line.kind == LineKind::kWork && line.name.starts_with("Stream #")) line.stream = line.id;
    map_.lines.push_back(line);
    return {};
  }

  std::string_view bytes_;
  const std::string& path_;
  const ImportOptions& options_;
  CounterSet& counters_;
  SpaceMap map_;
  bool damaged_ = false;
};

}  // namespace

Result<SpaceMap> MapSpace(std::string_view bytes, const std::string& path, const ImportOptions& options,
                          CounterSet& counters) {
  return Mapper(bytes, path, options, counters).Map();
}

}  // namespace nl::adapters::xplane
