// SPDX-License-Identifier: Apache-2.0
#include "import/adapters/rocprof/csv_table.h"

#include <algorithm>

#include "import/adapters/rocprof/counters.h"
#include "import/trace_json/json_text.h"

namespace nl::adapters::rocprof {

namespace {
constexpr size_t kMaxLineBytes = 16 << 20;
}  // namespace

bool SplitCsv(std::string_view line, std::vector<std::string_view>& fields) {
  fields.clear();
  size_t at = 0;
  for (;;) {
    if (at < line.size() && line[at] == '"') {
      size_t end = at + 1;
      for (;; end += 2) {
        end = line.find('"', end);
        if (end == std::string_view::npos) return false;
        if (end + 1 >= line.size() || line[end + 1] != '"') break;
      }
      fields.push_back(line.substr(at + 1, end - at - 1));
      at = end + 1;
      if (at < line.size() && line[at] != ',') return false;
    } else {
      const size_t end = std::min(line.find(',', at), line.size());
      std::string_view field = line.substr(at, end - at);
      while (!field.empty() && field.front() == ' ') field.remove_prefix(1);
      while (!field.empty() && field.back() == ' ') field.remove_suffix(1);
      fields.push_back(field);
      at = end;
    }
    if (at >= line.size()) return true;
    ++at;
  }
}

std::string PlainText(std::string_view field) {
  std::string out;
  for (size_t i = 0; i < field.size(); ++i) {
    out += field[i];
    if (field[i] == '"' && i + 1 < field.size() && field[i + 1] == '"') ++i;
  }
  return out;
}

std::string_view FirstLine(std::string_view text) {
  if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);
  return text.substr(0, text.find_first_of("\r\n"));
}

Result<bool> CsvTable::Line() {
  for (size_t from = at_;;) {
    const size_t end = buffer_.find('\n', from);
    if (end != std::string::npos) {
      line_ = std::string_view(buffer_).substr(at_, end - at_);
      offset_ = base_ + static_cast<int64_t>(at_);
      at_ = end + 1;
      break;
    }
    if (ended_) {
      if (at_ >= buffer_.size()) return false;
      line_ = std::string_view(buffer_).substr(at_);
      offset_ = base_ + static_cast<int64_t>(at_);
      at_ = buffer_.size();
      whole_ = false;
      file_.counters.Add(kMissingLineEnd, offset_, line_.substr(0, 200));
      break;
    }
    if (file_.options.Cancelled()) return Cancelled();
    if (buffer_.size() - at_ > kMaxLineBytes)
      return InvalidInput("a line of over 16 MB").At(file_.path, base_ + static_cast<int64_t>(at_));
    buffer_.erase(0, at_);
    base_ += static_cast<int64_t>(at_);
    at_ = 0;
    from = buffer_.size();
    const size_t want = std::max<size_t>(file_.options.chunk_bytes, 1);
    buffer_.resize(from + want);
    NL_ASSIGN(const size_t n, file_.source.Read(buffer_.data() + from, want));
    buffer_.resize(from + n);
    ended_ = n < want;
    if (file_.options.progress) file_.options.progress(file_.source.bytes_read(), file_.source.bytes_total());
  }
  if (line_.ends_with('\r')) line_.remove_suffix(1);
  return true;
}

Status CsvTable::Open() {
  NL_ASSIGN(const bool any, Line());
  if (!any) return InvalidInput("the file is empty").At(file_.path, 0);
  if (!SplitCsv(FirstLine(line_), fields_))
    return InvalidInput("a header line with an open quote").At(file_.path, 0);
  for (const std::string_view field : fields_) columns_.emplace_back(field);
  return {};
}

int CsvTable::Find(std::initializer_list<std::string_view> names) const {
  for (const std::string_view name : names) {
    const auto it = std::find(columns_.begin(), columns_.end(), name);
    if (it != columns_.end()) return static_cast<int>(it - columns_.begin());
  }
  return -1;
}

Result<bool> CsvTable::Next() {
  for (;;) {
    NL_ASSIGN(const bool any, Line());
    if (!any) return false;
    if (line_.empty()) continue;
    if (SplitCsv(line_, fields_) && fields_.size() == columns_.size()) return true;
    file_.counters.Add(kBadRecord, offset_, line_.substr(0, 4096));
  }
}

std::string_view CsvTable::Text(int column) const {
  return column < 0 ? std::string_view() : fields_[static_cast<size_t>(column)];
}

int64_t CsvTable::Int(int column) const {
  int64_t value = 0;
  if (trace_json::ParseInt64(Text(column), value)) return value;
  return NullOf<int64_t>::value;
}

double CsvTable::Number(int column) const {
  double value = 0;
  return trace_json::ParseDouble(Text(column), value) ? value : NullOf<double>::value;
}

}  // namespace nl::adapters::rocprof
