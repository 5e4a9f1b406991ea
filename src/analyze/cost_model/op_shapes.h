// SPDX-License-Identifier: Apache-2.0
#pragma once
// The inputs of an operator as the op table has them: shapes [[8,512],[512,64],[]], types
// ["float","float","Scalar"] and scalars ["","","1"], all JSON lists in text.
// Thread rule: pure functions. Ownership: views point into the text.

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace nl {

using Shape = std::vector<int64_t>;
using Shapes = std::vector<Shape>;

// The elements of a list, as they are written. Empty for anything else.
std::vector<std::string_view> ListElements(std::string_view text);
// The text inside the quotes; text without quotes as it is.
std::string_view Unquoted(std::string_view text);
std::optional<int64_t> ParseInteger(std::string_view text);
// A list of integers alone.
std::optional<Shape> ParseShape(std::string_view text);
// One shape per input; a scalar, a list of tensors or anything else is empty.
Shapes ParseShapes(std::string_view text);

// 0 for a shape without dimensions and for a product that is not a sensible number.
int64_t ElementCount(const Shape& shape);

struct GemmShape {  // [m,k] x [k,n], `batch` times
  int64_t batch = 0, m = 0, n = 0, k = 0;
};
// Of aten::mm, aten::addmm, aten::bmm, aten::linear and their relatives.
std::optional<GemmShape> GemmOf(std::string_view op_name, const Shapes& inputs);

}  // namespace nl
