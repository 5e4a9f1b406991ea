// SPDX-License-Identifier: Apache-2.0
#pragma once
// SpaceMap: where everything stands in a mapped XSpace: planes with their names and
// stats, lines, and the pieces their events are decoded in. Made by skipping from length
// to length, so that the events themselves can be decoded by many threads.
// Thread rule: made by one thread, then constant and shared.
// Ownership: views of the file's bytes; those must outlive it.

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "import/adapter.h"
#include "import/adapters/xplane/stat_kind.h"
#include "import/read/protobuf_wire.h"

namespace nl::adapters::xplane {

// What is known under one number, found by an array where the numbers are small.
template <class T>
class IdTable {
 public:
  T& Put(int64_t id) {
    const auto [it, added] = index_.try_emplace(id, static_cast<uint32_t>(items_.size()));
    if (added) items_.emplace_back();
    return items_[it->second];
  }
  // After the last Put.
  void Seal() {
    low_.assign(std::min<size_t>(kMaxDense, items_.size() * 4 + 64), kNone);
    for (const auto& [id, at] : index_) {
      if (id >= 0 && static_cast<uint64_t>(id) < low_.size()) low_[static_cast<size_t>(id)] = at;
    }
  }
  static constexpr uint32_t kNone = 0xffffffffu;
  uint32_t Find(int64_t id) const {
    if (static_cast<uint64_t>(id) < low_.size() && low_[static_cast<size_t>(id)] != kNone)
      return low_[static_cast<size_t>(id)];
    const auto it = index_.find(id);
    return it == index_.end() ? kNone : it->second;
  }
  const T& At(uint32_t at) const { return items_[at]; }
  const std::vector<T>& items() const { return items_; }

 private:
  static constexpr size_t kMaxDense = 1 << 20;
  std::unordered_map<int64_t, uint32_t> index_;
  std::vector<T> items_;
  std::vector<uint32_t> low_;
};

struct StatName {
  std::string_view text;
  StatKind kind = StatKind::kOther;
};

// What the name of an event says about it.
enum class NameKind : uint8_t { kPlain, kPython, kCudaRuntime, kCudaDriver, kHip, kAllocation, kRelease };
struct EventName {
  std::string_view text;  // the display name where there is one
  std::string_view full;  // the name, where it differs
  NameKind kind = NameKind::kPlain;
  std::vector<std::string_view> stats;
};

// One value of a stat.
struct StatValue {
  enum Type : uint8_t { kNone, kDouble, kUint, kInt, kText, kBytes, kRef } type = kNone;
  StatKind kind = StatKind::kOther;
  uint32_t name = IdTable<StatName>::kNone;  // of the plane's stat names
  int64_t id = 0;                            // of the name, as written
  uint64_t number = 0;
  double real = 0;
  std::string_view text;

  bool IsNumber() const { return type == kUint || type == kInt; }
};

enum class PlaneKind : uint8_t { kHost, kGpu, kOtherDevice, kFacts };
struct Plane {
  std::string_view name;
  PlaneKind kind = PlaneKind::kFacts;
  int64_t number = NullOf<int64_t>::value;  // of the device
  IdTable<EventName> events;
  IdTable<StatName> stats;
  std::vector<std::string_view> own_stats;
  bool has_op_line = false;  // XLA's own line of ops is here
  bool cut = false;          // names are missing because the file ends before them

  // False when the bytes are not a stat. `unknown` counts fields without a meaning.
  bool ReadStat(std::string_view bytes, StatValue& out, int64_t& unknown) const;
  bool ReadQuickly(std::string_view bytes, StatValue& out) const;
  // Text of a str or ref value; false for another type or a ref without its name.
  bool TextOf(const StatValue& stat, std::string_view& out) const;
};

enum class LineKind : uint8_t { kThread, kWork, kOps, kModules, kSteps, kCounters, kLabels };
struct Line {
  uint32_t plane = 0;
  LineKind kind = LineKind::kLabels;
  std::string_view name, display_name;
  int64_t id = 0, display_id = 0, timestamp_ns = 0;
  int64_t offset = 0;  // in the file
  ThreadId lane = ThreadId::kNull;
  int64_t stream = NullOf<int64_t>::value;
};

// Events that one thread decodes at a time.
struct Piece {
  uint32_t line = 0;
  std::string_view bytes;  // fields of the line, events among them
};

struct SpaceMap {
  const char* file = nullptr;  // first byte
  std::vector<Plane> planes;
  std::vector<Line> lines;    // those with events, in file order
  std::vector<Piece> pieces;  // those of hosts first: launches are known before what they launched
  std::vector<std::string_view> hostnames, errors, warnings;
};

// A file that is cut or no XSpace is InvalidInput with the place; with
// options.allow_truncated what is whole before the damage is mapped, and counted.
Result<SpaceMap> MapSpace(std::string_view bytes, const std::string& path, const ImportOptions& options,
                          CounterSet& counters);

}  // namespace nl::adapters::xplane
