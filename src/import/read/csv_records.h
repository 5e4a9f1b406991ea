// SPDX-License-Identifier: Apache-2.0
#pragma once
// CsvRecords: the records of a CSV text (RFC 4180: quoted fields may hold commas, doubled
// quotes and line ends), one after the other, whatever the pieces it is read in. A quote
// that is never closed costs one line, not the rest of the file. Memory: a few pieces and one
// record.
// Thread rule: one thread asks; large pieces are read ahead by another. Ownership: uses the caller's source;
// texts are valid until the next call.

#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>

#include "import/adapter.h"
#include "import/read/read_ahead.h"

namespace nl {

struct CsvRecord {
  std::string_view text;    // without its line end
  int64_t offset = 0;       // in the decompressed text
  bool ended = true;        // by a line end; false: the file ends here
  bool open_quote = false;  // a quote in it is never closed
};

class CsvRecords {
 public:
  // Is this the beginning of a line that can only begin a record? There a quote that is still
  // open is given up.
  using IsStartFn = bool (*)(std::string_view line);
  CsvRecords(ByteSource& source, const ImportOptions& options, IsStartFn is_start);

  // False: there are no more. Cancelled and reading errors are the source's.
  Result<bool> Next(CsvRecord& to);

 private:
  static constexpr size_t kMaxLineBytes = 16 << 20, kMaxJoinedBytes = 1 << 20, kStartBytes = 64;
  Status Fill();
  // Where the line that begins at `from` ends; the end of the text when it has no line end.
  Result<size_t> LineEnd(size_t from);
  Status Join(size_t line_end, CsvRecord& to, size_t& end);

  ByteSource& source_;
  const ImportOptions& options_;
  IsStartFn is_start_;
  std::unique_ptr<ReadAhead> ahead_;  // null: read here, small pieces
  std::string buffer_, piece_;
  size_t begin_ = 0;         // of the record; positions are relative to it
  size_t next_ = 0;          // of the record after it
  int64_t base_offset_ = 0;  // of buffer_[0]
  bool at_end_ = false;
};

struct CsvField {
  std::string_view text;  // without the quotes around it
  bool escaped = false;   // has doubled quotes: see Unescaped
};

// Takes the field at `at` and moves after its comma, or to end + 1 after the last field:
//   for (const char* at = text.data(); at <= end;) ...
// False: a quote is not closed, or something stands after the closing one.
inline bool NextCsvField(const char*& at, const char* end, CsvField& to) {
  to.escaped = false;
  const char* start = at;
  if (at < end && *at == '"') {
    ++start;
    for (++at;; at += 2) {
      // Numbers are short, names and texts long.
      const char* near = end - at > 16 ? at + 16 : end;
      while (at < near && *at != '"') ++at;
      if (at == near && at < end) {
        at = static_cast<const char*>(std::memchr(at, '"', static_cast<size_t>(end - at)));
        if (at == nullptr) return false;
      }
      if (at >= end) return false;
      if (at + 1 >= end || at[1] != '"') break;
      to.escaped = true;
    }
    to.text = {start, static_cast<size_t>(at - start)};
    ++at;
    if (at < end && *at != ',') return false;
  } else {
    while (at < end && *at != ',') ++at;
    to.text = {start, static_cast<size_t>(at - start)};
  }
  ++at;
  return true;
}

// The field with its doubled quotes made single.
std::string Unescaped(const CsvField& field);

}  // namespace nl
