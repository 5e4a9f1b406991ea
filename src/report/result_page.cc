// SPDX-License-Identifier: Apache-2.0
#include "report/result_page.h"

#include <fmt/format.h>

#include "base/xml_text.h"

namespace nl {

namespace {

constexpr std::string_view kHead = R"(<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<style>
:root { color-scheme: light dark; --line: #8884; }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; overflow-wrap: anywhere; }
h1 { font-size: 1.4rem; border-left: 0.4rem solid; padding-left: 0.8rem; }
h1.good { border-color: #2a9d4a; } h1.bad { border-color: #d03030; } h1.open { border-color: #c98a00; }
h2 { font-size: 1.05rem; margin-top: 1.8rem; }
div { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; overflow-wrap: normal; }
th, td { padding: 0.3rem 0.8rem; border-bottom: 1px solid var(--line); text-align: left; }
.n { text-align: right; white-space: nowrap; }
</style>
)";

std::string_view ToneName(PageTone tone) {
  return tone == PageTone::kGood ? "good" : tone == PageTone::kBad ? "bad" : "open";
}

}  // namespace

TextTable TableRows::Text() const {
  TextTable table(columns);
  for (const std::vector<std::string>& row : rows) table.AddRow(row);
  return table;
}

ResultPage::ResultPage(std::string_view title, std::string_view headline, PageTone tone) : out_(kHead) {
  out_ += fmt::format("<title>{}</title>\n</head>\n<body>\n<h1 class=\"{}\">{}</h1>\n", XmlText(title),
                      ToneName(tone), XmlText(headline));
}

void ResultPage::Section(std::string_view heading) { out_ += fmt::format("<h2>{}</h2>\n", XmlText(heading)); }

void ResultPage::Paragraph(std::string_view text) { out_ += fmt::format("<p>{}</p>\n", XmlText(text)); }

void ResultPage::List(const std::vector<std::string>& lines) {
  if (lines.empty()) return;
  out_ += "<ul>\n";
  for (const std::string& line : lines) out_ += fmt::format("<li>{}</li>\n", XmlText(line));
  out_ += "</ul>\n";
}

void ResultPage::Table(const TableRows& table) {
  const std::vector<TextColumn>& columns = table.columns;
  const auto cells = [&](const char* tag, const auto& text_of) {
    out_ += "<tr>";
    for (size_t i = 0; i < columns.size(); ++i)
      out_ += fmt::format("<{0}{1}>{2}</{0}>", tag, columns[i].align == Align::kRight ? " class=\"n\"" : "",
                          XmlText(text_of(i)));
    out_ += "</tr>\n";
  };
  out_ += "<div><table>\n<thead>";
  cells("th", [&](size_t i) { return columns[i].header; });
  out_ += "</thead>\n<tbody>\n";
  for (const std::vector<std::string>& row : table.rows)
    cells("td", [&](size_t i) { return i < row.size() ? row[i] : std::string(); });
  out_ += "</tbody></table></div>\n";
}

std::string ResultPage::Html() const { return out_ + "</body>\n</html>\n"; }

}  // namespace nl
