// SPDX-License-Identifier: Apache-2.0
#pragma once
// ONNX Runtime's [{"float":[1,64]},{"int64":[]}] as the two lists that table op holds.
// Thread rule: pure function.

#include <string>
#include <string_view>

namespace nl::adapters::onnxrt {

struct TypeShapes {
  std::string dims;   // [[1,64],[]]
  std::string types;  // ["float","int64"]
};
// False when the text is anything else.
bool SplitTypeShapes(std::string_view json, TypeShapes& out);

}  // namespace nl::adapters::onnxrt
