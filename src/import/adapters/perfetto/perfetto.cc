// SPDX-License-Identifier: Apache-2.0
// The perfetto adapter: track events of Perfetto traces (.pftrace, .perfetto-trace). One real
// packet, as a text of its fields:
//   timestamp: 1250, trusted_packet_sequence_id: 2, sequence_flags: 2,
//   interned_data { event_names { iid: 3, name: "aten::mm" } },
//   track_event { type: SLICE_BEGIN, name_iid: 3, category_iids: 1, track_uuid: 4,
//                 debug_annotations { name_iid: 2, int_value: 17 } }
// A trace is a sequence of such packets (field 1 of the file's message); other kinds of
// packets (scheduling, memory, ...) are counted and left out.

#include <isa-l/igzip_lib.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "import/adapter.h"
#include "import/adapters/perfetto/event_rows.h"
#include "import/adapters/perfetto/trace_state.h"

namespace nl::adapters::perfetto {

namespace {

constexpr uint64_t kMaxPacketBytes = 256 << 20;
constexpr size_t kMaxUnpackedBytes = 256 << 20;
constexpr char kPacketTag = 0x0a;                  // field 1, bytes
constexpr uint64_t kOwnTrack = uint64_t{1} << 63;  // of a sequence whose thread has no track

// The content of a zlib stream; false when it is none or unpacks to too much.
bool Unzip(std::string_view packed, std::string& to) {
  inflate_state state{};
  isal_inflate_init(&state);
  state.crc_flag = ISAL_ZLIB;
  state.next_in = reinterpret_cast<uint8_t*>(const_cast<char*>(packed.data()));
  state.avail_in = static_cast<uint32_t>(packed.size());
  to.clear();
  while (state.block_state != ISAL_BLOCK_FINISH) {
    const size_t before = to.size();
    if (before > kMaxUnpackedBytes) return false;
    to.resize(before + (1 << 20));
    state.next_out = reinterpret_cast<uint8_t*>(to.data() + before);
    state.avail_out = 1 << 20;
    if (isal_inflate(&state) != ISAL_DECOMP_OK) return false;
    to.resize(to.size() - state.avail_out);
    if (to.size() == before && state.avail_in == 0 && state.block_state != ISAL_BLOCK_FINISH) return false;
  }
  return true;
}

class TraceReader {
 public:
  explicit TraceReader(ImportFile& file) : file_(file), rows_(file) {}

  Status Read() {
    NL_TRY(ReadPackets());
    for (const auto& [field, count] : not_read_)
      file_.counters.Add(kPacketNotRead, -1, fmt::format("field {}", field), count);
    file_.about.tool = "perfetto";
    return rows_.Finish();
  }

 private:
  // A piece of the file at a time; a packet is read when all of it is there.
  Status ReadPackets() {
    std::string buffer;
    int64_t base = 0;
    for (bool ended = false; !ended;) {
      if (file_.options.Cancelled()) return Cancelled();
      const size_t before = buffer.size(), want = std::max<size_t>(file_.options.chunk_bytes, 1);
      buffer.resize(before + want);
      NL_ASSIGN(const size_t n, file_.source.Read(buffer.data() + before, want));
      buffer.resize(before + n);
      ended = n < want;
      if (file_.options.progress)
        file_.options.progress(file_.source.bytes_read(), file_.source.bytes_total());
      size_t at = 0;
      for (;;) {
        const char* p = buffer.data() + at;
        const char* end = buffer.data() + buffer.size();
        if (p >= end) break;
        const int64_t place = base + static_cast<int64_t>(at);
        if (*p != kPacketTag) return InvalidInput("not a packet of a Perfetto trace").At(file_.path, place);
        ++p;
        uint64_t size = 0;
        const bool sized = ReadVarint(p, end, size);
        if ((sized && size > kMaxPacketBytes) || (!sized && end - p >= 10))
          return InvalidInput("a packet of over 256 MB").At(file_.path, place);
        if (!sized || size > static_cast<uint64_t>(end - p)) break;
        NL_TRY(Packet({p, static_cast<size_t>(size)}, place, 0));
        at = static_cast<size_t>(p - buffer.data()) + static_cast<size_t>(size);
      }
      buffer.erase(0, at);
      base += static_cast<int64_t>(at);
    }
    return buffer.empty() ? Status() : Cut(base);
  }

  Status Cut(int64_t offset) {
    if (!file_.options.allow_truncated || packets_ == 0) {
      return InvalidInput("the file is truncated: it ends inside a packet")
          .At(file_.path, offset)
          .Hint("import --allow-truncated keeps the events before the cut");
    }
    file_.counters.Add(kTruncated, offset);
    return {};
  }

  struct Parts {
    uint64_t timestamp = 0;
    uint32_t clock = 0, sequence = 0;
    uint64_t flags = 0;
    bool timed = false, previous_dropped = false;
    std::string_view event, interned, defaults, track, clocks, packed, process, thread;
  };

  // TracePacket
  Status Packet(std::string_view message, int64_t place, int depth) {
    Parts parts;
    bool read = false;
    uint32_t other = 0;
    WireReader r(message);
    while (r.Next()) {
      switch (r.field()) {
        case 8:
          parts.timestamp = r.Number();
          parts.timed = true;
          break;
        case 10: parts.sequence = static_cast<uint32_t>(r.Number()); break;
        case 13: parts.flags = r.Number(); break;
        case 41:  // incremental_state_cleared, as it was written first
          if (r.Number() != 0) parts.flags |= 1;
          break;
        case 42: parts.previous_dropped = r.Number() != 0; break;
        case 58: parts.clock = static_cast<uint32_t>(r.Number()); break;
        case 3:
        case 79:
        case 87:
        case 97:
        case 98: break;  // who wrote it, and when
        default: {
          std::string_view* const to = Part(r.field(), parts);
          if (to == nullptr) {
            other = r.field();
          } else {
            *to = r.Bytes();
            read = true;
          }
        }
      }
    }
    ++packets_;
    if (!r.ok()) {
      file_.counters.Add(kBadPacket, place);
      return {};
    }
    if (!read && other != 0) ++not_read_[other];
    return Take(parts, place, depth);
  }

  static std::string_view* Part(uint32_t field, Parts& parts) {
    switch (field) {
      case 6: return &parts.clocks;
      case 11: return &parts.event;
      case 12: return &parts.interned;
      case 43: return &parts.process;
      case 44: return &parts.thread;
      case 50: return &parts.packed;
      case 59: return &parts.defaults;
      case 60: return &parts.track;
      default: return nullptr;
    }
  }

  Status Take(const Parts& parts, int64_t place, int depth) {
    if (parts.packed.data() != nullptr && !parts.packed.empty()) return Packed(parts.packed, place, depth);
    Sequence& sequence = sequences_[parts.sequence];
    bool good = true;
    if ((parts.flags & 1) != 0) {
      sequence.ForgetTexts();
      sequence.default_track = 0;
      sequence.has_default_track = false;
      sequence.default_clock = 0;
    }
    if (!parts.defaults.empty()) good &= TakeDefaults(parts.defaults, sequence);
    if (!parts.interned.empty()) good &= sequence.TakeTexts(parts.interned);
    if (!parts.clocks.empty()) good &= clocks_.Take(parts.clocks, parts.sequence, sequence);
    if (!parts.track.empty()) good &= rows_.tracks.Describe(parts.track);
    if (!parts.thread.empty()) good &= TakeThread(parts.thread, parts.sequence, sequence);
    if (!good) file_.counters.Add(kBadPacket, place);
    return parts.event.data() == nullptr ? Status() : TrackEvent(parts, sequence, place);
  }

  // TracePacketDefaults: {58 timestamp_clock_id, 11 track_event_defaults {11 track_uuid}}
  static bool TakeDefaults(std::string_view message, Sequence& sequence) {
    WireReader r(message);
    while (r.Next()) {
      if (r.field() == 58) sequence.default_clock = static_cast<uint32_t>(r.Number());
      if (r.field() != 11) continue;
      WireReader event(r.Bytes());
      while (event.Next()) {
        if (event.field() != 11) continue;
        sequence.default_track = event.Number();
        sequence.has_default_track = true;
      }
      if (!event.ok()) return false;
    }
    return r.ok();
  }

  // A thread descriptor of its own: {1 pid, 2 tid, 5 thread_name}
  bool TakeThread(std::string_view message, uint32_t id, Sequence& sequence) {
    Track& track = rows_.tracks.At(kOwnTrack | id);
    track.is_thread = true;
    WireReader r(message);
    while (r.Next()) {
      if (r.field() == 1) track.pid = static_cast<int32_t>(r.Number());
      if (r.field() == 2) track.tid = static_cast<int32_t>(r.Number());
      if (r.field() == 5) track.name = r.Bytes();
    }
    sequence.default_track = kOwnTrack | id;
    sequence.has_default_track = true;
    return r.ok();
  }

  // Packets inside a packet, packed: a message like the file's.
  Status Packed(std::string_view bytes, int64_t place, int depth) {
    std::string unpacked;
    if (depth > 0 || !Unzip(bytes, unpacked)) {
      file_.counters.Add(kBadPacket, place);
      return {};
    }
    WireReader r(unpacked);
    while (r.Next()) {
      if (r.field() == 1 && r.type() == WireType::kBytes) NL_TRY(Packet(r.Bytes(), place, depth + 1));
    }
    if (!r.ok()) file_.counters.Add(kBadPacket, place);
    return {};
  }

  StringId Interned(const std::unordered_map<uint64_t, std::string>& texts, uint64_t id, const char* what,
                    std::vector<Note>& notes) {
    if (const auto it = texts.find(id); it != texts.end())
      return it->second.empty() ? StringId::kNull : rows_.Text(it->second);
    file_.counters.Add(kMissingInterned);
    Note note;
    note.name = rows_.Text(what);
    note.json = std::to_string(id);
    notes.push_back(std::move(note));
    return StringId::kNull;
  }

  // TrackEvent
  Status TrackEvent(const Parts& parts, Sequence& sequence, int64_t place) {
    Event event;
    uint64_t type = 0, track = sequence.default_track;
    double value = std::numeric_limits<double>::quiet_NaN();
    WireReader r(parts.event);
    while (r.Next()) {
      switch (r.field()) {
        case 3:
          if (IsNull(event.category))
            event.category = Interned(sequence.categories, r.Number(), "category_iid", event.notes);
          break;
        case 22:
          if (IsNull(event.category) && !r.Bytes().empty()) event.category = rows_.Text(r.Bytes());
          break;
        case 4: TakeNote(r.Bytes(), sequence, event.notes); break;
        case 9: type = r.Number(); break;
        case 10: event.name = Interned(sequence.names, r.Number(), "name_iid", event.notes); break;
        case 23:
          if (!r.Bytes().empty()) event.name = rows_.Text(r.Bytes());
          break;
        case 11: track = r.Number(); break;
        case 30: value = static_cast<double>(r.Int()); break;
        case 44: value = r.Double(); break;
        case 36:
        case 47: event.flows.push_back(r.Number()); break;
        case 42:
        case 48: event.ending_flows.push_back(r.Number()); break;
        default: break;
      }
    }
    if (!r.ok()) {
      file_.counters.Add(kBadPacket, place);
      return {};
    }
    if (!parts.timed) {
      file_.counters.Add(kBadTimestamp, place);
      return {};
    }
    if (!clocks_.Convert(parts.clock, parts.sequence, sequence, parts.timestamp, event.at_ns))
      file_.counters.Add(kUnknownClock);
    if (event.at_ns < 0) {
      file_.counters.Add(kBadTimestamp, place);
      return {};
    }
    return PutEvent(type, track, std::move(event), value, place);
  }

  Status PutEvent(uint64_t type, uint64_t track, Event event, double value, int64_t place) {
    switch (type) {
      case 1: return rows_.Begin(track, std::move(event));
      case 2: return rows_.End(track, event.at_ns, std::move(event.notes));
      case 3: return rows_.Instant(track, std::move(event));
      case 4:
        if (!std::isfinite(value)) break;
        return rows_.Counter(track, event.at_ns, value, event.name);
      default: break;
    }
    file_.counters.Add(kEventNotRead, place);
    return {};
  }

  // DebugAnnotation: {1 name_iid, 10 name, 2 bool, 3 uint, 4 int, 5 double, 6 string, 7 pointer,
  // 9 legacy_json, 17 string_value_iid}
  void TakeNote(std::string_view message, const Sequence& sequence, std::vector<Note>& notes) {
    Note note;
    bool has_value = false;
    const auto text = [&](std::string_view value) {
      note.text = ValidUtf8Text(value);
      note.json = DumpJson(Json(note.text));
    };
    WireReader r(message);
    while (r.Next()) {
      const uint32_t field = r.field();
      has_value |= field != 1 && field != 10;
      if (field == 1) note.name = Interned(sequence.note_names, r.Number(), "name_iid", notes);
      if (field == 10) note.name = rows_.Text(r.Bytes());
      if (field == 2) note.json = r.Number() != 0 ? "true" : "false";
      if (field == 3 || field == 7) {
        note.json = std::to_string(r.Number());
        if (r.Number() <= static_cast<uint64_t>(INT64_MAX)) note.number = r.Int();
      }
      if (field == 4) {
        note.number = r.Int();
        note.json = std::to_string(r.Int());
      }
      if (field == 5) {
        note.real = r.Double();
        note.json = std::isfinite(note.real) ? DumpJson(Json(note.real)) : "null";
        if (!std::isfinite(note.real)) note.real = NullOf<double>::value;
      }
      if (field == 6 || field == 9) text(r.Bytes());
      if (field == 17) {
        const auto it = sequence.note_texts.find(r.Number());
        if (it != sequence.note_texts.end()) {
          text(it->second);
        } else {
          file_.counters.Add(kMissingInterned);
          note.json = std::to_string(r.Number());
        }
      }
    }
    if (!r.ok() || IsNull(note.name)) return;
    if (!note.json.empty()) {
      notes.push_back(std::move(note));
    } else if (has_value) {
      file_.counters.Add(kAnnotationNotRead, -1, rows_.writer.strings().Text(note.name));
    }
  }

  std::string ValidUtf8Text(std::string_view value) {
    return std::string(rows_.writer.strings().Text(rows_.Text(value)));
  }

  ImportFile& file_;
  EventRows rows_;
  Clocks clocks_;
  std::unordered_map<uint32_t, Sequence> sequences_;
  std::map<uint32_t, int64_t> not_read_;
  int64_t packets_ = 0;
};

// How many of the first packets look like TracePacket; 0: something else.
int LookAtPackets(std::string_view head) {
  const char* p = head.data();
  const char* end = p + head.size();
  int hits = 0, packets = 0;
  while (p < end && packets < 16) {
    if (*p++ != kPacketTag) return 0;
    uint64_t size = 0;
    if (!ReadVarint(p, end, size)) return packets > 0 ? hits : 0;
    const bool whole = size <= static_cast<uint64_t>(end - p);
    WireReader r({p, static_cast<size_t>(whole ? size : static_cast<uint64_t>(end - p))});
    while (r.Next()) {
      const bool number = r.type() == WireType::kVarint;
      const uint32_t field = r.field();
      hits += number ? field == 8 || field == 10 || field == 13 : field == 11 || field == 50 || field == 60;
    }
    if (whole && !r.ok()) return packets > 3 ? hits : 0;  // one bad packet among good ones
    if (!whole) break;
    p += size;
    ++packets;
  }
  return hits;
}

class PerfettoAdapter final : public Adapter {
 public:
  AdapterInfo Info() const override {
    return {"perfetto",
            1,
            "Perfetto traces: track events (slices, instants, counters, flows)",
            "neurolens export --format perfetto, the Perfetto SDK, rocprofv3 --output-format pftrace",
            {".pftrace", ".perfetto-trace", ".perfetto"}};
  }

  int Score(std::string_view head, std::string_view file_name) const override {
    if (LookAtPackets(head) == 0) return 0;
    return file_name.find(".pftrace") != std::string_view::npos ||
                   file_name.find("perfetto") != std::string_view::npos
               ? 75
               : 70;
  }

  Status Import(ImportFile& file) const override { return TraceReader(file).Read(); }
};

}  // namespace

const Adapter& Describe() {
  static const PerfettoAdapter adapter;
  return adapter;
}

}  // namespace nl::adapters::perfetto
