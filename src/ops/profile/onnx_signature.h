// SPDX-License-Identifier: Apache-2.0
#pragma once
// The inputs of an ONNX file: name, element type and dimensions, some of which have only a name
// ("batch") and no size. Reads the protobuf fields it needs and skips the rest, weights too.
// Thread rule: pure functions.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace nl::ops::profile {

struct OnnxDim {
  std::optional<int64_t> size;
  std::string name;  // of a dimension without a size; may be empty
};
struct OnnxInput {
  std::string name;
  std::string type;  // "float32", "int64", ...; empty: no type random values are made for
  std::vector<OnnxDim> dims;
};

// Inputs a caller must give: those with a default (an initializer of the same name) are left out.
Result<std::vector<OnnxInput>> OnnxInputs(std::string_view bytes);
Result<std::vector<OnnxInput>> OnnxInputsOfFile(const std::string& path);

// Sizes for named dimensions: the batch size, the sequence length, or what the user gave by name.
struct DimRequest {
  int64_t batch = 1, sequence = 128;
  std::map<std::string, int64_t> dims;
};
struct DimChoice {
  std::string name;
  int64_t size = 1;
  std::string why;
};
// The shape of one input; adds the choices made to `chosen`, each name once.
std::vector<int64_t> ChooseShape(const OnnxInput& input, const DimRequest& request,
                                 std::vector<DimChoice>& chosen);

}  // namespace nl::ops::profile
