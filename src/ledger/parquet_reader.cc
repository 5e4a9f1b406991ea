// SPDX-License-Identifier: Apache-2.0
#include "ledger/parquet_reader.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include <fmt/format.h>
#include <zstd.h>

#include "ledger/parquet_format.h"
#include "model/ids.h"

namespace nl {

namespace parquet_read {

// Bytes with a place; whoever reads past the end gets zeros, and `ok` is false from then on.
struct Cursor {
  const char* at = nullptr;
  const char* end = nullptr;
  bool ok = true;

  size_t left() const { return static_cast<size_t>(end - at); }
  const char* Take(size_t bytes) {
    if (!ok || bytes > left()) {
      ok = false;
      return nullptr;
    }
    const char* taken = at;
    at += bytes;
    return taken;
  }
  uint8_t Byte() {
    const char* p = Take(1);
    return p == nullptr ? 0 : static_cast<uint8_t>(*p);
  }
  uint64_t Varint() {
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      const uint8_t byte = Byte();
      value |= static_cast<uint64_t>(byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
    ok = false;
    return 0;
  }
  int64_t ZigZag() {
    const uint64_t v = Varint();
    return static_cast<int64_t>(v >> 1) ^ -static_cast<int64_t>(v & 1);
  }
  std::string_view Text() {
    const uint64_t length = Varint();
    const char* p = Take(length);
    return p == nullptr ? std::string_view() : std::string_view(p, length);
  }
};

struct PageHeader {
  int64_t type = -1, raw_bytes = -1, stored_bytes = -1, values = -1, encoding = -1;
};

}  // namespace parquet_read

namespace {

using parquet_read::Cursor;
using parquet_read::PageHeader;

using parquet::Codec;
using parquet::PageType;
using parquet::Type;
using parquet::ValueEncoding;

constexpr int64_t kMostFooterBytes = int64_t{1} << 28, kMostPageBytes = int64_t{1} << 30,
                  kMostRows = int64_t{1} << 24;  // of a row group
constexpr size_t kSlack = 16;                    // bytes after a page that may be loaded, never used

// Walks one struct of Thrift's compact protocol: while (fields.Next()) read or Skip().
class ThriftFields {
 public:
  static constexpr int kTrue = 1, kFalse = 2, kByte = 3, kI16 = 4, kI32 = 5, kI64 = 6, kDouble = 7,
                       kBinary = 8, kList = 9, kSet = 10, kMap = 11, kStruct = 12;
  explicit ThriftFields(Cursor& in) : in_(in) {}
  int id = 0, type = 0;

  bool Next() {
    const uint8_t head = in_.Byte();
    if (!in_.ok || head == 0) return false;
    type = head & 15;
    id = (head >> 4) != 0 ? id + (head >> 4) : static_cast<int>(in_.ZigZag());
    return in_.ok;
  }
  void Skip() { SkipValue(type, 0); }
  // Elements of a list of `element` values; 0 and not ok when it is of another type.
  size_t List(int element) {
    const uint8_t head = in_.Byte();
    size_t count = head >> 4;
    if (count == 15) count = in_.Varint();
    if (type != kList || (head & 15) != element || count > in_.left()) in_.ok = false;
    return in_.ok ? count : 0;
  }

 private:
  void SkipValue(int kind, int depth) {
    if (depth > 16) in_.ok = false;
    if (!in_.ok) return;
    switch (kind) {
      case kTrue:
      case kFalse: return;
      case kByte: in_.Byte(); return;
      case kI16:
      case kI32:
      case kI64: in_.Varint(); return;
      case kDouble: in_.Take(8); return;
      case kBinary: in_.Text(); return;
      case kList:
      case kSet: {
        const uint8_t head = in_.Byte();
        size_t count = head >> 4;
        if (count == 15) count = in_.Varint();
        const int element = head & 15;
        // Every element has a byte at least, also a truth value, which has none as a field.
        if (count > in_.left()) in_.ok = false;
        if (element == kTrue || element == kFalse) {
          in_.Take(count);
          return;
        }
        for (size_t i = 0; i < count && in_.ok; ++i) SkipValue(element, depth + 1);
        return;
      }
      case kStruct: {
        ThriftFields inner(in_);
        while (inner.Next()) inner.SkipValue(inner.type, depth + 1);
        return;
      }
      default: in_.ok = false;
    }
  }
  Cursor& in_;
};

int64_t LittleInt(std::string_view bytes) {
  int64_t value = 0;
  if (bytes.size() == 4) {
    int32_t narrow = 0;
    std::memcpy(&narrow, bytes.data(), 4);
    return narrow;
  }
  if (bytes.size() == 8) std::memcpy(&value, bytes.data(), 8);
  return value;
}

void ReadStatistics(Cursor& in, ParquetReader::Chunk& chunk) {
  ThriftFields f(in);
  bool low = false, high = false;
  while (f.Next()) {
    if (f.id == 3 && f.type == ThriftFields::kI64) {
      chunk.null_count = in.ZigZag();
    } else if (f.id == 5 && f.type == ThriftFields::kBinary) {
      chunk.max = LittleInt(in.Text());
      high = true;
    } else if (f.id == 6 && f.type == ThriftFields::kBinary) {
      chunk.min = LittleInt(in.Text());
      low = true;
    } else {
      f.Skip();
    }
  }
  chunk.has_range = low && high;
}

void ReadColumnMeta(Cursor& in, ParquetReader::Chunk& chunk) {
  ThriftFields f(in);
  while (f.Next()) {
    const bool number = f.type == ThriftFields::kI32 || f.type == ThriftFields::kI64;
    if (number && f.id == 1) {
      chunk.type = static_cast<int>(in.ZigZag());
    } else if (number && f.id == 4) {
      chunk.codec = static_cast<int>(in.ZigZag());
    } else if (number && f.id == 5) {
      chunk.values = in.ZigZag();
    } else if (number && f.id == 7) {
      chunk.stored_bytes = in.ZigZag();
    } else if (number && f.id == 9) {
      chunk.data_offset = in.ZigZag();
    } else if (number && f.id == 11) {
      chunk.dictionary_offset = in.ZigZag();
    } else if (f.id == 12 && f.type == ThriftFields::kStruct) {
      ReadStatistics(in, chunk);
    } else {
      f.Skip();
    }
  }
}

PageHeader ReadPageHeader(Cursor& in) {
  PageHeader out;
  ThriftFields f(in);
  while (f.Next()) {
    if (f.type == ThriftFields::kI32 && f.id == 1) {
      out.type = in.ZigZag();
    } else if (f.type == ThriftFields::kI32 && f.id == 2) {
      out.raw_bytes = in.ZigZag();
    } else if (f.type == ThriftFields::kI32 && f.id == 3) {
      out.stored_bytes = in.ZigZag();
    } else if (f.type == ThriftFields::kStruct && (f.id == 5 || f.id == 7)) {
      ThriftFields inner(in);
      while (inner.Next()) {
        if (inner.type == ThriftFields::kI32 && inner.id == 1) {
          out.values = in.ZigZag();
        } else if (inner.type == ThriftFields::kI32 && inner.id == 2) {
          out.encoding = in.ZigZag();
        } else {
          inner.Skip();
        }
      }
    } else {
      f.Skip();
    }
  }
  return out;
}

struct ZstdContext {
  std::unique_ptr<ZSTD_DCtx, size_t (*)(ZSTD_DCtx*)> context{ZSTD_createDCtx(), ZSTD_freeDCtx};
};

// Decompresses one page into `out`, followed by kSlack zeros.
bool Unpack(const char* from, const PageHeader& header, int codec, std::string& out) {
  thread_local ZstdContext zstd;
  const auto raw = static_cast<size_t>(header.raw_bytes);
  out.resize(raw + kSlack);
  std::memset(out.data() + raw, 0, kSlack);
  if (codec == static_cast<int>(Codec::kUncompressed)) {
    if (header.stored_bytes != header.raw_bytes) return false;
    std::memcpy(out.data(), from, raw);
    return true;
  }
  if (codec != static_cast<int>(Codec::kZstd)) return false;
  return ZSTD_decompressDCtx(zstd.context.get(), out.data(), raw, from,
                             static_cast<size_t>(header.stored_bytes)) == raw;
}

// A run of the RLE/bit-packed hybrid: `count` times one value, or `packed` values of `width` bits.
// Calls on_run(value, count) or on_packed(bytes, count).
template <class OnRun, class OnPacked>
bool WalkHybrid(Cursor& in, unsigned width, size_t values, const OnRun& on_run, const OnPacked& on_packed) {
  for (size_t done = 0; done < values;) {
    const uint64_t head = in.Varint();
    if (!in.ok || head >> 1 == 0 || head >> 1 > (uint64_t{1} << 40)) return false;
    if ((head & 1) == 0) {
      const size_t count = std::min<size_t>(head >> 1, values - done);
      const char* p = in.Take((width + 7) / 8);
      if (p == nullptr) return false;
      uint32_t value = 0;
      std::memcpy(&value, p, (width + 7) / 8);
      on_run(value, count);
      done += count;
    } else {
      const size_t groups = head >> 1, count = std::min<size_t>(groups * 8, values - done);
      const char* p = in.Take(groups * width);
      if (p == nullptr) return false;
      on_packed(p, count);
      done += count;
    }
  }
  return true;
}

// Definition levels: which rows have a value. `present` stays empty when all have one.
bool ReadLevels(Cursor& in, size_t rows, std::vector<uint8_t>& present, size_t& kept) {
  uint32_t length = 0;
  const char* p = in.Take(4);
  if (p == nullptr) return false;
  std::memcpy(&length, p, 4);
  const char* body = in.Take(length);
  if (body == nullptr) return false;
  Cursor levels{body, body + length};
  present.clear();
  present.reserve(rows);
  kept = 0;
  const bool good = WalkHybrid(
      levels, 1, rows,
      [&](uint32_t value, size_t count) {
        present.insert(present.end(), count, static_cast<uint8_t>(value & 1));
        kept += (value & 1) * count;
      },
      [&](const char* bits, size_t count) {
        for (size_t i = 0; i < count; ++i) {
          const auto bit = static_cast<uint8_t>(bits[i / 8] >> (i % 8) & 1);
          present.push_back(bit);
          kept += bit;
        }
      });
  if (kept == rows) present.clear();
  return good;
}

template <class T>
void WidenCodes(const char* from, size_t count, uint32_t* to) {
  for (size_t i = 0; i < count; ++i) {
    T code;
    std::memcpy(&code, from + i * sizeof(T), sizeof(T));
    to[i] = code;
  }
}

// Codes of whole bytes, as our writer makes them.
bool ReadCodes(Cursor& in, size_t count, size_t distinct, std::vector<uint32_t>& out) {
  const unsigned width = in.Byte();
  if (!in.ok || (width != 8 && width != 16 && width != 32)) return count == 0;
  out.resize(count);
  uint32_t* to = out.data();
  const bool good = WalkHybrid(
      in, width, count,
      [&](uint32_t value, size_t n) {
        std::fill(to, to + n, value);
        to += n;
      },
      [&](const char* bytes, size_t n) {
        if (width == 8) WidenCodes<uint8_t>(bytes, n, to);
        if (width == 16) WidenCodes<uint16_t>(bytes, n, to);
        if (width == 32) WidenCodes<uint32_t>(bytes, n, to);
        to += n;
      });
  if (!good) return false;
  uint32_t most = 0;
  for (const uint32_t code : out) most = std::max(most, code);
  return count == 0 || most < distinct;
}

// `count` values of `width` bits, least significant first; kSlack bytes may be read after them.
void UnpackBits(const char* from, unsigned width, size_t count, uint64_t* to) {
  if (width == 0) {
    std::fill(to, to + count, 0);
    return;
  }
  const uint64_t mask = width == 64 ? ~uint64_t{0} : (uint64_t{1} << width) - 1;
  for (size_t i = 0; i < count; ++i) {
    const size_t bit = i * width;
    uint64_t word = 0;
    std::memcpy(&word, from + bit / 8, 8);
    word >>= bit % 8;
    if (width > 57 && bit % 8 != 0) {
      uint64_t next = 0;
      std::memcpy(&next, from + bit / 8 + 8, 8);
      word |= next << (64 - bit % 8);
    }
    to[i] = word & mask;
  }
}

// DELTA_BINARY_PACKED. `out` has room for `count` values.
bool ReadDelta(Cursor& in, size_t count, int64_t* out) {
  const uint64_t block = in.Varint(), minis = in.Varint(), total = in.Varint();
  auto value = static_cast<uint64_t>(in.ZigZag());
  if (!in.ok || total != count || minis == 0 || minis > 64 || block == 0 || block > 1 << 16) return false;
  const size_t mini = block / minis;
  if (mini == 0 || mini % 32 != 0 || mini * minis != block || mini > 1024) return false;
  if (count == 0) return true;
  out[0] = static_cast<int64_t>(value);
  uint64_t deltas[1024];
  for (size_t done = 1; done < count;) {
    const auto least = static_cast<uint64_t>(in.ZigZag());
    const char* widths = in.Take(minis);
    if (widths == nullptr) return false;
    for (size_t m = 0; m < minis && done < count; ++m) {
      const auto width = static_cast<uint8_t>(widths[m]);
      if (width > 64) return false;
      const char* packed = in.Take(mini * width / 8);
      if (packed == nullptr) return false;
      const size_t n = std::min(mini, count - done);
      UnpackBits(packed, width, n, deltas);
      for (size_t i = 0; i < n; ++i) {
        value += deltas[i] + least;  // modulo 2^64, as the format has it
        out[done + i] = static_cast<int64_t>(value);
      }
      done += n;
    }
  }
  return true;
}

// Puts the values that are there at their rows, from the back so that it works in place.
template <class T>
void Spread(std::vector<T>& values, const std::vector<uint8_t>& present, size_t kept, T null) {
  if (present.empty()) return;
  size_t from = kept;
  for (size_t row = present.size(); row-- > 0;) values[row] = present[row] != 0 ? values[--from] : null;
}

// Numbers as PLAIN has them, widened.
template <class T>
bool ReadPlain(Cursor& in, size_t count, size_t bytes, T* out) {
  const char* from = in.Take(count * bytes);
  if (from == nullptr) return false;
  for (size_t i = 0; i < count; ++i) {
    if (bytes == 4) {
      int32_t narrow = 0;
      std::memcpy(&narrow, from + i * 4, 4);
      out[i] = static_cast<T>(narrow);
    } else {
      std::memcpy(&out[i], from + i * 8, 8);
    }
  }
  return true;
}

}  // namespace

struct ParquetReader::Pages {
  PageHeader dictionary_header, header;
  std::string stored, dictionary, data;
  std::vector<uint8_t> present;
  std::vector<uint32_t> codes;
  Cursor body;  // of the data page, after the levels
  size_t rows = 0, kept = 0;
};

Error ParquetReader::Damaged(std::string_view what) const {
  return InvalidInput(fmt::format("{} is damaged: {}", path_, what))
      .Hint("import the profile again, or fetch the bundle again; neurolens doctor checks the store");
}

Result<std::unique_ptr<ParquetReader>> ParquetReader::Open(const std::string& path) {
  std::unique_ptr<ParquetReader> out(new ParquetReader);
  out->path_ = path;
  out->file_ = UniqueFd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!out->file_.valid()) return FileError("open", path);
  struct stat about {};
  if (::fstat(out->file_.get(), &about) != 0) return FileError("read", path);
  out->size_bytes_ = about.st_size;
  NL_TRY(out->ReadFooter());
  return out;
}

namespace {

Status ReadAt(int fd, const std::string& path, int64_t offset, size_t bytes, std::string& out) {
  out.resize(bytes);
  for (size_t done = 0; done < bytes;) {
    const ssize_t got = ::pread(fd, out.data() + done, bytes - done, offset + static_cast<int64_t>(done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return FileError("read", path);
    if (got == 0) return IoError(fmt::format("cannot read {}: the file ends early", path), 0);
    done += static_cast<size_t>(got);
  }
  return {};
}

}  // namespace

Status ParquetReader::ReadFooter() {
  std::string tail;
  if (size_bytes_ < 12) return Damaged("too short");
  NL_TRY(ReadAt(file_.get(), path_, size_bytes_ - 8, 8, tail));
  uint32_t length = 0;
  std::memcpy(&length, tail.data(), 4);
  if (tail.compare(4, 4, "PAR1") != 0 || length + int64_t{12} > size_bytes_ || length > kMostFooterBytes)
    return Damaged("not a Parquet file");
  std::string footer;
  NL_TRY(ReadAt(file_.get(), path_, size_bytes_ - 8 - length, length, footer));
  Cursor in{footer.data(), footer.data() + footer.size()};
  ThriftFields meta(in);
  while (meta.Next()) {
    if (meta.id == 2 && meta.type == ThriftFields::kList) {
      const size_t count = meta.List(ThriftFields::kStruct);
      for (size_t i = 0; i < count && in.ok; ++i) {
        std::string_view name;
        ThriftFields element(in);
        while (element.Next()) {
          if (element.id == 4 && element.type == ThriftFields::kBinary) {
            name = in.Text();
          } else {
            element.Skip();
          }
        }
        if (i > 0) columns_.emplace_back(name);  // the first is the root
      }
    } else if (meta.id == 3 && meta.type == ThriftFields::kI64) {
      rows_ = in.ZigZag();
    } else if (meta.id == 4 && meta.type == ThriftFields::kList) {
      const size_t count = meta.List(ThriftFields::kStruct);
      int64_t first_row = 0;
      for (size_t i = 0; i < count && in.ok; ++i) {
        Group group;
        group.first_row = first_row;
        ThriftFields f(in);
        while (f.Next()) {
          if (f.id == 1 && f.type == ThriftFields::kList) {
            const size_t chunks = f.List(ThriftFields::kStruct);
            for (size_t c = 0; c < chunks && in.ok; ++c) {
              Chunk chunk;
              ThriftFields column(in);
              while (column.Next()) {
                if (column.id == 3 && column.type == ThriftFields::kStruct) {
                  ReadColumnMeta(in, chunk);
                } else {
                  column.Skip();
                }
              }
              group.chunks.push_back(chunk);
            }
          } else if (f.id == 3 && f.type == ThriftFields::kI64) {
            group.rows = in.ZigZag();
          } else {
            f.Skip();
          }
        }
        if (group.rows < 0 || group.rows > kMostRows || group.chunks.size() != columns_.size())
          return Damaged("a row group does not fit the schema");
        first_row += group.rows;
        groups_.push_back(std::move(group));
      }
    } else {
      meta.Skip();
    }
  }
  return in.ok ? Status() : Damaged("the footer cannot be read");
}

int ParquetReader::Column(std::string_view name) const {
  const auto it = std::find(columns_.begin(), columns_.end(), name);
  return it == columns_.end() ? -1 : static_cast<int>(it - columns_.begin());
}

Status ParquetReader::ReadPages(size_t group, int column, Pages& out) const {
  const Chunk& of = chunk(group, column);
  out.rows = static_cast<size_t>(rows(group));
  const int64_t first =
      of.dictionary_offset >= 0 ? std::min(of.dictionary_offset, of.data_offset) : of.data_offset;
  if (first < 4 || of.stored_bytes <= 0 || of.stored_bytes > size_bytes_ ||
      first > size_bytes_ - of.stored_bytes || of.values != rows(group))
    return Damaged("a column does not lie in the file");
  NL_TRY(ReadAt(file_.get(), path_, first, static_cast<size_t>(of.stored_bytes), out.stored));
  if (of.dictionary_offset < 0) {  // as if it were empty
    out.dictionary_header.values = 0;
    out.dictionary.resize(kSlack);
  }
  Cursor in{out.stored.data(), out.stored.data() + out.stored.size()};
  const auto take = [&](PageHeader& header, std::string& to) {
    header = ReadPageHeader(in);
    if (!in.ok || header.raw_bytes < 0 || header.raw_bytes > kMostPageBytes || header.stored_bytes < 0)
      return false;
    const char* from = in.Take(static_cast<size_t>(header.stored_bytes));
    return from != nullptr && Unpack(from, header, of.codec, to);
  };
  if (of.dictionary_offset >= 0 && (!take(out.dictionary_header, out.dictionary) ||
                                    out.dictionary_header.type != static_cast<int>(PageType::kDictionary) ||
                                    out.dictionary_header.values < 0 ||
                                    out.dictionary_header.values > out.dictionary_header.raw_bytes / 4))
    return Damaged("a dictionary page cannot be read");
  if (!take(out.header, out.data) || out.header.type != static_cast<int>(PageType::kData) ||
      out.header.values != of.values || in.left() != 0)
    return Damaged("a data page cannot be read");
  out.body = {out.data.data(), out.data.data() + out.data.size() - kSlack};
  if (!ReadLevels(out.body, out.rows, out.present, out.kept))
    return Damaged("the levels of a page cannot be read");
  if (out.header.encoding == static_cast<int>(ValueEncoding::kRleDictionary)) {
    const bool good =
        out.dictionary_header.values >= 0 &&
        ReadCodes(out.body, out.kept, static_cast<size_t>(out.dictionary_header.values), out.codes);
    if (!good) return Damaged("the codes of a page cannot be read");
  }
  return {};
}

Status ParquetReader::ReadInts(size_t group, int column, std::vector<int64_t>& out) const {
  thread_local Pages pages;
  NL_TRY(ReadPages(group, column, pages));
  const int type = chunk(group, column).type;
  if (type != static_cast<int>(Type::kInt32) && type != static_cast<int>(Type::kInt64))
    return Damaged("a column of integers is of another type");
  const size_t bytes = type == static_cast<int>(Type::kInt32) ? 4 : 8;
  out.resize(pages.rows);
  bool good = true;
  switch (static_cast<ValueEncoding>(pages.header.encoding)) {
    case ValueEncoding::kRleDictionary: {
      thread_local std::vector<int64_t> dictionary;
      dictionary.resize(static_cast<size_t>(pages.dictionary_header.values));
      Cursor in{pages.dictionary.data(), pages.dictionary.data() + pages.dictionary.size() - kSlack};
      good = ReadPlain(in, dictionary.size(), bytes, dictionary.data());
      for (size_t i = 0; good && i < pages.kept; ++i) out[i] = dictionary[pages.codes[i]];
      break;
    }
    case ValueEncoding::kDeltaBinaryPacked: good = ReadDelta(pages.body, pages.kept, out.data()); break;
    case ValueEncoding::kPlain: good = ReadPlain(pages.body, pages.kept, bytes, out.data()); break;
    default: return Unsupported(fmt::format("{} has an encoding of another writer", path_));
  }
  if (!good) return Damaged("the values of a page cannot be read");
  Spread(out, pages.present, pages.kept, NullOf<int64_t>::value);
  return {};
}

Status ParquetReader::ReadDoubles(size_t group, int column, std::vector<double>& out) const {
  thread_local Pages pages;
  NL_TRY(ReadPages(group, column, pages));
  if (chunk(group, column).type != static_cast<int>(Type::kDouble))
    return Damaged("a column of numbers is of another type");
  out.resize(pages.rows);
  bool good = true;
  if (pages.header.encoding == static_cast<int>(ValueEncoding::kRleDictionary)) {
    std::vector<double> dictionary(static_cast<size_t>(pages.dictionary_header.values));
    Cursor in{pages.dictionary.data(), pages.dictionary.data() + pages.dictionary.size() - kSlack};
    good = ReadPlain(in, dictionary.size(), 8, dictionary.data());
    for (size_t i = 0; good && i < pages.kept; ++i) out[i] = dictionary[pages.codes[i]];
  } else {
    good = pages.header.encoding == static_cast<int>(ValueEncoding::kPlain) &&
           ReadPlain(pages.body, pages.kept, 8, out.data());
  }
  if (!good) return Damaged("the values of a page cannot be read");
  Spread(out, pages.present, pages.kept, NullOf<double>::value);
  return {};
}

Status ParquetReader::ReadTexts(size_t group, int column, CodedTexts& out) const {
  thread_local Pages pages;
  NL_TRY(ReadPages(group, column, pages));
  if (chunk(group, column).type != static_cast<int>(Type::kByteArray) ||
      pages.header.encoding != static_cast<int>(ValueEncoding::kRleDictionary))
    return Damaged("a column of texts is of another type");
  out.bytes.swap(pages.dictionary);
  out.distinct.clear();
  Cursor in{out.bytes.data(), out.bytes.data() + out.bytes.size() - kSlack};
  for (int64_t i = 0; i < pages.dictionary_header.values; ++i) {
    uint32_t length = 0;
    const char* p = in.Take(4);
    if (p != nullptr) std::memcpy(&length, p, 4);
    const char* text = in.Take(length);
    if (text == nullptr) return Damaged("a dictionary of texts cannot be read");
    out.distinct.emplace_back(text, length);
  }
  out.codes = pages.codes;
  out.codes.resize(pages.rows);
  Spread(out.codes, pages.present, pages.kept, CodedTexts::kNull);
  return {};
}

}  // namespace nl
