// SPDX-License-Identifier: Apache-2.0
#pragma once
// Frames and stacks of a speedscope file as texts of the run, and its numbers in nanoseconds.
// Thread rule: one thread. Ownership: uses the caller's strings and counters.

#include <functional>
#include <map>
#include <string_view>
#include <vector>

#include "base/counter.h"
#include "base/json.h"
#include "model/string_pool.h"

namespace nl::adapters::speedscope {

enum class Unit { kNone, kBytes, kNanoseconds, kMicroseconds, kMilliseconds, kSeconds };
Unit UnitOf(std::string_view name);
inline bool IsTime(Unit unit) { return unit >= Unit::kNanoseconds; }

// A number as written, in nanoseconds where it is a time; exact for decimals without exponent.
// False when it is not a number.
bool Scaled(std::string_view text, Unit unit, int64_t& out);

// Keys and values of a flat object, values as JSON text.
void ForEachField(std::string_view json,
                  const std::function<void(std::string_view key, std::string_view value)>& fn);

class Stacks {
 public:
  Stacks(StringPool& strings, CounterSet& counters) : strings_(strings), counters_(counters) {}

  // {"name": ..., "file": ..., "line": ...}
  void AddFrame(const Json& frame);
  size_t frames() const { return frames_.size(); }
  // "name (file:line)"; by its number where the file lacks it.
  StringId Frame(int64_t number, int64_t place);
  // Frames separated by semicolons, outermost first.
  StringId Text(const std::vector<int64_t>& stack, int64_t place);

 private:
  StringPool& strings_;
  CounterSet& counters_;
  std::vector<StringId> frames_;
  std::map<std::vector<int64_t>, StringId> texts_;
};

}  // namespace nl::adapters::speedscope
