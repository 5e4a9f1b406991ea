// SPDX-License-Identifier: Apache-2.0
#pragma once
// Strong ids and null values of the event tables. An id is the row number in its
// table (or string pool) of one run; ids of different tables do not mix.

#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <type_traits>

namespace nl {

enum class StringId : uint32_t { kNull = 0xffffffffu };
enum class ProcessId : int32_t { kNull = std::numeric_limits<int32_t>::min() };
enum class ThreadId : int32_t { kNull = std::numeric_limits<int32_t>::min() };
// A row of an event table; which table is said by the column's name (api_call_id, op_id).
enum class RowId : int64_t { kNull = std::numeric_limits<int64_t>::min() };

// What a column holds where the source gave no value. Null is never zero.
template <class T>
struct NullOf;
template <>
struct NullOf<int64_t> {
  static constexpr int64_t value = std::numeric_limits<int64_t>::min();
};
template <>
struct NullOf<int32_t> {
  static constexpr int32_t value = std::numeric_limits<int32_t>::min();
};
template <>
struct NullOf<double> {
  static constexpr double value = std::numeric_limits<double>::quiet_NaN();
};
template <>
struct NullOf<StringId> {
  static constexpr StringId value = StringId::kNull;
};
template <>
struct NullOf<ProcessId> {
  static constexpr ProcessId value = ProcessId::kNull;
};
template <>
struct NullOf<ThreadId> {
  static constexpr ThreadId value = ThreadId::kNull;
};
template <>
struct NullOf<RowId> {
  static constexpr RowId value = RowId::kNull;
};

// Times and durations lie within this of zero (73 years in ns), so that a start and a duration can be added.
// The importer makes others null; a stored run that holds one is damaged.
inline constexpr int64_t kMostTime_ns = int64_t{1} << 61;

template <class T>
bool IsNull(T v) {
  if constexpr (std::is_same_v<T, double>) {
    return std::isnan(v);
  } else {
    return v == NullOf<T>::value;
  }
}

// The value where it is known, as described structs (base/record.h) hold it.
template <class T>
std::optional<T> Known(T v) {
  return IsNull(v) ? std::nullopt : std::optional<T>(v);
}

}  // namespace nl
