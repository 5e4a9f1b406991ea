// SPDX-License-Identifier: Apache-2.0
#include "import/adapters/onnxrt/type_shapes.h"

namespace nl::adapters::onnxrt {

namespace {

class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}

  bool Take(char c) {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\t')) ++at_;
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  bool Type(std::string& out) {
    if (!Take('"')) return false;
    const size_t end = text_.find_first_of("\"\\", at_);
    if (end == std::string_view::npos || text_[end] != '"' || end == at_) return false;
    out.append("\"").append(text_.substr(at_, end - at_)).append("\"");
    at_ = end + 1;
    return true;
  }
  // Extents are integers; -1 stands for one that is not known.
  bool Extents(std::string& out) {
    if (!Take('[')) return false;
    out += '[';
    if (Take(']')) return out += ']', true;
    for (;;) {
      if (Take('-')) out += '-';
      const size_t first = at_;
      while (at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9') ++at_;
      if (at_ == first || at_ - first > 18) return false;
      out.append(text_.substr(first, at_ - first));
      if (Take(']')) return out += ']', true;
      if (!Take(',')) return false;
      out += ',';
    }
  }
  bool done() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n')) ++at_;
    return at_ == text_.size();
  }

 private:
  std::string_view text_;
  size_t at_ = 0;
};

}  // namespace

bool SplitTypeShapes(std::string_view json, TypeShapes& out) {
  Reader reader(json);
  out = {"[", "["};
  if (!reader.Take('[')) return false;
  bool first = true;
  while (!reader.Take(']')) {
    if (!first && !reader.Take(',')) return false;
    if (!first) out.dims += ',', out.types += ',';
    first = false;
    if (!reader.Take('{') || !reader.Type(out.types) || !reader.Take(':') || !reader.Extents(out.dims) ||
        !reader.Take('}'))
      return false;
  }
  out.dims += ']';
  out.types += ']';
  return reader.done();
}

}  // namespace nl::adapters::onnxrt
