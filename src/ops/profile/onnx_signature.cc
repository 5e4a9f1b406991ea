// SPDX-License-Identifier: Apache-2.0
// Field numbers of onnx.proto (ONNX IR): ModelProto.graph 7; GraphProto.initializer 5, input 11;
// TensorProto.name 8; ValueInfoProto.name 1, type 2; TypeProto.tensor_type 1; Tensor.elem_type 1,
// shape 2; TensorShapeProto.dim 1; Dimension.dim_value 1, dim_param 2.
#include "ops/profile/onnx_signature.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <algorithm>
#include <cctype>
#include <set>

#include <fmt/format.h>

#include "base/ascii.h"
#include "base/file_ops.h"
#include "base/has_any.h"
#include "import/read/protobuf_wire.h"

namespace nl::ops::profile {

namespace {

// TensorProto.DataType; the types a random value can be made for.
std::string TypeName(uint64_t type) {
  static constexpr const char* kNames[] = {"",        "float32", "uint8",  "int8",  "uint16",
                                           "int16",   "int32",   "int64",  "",      "bool",
                                           "float16", "float64", "uint32", "uint64"};
  return type < std::size(kNames) ? kNames[type] : "";
}

OnnxDim ReadDim(std::string_view bytes) {
  OnnxDim out;
  for (WireReader f(bytes); f.Next();) {
    // Exporters write -1 and 0 where they mean any size.
    if (f.field() == 1 && f.Int() > 0) out.size = f.Int();
    if (f.field() == 2) out.name = f.Bytes();
  }
  return out;
}

void ReadType(std::string_view bytes, OnnxInput& to) {
  for (WireReader type(bytes); type.Next();) {
    if (type.field() != 1) continue;
    for (WireReader tensor(type.Bytes()); tensor.Next();) {
      if (tensor.field() == 1) to.type = TypeName(tensor.Number());
      if (tensor.field() != 2) continue;
      for (WireReader shape(tensor.Bytes()); shape.Next();) {
        if (shape.field() == 1) to.dims.push_back(ReadDim(shape.Bytes()));
      }
    }
  }
}

Status ReadGraph(std::string_view bytes, std::vector<OnnxInput>& out) {
  std::set<std::string, std::less<>> given;
  WireReader graph(bytes);
  while (graph.Next()) {
    if (graph.field() == 11) {
      OnnxInput input;
      for (WireReader f(graph.Bytes()); f.Next();) {
        if (f.field() == 1) input.name = f.Bytes();
        if (f.field() == 2) ReadType(f.Bytes(), input);
      }
      out.push_back(std::move(input));
    } else if (graph.field() == 5) {
      for (WireReader f(graph.Bytes()); f.Next();) {
        if (f.field() == 8) given.insert(std::string(f.Bytes()));
      }
    }
  }
  std::erase_if(out, [&](const OnnxInput& input) { return given.contains(input.name); });
  return graph.ok() ? Status() : Status(InvalidInput("the graph is truncated or damaged"));
}

// A file as memory, without reading it.
class MappedFile {
 public:
  Status Open(const std::string& path) {
    const UniqueFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!fd.valid()) return FileError("read", path);
    struct stat info {};
    if (fstat(fd.get(), &info) != 0) return FileError("read", path);
    if (!S_ISREG(info.st_mode)) return InvalidInput("not a regular file").At(path);
    size_ = static_cast<size_t>(info.st_size);
    if (size_ == 0) return InvalidInput("the file is empty").At(path, 0);
    void* const at = mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, fd.get(), 0);
    if (at == MAP_FAILED) return FileError("map", path);
    at_ = static_cast<const char*>(at);
    return {};
  }
  ~MappedFile() {
    if (at_ != nullptr) munmap(const_cast<char*>(at_), size_);
  }
  std::string_view bytes() const { return {at_, size_}; }

 private:
  const char* at_ = nullptr;
  size_t size_ = 0;
};

bool IsAny(std::string_view text, std::initializer_list<std::string_view> words) {
  return std::find(words.begin(), words.end(), text) != words.end();
}

DimChoice Choose(const OnnxDim& dim, size_t position, const DimRequest& request) {
  const std::string low = ToLower(dim.name);
  const std::string shown =
      dim.name.empty() ? fmt::format("dimension {} without a name", position) : dim.name;
  if (const auto it = request.dims.find(dim.name); it != request.dims.end())
    return {shown, it->second, "--dim"};
  if (HasAny(low, {"batch"}) || IsAny(low, {"n", "b", "bs"})) return {shown, request.batch, "batch size"};
  if (HasAny(low, {"seq", "len", "time", "token"}) || IsAny(low, {"s", "t", "l"}))
    return {shown, request.sequence, "sequence length"};
  if (position == 0) return {shown, request.batch, "batch size, because it is the first dimension"};
  if (position == 1 && dim.name.empty())
    return {shown, request.sequence, "sequence length, because it is the second dimension"};
  return {shown, 1, "its meaning is not known; set it with --dim NAME=SIZE"};
}

}  // namespace

Result<std::vector<OnnxInput>> OnnxInputs(std::string_view bytes) {
  std::vector<OnnxInput> out;
  bool found = false;
  WireReader model(bytes);
  while (model.Next()) {
    if (model.field() != 7 || model.Bytes().empty()) continue;
    found = true;
    NL_TRY(ReadGraph(model.Bytes(), out));
  }
  if (!model.ok() || !found)
    return InvalidInput("not an ONNX model: it has no graph").Hint("give the .onnx file");
  return out;
}

Result<std::vector<OnnxInput>> OnnxInputsOfFile(const std::string& path) {
  MappedFile file;
  NL_TRY(file.Open(path));
  Result<std::vector<OnnxInput>> out = OnnxInputs(file.bytes());
  if (!out.ok()) return std::move(out).error().At(path);
  return out;
}

std::vector<int64_t> ChooseShape(const OnnxInput& input, const DimRequest& request,
                                 std::vector<DimChoice>& chosen) {
  std::vector<int64_t> out;
  for (size_t i = 0; i < input.dims.size(); ++i) {
    if (input.dims[i].size) {
      out.push_back(*input.dims[i].size);
      continue;
    }
    const DimChoice choice = Choose(input.dims[i], i, request);
    out.push_back(choice.size);
    const bool known = std::any_of(chosen.begin(), chosen.end(), [&](const DimChoice& c) {
      return c.name == choice.name && c.size == choice.size;
    });
    if (!known) chosen.push_back(choice);
  }
  return out;
}

}  // namespace nl::ops::profile
