// SPDX-License-Identifier: Apache-2.0
#include "import/adapters/rocprof/csv_span.h"

#include <algorithm>
#include <fstream>

#include "import/adapters/rocprof/csv_table.h"
#include "import/trace_json/json_text.h"

namespace nl::adapters::rocprof {

namespace {

constexpr size_t kPieceBytes = 1 << 20, kMaxSpanLineBytes = 16 << 20;

class SpanReader {
 public:
  // False: no column of this file tells a time or a process.
  bool TakeHeader(std::string_view line) {
    if (!SplitCsv(line, fields_)) return false;
    columns_ = fields_.size();
    start_ = Find({"Start_Timestamp", "BeginNs"});
    end_ = Find({"End_Timestamp", "EndNs"});
    process_ = Find({"Process_Id", "pid"});
    return start_ >= 0 || process_ >= 0;
  }

  // The whole lines of a text; gives how much of it they are.
  size_t TakeLines(std::string_view text) {
    size_t at = 0;
    for (size_t end = text.find('\n'); end != std::string_view::npos; end = text.find('\n', at)) {
      TakeLine(text.substr(at, end - at));
      at = end + 1;
    }
    return at;
  }

  void TakeLine(std::string_view line) {
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (!SplitCsv(line, fields_) || fields_.size() != columns_) return;
    int64_t value = 0;
    if (Number(process_, value)) span_.processes.insert(value);
    // Records of a call still open have an end of 0.
    for (const int column : {start_, end_}) {
      if (!Number(column, value) || value <= 0) continue;
      span_.first_ns = std::min(span_.first_ns, value);
      span_.last_ns = std::max(span_.last_ns, value);
    }
  }

  RecordingSpan span() const { return span_; }

 private:
  int Find(std::initializer_list<std::string_view> names) const {
    for (const std::string_view name : names) {
      const auto it = std::find(fields_.begin(), fields_.end(), name);
      if (it != fields_.end()) return static_cast<int>(it - fields_.begin());
    }
    return -1;
  }
  bool Number(int column, int64_t& value) const {
    return column >= 0 && trace_json::ParseInt64(fields_[static_cast<size_t>(column)], value);
  }

  size_t columns_ = 0;
  int start_ = -1, end_ = -1, process_ = -1;
  std::vector<std::string_view> fields_;
  RecordingSpan span_;
};

// The last lines of a file that is stored as it is.
void TakeTail(const std::string& path, SpanReader& reader) {
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  const auto bytes = static_cast<int64_t>(file.tellg());
  const int64_t from = std::max<int64_t>(0, bytes - static_cast<int64_t>(kSniffBytes));
  if (!file || from == 0) return;
  std::string tail(static_cast<size_t>(bytes - from), '\0');
  if (!file.seekg(from) || !file.read(tail.data(), static_cast<std::streamsize>(tail.size()))) return;
  const size_t first = tail.find('\n');  // the line before it is cut
  if (first == std::string::npos) return;
  const std::string_view lines = std::string_view(tail).substr(first + 1);
  reader.TakeLine(lines.substr(reader.TakeLines(lines)));
}

}  // namespace

Result<RecordingSpan> CsvSpan(const std::string& path, bool exact) {
  NL_ASSIGN(const std::unique_ptr<ByteSource> source, OpenByteSource(path));
  SpanReader reader;
  std::string text;
  const size_t want = exact ? kPieceBytes : kSniffBytes;
  for (bool first = true, ended = false; !ended; first = false) {
    const size_t left = text.size();
    text.resize(left + want);
    NL_ASSIGN(const size_t n, source->Read(text.data() + left, want));
    text.resize(left + n);
    ended = n < want;
    if (first) {
      const std::string_view header = FirstLine(text);
      if (!reader.TakeHeader(header)) return RecordingSpan{};
      text.erase(0, std::min(text.find('\n'), text.size() - 1) + 1);
    }
    text.erase(0, reader.TakeLines(text));
    if (text.size() > kMaxSpanLineBytes) break;  // the import says what is wrong with it
    if (ended) reader.TakeLine(text);
    if (!exact) {
      if (!ended && source->is_plain_file()) TakeTail(path, reader);
      break;
    }
  }
  return reader.span();
}

}  // namespace nl::adapters::rocprof
