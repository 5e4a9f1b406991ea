// SPDX-License-Identifier: Apache-2.0
// A comparison for a terminal.

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "base/human.h"
#include "base/terminal.h"
#include "report/compare_forms.h"
#include "report/compare_value.h"
#include "report/report_value.h"
#include "report/text_table.h"

namespace nl {

namespace {

constexpr int kMinWidth = 60;
constexpr size_t kLongestText = 4000;

// Untrusted text in lines of at most `width`, each led by `indent` blanks.
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
  // Red for slower, green for faster; what is not significant is dim.
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

// A bar from a common axis: to the right when it takes more, to the left when less.
class Bars {
 public:
  Bars(const Json& comparison, int width) {
    double more = 0, less = 0;
    for (const Json& c : ListAt(comparison, "contributions")) {
      const double delta = NumberAt(c, "delta_ms").value_or(0);
      more = std::max(more, delta);
      less = std::max(less, -delta);
    }
    room_ = std::max(2, width - 1);
    if (more + less <= 0) return;
    left_ = static_cast<int>(std::lround(room_ * less / (more + less)));
    left_ = std::clamp(left_, less > 0 ? 1 : 0, more > 0 ? room_ - 1 : room_);
    per_column_ms_ = std::max(less > 0 ? less / left_ : 0, more > 0 ? more / (room_ - left_) : 0);
  }

  int width() const { return room_ + 1; }
  std::string Left(double delta_ms) const {
    // Half blocks are all there is of shapes that grow to the left.
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
    return std::clamp(steps, 1, columns * per_column);  // something is never nothing
  }

  int room_ = 2, left_ = 0;
  double per_column_ms_ = 0;
};

class Waterfall {
 public:
  Waterfall(const Json& comparison, int width, bool color)
      : json_(comparison),
        width_(width),
        paint_{color},
        scale_(ScaleOf(comparison)),
        bars_(comparison, std::clamp(width - 58, 2, 48)) {
    rank_ = static_cast<int>(std::to_string(ListAt(comparison, "contributions").size()).size()) + 2;
    cause_ = width_ - rank_ - bars_.width() - kDelta - kShare - kSure - 6;
  }

  std::string Render() const {
    std::string out =
        paint_.Bold(Line("#", Name("CAUSE"), bars_.Heading(), scale_.unit, "SHARE", "SURE")) + "\n";
    const Json& rows = ListAt(json_, "contributions");
    for (const Json& c : rows) out += Row(c);
    if (rows.empty()) out += Paragraph("no change that costs or saves time", width_, rank_);
    return out + Sum();
  }

 private:
  static constexpr int kDelta = 9, kShare = 7, kSure = 5;

  std::string Name(const std::string& text) const {
    return Pad(PrintableText(text.substr(0, kLongestText)), cause_, false);
  }

  std::string Row(const Json& c) const {
    const auto delta_ms = NumberAt(c, "delta_ms");
    const bool significant = ChildAt(c, "significant") == Json(true);
    const std::string bar =
        paint_.Delta(delta_ms.value_or(0), significant, bars_.Left(delta_ms.value_or(0))) + paint_.Dim("│") +
        paint_.Delta(delta_ms.value_or(0), significant, bars_.Right(delta_ms.value_or(0)));
    const std::string delta = scale_.Signed(delta_ms), share = ShareText(NumberAt(c, "share"));
    if (NumberAt(c, "merged").value_or(0) > 0)
      return Line("", Name(TextAt(c, "text")), bar, delta, share, "") + "\n";
    const std::string name = Name(CauseText(c)), sure = SureText(c);
    std::string out =
        Line(CountAt(c, "rank"), significant ? paint_.Bold(name) : name, bar, delta, share, sure) + "\n";
    const std::string place = PrintableText(ComparePlace(c).substr(0, kLongestText));
    if (!place.empty())
      out += std::string(static_cast<size_t>(rank_), ' ') + CutMiddle(place, width_ - rank_) + "\n";
    const std::string text = TextAt(c, "text");
    return out + paint_.Dim(Paragraph(text.empty() ? ChangeText(c) : text, width_, rank_));
  }

  // `name` and `bar` have their width already.
  std::string Line(const std::string& rank, const std::string& name, const std::string& bar,
                   const std::string& delta, const std::string& share, const std::string& sure) const {
    std::string out = fmt::format("{}  {} {} {}  {}  {}", Pad(rank, rank_ - 2, true), name, bar,
                                  Pad(delta, kDelta, true), Pad(share, kShare, true), Pad(sure, kSure, true));
    out.erase(out.find_last_not_of(' ') + 1);
    return out;
  }

  // What the rows leave, and the whole.
  std::string Sum() const {
    const auto delta = NumberAt(json_, "delta_ms"), left = NumberAt(json_, "residual_ms");
    const bool some = delta && *delta != 0;
    const std::string axis = bars_.Left(0) + paint_.Dim("│") + bars_.Right(0);
    const std::string blank(static_cast<size_t>(bars_.width()), ' ');
    const std::string left_share = left && some ? ShareText(*left / *delta) : "-";
    const std::string rest =
        left && *left == 0
            ? ""
            : Line("", Name("not explained"), axis, scale_.Signed(left), left_share, "") + "\n";
    return rest +
           paint_.Bold(Line("", Name("B - A"), blank, scale_.Signed(delta), some ? "100.0 %" : "-", "")) +
           "\n";
  }

  const Json& json_;
  int width_, rank_ = 3, cause_ = 20;
  Paint paint_;
  DeltaScale scale_;
  Bars bars_;
};

std::string Sides(const Json& json, int width) {
  std::string out;
  const auto wall_a = NumberAt(json, "wall_a_ms");
  for (const bool b : {false, true}) {
    std::string line = fmt::format("{}  {}", b ? "B" : "A", MsAt(json, b ? "wall_b_ms" : "wall_a_ms"));
    const auto wall = NumberAt(json, b ? "wall_b_ms" : "wall_a_ms"),
               busy = NumberAt(json, b ? "busy_b_ms" : "busy_a_ms");
    if (b && wall && wall_a && *wall_a > 0)
      line += fmt::format(" ({})", SignedPercent((*wall - *wall_a) / *wall_a));
    if (wall && busy && *wall > 0 && *busy > 0)
      line += fmt::format(", device busy {}", HumanPercent(*busy, *wall));
    const std::string name = PrintableText(SideName(json, b ? "b" : "a").substr(0, kLongestText));
    const int room = width - DisplayWidth(line) - 2;
    out += CutMiddle(line, width) + (room >= 8 && !name.empty() ? "  " + CutMiddle(name, room) : "") + "\n";
  }
  std::string like =
      fmt::format("similarity {}; matched: {} of A, {} of B",
                  NumberAt(json, "similarity") ? fmt::format("{:.4f}", *NumberAt(json, "similarity")) : "-",
                  PercentAt(json, "matched_share_a"), PercentAt(json, "matched_share_b"));
  const std::string per = TextAt(json, "normalised_by");
  if (!per.empty())
    like += fmt::format("; per {}: {} -> {}", per, MsAt(json, "normal_a_ms"), MsAt(json, "normal_b_ms"));
  return out + Paragraph(like, width, 0);
}

std::string Comparability(const Json& json, int width) {
  std::string out;
  for (const Json& note : ListAt(json, "comparability")) {
    const auto side = [&note](const char* key) {
      return TextAt(note, key).empty() ? std::string("-") : TextAt(note, key);
    };
    std::string line = fmt::format("{}: {} -> {}", TextAt(note, "what"), side("a"), side("b"));
    const std::string consequence = TextAt(note, "consequence");
    if (!consequence.empty()) line += ": " + consequence;
    out += "- " + Paragraph(line, width, 2).substr(2);
  }
  return out.empty() ? "" : "\nNot the same in both runs\n" + out;
}

std::string Shifts(const Json& json, int width) {
  std::string out;
  for (const Json& shift : ListAt(json, "shifts")) {
    std::string line =
        fmt::format("{} from {} to {}", MsAt(shift, "ms"), TextAt(shift, "from"), TextAt(shift, "to"));
    const std::string place = ComparePlace(shift);
    if (!place.empty()) line += " in " + place;
    out += "- " + Paragraph(line, width, 2).substr(2);
  }
  return out.empty() ? "" : "\nMoved, not changed\n" + out;
}

std::string Table(const Json& json, const CompareTextOptions& options, int width) {
  if (options.by.empty()) return "";
  const Json& rows = ListAt(json, ("by_" + options.by).c_str());
  std::string title = options.by;
  std::transform(title.begin(), title.end(), title.begin(), [](unsigned char c) { return std::toupper(c); });
  TextTable table({{title, Align::kLeft, true, 12},
                   {"CALLS", Align::kRight, false, 0},
                   {"A", Align::kRight, false, 0},
                   {"B", Align::kRight, false, 0},
                   {"DELTA", Align::kRight, false, 0}});
  const size_t shown = std::min(options.by_rows, rows.size());
  for (size_t i = 0; i < shown; ++i) {
    const Json& row = rows[i];
    const std::string a = CountAt(row, "count_a"), b = CountAt(row, "count_b");
    table.AddRow({TextAt(row, "name"), a == b ? a : a + " -> " + b, MsAt(row, "a_ms"), MsAt(row, "b_ms"),
                  SignedMs(NumberAt(row, "delta_ms"))});
  }
  if (table.rows() == 0) return "\n" + Paragraph("no " + options.by + " was recorded", width, 0);
  std::string out = "\n" + table.Render(width, options.color);
  if (shown < rows.size())
    out += fmt::format("{} more; --json has all\n", HumanCount(static_cast<int64_t>(rows.size() - shown)));
  return out;
}

std::string Next(const Json& json, int width) {
  std::string out;
  for (const Json& step : ListAt(json, "next")) {
    out += "  " + CutMiddle(PrintableText(TextAt(step, "command")), width - 2) + "\n";
    out += Paragraph(TextAt(step, "why"), width, 6);
  }
  return out.empty() ? "" : "\nNext\n" + out;
}

}  // namespace

std::string CompareText(const Json& json, const CompareTextOptions& options) {
  const int width = std::max(kMinWidth, options.width);
  std::string out = Paragraph(CompareVerdictText(json), width, 0);
  const Json& notes = ListAt(json, "comparability");
  if (!notes.empty()) {
    std::string what;
    for (const Json& note : notes) what += (what.empty() ? "" : ", ") + TextAt(note, "what");
    out += Paragraph(fmt::format("Not the same in both runs: {} (below).", what), width, 0);
  }
  out += "\n" + Sides(json, width) + "\n" + Waterfall(json, width, options.color).Render();
  out += Table(json, options, width) + Comparability(json, width) + Shifts(json, width);
  for (const Json& file : ListAt(json, "files")) {
    if (&file == &ListAt(json, "files").front()) out += "\n";
    out += Paragraph(fmt::format("wrote {} ({})", TextAt(file, "path"),
                                 HumanBytes(static_cast<int64_t>(NumberAt(file, "bytes").value_or(0)))),
                     width, 0);
  }
  return out + Next(json, width);
}

}  // namespace nl
