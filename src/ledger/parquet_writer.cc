// SPDX-License-Identifier: Apache-2.0
#include "ledger/parquet_writer.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <memory>

#include <zstd.h>

#include "base/utf8.h"
#include "ledger/parquet_format.h"
#include "ledger/run_files.h"

namespace nl {

namespace {

using parquet::Codec;
using parquet::PageType;
using parquet::ThriftStruct;
using parquet::Type;
using parquet::ValueEncoding;
using Chunk = ParquetWriter::Chunk;

constexpr char kFooterMagic[] = "PAR1";
constexpr int kZstdLevel = 1;
// More distinct values than this and a dictionary costs more than it saves.
constexpr size_t kMaxIntDictionary = 1 << 13;

Type PhysicalType(ColumnType type) {
  switch (type) {
    case ColumnType::kInt64: return Type::kInt64;
    case ColumnType::kInt32: return Type::kInt32;
    case ColumnType::kFloat64: return Type::kDouble;
    case ColumnType::kString: return Type::kByteArray;
  }
  return Type::kInt64;
}

// Scratch space of one encoding thread, reused over row groups.
struct Scratch {
  std::vector<uint8_t> present;
  std::vector<int64_t> ints;  // non-null values widened
  std::vector<uint32_t> codes;
  std::vector<uint32_t> code_of;  // by string id; kNoCode when unused
  std::vector<uint32_t> touched;
  std::vector<int64_t> keys;  // integer dictionary, open addressing
  std::vector<uint32_t> key_codes;
  std::vector<int64_t> dictionary;
  std::string page, dictionary_page, packed;
  std::unique_ptr<ZSTD_CCtx, size_t (*)(ZSTD_CCtx*)> zstd{ZSTD_createCCtx(), ZSTD_freeCCtx};
};

constexpr uint32_t kNoCode = 0xffffffffu;

Scratch& ThreadScratch() {
  thread_local Scratch scratch;
  return scratch;
}

void PutPageHeader(std::string& out, PageType type, size_t raw_bytes, size_t stored_bytes, size_t values,
                   ValueEncoding encoding) {
  ThriftStruct page(out);
  page.I32(1, static_cast<int>(type));
  page.I32(2, static_cast<int64_t>(raw_bytes));
  page.I32(3, static_cast<int64_t>(stored_bytes));
  page.Struct(type == PageType::kData ? 5 : 7);
  ThriftStruct header(out);
  header.I32(1, static_cast<int64_t>(values));
  header.I32(2, static_cast<int>(encoding));
  if (type == PageType::kData) {
    header.I32(3, static_cast<int>(ValueEncoding::kRle));
    header.I32(4, static_cast<int>(ValueEncoding::kRle));
  }
  header.End();
  page.End();
}

// Appends one page; every page of a chunk has the chunk's codec.
void PutPage(std::string& out, Scratch& s, const std::string& raw, PageType type, size_t values,
             ValueEncoding encoding, Chunk& chunk) {
  s.packed.resize(ZSTD_compressBound(raw.size()));
  const size_t n =
      ZSTD_compressCCtx(s.zstd.get(), s.packed.data(), s.packed.size(), raw.data(), raw.size(), kZstdLevel);
  const size_t at = out.size();
  PutPageHeader(out, type, raw.size(), n, values, encoding);
  chunk.uncompressed_bytes += static_cast<int64_t>(out.size() - at + raw.size());
  out.append(s.packed, 0, n);
  chunk.compressed_bytes += static_cast<int64_t>(out.size() - at);
}

// Numbers the distinct values of s.ints in order of appearance. False: too many.
bool BuildIntDictionary(Scratch& s) {
  const size_t slots = kMaxIntDictionary * 2;
  s.keys.resize(slots);
  s.key_codes.assign(slots, kNoCode);
  s.dictionary.clear();
  s.codes.resize(s.ints.size());
  int64_t last = 0;
  uint32_t last_code = kNoCode;
  for (size_t i = 0; i < s.ints.size(); ++i) {
    const int64_t v = s.ints[i];
    if (last_code == kNoCode || v != last) {
      size_t at = (static_cast<uint64_t>(v) * 0x9e3779b97f4a7c15ull) >> (64 - std::countr_zero(slots));
      while (s.key_codes[at] != kNoCode && s.keys[at] != v) at = (at + 1) & (slots - 1);
      if (s.key_codes[at] == kNoCode) {
        if (s.dictionary.size() == kMaxIntDictionary) return false;
        s.keys[at] = v;
        s.key_codes[at] = static_cast<uint32_t>(s.dictionary.size());
        s.dictionary.push_back(v);
      }
      last = v;
      last_code = s.key_codes[at];
    }
    s.codes[i] = last_code;
  }
  return true;
}

void PutDictionaryChunk(std::string& out, Scratch& s, size_t rows, size_t distinct, size_t null_count,
                        Chunk& chunk) {
  chunk.dictionary_offset = static_cast<int64_t>(out.size());
  PutPage(out, s, s.dictionary_page, PageType::kDictionary, distinct, ValueEncoding::kPlain, chunk);
  s.page.clear();
  parquet::PutLevels(s.page, s.present, null_count);
  parquet::PutCodes(s.page, s.codes, static_cast<uint32_t>(distinct));
  chunk.data_offset = static_cast<int64_t>(out.size());
  chunk.encoding = static_cast<int>(ValueEncoding::kRleDictionary);
  PutPage(out, s, s.page, PageType::kData, rows, ValueEncoding::kRleDictionary, chunk);
}

void EncodeInts(std::string& out, Scratch& s, ColumnType type, Encoding hint, size_t rows, Chunk& chunk) {
  const size_t null_count = rows - s.ints.size();
  chunk.null_count = static_cast<int64_t>(null_count);
  if (!s.ints.empty() && type != ColumnType::kFloat64) {
    chunk.has_range = true;
    chunk.min = chunk.max = s.ints[0];
    for (const int64_t value : s.ints) {
      chunk.min = std::min(chunk.min, value);
      chunk.max = std::max(chunk.max, value);
    }
  }
  if (hint == Encoding::kDict && BuildIntDictionary(s)) {
    s.dictionary_page.clear();
    const size_t bytes = ElementBytes(type);
    for (const int64_t v : s.dictionary) s.dictionary_page.append(reinterpret_cast<const char*>(&v), bytes);
    PutDictionaryChunk(out, s, rows, s.dictionary.size(), null_count, chunk);
    return;
  }
  s.page.clear();
  parquet::PutLevels(s.page, s.present, null_count);
  chunk.data_offset = static_cast<int64_t>(out.size());
  ValueEncoding encoding = ValueEncoding::kDeltaBinaryPacked;
  if (type == ColumnType::kFloat64) {
    encoding = ValueEncoding::kPlain;
    s.page.append(reinterpret_cast<const char*>(s.ints.data()), s.ints.size() * 8);
  } else {
    parquet::PutDelta(s.page, s.ints);
  }
  chunk.encoding = static_cast<int>(encoding);
  PutPage(out, s, s.page, PageType::kData, rows, encoding, chunk);
}

// Widens the non-null values of a numeric column into s.ints (doubles as their bits).
template <class T>
void GatherInts(Scratch& s, const T* values, size_t rows) {
  s.present.resize(rows);
  s.ints.resize(rows);
  // Every value is written, a null is overwritten by the next one: nothing to guess for the processor.
  uint8_t* present = s.present.data();
  int64_t* ints = s.ints.data();
  size_t kept = 0;
  for (size_t i = 0; i < rows; ++i) {
    if constexpr (std::is_same_v<T, double>) {
      ints[kept] = std::bit_cast<int64_t>(values[i]);
    } else {
      ints[kept] = values[i];
    }
    present[i] = !IsNull(values[i]);
    kept += present[i];
  }
  s.ints.resize(kept);
}

void EncodeStrings(std::string& out, Scratch& s, const StringPool& strings, const StringId* ids, size_t rows,
                   Chunk& chunk) {
  s.present.assign(rows, 0);
  s.codes.resize(rows);
  s.touched.clear();
  s.dictionary_page.clear();
  size_t kept = 0;
  for (size_t i = 0; i < rows; ++i) {
    const auto id = static_cast<uint32_t>(ids[i]);
    if (ids[i] == StringId::kNull) continue;
    s.present[i] = 1;
    if (id >= s.code_of.size()) s.code_of.resize(std::max<size_t>(id + 1, s.code_of.size() * 2), kNoCode);
    uint32_t& code = s.code_of[id];
    if (code == kNoCode) {
      code = static_cast<uint32_t>(s.touched.size());
      s.touched.push_back(id);
      std::string mended;
      std::string_view text = strings.Text(ids[i]);
      // Readers of Parquet refuse the whole column for one bad byte.
      if (!IsUtf8(text)) text = mended = ValidUtf8(text);
      const auto length = static_cast<uint32_t>(text.size());
      s.dictionary_page.append(reinterpret_cast<const char*>(&length), 4);
      s.dictionary_page.append(text);
    }
    s.codes[kept++] = code;
  }
  s.codes.resize(kept);
  chunk.null_count = static_cast<int64_t>(rows - s.codes.size());
  PutDictionaryChunk(out, s, rows, s.touched.size(), rows - s.codes.size(), chunk);
  for (const uint32_t id : s.touched) s.code_of[id] = kNoCode;
}

void EncodeColumn(std::string& out, Scratch& s, const StringPool& strings, const ColumnInfo& column,
                  const char* values, size_t rows, Chunk& chunk) {
  switch (column.type) {
    case ColumnType::kString:
      EncodeStrings(out, s, strings, reinterpret_cast<const StringId*>(values), rows, chunk);
      return;
    case ColumnType::kInt32: GatherInts(s, reinterpret_cast<const int32_t*>(values), rows); break;
    case ColumnType::kInt64: GatherInts(s, reinterpret_cast<const int64_t*>(values), rows); break;
    case ColumnType::kFloat64: GatherInts(s, reinterpret_cast<const double*>(values), rows); break;
  }
  EncodeInts(out, s, column.type, column.encoding, rows, chunk);
}

Chunk BeginChunk(const std::string& out, size_t rows) {
  Chunk chunk;
  chunk.offset = static_cast<int64_t>(out.size());
  chunk.values = static_cast<int64_t>(rows);
  chunk.zstd = true;
  return chunk;
}

void EncodeIds(std::string& out, Scratch& s, int64_t first_row, size_t rows, Chunk& chunk) {
  s.present.assign(rows, 1);
  s.ints.resize(rows);
  for (size_t i = 0; i < rows; ++i) s.ints[i] = first_row + static_cast<int64_t>(i);
  EncodeInts(out, s, ColumnType::kInt64, Encoding::kDelta, rows, chunk);
}

void PutSchema(ThriftStruct& meta, std::string& out, const TableInfo& table) {
  meta.List(2, table.columns.size() + 2, ThriftStruct::kStruct);
  ThriftStruct root(out);
  root.Text(4, table.name);
  root.I32(5, static_cast<int64_t>(table.columns.size() + 1));
  root.End();
  const auto leaf = [&out](const char* name, ColumnType type) {
    ThriftStruct element(out);
    element.I32(1, static_cast<int>(PhysicalType(type)));
    element.I32(3, 1);  // optional
    element.Text(4, name);
    if (type == ColumnType::kString) {
      element.I32(6, 0);  // UTF8
      element.Struct(10);
      ThriftStruct logical(out);
      logical.Struct(1);
      ThriftStruct string_type(out);
      string_type.End();
      logical.End();
    }
    element.End();
  };
  leaf("id", ColumnType::kInt64);
  for (const ColumnInfo& column : table.columns) leaf(column.name, column.type);
}

void PutStatistics(ThriftStruct& meta, std::string& out, const Chunk& chunk, ColumnType type) {
  meta.Struct(12);
  ThriftStruct statistics(out);
  statistics.I64(3, chunk.null_count);
  if (chunk.has_range) {
    statistics.Text(5, {reinterpret_cast<const char*>(&chunk.max), ElementBytes(type)});
    statistics.Text(6, {reinterpret_cast<const char*>(&chunk.min), ElementBytes(type)});
  }
  statistics.End();
}

void PutChunk(std::string& out, const Chunk& chunk, const char* name, ColumnType type) {
  ThriftStruct column(out);
  column.I64(2, chunk.offset);
  column.Struct(3);
  ThriftStruct meta(out);
  meta.I32(1, static_cast<int>(PhysicalType(type)));
  meta.List(2, 2, ThriftStruct::kI32);
  meta.ListI32(static_cast<int>(ValueEncoding::kRle));
  meta.ListI32(chunk.encoding);
  meta.List(3, 1, ThriftStruct::kBinary);
  meta.PutText(name);
  meta.I32(4, static_cast<int>(chunk.zstd ? Codec::kZstd : Codec::kUncompressed));
  meta.I64(5, chunk.values);
  meta.I64(6, chunk.uncompressed_bytes);
  meta.I64(7, chunk.compressed_bytes);
  meta.I64(9, chunk.data_offset);
  if (chunk.dictionary_offset >= 0) meta.I64(11, chunk.dictionary_offset);
  PutStatistics(meta, out, chunk, type);
  meta.End();
  column.End();
}

}  // namespace

Result<std::unique_ptr<ParquetWriter>> ParquetWriter::Create(const std::string& path, const TableInfo& table,
                                                             const StringPool& strings) {
  std::unique_ptr<ParquetWriter> writer(new ParquetWriter(table, strings));
  NL_ASSIGN(writer->file_, OutputFile::Create(path));
  NL_TRY(writer->Write({kFooterMagic, 4}));
  return writer;
}

ParquetWriter::Encoded ParquetWriter::Encode(const RowGroupRows& rows) const {
  Scratch& s = ThreadScratch();
  Encoded encoded;
  encoded.sequence = rows.sequence;
  encoded.rows = rows.rows;
  encoded.chunks.push_back(BeginChunk(encoded.bytes, rows.rows));
  EncodeIds(encoded.bytes, s, rows.first_row, rows.rows, encoded.chunks.back());
  size_t stored = 0;
  for (const ColumnInfo& column : table_.columns) {
    Chunk chunk = BeginChunk(encoded.bytes, rows.rows);
    if (column.encoding != Encoding::kLate) {
      EncodeColumn(encoded.bytes, s, strings_, column, rows.columns[stored++].data(), rows.rows, chunk);
    }
    encoded.chunks.push_back(chunk);
  }
  return encoded;
}

Status ParquetWriter::Append(Encoded encoded) {
  std::lock_guard lock(mutex_);
  if (encoded.sequence != next_sequence_) {
    const int64_t sequence = encoded.sequence;
    waiting_.emplace(sequence, std::move(encoded));
    return {};
  }
  NL_TRY(AppendNow(encoded));
  for (auto it = waiting_.begin(); it != waiting_.end() && it->first == next_sequence_;
       it = waiting_.erase(it)) {
    NL_TRY(AppendNow(it->second));
  }
  return {};
}

Status ParquetWriter::Write(std::string_view bytes) {
  checksum_ = Checksum(checksum_, bytes);
  return file_.Append(bytes);
}

Status ParquetWriter::AppendNow(Encoded& encoded) {
  const int64_t base = file_.size_bytes();
  for (Chunk& chunk : encoded.chunks) {
    chunk.offset += base;
    chunk.data_offset += base;
    if (chunk.dictionary_offset >= 0) chunk.dictionary_offset += base;
  }
  NL_TRY(Write(encoded.bytes));
  groups_.push_back({encoded.rows, std::move(encoded.chunks)});
  rows_ += static_cast<int64_t>(encoded.rows);
  ++next_sequence_;
  return {};
}

Status ParquetWriter::WriteLate(size_t column, std::span<const int64_t> values) {
  Scratch& s = ThreadScratch();
  size_t first = 0;
  std::string bytes;
  for (Group& group : groups_) {
    bytes.clear();
    Chunk chunk = BeginChunk(bytes, group.rows);
    GatherInts(s, values.empty() ? nullptr : values.data() + first, values.empty() ? 0 : group.rows);
    if (values.empty()) s.present.assign(group.rows, 0);
    EncodeInts(bytes, s, ColumnType::kInt64, Encoding::kDelta, group.rows, chunk);
    const int64_t base = file_.size_bytes();
    chunk.offset += base;
    chunk.data_offset += base;
    NL_TRY(Write(bytes));
    group.chunks[column + 1] = chunk;
    first += group.rows;
  }
  return {};
}

std::string ParquetWriter::Footer() const {
  std::string out;
  ThriftStruct meta(out);
  meta.I32(1, 1);
  PutSchema(meta, out, table_);
  meta.I64(3, rows_);
  meta.List(4, groups_.size(), ThriftStruct::kStruct);
  for (const Group& group : groups_) {
    ThriftStruct row_group(out);
    row_group.List(1, group.chunks.size(), ThriftStruct::kStruct);
    int64_t raw = 0, stored = 0;
    for (size_t i = 0; i < group.chunks.size(); ++i) {
      const ColumnType type = i == 0 ? ColumnType::kInt64 : table_.columns[i - 1].type;
      PutChunk(out, group.chunks[i], i == 0 ? "id" : table_.columns[i - 1].name, type);
      raw += group.chunks[i].uncompressed_bytes;
      stored += group.chunks[i].compressed_bytes;
    }
    row_group.I64(2, raw);
    row_group.I64(3, static_cast<int64_t>(group.rows));
    row_group.I64(5, group.chunks[0].offset);
    row_group.I64(6, stored);
    row_group.End();
  }
  meta.Text(6, "neurolens");
  meta.End();
  return out;
}

Status ParquetWriter::Finish() {
  for (size_t i = 0; i < table_.columns.size(); ++i) {
    const bool missing = table_.columns[i].encoding == Encoding::kLate && !groups_.empty() &&
                         groups_[0].chunks[i + 1].compressed_bytes == 0;
    if (missing) NL_TRY(WriteLate(i, {}));
  }
  std::string footer = Footer();
  const auto length = static_cast<uint32_t>(footer.size());
  footer.append(reinterpret_cast<const char*>(&length), 4);
  footer.append(kFooterMagic, 4);
  NL_TRY(Write(footer));
  return file_.Close();
}

}  // namespace nl
