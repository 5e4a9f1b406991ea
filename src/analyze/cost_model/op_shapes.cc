// SPDX-License-Identifier: Apache-2.0
#include "analyze/cost_model/op_shapes.h"

#include <algorithm>
#include <charconv>

namespace nl {

namespace {

std::string_view Trimmed(std::string_view text) {
  const size_t from = text.find_first_not_of(' ');
  if (from == std::string_view::npos) return {};
  return text.substr(from, text.find_last_not_of(' ') - from + 1);
}

// The first comma outside of nested lists and quotes, else the end; npos when these are not closed.
size_t ElementEnd(std::string_view text) {
  int depth = 0;
  bool quoted = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quoted && c == '\\') ++i;
    if (c == '"') quoted = !quoted;
    if (quoted) continue;
    if (c == '[' || c == '{') ++depth;
    if (c == ']' || c == '}') --depth;
    if (depth < 0) break;
    if (c == ',' && depth == 0) return i;
  }
  return depth == 0 && !quoted ? text.size() : std::string_view::npos;
}

}  // namespace

std::vector<std::string_view> ListElements(std::string_view text) {
  text = Trimmed(text);
  if (text.size() < 2 || text.front() != '[' || text.back() != ']') return {};
  text = text.substr(1, text.size() - 2);
  std::vector<std::string_view> out;
  if (Trimmed(text).empty()) return out;
  for (;;) {
    const size_t end = ElementEnd(text);
    if (end == std::string_view::npos) return {};
    out.push_back(Trimmed(text.substr(0, end)));
    if (end == text.size()) return out;
    text.remove_prefix(end + 1);
  }
}

std::string_view Unquoted(std::string_view text) {
  return text.size() >= 2 && text.front() == '"' ? text.substr(1, text.size() - 2) : text;
}

std::optional<int64_t> ParseInteger(std::string_view text) {
  int64_t value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  return error == std::errc() && stop == end ? std::optional<int64_t>(value) : std::nullopt;
}

std::optional<Shape> ParseShape(std::string_view text) {
  if (text.size() < 2 || text.front() != '[') return std::nullopt;
  Shape out;
  for (const std::string_view element : ListElements(text)) {
    const std::optional<int64_t> extent = ParseInteger(element);
    if (!extent) return std::nullopt;
    out.push_back(*extent);
  }
  return out;
}

Shapes ParseShapes(std::string_view text) {
  Shapes out;
  for (const std::string_view input : ListElements(text)) out.push_back(ParseShape(input).value_or(Shape{}));
  return out;
}

int64_t ElementCount(const Shape& shape) {
  if (shape.empty()) return 0;
  double product = 1;
  for (const int64_t extent : shape) product *= static_cast<double>(extent);
  return product > 0 && product < 1e18 ? static_cast<int64_t>(product) : 0;
}

std::optional<GemmShape> GemmOf(std::string_view op_name, const Shapes& inputs) {
  const auto has = [op_name](std::string_view part) { return op_name.find(part) != std::string_view::npos; };
  const size_t a = has("addmm") || has("baddbmm") ? 1 : 0;
  if (inputs.size() < a + 2) return std::nullopt;
  const Shape& left = inputs[a];
  const Shape& right = inputs[a + 1];
  const bool transposed = has("linear");  // the weight is [n, k]
  if (left.size() < (transposed ? 1 : 2) || right.size() < 2) return std::nullopt;
  GemmShape out;
  out.m = left.size() == 1 ? 1 : left[left.size() - 2];
  out.k = left.back();
  out.n = transposed ? right[0] : right.back();
  const int64_t k_right = transposed ? right.back() : right[right.size() - 2];
  if (out.k != k_right || out.k <= 0 || out.n <= 0) return std::nullopt;
  const int64_t count = ElementCount(left);
  out.batch = count > 0 ? std::max<int64_t>(1, count / (out.m * out.k)) : 1;
  return out;
}

}  // namespace nl
