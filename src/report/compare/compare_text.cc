// SPDX-License-Identifier: Apache-2.0
// A comparison for a terminal.

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "base/human.h"
#include "base/terminal.h"
#include "report/compare/compare_forms.h"
#include "report/compare/compare_value.h"
#include "report/report_value.h"
#include "report/text_table.h"

namespace nl {

namespace {

constexpr int kMinWidth = 60;
constexpr size_t kLongestText = 4000;

// Untrusted text in lines of at most `width`, each indented by `indent` blanks.
std::string Paragraph(const std::string& text, int width, int indent) {
  const int room = width - indent;
  std::string words;
  const std::string safe = PrintableText(std::string_view(text).substr(0, kLongestText));
  for (size_t at = 0; at < safe.size();) {
    const size_t end = std::min(safe.find(' ', at), safe.size());
    if (end > at)
      words += (words.empty() ? "" : " ") + CutMiddle(std::string_view(safe).substr(at, end - at), room);
    at = end + 1;
  }
  if (words.empty()) return "";
  return std::string(static_cast<size_t>(indent), ' ') + Wrap(words, width, indent) + "\n";
}

std::string Pad(const std::string& text, int width, bool right) {
  const std::string cut = CutMiddle(text, width);
  const std::string blanks(static_cast<size_t>(std::max(0, width - DisplayWidth(cut))), ' ');
  return right ? blanks + cut : cut + blanks;
}

struct Paint {
  bool on;
  std::string Bold(const std::string& text) const { return Wrapped("1", text); }
  std::string Dim(const std::string& text) const { return Wrapped("2", text); }
  // Red for slower, green for faster, dim where not significant.
  std::string Delta(double delta_ms, bool significant, const std::string& text) const {
    return Wrapped(!significant ? "2" : delta_ms > 0 ? "31" : delta_ms < 0 ? "32" : "0", text);
  }

 private:
  std::string Wrapped(const char* code, std::string text) const {
    if (!on || text.empty()) return text;
    const bool line = text.back() == '\n';
    if (line) text.pop_back();
    return fmt::format("\x1b[{}m{}\x1b[0m{}", code, text, line ? "\n" : "");
  }
};

// A bar on a common axis: to the right when B takes more time, to the left when it takes less.
class Bars {
 public:
  Bars(const CompareFacts& comparison, int width) {
    double more = 0, less = 0;
    for (const CompareContribution& c : comparison.contributions) {
      more = std::max(more, c.delta_ms);
      less = std::max(less, -c.delta_ms);
    }
    room_ = std::max(2, width - 1);
    if (more + less <= 0) return;
    left_ = static_cast<int>(std::lround(room_ * less / (more + less)));
    left_ = std::clamp(left_, less > 0 ? 1 : 0, more > 0 ? room_ - 1 : room_);
    per_column_ms_ = std::max(less > 0 ? less / left_ : 0, more > 0 ? more / (room_ - left_) : 0);
  }

  int width() const { return room_ + 1; }
  std::string Left(double delta_ms) const {
    // Unicode has only half blocks that grow to the left.
    const auto halves = delta_ms < 0 ? Steps(-delta_ms, 2, left_) : 0;
    std::string out(static_cast<size_t>(left_ - halves / 2 - halves % 2), ' ');
    if (halves % 2) out += "▐";
    for (int i = 0; i < halves / 2; ++i) out += "█";
    return out;
  }
  std::string Right(double delta_ms) const {
    static constexpr const char* kEighths[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
    const int right = room_ - left_;
    const auto eighths = delta_ms > 0 ? Steps(delta_ms, 8, right) : 0;
    std::string out;
    for (int i = 0; i < eighths / 8; ++i) out += "█";
    out += kEighths[eighths % 8];
    return out + std::string(static_cast<size_t>(right - eighths / 8 - (eighths % 8 ? 1 : 0)), ' ');
  }
  // The heading over the axis.
  std::string Heading() const {
    return Pad(left_ >= 6 ? "less" : "", left_, true) + "│" +
           Pad(room_ - left_ >= 4 ? "more" : "", room_ - left_, false);
  }

 private:
  int Steps(double ms, int per_column, int columns) const {
    if (per_column_ms_ <= 0) return 0;
    const int steps = static_cast<int>(std::lround(ms / per_column_ms_ * per_column));
    return std::clamp(steps, 1, columns * per_column);  // a cost above zero is always visible
  }

  int room_ = 2, left_ = 0;
  double per_column_ms_ = 0;
};

class Waterfall {
 public:
  Waterfall(const CompareFacts& comparison, int width, bool color)
      : facts_(comparison),
        width_(width),
        paint_{color},
        scale_(ScaleOf(comparison)),
        bars_(comparison, std::clamp(width - 63, 2, 48)) {
    rank_ = static_cast<int>(std::to_string(comparison.contributions.size()).size()) + 2;
    cause_ = width_ - rank_ - bars_.width() - kDelta - kShare - kConfidence - 6;
  }

  std::string Render() const {
    std::string out =
        paint_.Bold(Line("#", Name("CAUSE"), bars_.Heading(), scale_.unit, "SHARE", "CONFIDENCE")) + "\n";
    for (const CompareContribution& c : facts_.contributions) out += Row(c);
    if (facts_.contributions.empty()) out += Paragraph("no change that costs or saves time", width_, rank_);
    return out + Sum();
  }

 private:
  static constexpr int kDelta = 9, kShare = 7, kConfidence = 10;

  std::string Name(const std::string& text) const {
    return Pad(PrintableText(text.substr(0, kLongestText)), cause_, false);
  }

  std::string Row(const CompareContribution& c) const {
    const std::string bar = paint_.Delta(c.delta_ms, c.significant, bars_.Left(c.delta_ms)) +
                            paint_.Dim("│") +
                            paint_.Delta(c.delta_ms, c.significant, bars_.Right(c.delta_ms));
    const std::string delta = scale_.Signed(c.delta_ms), share = ShareText(c.share);
    if (c.merged > 0) return Line("", Name(c.text), bar, delta, share, "") + "\n";
    const std::string name = Name(CauseText(c));
    std::string out = Line(HumanCount(c.rank), c.significant ? paint_.Bold(name) : name, bar, delta, share,
                           ConfidenceOf(c)) +
                      "\n";
    const std::string place = PrintableText(PlaceText(c).substr(0, kLongestText));
    if (!place.empty())
      out += std::string(static_cast<size_t>(rank_), ' ') + CutMiddle(place, width_ - rank_) + "\n";
    return out + paint_.Dim(Paragraph(c.text, width_, rank_));
  }

  // `name` and `bar` are padded already.
  std::string Line(const std::string& rank, const std::string& name, const std::string& bar,
                   const std::string& delta, const std::string& share, const std::string& confidence) const {
    std::string out =
        fmt::format("{}  {} {} {}  {}  {}", Pad(rank, rank_ - 2, true), name, bar, Pad(delta, kDelta, true),
                    Pad(share, kShare, true), Pad(confidence, kConfidence, true));
    out.erase(out.find_last_not_of(' ') + 1);
    return out;
  }

  // The residual, if any, and the total.
  std::string Sum() const {
    const bool some = facts_.delta_ms != 0;
    std::string out;
    if (facts_.residual_ms != 0) {
      const std::string axis = bars_.Left(0) + paint_.Dim("│") + bars_.Right(0);
      out = Line("", Name("not explained"), axis, scale_.Signed(facts_.residual_ms),
                 some ? ShareText(facts_.residual_ms / facts_.delta_ms) : "-", "") +
            "\n";
    }
    const std::string blank(static_cast<size_t>(bars_.width()), ' ');
    const std::string total = scale_.Signed(facts_.delta_ms);
    return out + paint_.Bold(Line("", Name("B - A"), blank, total, some ? "100.0 %" : "-", "")) + "\n";
  }

  const CompareFacts& facts_;
  int width_, rank_ = 3, cause_ = 20;
  Paint paint_;
  DeltaScale scale_;
  Bars bars_;
};

std::string SideLine(const CompareFacts& c, bool b, int width) {
  const double wall_ms = b ? c.wall_b_ms : c.wall_a_ms, busy_ms = b ? c.busy_b_ms : c.busy_a_ms;
  std::string line = fmt::format("{}  {}", b ? "B" : "A", HumanMs(wall_ms));
  if (const auto change = RelativeDelta(c); b && change) line += fmt::format(" ({})", SignedPercent(change));
  if (wall_ms > 0 && busy_ms > 0) line += fmt::format(", device busy {}", HumanPercent(busy_ms, wall_ms));
  const std::string name = PrintableText(SideName(c, b).substr(0, kLongestText));
  const int room = width - DisplayWidth(line) - 2;
  return CutMiddle(line, width) + (room >= 8 && !name.empty() ? "  " + CutMiddle(name, room) : "") + "\n";
}

std::string Sides(const CompareFacts& c, int width) {
  std::string like = fmt::format("similarity {}; matched: {} of A, {} of B",
                                 c.similarity ? fmt::format("{:.4f}", *c.similarity) : "-",
                                 HumanPercent(c.matched_share_a, 1), HumanPercent(c.matched_share_b, 1));
  if (c.normalised_by)
    like +=
        fmt::format("; per {}: {} -> {}", *c.normalised_by, MsOrDash(c.normal_a_ms), MsOrDash(c.normal_b_ms));
  return SideLine(c, false, width) + SideLine(c, true, width) + Paragraph(like, width, 0);
}

std::string Differences(const CompareFacts& facts, int width) {
  std::string out;
  for (const CompareDifference& d : facts.comparability) {
    std::string line = fmt::format("{}: {} -> {}", d.what, d.a.value_or("-"), d.b.value_or("-"));
    if (d.consequence) line += ": " + *d.consequence;
    out += "- " + Paragraph(line, width, 2).substr(2);
  }
  return out.empty() ? "" : "\nThe setups differ\n" + out;
}

std::string Shifts(const CompareFacts& facts, int width) {
  std::string out;
  for (const CompareShift& shift : facts.shifts) {
    std::string line = fmt::format("{} from {} to {}", HumanMs(shift.ms), shift.from, shift.to);
    const std::string place = PlaceText(shift);
    if (!place.empty()) line += " in " + place;
    out += "- " + Paragraph(line, width, 2).substr(2);
  }
  return out.empty() ? "" : "\nCosts that moved but did not change in sum\n" + out;
}

const std::vector<CompareTableRow>& RowsBy(const CompareFacts& facts, const std::string& by) {
  return by == "kernel"   ? facts.by_kernel
         : by == "op"     ? facts.by_op
         : by == "module" ? facts.by_module
                          : facts.by_stage;
}

std::string UpperText(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return std::toupper(c); });
  return text;
}

std::string TableBy(const CompareFacts& facts, const CompareTextOptions& options, int width) {
  if (options.by.empty()) return "";
  const std::vector<CompareTableRow>& rows = RowsBy(facts, options.by);
  if (rows.empty()) return fmt::format("\nno {} was recorded\n", options.by);
  TextTable table({{UpperText(options.by), Align::kLeft, true, 12},
                   {"CALLS", Align::kRight, false, 0},
                   {"A", Align::kRight, false, 0},
                   {"B", Align::kRight, false, 0},
                   {"DELTA", Align::kRight, false, 0}});
  size_t shown = 0, equal = 0;
  for (const CompareTableRow& row : rows) {
    if (IsZeroMs(row.delta_ms)) {
      ++equal;
    } else if (shown < options.by_rows) {
      ++shown;
      table.AddRow({row.name, CallsText(row.count_a, row.count_b), HumanMs(row.a_ms), HumanMs(row.b_ms),
                    SignedMs(row.delta_ms)});
    }
  }
  std::string out = "\n" + table.Render(width, options.color);
  const size_t more = rows.size() - shown - equal;
  if (more > 0)
    out += fmt::format("{} more row{}; --json lists all\n", HumanCount(static_cast<int64_t>(more)),
                       more == 1 ? "" : "s");
  if (equal > 0)
    out += fmt::format("{} row{} without a difference left out\n", HumanCount(static_cast<int64_t>(equal)),
                       equal == 1 ? "" : "s");
  return out;
}

// Both setups by operator or by kernel family.
std::string AcrossTableText(const char* title, const std::vector<AcrossRow>& rows,
                            const CompareTextOptions& options, int width) {
  if (rows.empty()) return "";
  TextTable table({{title, Align::kLeft, true, 12},
                   {"CALLS", Align::kRight, false, 0},
                   {"A", Align::kRight, false, 0},
                   {"B", Align::kRight, false, 0},
                   {"B/A", Align::kRight, false, 0},
                   {"ROOF A", Align::kRight, false, 0},
                   {"ROOF B", Align::kRight, false, 0},
                   {"NEARER", Align::kLeft, false, 0}});
  const size_t shown = std::min(options.by_rows, rows.size());
  for (size_t i = 0; i < shown; ++i) {
    std::vector<std::string> cells = AcrossCells(rows[i]);
    cells.insert(cells.begin(), AcrossName(rows[i]));
    table.AddRow(std::move(cells));
  }
  std::string out = "\n" + table.Render(width, options.color);
  if (shown < rows.size())
    out += fmt::format("{} more row{}; --json lists all\n",
                       HumanCount(static_cast<int64_t>(rows.size() - shown)),
                       rows.size() - shown == 1 ? "" : "s");
  for (const std::string& reason : AcrossReasons(rows, shown))
    out += Paragraph("roofline not known in " + reason, width, 2);
  return out;
}

std::string AcrossTables(const CompareFacts& facts, const CompareTextOptions& options, int width) {
  if (!facts.across) return "";
  const std::string out = AcrossTableText("KERNEL FAMILY", facts.across->families, options, width) +
                          AcrossTableText("OPERATOR", facts.across->operators, options, width);
  return out.empty()
             ? ""
             : out +
                   Paragraph(
                       "A and B are device time (the durations of its kernels, on the mean device); ROOF is "
                       "the share of it that the roofline needs.",
                       width, 0);
}

std::string NextText(const CompareFacts& facts, int width) {
  std::string out;
  for (const NextStep& step : facts.next) {
    out += "  " + CutMiddle(PrintableText(step.command), width - 2) + "\n";
    out += Paragraph(step.why, width, 6);
  }
  return out.empty() ? "" : "\nNext\n" + out;
}

}  // namespace

std::string CompareText(const CompareReply& c, const CompareTextOptions& options) {
  const int width = std::max(kMinWidth, options.width);
  std::string out = Paragraph(c.verdict.text, width, 0);
  out += Paragraph(ComparedPhaseText(c.phase, "A", "B"), width, 0);
  if (!c.comparability.empty()) {
    std::string what;
    for (const CompareDifference& d : c.comparability) what += (what.empty() ? "" : ", ") + d.what;
    out += Paragraph(fmt::format("The setups differ: {} (details below).", what), width, 0);
  }
  out += "\n" + Sides(c, width) + AcrossTables(c, options, width) + "\n";
  out += Waterfall(c, width, options.color).Render();
  if (c.equal_changes > 0)
    out += fmt::format("{} change{} without a difference in time left out\n", HumanCount(c.equal_changes),
                       c.equal_changes == 1 ? "" : "s");
  out += TableBy(c, options, width) + Differences(c, width) + Shifts(c, width);
  if (!c.files.empty()) out += "\n";
  for (const WrittenFile& file : c.files)
    out += Paragraph(fmt::format("wrote {} ({})", file.path, HumanBytes(file.bytes)), width, 0);
  return out + NextText(c, width);
}

}  // namespace nl
