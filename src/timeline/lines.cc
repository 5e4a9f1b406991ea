// SPDX-License-Identifier: Apache-2.0
#include "timeline/lines.h"

#include <algorithm>
#include <map>
#include <tuple>

#include <fmt/format.h>

#include "timeline/run_table.h"

namespace nl {

namespace {

constexpr size_t kReservedLines = 4;

class LineReader {
 public:
  explicit LineReader(const RunSpans& spans) : spans_(spans) {}

  Result<std::vector<LineLane>> Read() {
    NL_ASSIGN(const RunTable threads, RunTable::Open(spans_, "thread"));
    NL_ASSIGN(process_of_, threads.Ints("process_id"));
    NL_TRY(LoadCounters());
    NL_TRY(LoadMemory());
    return std::move(out_);
  }

 private:
  // A line while its points arrive, which are in order of time in most runs.
  struct Line {
    Series points;
    bool sorted = true;
    void Add(int64_t at_ns, double value) {
      sorted &= points.at_ns.empty() || points.at_ns.back() <= at_ns;
      points.at_ns.push_back(at_ns);
      points.value.push_back(value);
    }
    void Reserve(size_t rows) {
      points.at_ns.reserve(rows);
      points.value.reserve(rows);
    }
    void Sort();
  };

  void AddLine(int64_t process, TimelineLaneKind kind, std::string name, Line line) {
    line.Sort();
    LineLane& lane = out_.emplace_back();
    lane.process = process;
    lane.node.kind = kind;
    lane.node.name = std::move(name);
    lane.node.count = static_cast<int64_t>(line.points.at_ns.size());
    lane.node.first_ns = line.points.at_ns.front();
    lane.node.last_ns = line.points.at_ns.back();
    lane.node.series = std::move(line.points);
  }

  Status LoadCounters() {
    NL_ASSIGN(const RunTable table, RunTable::Open(spans_, "counter_sample"));
    std::map<std::tuple<int64_t, std::string, std::string>, Line> lines;
    std::vector<int64_t> thread, start;
    std::vector<double> value;
    CodedTexts name, series;
    const auto text = [](const CodedTexts& of, size_t i) {
      return of.codes[i] == CodedTexts::kNull ? std::string() : std::string(of.distinct[of.codes[i]]);
    };
    for (size_t g = 0; g < table.groups(); ++g) {
      NL_TRY(table.Ints(g, "thread_id", thread));
      NL_TRY(table.Ints(g, "start_ns", start));
      NL_TRY(table.Texts(g, "name", name));
      NL_TRY(table.Texts(g, "series", series));
      NL_TRY(table.Numbers(g, "value", value));
      std::map<std::tuple<int64_t, uint32_t, uint32_t>, Line*> known;  // by the codes of this row group
      for (size_t i = 0; i < start.size(); ++i) {
        if (IsNull(start[i]) || IsNull(value[i])) continue;
        Line*& line = known[{thread[i], name.codes[i], series.codes[i]}];
        if (line == nullptr) line = &lines[{thread[i], text(name, i), text(series, i)}];
        line->Add(start[i] - spans_.zero_ns(), value[i]);
      }
    }
    for (auto& [key, line] : lines) {
      const auto& [of_thread, counter, part] = key;
      AddLine(ProcessOf(of_thread), TimelineLaneKind::kCounter,
              part.empty() ? counter : fmt::format("{} {}", counter, part), std::move(line));
    }
    return {};
  }

  Status LoadMemory() {
    NL_ASSIGN(const RunTable table, RunTable::Open(spans_, "memory_event"));
    std::map<std::pair<int64_t, int64_t>, Line> lines;
    std::vector<int64_t> thread, start, total, device;
    std::pair<int64_t, int64_t> last_key;
    Line* last = nullptr;  // most rows are of the line of the row before
    for (size_t g = 0; g < table.groups(); ++g) {
      NL_TRY(table.Ints(g, "thread_id", thread));
      NL_TRY(table.Ints(g, "start_ns", start));
      NL_TRY(table.Ints(g, "total_allocated_bytes", total));
      NL_TRY(table.Ints(g, "device", device));
      for (size_t i = 0; i < start.size(); ++i) {
        if (IsNull(start[i]) || IsNull(total[i])) continue;
        const std::pair key(ProcessOf(thread[i]), device[i]);
        if (last == nullptr || key != last_key) {
          last = &lines[last_key = key];
          // Growing would copy them; what is not used costs addresses only.
          if (last->points.at_ns.empty() && lines.size() <= kReservedLines) last->Reserve(table.rows());
        }
        last->Add(start[i] - spans_.zero_ns(), static_cast<double>(total[i]));
      }
    }
    for (auto& [key, line] : lines) {
      const bool host = IsNull(key.second) || key.second < 0;
      AddLine(
          key.first, TimelineLaneKind::kMemory,
          host ? "host memory allocated (bytes)" : fmt::format("GPU {} memory allocated (bytes)", key.second),
          std::move(line));
    }
    return {};
  }

  int64_t ProcessOf(int64_t thread) const {
    return IsNull(thread) || thread < 0 || thread >= static_cast<int64_t>(process_of_.size())
               ? NullOf<int64_t>::value
               : process_of_[static_cast<size_t>(thread)];
  }

  const RunSpans& spans_;
  std::vector<int64_t> process_of_;  // by thread
  std::vector<LineLane> out_;
};

// Several threads write their events in turns, so most points are in order: those that are not are taken out,
// sorted and merged again. Of equal times the earlier row stays first.
void LineReader::Line::Sort() {
  if (sorted) return;
  std::vector<std::pair<int64_t, double>> late;
  size_t kept = 0;
  for (size_t i = 0; i < points.at_ns.size(); ++i) {
    if (kept > 0 && points.at_ns[i] < points.at_ns[kept - 1]) {
      late.emplace_back(points.at_ns[i], points.value[i]);
      continue;
    }
    points.at_ns[kept] = points.at_ns[i];
    points.value[kept++] = points.value[i];
  }
  std::stable_sort(late.begin(), late.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  // A late point comes after the kept ones of its time: their rows are before its own.
  for (size_t to = points.at_ns.size(), from = kept, taken = late.size(); taken > 0;) {
    const bool keep = from > 0 && points.at_ns[from - 1] > late[taken - 1].first;
    std::tie(points.at_ns[to - 1], points.value[to - 1]) =
        keep ? std::pair(points.at_ns[from - 1], points.value[from - 1]) : late[taken - 1];
    --to;
    --(keep ? from : taken);
  }
  sorted = true;
}

}  // namespace

Result<std::vector<LineLane>> ReadLines(const RunSpans& spans) { return LineReader(spans).Read(); }

}  // namespace nl
