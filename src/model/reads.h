// SPDX-License-Identifier: Apache-2.0
#pragma once
// Reads: the columns of a run that a reader (a pass, a comparison) declares; only those are
// loaded. Written once beside the reader, and a column that does not exist does not compile:
//   constexpr Reads kReads = NL_READS(Kernel, start_ns, dur_ns) | NL_READS(Step, name);
// Thread rule: plain value.

#include <array>
#include <initializer_list>

#include "model/event_batch.h"

namespace nl {

struct Reads {
  std::array<uint64_t, EventBatch::kTables> columns{};  // per table: bit i is its column i

  // Every column of every table.
  static constexpr Reads All() {
    Reads all;
    all.columns.fill(~uint64_t{0});
    return all;
  }
  constexpr uint64_t Of(Table table) const { return columns[static_cast<size_t>(table)]; }
  constexpr bool Covers(const Reads& other) const {
    for (size_t i = 0; i < columns.size(); ++i) {
      if ((other.columns[i] & ~columns[i]) != 0) return false;
    }
    return true;
  }
  constexpr Reads& operator|=(const Reads& more) {
    for (size_t i = 0; i < columns.size(); ++i) columns[i] |= more.columns[i];
    return *this;
  }
  friend constexpr Reads operator|(Reads a, const Reads& b) { return a |= b; }
};

template <class ColumnOfTable>
constexpr Reads ReadsOf(Table table, std::initializer_list<ColumnOfTable> columns) {
  Reads reads;
  for (const ColumnOfTable column : columns)
    reads.columns[static_cast<size_t>(table)] |= uint64_t{1} << static_cast<unsigned>(column);
  return reads;
}

}  // namespace nl

// Type is the table's name in C++ (ApiCall), then its columns as the schema file names them.
#define NL_READS(Type, ...)                                                        \
  [] {                                                                             \
    using enum ::nl::Type##Column;                                                 \
    return ::nl::ReadsOf<::nl::Type##Column>(::nl::Table::k##Type, {__VA_ARGS__}); \
  }()
