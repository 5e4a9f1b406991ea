// SPDX-License-Identifier: Apache-2.0
#include "import/read/csv_records.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace nl {

namespace {

// Eight bytes at a time: a byte that is a quote becomes zero, which sets the highest bit of its place in
// `marks`; two in the same place cancel out.
bool OddQuotes(std::string_view text) {
  constexpr uint64_t kQuotes = 0x2222222222222222u, kLow = 0x7f7f7f7f7f7f7f7fu;
  uint64_t marks = 0;
  size_t i = 0;
  for (; i + 8 <= text.size(); i += 8) {
    uint64_t word;
    std::memcpy(&word, text.data() + i, 8);
    word ^= kQuotes;
    marks ^= ~(((word & kLow) + kLow) | word | kLow);
  }
  int count = std::popcount(marks);
  for (; i < text.size(); ++i) count += text[i] == '"';
  return (count & 1) != 0;
}

}  // namespace

std::string Unescaped(const CsvField& field) {
  std::string out;
  out.reserve(field.text.size());
  for (size_t i = 0; i < field.text.size(); ++i) {
    out.push_back(field.text[i]);
    if (field.text[i] == '"' && i + 1 < field.text.size() && field.text[i + 1] == '"') ++i;
  }
  return out;
}

CsvRecords::CsvRecords(ByteSource& source, const ImportOptions& options, IsStartFn is_start)
    : source_(source), options_(options), is_start_(is_start) {
  constexpr size_t kWorthAThread = 64 << 10, kLargest = 4 << 20;
  if (options.threads != 1 && options.chunk_bytes >= kWorthAThread)
    ahead_ = std::make_unique<ReadAhead>(source, std::min(options.chunk_bytes, kLargest));
}

Status CsvRecords::Fill() {
  if (options_.Cancelled()) return Cancelled();
  // What was read is released when it is most of the buffer, so that each byte is moved once or twice.
  if (begin_ > buffer_.size() / 2) {
    buffer_.erase(0, begin_);
    base_offset_ += static_cast<int64_t>(begin_);
    begin_ = 0;
  }
  if (ahead_) {
    NL_ASSIGN(const bool more, ahead_->Next(piece_));
    if (more) buffer_.append(piece_);
    at_end_ = !more;
  } else {
    const size_t piece = std::max<size_t>(options_.chunk_bytes, 1), at = buffer_.size();
    buffer_.resize(at + piece);
    Result<size_t> n = source_.Read(buffer_.data() + at, piece);
    buffer_.resize(at + (n.ok() ? *n : 0));
    if (!n.ok()) return std::move(n).error();
    at_end_ = *n < piece;
  }
  if (options_.progress) options_.progress(source_.bytes_read(), source_.bytes_total());
  return {};
}

Result<size_t> CsvRecords::LineEnd(size_t from) {
  for (size_t look = from;;) {
    const size_t size = buffer_.size() - begin_;
    const char* text = buffer_.data() + begin_;
    if (look < size) {
      if (const void* found = std::memchr(text + look, '\n', size - look))
        return static_cast<size_t>(static_cast<const char*>(found) - text);
    }
    look = size;
    if (at_end_) return size;
    if (size > from + kMaxLineBytes) {
      return InvalidInput("a line of over 16 MB")
          .At(source_.name(), base_offset_ + static_cast<int64_t>(begin_ + from));
    }
    NL_TRY(Fill());
  }
}

// A line with an open quote goes on in the next ones, unless one of those begins a record first.
Status CsvRecords::Join(size_t line_end, CsvRecord& to, size_t& end) {
  for (end = line_end; end < kMaxJoinedBytes;) {
    while (!at_end_ && buffer_.size() - begin_ < end + 1 + kStartBytes) NL_TRY(Fill());
    const std::string_view rest =
        std::string_view(buffer_).substr(std::min(buffer_.size(), begin_ + end + 1), kStartBytes);
    if (rest.empty() || is_start_(rest)) break;
    NL_ASSIGN(const size_t next_end, LineEnd(end + 1));
    const bool odd = OddQuotes(std::string_view(buffer_).substr(begin_ + end + 1, next_end - end - 1));
    end = next_end;
    if (odd) return {};
  }
  to.open_quote = true;
  end = line_end;
  return {};
}

Result<bool> CsvRecords::Next(CsvRecord& to) {
  begin_ += next_;
  next_ = 0;
  NL_ASSIGN(size_t end, LineEnd(0));
  if (end == 0 && begin_ == buffer_.size()) return false;
  to.open_quote = false;
  if (OddQuotes(std::string_view(buffer_).substr(begin_, end))) NL_TRY(Join(end, to, end));
  to.offset = base_offset_ + static_cast<int64_t>(begin_);
  to.ended = begin_ + end < buffer_.size();
  next_ = to.ended ? end + 1 : end;
  to.text = std::string_view(buffer_).substr(begin_, end);
  if (to.text.ends_with('\r')) to.text.remove_suffix(1);
  return true;
}

}  // namespace nl
