// SPDX-License-Identifier: Apache-2.0
#pragma once
// EventReader: reads events at memory speed by learning how this file writes them.
// A trace writer prints every event of one kind with the same text between the values.
// The first event of a kind goes through EventScanner; its text becomes a shape (the
// fixed pieces and where the values lie). Later events are matched against a shape:
// compare the fixed pieces, read the numbers, recognise values seen before. Whatever
// does not match exactly goes through EventScanner again, so the result never depends
// on the guess. (Measured: 3 to 4 times the scanner's speed on Kineto files.)
// Thread rule: one thread. The returned event is valid until the next call.

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "import/trace_json/local_names.h"
#include "import/trace_json/trace_event.h"

namespace nl::trace_json {

class EventReader {
 public:
  EventReader(const KeyTable& arg_keys, LocalStrings& strings) : scanner_(arg_keys), strings_(strings) {}

  // p at the event's opening brace; on success p is after its closing brace.
  Scan Next(const char*& p, const char* end, const TraceEvent*& out);

  // Forgets string numbers (the LocalStrings were cleared).
  void ForgetStrings();
  // For tests: every event through the scanner.
  void set_learning(bool on) { learning_ = on; }

 private:
  struct KnownText {
    const char* data = nullptr;  // a string without its quotes; kept by the LocalStrings
    uint32_t size = 0;
    StringId id = StringId::kNull;
    bool escaped = false;
  };
  // Texts seen in one place of a shape, found by their first 32 bytes.
  struct TextCache {
    static constexpr size_t kSets = 128, kWays = 8;
    std::vector<KnownText> entries = std::vector<KnownText>(kSets * kWays);
  };
  // One value and the fixed text before it (an opening quote included). Plain and
  // small: matching walks an array of these.
  struct Slot {
    const char* before = nullptr;  // readable 8 bytes past its end
    uint32_t before_size = 0;
    JsonKind kind = JsonKind::kNumber;
    bool as_json = false;              // known as JSON text (args without a column) or as content
    JsonValue* value = nullptr;        // where it goes in the shape's event
    TextCache* known = nullptr;        // owned by the shape; null for numbers
    uint64_t last = 0, last_mask = 0;  // the number read last and the character after it; mask 0: too long
  };
  struct Shape {
    TraceEvent event;
    std::vector<Slot> slots;
    const char* tail = nullptr;  // from after the last value to the closing brace
    uint32_t tail_size = 0;
    std::vector<std::unique_ptr<TextCache>> caches;
    // A word of the fixed text before the first value, to refuse other kinds early.
    size_t probe_at = 0;
    uint64_t probe = 0;
    // What came next the last times, newest first.
    static constexpr size_t kGuesses = 4;
    std::array<Shape*, kGuesses> next{};
  };

  // A text met for the first time; numbered only when the whole event has matched, so
  // that a wrong guess leaves no trace.
  struct NewText {
    Slot* slot;
    KnownText* set;
  };

  // The shape of the event at p, tried in the order of its chances; null when none fits.
  Shape* Guess(const char*& p, const char* end);
  bool Match(Shape& shape, const char*& p, const char* end);
  bool MatchText(Slot& slot, const char*& p, const char* end);
  void Remember(const NewText& found);
  void Learn(const TraceEvent& event);
  // A value of an event that differs from one to the next.
  struct Place {
    JsonValue* value;
    bool as_json;
  };
  void FindPlaces(TraceEvent& e);
  void NumberBadTexts();
  // A copy that stays, with room after it for comparing in whole words.
  const char* Keep(const char* begin, const char* end);

  static constexpr size_t kMaxShapes = 64;
  EventScanner scanner_;
  LocalStrings& strings_;
  TraceEvent scanned_;
  TextArena texts_;
  std::vector<NewText> new_texts_;  // of the event being matched
  std::vector<Place> places_;       // of the event being scanned
  std::vector<std::unique_ptr<Shape>> shapes_;
  Shape* last_ = nullptr;
  bool learning_ = true;
};

}  // namespace nl::trace_json
