// SPDX-License-Identifier: Apache-2.0
#include "report/startup_text.h"

#include <fmt/format.h>

#include "base/human.h"
#include "report/report_value.h"
#include "report/text_table.h"

namespace nl {

namespace {

constexpr double kLeastShare = 0.25;

// The rows to list: at most `rows` below each row, the rest of a level summed into one.
class RowLimiter {
 public:
  RowLimiter(const std::vector<StartupPart>& parts, const StartupTableStyle& style)
      : parts_(parts), style_(style) {}

  std::vector<StartupPart> Take() {
    AddLevel(0, 0);
    return std::move(out_);
  }

 private:
  // Lists the level of `depth` that begins at `at`; returns the place after it.
  size_t AddLevel(size_t at, int64_t depth) {
    size_t listed = 0;
    StartupPart rest{StartupKind::kOther, depth, "others", 0, 0.0};
    while (at < parts_.size() && parts_[at].depth >= depth) {
      const StartupPart& part = parts_[at++];
      if (part.depth > depth) continue;
      if (style_.rows > 0 && (listed >= style_.rows || part.name == rest.name)) {
        rest.ms += part.ms;
        *rest.share += part.share.value_or(0);
        continue;
      }
      ++listed;
      out_.push_back(part);
      if (depth < style_.depth && at < parts_.size() && parts_[at].depth == depth + 1)
        at = AddLevel(at, depth + 1);
    }
    if (rest.ms != 0) out_.push_back(rest);
    return at;
  }

  const std::vector<StartupPart>& parts_;
  const StartupTableStyle& style_;
  std::vector<StartupPart> out_;
};

}  // namespace

std::string StartupTable(const std::vector<StartupPart>& parts, const char* heading,
                         const StartupTableStyle& style) {
  TextTable table({{heading, Align::kLeft, true, 24},
                   {style.markdown ? "Time" : "TIME", Align::kRight, false, 0},
                   {style.markdown ? "Share" : "SHARE", Align::kRight, false, 0}});
  for (const StartupPart& part : RowLimiter(parts, style).Take()) {
    std::string name = style.markdown ? MdCell(part.name) : part.name;
    for (int64_t i = 0; i < part.depth; ++i) name.insert(0, style.markdown ? "\xe2\x80\x83" : "  ");
    table.AddRow({std::move(name), HumanMs(part.ms), PercentOrDash(part.share)});
  }
  if (table.rows() == 0) return "";
  return style.markdown ? table.Markdown() : table.Render(style.width, style.color);
}

bool ShowsStartup(const StartupSection& startup) {
  return startup.explains == PhaseKind::kStartup && startup.share.value_or(0) > kLeastShare &&
         !startup.parts.empty();
}

std::string StartupSentence(const StartupSection& startup) {
  std::string out = fmt::format("Start-up takes {} of {} ({})", HumanMs(startup.ms.value_or(0)),
                                HumanMs(startup.run_ms), PercentOrDash(startup.share));
  if (startup.before_ms.value_or(0) > 0)
    out += fmt::format(", including {} before the first recorded event", HumanMs(*startup.before_ms));
  return out + ".";
}

}  // namespace nl
