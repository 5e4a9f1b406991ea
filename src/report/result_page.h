// SPDX-License-Identifier: Apache-2.0
#pragma once
// A result as one HTML file without scripts and without anything from elsewhere: what `prove --html` and
// `bench run --html` write. Texts are escaped here; they are untrusted. Thread rule: plain values, one thread
// at a time.

#include <string>
#include <string_view>
#include <vector>

#include "report/text_table.h"

namespace nl {

// A table before its form is chosen. Widths of columns are for text.
struct TableRows {
  std::vector<TextColumn> columns;
  std::vector<std::vector<std::string>> rows;

  TextTable Text() const;
};

enum class PageTone { kGood, kBad, kOpen };

class ResultPage {
 public:
  // `headline` is the answer.
  ResultPage(std::string_view title, std::string_view headline, PageTone tone);

  void Section(std::string_view heading);
  void Paragraph(std::string_view text);
  void List(const std::vector<std::string>& lines);
  void Table(const TableRows& table);
  std::string Html() const;

 private:
  std::string out_;
};

}  // namespace nl
