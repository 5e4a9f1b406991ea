// SPDX-License-Identifier: Apache-2.0
#pragma once
// Table descriptions: one schema file per table (model/tables/*.h) gives the C++
// columns, the Parquet file, the SQL view, the docs and the units.
// A schema file is a list X(type, name, encoding, unit, doc) and one NL_TABLE line.
// Columns are structs of arrays; every table has an implicit first column `id`,
// the row number, which is not stored in memory.
// Thread rule: descriptions are constant; a column set belongs to one thread.

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

#include "model/column_view.h"
#include "model/ids.h"

namespace nl {

enum class ColumnType : uint8_t { kInt64, kInt32, kFloat64, kString };

// How a column is laid out in Parquet. kLate columns (links between tables) are
// not part of the rows an importer emits; they are written when all rows are known.
enum class Encoding : uint8_t { kDelta, kDict, kLate };

struct ColumnInfo {
  const char* name;
  ColumnType type;
  Encoding encoding;
  const char* unit;  // "" when it has none
  const char* doc;
  const char* refers_to;  // the table whose rows it names; "" when it names none, or rows of several
};

// A time or a duration in ns, which lies within kMostTime_ns of zero or is null.
bool IsTime(const ColumnInfo& column);
int64_t LeastTime_ns(const ColumnInfo& column);  // the least value; a span is not shorter than 0

struct TableInfo {
  const char* name;
  const char* doc;
  std::span<const ColumnInfo> columns;
};

// A size, an extent or a count of what there is: never below zero, and finite. The importer makes others
// null.
bool IsAmount(const TableInfo& table, const ColumnInfo& column);
inline constexpr int64_t kMostAmount = (int64_t{1} << 53) - 1;  // what every reader of JSON holds exactly

// One column of a set, type-erased; `values` points at the std::vector's storage.
struct ColumnSpan {
  const ColumnInfo* info;
  void* values;
  size_t rows;
  bool remap_string;  // holds StringId
  bool remap_thread;  // holds ThreadId
};

size_t ElementBytes(ColumnType type);
const char* SqlType(ColumnType type);

// Base of every generated column set.
class ColumnSet {
 public:
  virtual ~ColumnSet() = default;
  virtual const TableInfo& info() const = 0;
  virtual size_t size() const = 0;
  virtual void Clear() = 0;
  // The std::vector of a column, by its place in the schema; its element is the C++ type
  // that goes with the column's ColumnType (4 or 8 bytes wide).
  virtual void* VectorOf(size_t column) = 0;
  // One span per column that is not late, in schema order.
  virtual void Spans(std::vector<ColumnSpan>& out) = 0;
};

template <class T>
constexpr ColumnType ColumnTypeOf() {
  if constexpr (std::is_same_v<T, double>) {
    return ColumnType::kFloat64;
  } else if constexpr (std::is_same_v<T, StringId>) {
    return ColumnType::kString;
  } else if constexpr (sizeof(T) == 4) {
    return ColumnType::kInt32;
  } else {
    return ColumnType::kInt64;
  }
}

void NoTableOfThisName();  // not constexpr, so that calling it does not compile
// By the column's name, as model/ids.h says: op_id holds rows of op. What is not listed does not compile.
template <class T>
consteval const char* RefersTo(std::string_view column) {
  if constexpr (std::is_same_v<T, ThreadId> || std::is_same_v<T, ProcessId> || std::is_same_v<T, RowId>) {
    if (column == "owner_id") return "";  // of the table in the column `owner`
    for (const char* table : {"thread", "process", "op", "api_call", "kernel", "range"}) {
      const std::string_view name = table;
      if (column.size() == name.size() + 3 && column.starts_with(name) && column.ends_with("_id"))
        return table;
    }
    NoTableOfThisName();
  }
  return "";
}

template <class T>
ColumnSpan SpanOf(const ColumnInfo* info, std::vector<T>& v) {
  return {info, v.data(), v.size(), std::is_same_v<T, StringId>, std::is_same_v<T, ThreadId>};
}

}  // namespace nl

#define NL_COLUMN_ROW(type, name, encoding, unit, doc) type name = ::nl::NullOf<type>::value;
#define NL_COLUMN_NAME(type, name, encoding, unit, doc) name,
#define NL_COLUMN_VIEW(type, name, encoding, unit, doc) ::nl::ColumnView<type> name;
#define NL_COLUMN_VECTOR(type, name, encoding, unit, doc) std::vector<type> name;
#define NL_COLUMN_INFO(type, name, encoding, unit, doc) \
  {#name, ::nl::ColumnTypeOf<type>(), ::nl::Encoding::encoding, unit, doc, ::nl::RefersTo<type>(#name)},
#define NL_COLUMN_PUSH(type, name_, encoding_, unit, doc) \
  if constexpr (::nl::Encoding::encoding_ != ::nl::Encoding::kLate) name_.push_back(row.name_);
#define NL_COLUMN_GET(type, name_, encoding_, unit, doc) \
  if constexpr (::nl::Encoding::encoding_ != ::nl::Encoding::kLate) row.name_ = name_[i];
#define NL_COLUMN_VECTOR_OF(type, name, encoding, unit, doc) \
  if (index++ == column) return &name;
#define NL_COLUMN_CLEAR(type, name, encoding, unit, doc) name.clear();
#define NL_COLUMN_SPAN(type, name_, encoding_, unit, doc)   \
  if (::nl::Encoding::encoding_ != ::nl::Encoding::kLate) { \
    out.push_back(::nl::SpanOf(&kColumns[index], name_));   \
  }                                                         \
  ++index;

#define NL_COLUMN_SHOW(type, name_, encoding, unit, doc)                                       \
  {                                                                                            \
    const bool declared = columns >> index & 1;                                                \
    name_.Show(from.name_, from.kColumns[index], declared ? nullptr : reader);                 \
    if (declared && undeclared_by_ != nullptr) undeclared_by_ = nullptr, rows_ = name_.size(); \
    ++index;                                                                                   \
  }

// Generates <Type>Row (one record, every field null at first), <Type>Columns, the enumeration
// <Type>Column of their places and <Type>View, what a reader sees of them. What is not on
// the path of an event is compiled once, in model/tables.cc: a source that merely holds a set of
// columns would otherwise compile every table again.
// clang-format off
#define NL_TABLE_DECLARE(Type, sql_name, COLUMNS)                             \
  struct Type##Row {                                                          \
    COLUMNS(NL_COLUMN_ROW)                                                    \
  };                                                                          \
  class Type##Columns final : public ::nl::ColumnSet {                        \
   public:                                                                    \
    static const ::nl::ColumnInfo kColumns[];                                 \
    static const ::nl::TableInfo kInfo;                                       \
    COLUMNS(NL_COLUMN_VECTOR)                                                 \
    Type##Columns();                                                          \
    Type##Columns(const Type##Columns&);                                      \
    Type##Columns(Type##Columns&&) noexcept;                                  \
    Type##Columns& operator=(const Type##Columns&);                           \
    Type##Columns& operator=(Type##Columns&&) noexcept;                       \
    ~Type##Columns() override;                                                \
    const ::nl::TableInfo& info() const override { return kInfo; }            \
    size_t size() const override;                                             \
    void Clear() override;                                                    \
    void* VectorOf(size_t column) override;                                   \
    void Spans(std::vector<::nl::ColumnSpan>& out) override;                  \
    void Add(const Type##Row& row) { COLUMNS(NL_COLUMN_PUSH) }                \
    Type##Row Row(size_t i) const {                                           \
      Type##Row row;                                                          \
      COLUMNS(NL_COLUMN_GET)                                                  \
      return row;                                                             \
    }                                                                         \
  };                                                                          \
  enum class Type##Column : uint8_t { COLUMNS(NL_COLUMN_NAME) };              \
  class Type##View final : public ::nl::TableView {                           \
   public:                                                                    \
    COLUMNS(NL_COLUMN_VIEW)                                                   \
    Type##View() = default;                                                   \
    /* Every column: a function that takes a view also takes a column set. */ \
    Type##View(const Type##Columns& from) { Show(from, ~uint64_t{0}, ""); }   \
    /* Bit i of `columns` is column i; `reader` must outlive the view. */     \
    void Show(const Type##Columns& from, uint64_t columns, const char* reader); \
  };

#define NL_TABLE_DEFINE(Type, sql_name, first_column, doc, COLUMNS)                   \
  constinit const ::nl::ColumnInfo Type##Columns::kColumns[] = {COLUMNS(NL_COLUMN_INFO)}; \
  constinit const ::nl::TableInfo Type##Columns::kInfo{sql_name, doc, Type##Columns::kColumns}; \
  Type##Columns::Type##Columns() = default;                                           \
  Type##Columns::Type##Columns(const Type##Columns&) = default;                       \
  Type##Columns::Type##Columns(Type##Columns&&) noexcept = default;                   \
  Type##Columns& Type##Columns::operator=(const Type##Columns&) = default;            \
  Type##Columns& Type##Columns::operator=(Type##Columns&&) noexcept = default;        \
  Type##Columns::~Type##Columns() = default;                                          \
  size_t Type##Columns::size() const { return first_column.size(); }                  \
  void Type##Columns::Clear() { COLUMNS(NL_COLUMN_CLEAR) }                            \
  void* Type##Columns::VectorOf(size_t column) {                                      \
    size_t index = 0;                                                                 \
    COLUMNS(NL_COLUMN_VECTOR_OF)                                                      \
    return nullptr;                                                                   \
  }                                                                                   \
  void Type##Columns::Spans(std::vector<::nl::ColumnSpan>& out) {                     \
    size_t index = 0;                                                                 \
    COLUMNS(NL_COLUMN_SPAN)                                                           \
    (void)index;                                                                      \
  }                                                                                   \
  static_assert(std::size(Type##Columns::kColumns) <= 64);                            \
  void Type##View::Show(const Type##Columns& from, uint64_t columns, const char* reader) { \
    size_t index = 0;                                                                 \
    info_ = &Type##Columns::kInfo;                                                    \
    undeclared_by_ = reader;                                                          \
    rows_ = 0;                                                                        \
    COLUMNS(NL_COLUMN_SHOW)                                                           \
  }

#ifdef NL_DEFINE_TABLES  // model/tables.cc alone
#define NL_TABLE(Type, sql_name, first_column, doc, COLUMNS) \
  NL_TABLE_DECLARE(Type, sql_name, COLUMNS)                  \
  NL_TABLE_DEFINE(Type, sql_name, first_column, doc, COLUMNS)
#else
#define NL_TABLE(Type, sql_name, first_column, doc, COLUMNS) NL_TABLE_DECLARE(Type, sql_name, COLUMNS)
#endif
// clang-format on
