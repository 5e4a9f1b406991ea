// SPDX-License-Identifier: Apache-2.0
// Reads the @name@ format: a line "@name@ 1", then one span a line:
//
//   1000 250 forward pass        start_ns, dur_ns, label up to the end of the line
#include <charconv>
#include <cstring>
#include <optional>

#include "import/adapter.h"

namespace nl::adapters::@name@ {

namespace {

constexpr std::string_view kFirstLine = "@name@ 1\n";
constexpr size_t kBatchRows = 64 << 10;
constexpr size_t kMaxLineBytes = 1 << 20;

constexpr CounterInfo kBadLine{"@name@_bad_line", Severity::kDataLoss, "A line is not a start, a duration and a label",
                               "Look at the line in import_log; the rest of the file was read"};

struct Line {
  int64_t start_ns, dur_ns;
  std::string_view label;
};

std::optional<Line> ParseLine(std::string_view text) {
  Line line{};
  const char* end = text.data() + text.size();
  auto [after_start, start_error] = std::from_chars(text.data(), end, line.start_ns);
  if (start_error != std::errc() || after_start == end || *after_start != ' ') return std::nullopt;
  auto [after_dur, dur_error] = std::from_chars(after_start + 1, end, line.dur_ns);
  if (dur_error != std::errc() || after_dur == end || *after_dur != ' ' || line.dur_ns < 0) return std::nullopt;
  line.label = {after_dur + 1, static_cast<size_t>(end - after_dur - 1)};
  return line;
}

// Turns lines into rows of one lane; the sink gets them a batch at a time.
class Rows {
 public:
  explicit Rows(ImportFile& file) : file_(file) {
    StringPool& strings = file.sink.strings();
    lane_ = static_cast<ThreadId>(file.sink.rows(Table::kThread));
    ProcessRow process;
    process.name = strings.Add("@name@");
    ThreadRow thread;
    thread.process_id = static_cast<ProcessId>(file.sink.rows(Table::kProcess));
    batch_.process.Add(process);
    batch_.thread.Add(thread);
    kind_ = strings.Add("span");
  }

  Status Take(std::string_view text, int64_t byte_offset) {
    std::optional<Line> line = ParseLine(text);
    if (!line) {
      file_.counters.Add(kBadLine, byte_offset, text);
      return {};
    }
    RangeRow row;
    row.thread_id = lane_;
    row.start_ns = line->start_ns;
    row.dur_ns = line->dur_ns;
    row.name = file_.sink.strings().Add(line->label);
    row.kind = kind_;
    batch_.range.Add(row);
    return batch_.range.size() < kBatchRows ? Status() : Hand();
  }

  Status Hand() {
    file_.facts.Observe(batch_, file_.sink);
    file_.sink.Append(batch_);
    batch_.Clear();
    for (;;) {
      NL_ASSIGN(bool more, file_.sink.EncodeOne());
      if (!more) return {};
    }
  }

 private:
  ImportFile& file_;
  EventBatch batch_;
  ThreadId lane_;
  StringId kind_;
};

class @Name@Adapter final : public Adapter {
 public:
  AdapterInfo Info() const override {
    AdapterInfo info;
    info.name = "@name@";
    info.summary = "Spans as lines of text";
    info.produced_by = "any script that can print";
    info.name_hints = {".@name@"};
    return info;
  }

  int Score(std::string_view head, std::string_view) const override { return head.starts_with(kFirstLine) ? 90 : 0; }

  Status Import(ImportFile& file) const override {
    Rows rows(file);
    std::string text(kMaxLineBytes, '\0');
    size_t kept = 0;  // start of a line whose end was not read yet
    int64_t offset = 0;
    for (bool first = true;;) {
      if (file.options.Cancelled()) return Cancelled();
      NL_ASSIGN(size_t got, file.source.Read(text.data() + kept, text.size() - kept));
      const bool at_end = got < text.size() - kept;
      std::string_view rest(text.data(), kept + got);
      for (size_t end; (end = rest.find('\n')) != rest.npos; rest.remove_prefix(end + 1), offset += end + 1) {
        if (!first) NL_TRY(rows.Take(rest.substr(0, end), offset));
        first = false;
      }
      if (rest.size() == text.size()) return InvalidInput("a line is longer than 1 MiB").At(file.path, offset);
      if (at_end) {
        if (!rest.empty()) NL_TRY(rows.Take(rest, offset));
        return rows.Hand();
      }
      kept = rest.size();
      std::memmove(text.data(), rest.data(), kept);
    }
  }
};

}  // namespace

const Adapter& Describe() {
  static const @Name@Adapter adapter;
  return adapter;
}

}  // namespace nl::adapters::@name@
