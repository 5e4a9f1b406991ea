// SPDX-License-Identifier: Apache-2.0
// The collapsed adapter: folded stacks as flame graph tools exchange them, a line for each
// different stack with how often it was seen. One real line (py-spy 0.3):
//   main (train.py:10);step (train.py:42);forward (model.py:7) 25
// perf, rbspy and async-profiler write the same with other spellings of frames. There are no
// times and no threads in it: rows have a weight and no start.

#include <algorithm>

#include "base/utf8.h"
#include "import/adapter.h"
#include "import/rows/row_writer.h"
#include "import/trace_json/json_text.h"

namespace nl::adapters::collapsed {

namespace {

constexpr CounterInfo kBadLine{"bad_line", Severity::kDataLoss,
                               "Line that is not a stack with a number after it",
                               "The line is kept in import_log; the others were read"};
constexpr CounterInfo kBadUtf8{"bad_utf8", Severity::kNotice, "Text that is not UTF-8",
                               "Each bad byte was replaced by U+FFFD"};
constexpr CounterInfo kNoTimeline{
    "no_timeline", Severity::kInfo, "Stacks are sums over the whole recording; the file has no times",
    "Use `neurolens flame`; for a timeline, record with a tool that keeps times"};
constexpr CounterInfo kMissingLineEnd{"missing_line_end", Severity::kNotice,
                                      "Last line without its end: the file may be cut",
                                      "Compare with the size of the original; its number may lack digits"};

constexpr size_t kMaxLineBytes = 16 << 20, kShownBytes = 4096;

struct Folded {
  std::string_view stack;
  int64_t weight = 0;
};

// "a;b c;d 12" -> "a;b c;d", 12. Whole numbers only: shares and differences are something else.
bool ParseFolded(std::string_view line, Folded& to) {
  while (!line.empty() && (line.back() == ' ' || line.back() == '\t' || line.back() == '\r'))
    line.remove_suffix(1);
  const size_t space = line.find_last_of(" \t");
  if (space == std::string_view::npos || space == 0) return false;
  const std::string_view digits = line.substr(space + 1);
  if (digits[0] < '0' || digits[0] > '9' || !trace_json::ParseInt64(digits, to.weight)) return false;
  std::string_view stack = line.substr(0, space);
  while (!stack.empty() && (stack.back() == ' ' || stack.back() == '\t' || stack.back() == ';'))
    stack.remove_suffix(1);
  to.stack = stack;
  return !stack.empty();
}

// Every whole line of the beginning is a stack with a number, and one of them has two frames.
bool LooksFolded(std::string_view head) {
  if (head.starts_with("\xef\xbb\xbf")) head.remove_prefix(3);
  if (head.empty() || head[0] == '{' || head[0] == '[' || head[0] == '<') return false;
  if (head.find('\0') != std::string_view::npos) return false;
  bool deep = false;
  int lines = 0;
  while (!head.empty() && lines < 50) {
    const size_t end = head.find('\n');
    // The last line of a cut head may lack its number.
    if (end == std::string_view::npos && lines > 0) break;
    const std::string_view line = head.substr(0, end);
    head = end == std::string_view::npos ? std::string_view() : head.substr(end + 1);
    if (line.empty() || line == "\r") continue;
    Folded folded;
    if (!ParseFolded(line, folded)) return false;
    deep |= folded.stack.find(';') != std::string_view::npos;
    ++lines;
  }
  return lines > 0 && deep;
}

class FoldedReader {
 public:
  explicit FoldedReader(ImportFile& file) : file_(file), writer_(file) {}

  Status Read() {
    NL_TRY(ReadLines());
    if (rows_ == 0) return InvalidInput("no stack with a number in it").At(file_.path, 0);
    file_.counters.Add(kNoTimeline, -1, {}, rows_);
    file_.about.tool = "folded stacks";
    file_.about.vendor = "cpu";
    EventBatch& batch = writer_.batch;
    ProcessRow process;
    process.labels = writer_.strings().Add("CPU");
    const auto process_id = static_cast<ProcessId>(writer_.NextRow(Table::kProcess, batch.process));
    batch.process.Add(process);
    ThreadRow lane;
    lane.process_id = process_id;
    lane.name = lane.tid_text = writer_.strings().Add("stacks");
    batch.thread.Add(lane);
    return writer_.Finish();
  }

 private:
  Status ReadLines() {
    const auto lane = static_cast<ThreadId>(file_.sink.rows(Table::kThread));
    const StringId unit = writer_.strings().Add("samples");
    std::string buffer;
    int64_t base = 0;
    for (bool ended = false; !ended;) {
      if (file_.options.Cancelled()) return Cancelled();
      const size_t before = buffer.size(), want = std::max<size_t>(file_.options.chunk_bytes, 1);
      if (before > kMaxLineBytes) return InvalidInput("a line of over 16 MB").At(file_.path, base);
      buffer.resize(before + want);
      NL_ASSIGN(const size_t n, file_.source.Read(buffer.data() + before, want));
      buffer.resize(before + n);
      ended = n < want;
      if (file_.options.progress)
        file_.options.progress(file_.source.bytes_read(), file_.source.bytes_total());
      size_t at = 0;
      for (size_t end = buffer.find('\n', before); end != std::string::npos; end = buffer.find('\n', at)) {
        NL_TRY(
            Put(std::string_view(buffer).substr(at, end - at), base + static_cast<int64_t>(at), lane, unit));
        at = end + 1;
      }
      if (ended && at < buffer.size()) {
        file_.counters.Add(kMissingLineEnd, base + static_cast<int64_t>(at));
        NL_TRY(Put(std::string_view(buffer).substr(at), base + static_cast<int64_t>(at), lane, unit));
      }
      buffer.erase(0, at);
      base += static_cast<int64_t>(at);
    }
    return {};
  }

  Status Put(std::string_view line, int64_t offset, ThreadId lane, StringId unit) {
    if (offset == 0 && line.starts_with("\xef\xbb\xbf")) line.remove_prefix(3);
    if (line.empty() || line == "\r") return {};
    Folded folded;
    if (!ParseFolded(line, folded)) {
      file_.counters.Add(kBadLine, offset, line.substr(0, kShownBytes));
      return {};
    }
    CpuSampleRow r;
    r.thread_id = lane;
    const bool good = IsUtf8(folded.stack);
    if (!good) file_.counters.Add(kBadUtf8, offset);
    r.stack = good ? writer_.strings().Add(folded.stack) : writer_.strings().Add(ValidUtf8(folded.stack));
    r.weight = folded.weight;
    r.unit = unit;
    writer_.batch.cpu_sample.Add(r);
    ++rows_;
    return writer_.Flow();
  }

  ImportFile& file_;
  RowWriter writer_;
  int64_t rows_ = 0;
};

class CollapsedAdapter final : public Adapter {
 public:
  AdapterInfo Info() const override {
    return {"collapsed",
            1,
            "Folded stacks: a line for each stack with its number of samples",
            "py-spy, rbspy, perf with stackcollapse, async-profiler, neurolens flame",
            {".collapsed", ".folded", ".txt"}};
  }

  int Score(std::string_view head, std::string_view file_name) const override {
    if (!LooksFolded(head)) return 0;
    return file_name.ends_with(".collapsed") || file_name.ends_with(".folded") ? 45 : 40;
  }

  Status Import(ImportFile& file) const override { return FoldedReader(file).Read(); }
};

}  // namespace

const Adapter& Describe() {
  static const CollapsedAdapter adapter;
  return adapter;
}

}  // namespace nl::adapters::collapsed
