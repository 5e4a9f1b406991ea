// SPDX-License-Identifier: Apache-2.0
#pragma once
// TraceEvent: one element of a Chrome trace's event array, as tokens that point into
// the text, and the scanner that finds it. No copies, no interpretation.
// Thread rule: a scanner and its event belong to one thread.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "import/trace_json/json_text.h"

namespace nl::trace_json {

// Known key names, numbered by their place in the list given. Shared, constant.
class KeyTable {
 public:
  static constexpr uint8_t kUnknown = 0xff;
  explicit KeyTable(const std::vector<std::string_view>& names);

  uint8_t Find(const char* data, size_t size) const {
    for (size_t i = Hash(data, size);; i = (i + 1) & kMask) {
      const Slot& slot = slots_[i];
      if (slot.id == kUnknown) return kUnknown;
      if (slot.name == std::string_view(data, size)) return slot.id;
    }
  }

 private:
  static constexpr size_t kMask = 511;
  struct Slot {
    std::string_view name;
    uint8_t id = kUnknown;
  };
  static size_t Hash(const char* data, size_t size) {
    if (size == 0) return 0;
    const auto first = static_cast<uint8_t>(data[0]), middle = static_cast<uint8_t>(data[size / 2]),
               last = static_cast<uint8_t>(data[size - 1]);
    return (size * 131 + first * 17 + middle * 257 + last * 31) & kMask;
  }
  std::vector<Slot> slots_;
};

struct Arg {
  JsonValue key;
  JsonValue value;
  uint8_t key_id;
};

struct TraceEvent {
  int64_t offset = 0;  // of its opening brace in the decompressed file
  std::string_view text;
  JsonValue ph, cat, name, pid, tid, ts, dur, id, bp, scope;  // scope is "s" of an instant
  std::vector<Arg> extra;                                     // further top-level keys, in file order
  std::vector<Arg> args;                                      // members of "args", in file order
  JsonValue args_value;                                       // "args" when it is not an object
  // For the mapper; kept over events of one shape, which share ph and cat.
  mutable uint8_t mapper_note = 0;
  mutable StringId category_note = StringId::kNull;

  void Reset();
};

class EventScanner {
 public:
  explicit EventScanner(const KeyTable& arg_keys) : arg_keys_(arg_keys) {}

  // p at the event's opening brace; on success p is after its closing brace.
  Scan Next(const char*& p, const char* end, TraceEvent& event);

 private:
  Scan ScanArgs(const char*& p, const char* end, TraceEvent& event);
  const KeyTable& arg_keys_;
};

// Start of the next thing that looks like an event after p: an opening brace after a
// closing one and a comma, with a key in it. Null when there is none before `end`.
const char* FindEventStart(const char* p, const char* end);
// The last such place in [begin, end); null when there is none.
const char* FindLastEventStart(const char* begin, const char* end);

// A guess at what the writer meant, for an event it wrote with unescaped quotes or a
// comma before a closing bracket. Empty when there is nothing to mend. `size` becomes the
// length of the event within `text`, as far as its brackets show.
std::string MendEvent(std::string_view text, size_t& size);

}  // namespace nl::trace_json
