// SPDX-License-Identifier: Apache-2.0
#include "report/samples_text.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/human.h"
#include "report/report_value.h"
#include "report/text_table.h"

namespace nl {

namespace {

std::string Shown(const TextTable& table, const char* heading, const SamplesTableStyle& style) {
  if (table.rows() == 0) return "";
  if (style.markdown) return fmt::format("### {}\n\n{}\n", heading, table.Markdown());
  return "\n" + table.Render(style.width, style.color);
}

std::string CellOf(const std::string& text, const SamplesTableStyle& style) {
  return style.markdown ? MdCell(text) : text;
}

const char* Head(const SamplesTableStyle& style, const char* terminal, const char* markdown) {
  return style.markdown ? markdown : terminal;
}

std::string FunctionTable(const SamplesFacts& samples, bool python, size_t rows,
                          const SamplesTableStyle& style) {
  const bool timed = samples.running_ms.has_value();
  TextTable table(
      {{python ? Head(style, "PYTHON FUNCTION", "Python function")
               : Head(style, "NATIVE FUNCTION", "Native function"),
        Align::kLeft, true, 16},
       {Head(style, "WHERE", "Where"), Align::kLeft, true, 12},
       {timed ? Head(style, "SELF", "Self") : Head(style, "SAMPLES", "Samples"), Align::kRight, false, 0},
       {Head(style, "SHARE", "Share"), Align::kRight, false, 0},
       {Head(style, "TOTAL", "Total"), Align::kRight, false, 0}});
  for (const SampledFunction* f : TopFunctions(samples, python, rows)) {
    const std::string place = f->Place();
    table.AddRow({CellOf(f->name, style), CellOf(place.empty() ? "-" : place, style),
                  timed ? HumanMs(f->self_ms.value_or(0)) : HumanCount(f->samples),
                  PercentOrDash(f->self_share),
                  timed ? HumanMs(f->total_ms.value_or(0)) : PercentOrDash(f->total_share)});
  }
  return Shown(table, python ? "Python functions" : "Native functions", style);
}

std::string ThreadTable(const SamplesFacts& samples, double wall_ms, const SamplesTableStyle& style) {
  if (!samples.running_ms) return "";
  const bool gil = std::any_of(samples.threads.begin(), samples.threads.end(),
                               [](const SampledThread& t) { return t.gil_held_ms.has_value(); });
  std::vector<TextColumn> columns = {{Head(style, "THREAD", "Thread"), Align::kLeft, true, 12},
                                     {Head(style, "TID", "TID"), Align::kRight, false, 0},
                                     {Head(style, "RUNNING", "Running"), Align::kRight, false, 0},
                                     {Head(style, "OF WALL", "Of wall"), Align::kRight, false, 0},
                                     {Head(style, "WAITING", "Waiting"), Align::kRight, false, 0}};
  if (gil) {
    columns.push_back({Head(style, "HOLDS GIL", "Holds GIL"), Align::kRight, false, 0});
    columns.push_back({Head(style, "WAITS FOR GIL", "Waits for GIL"), Align::kRight, false, 0});
  }
  TextTable table(columns);
  for (size_t i = 0; i < std::min(style.rows, samples.threads.size()); ++i) {
    const SampledThread& t = samples.threads[i];
    const std::string name = (t.name.empty() ? "thread" : t.name) + (t.main ? " (main)" : "");
    table.AddRow({CellOf(name, style), t.tid ? std::to_string(*t.tid) : "-", MsOrDash(t.running_ms),
                  wall_ms > 0 ? PercentOrDash(t.running_ms.value_or(0) / wall_ms) : "-",
                  MsOrDash(t.waiting_ms), MsOrDash(t.gil_held_ms), MsOrDash(t.gil_wait_ms)});
  }
  return Shown(table, "Threads", style);
}

std::string WaitTable(const SamplesFacts& samples, const SamplesTableStyle& style) {
  if (!samples.waiting_ms) return "";
  TextTable table({{Head(style, "WAITING FOR", "Waiting for"), Align::kLeft, true, 8},
                   {Head(style, "IN", "In"), Align::kLeft, true, 16},
                   {Head(style, "TIME", "Time"), Align::kRight, false, 0},
                   {Head(style, "THREADS", "Threads"), Align::kRight, false, 0}});
  for (size_t i = 0; i < std::min(style.rows, samples.waits.size()); ++i) {
    const SampledWait& w = samples.waits[i];
    table.AddRow(
        {CellOf(w.what, style), CellOf(w.where.value_or("-"), style), HumanMs(w.ms), HumanCount(w.threads)});
  }
  return Shown(table, "Waits of all threads", style);
}

}  // namespace

std::string SamplesTables(const SamplesFacts& samples, double wall_ms, const SamplesTableStyle& style) {
  const bool has_python = !TopFunctions(samples, true, 1).empty();
  // Below Python code, native functions are detail: half as many.
  const size_t native_rows = has_python ? std::max<size_t>(1, style.rows / 2) : style.rows;
  return FunctionTable(samples, true, style.rows, style) + FunctionTable(samples, false, native_rows, style) +
         ThreadTable(samples, wall_ms, style) + WaitTable(samples, style);
}

}  // namespace nl
