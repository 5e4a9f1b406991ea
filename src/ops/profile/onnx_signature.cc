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

#include "base/file_ops.h"

namespace nl::ops::profile {

namespace {

// The fields of one message, one after the other. `ok` turns false where the bytes are no message.
class Fields {
 public:
  explicit Fields(std::string_view bytes) : rest_(bytes) {}

  uint32_t number = 0;
  uint64_t value = 0;      // of a number
  std::string_view bytes;  // of text or a message
  bool ok = true;

  bool Next() {
    if (rest_.empty() || !ok) return false;
    uint64_t key = 0;
    if (!Varint(key)) return false;
    number = static_cast<uint32_t>(key >> 3);
    bytes = {};
    switch (key & 7) {
      case 0: return Varint(value);
      case 1: return Skip(8);
      case 2: {
        uint64_t size = 0;
        if (!Varint(size)) return false;
        if (size > rest_.size()) return ok = false;
        bytes = rest_.substr(0, size);
        rest_.remove_prefix(size);
        return true;
      }
      case 5: return Skip(4);
      default: return ok = false;
    }
  }

 private:
  bool Varint(uint64_t& to) {
    to = 0;
    for (int shift = 0; shift < 64 && !rest_.empty(); shift += 7) {
      const auto byte = static_cast<uint8_t>(rest_.front());
      rest_.remove_prefix(1);
      to |= uint64_t{byte & 0x7fu} << shift;
      if (byte < 0x80) return true;
    }
    return ok = false;
  }
  bool Skip(size_t size) {
    if (size > rest_.size()) return ok = false;
    rest_.remove_prefix(size);
    return true;
  }
  std::string_view rest_;
};

// TensorProto.DataType; the types a random value can be made for.
std::string TypeName(uint64_t type) {
  static constexpr const char* kNames[] = {"",        "float32", "uint8",  "int8",  "uint16",
                                           "int16",   "int32",   "int64",  "",      "bool",
                                           "float16", "float64", "uint32", "uint64"};
  return type < std::size(kNames) ? kNames[type] : "";
}

OnnxDim ReadDim(std::string_view bytes) {
  OnnxDim out;
  for (Fields f(bytes); f.Next();) {
    // Exporters write -1 and 0 where they mean any size.
    if (f.number == 1 && static_cast<int64_t>(f.value) > 0) out.size = static_cast<int64_t>(f.value);
    if (f.number == 2) out.name = f.bytes;
  }
  return out;
}

void ReadType(std::string_view bytes, OnnxInput& to) {
  for (Fields type(bytes); type.Next();) {
    if (type.number != 1) continue;
    for (Fields tensor(type.bytes); tensor.Next();) {
      if (tensor.number == 1) to.type = TypeName(tensor.value);
      if (tensor.number != 2) continue;
      for (Fields shape(tensor.bytes); shape.Next();) {
        if (shape.number == 1) to.dims.push_back(ReadDim(shape.bytes));
      }
    }
  }
}

Status ReadGraph(std::string_view bytes, std::vector<OnnxInput>& out) {
  std::set<std::string, std::less<>> given;
  Fields graph(bytes);
  while (graph.Next()) {
    if (graph.number == 11) {
      OnnxInput input;
      for (Fields f(graph.bytes); f.Next();) {
        if (f.number == 1) input.name = f.bytes;
        if (f.number == 2) ReadType(f.bytes, input);
      }
      out.push_back(std::move(input));
    } else if (graph.number == 5) {
      for (Fields f(graph.bytes); f.Next();) {
        if (f.number == 8) given.insert(std::string(f.bytes));
      }
    }
  }
  std::erase_if(out, [&](const OnnxInput& input) { return given.contains(input.name); });
  return graph.ok ? Status() : Status(InvalidInput("its graph is cut or damaged"));
}

// A file as memory, without reading it.
class MappedFile {
 public:
  Status Open(const std::string& path) {
    const UniqueFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!fd.valid()) return FileError("read", path);
    struct stat info {};
    if (fstat(fd.get(), &info) != 0) return FileError("read", path);
    if (!S_ISREG(info.st_mode)) return InvalidInput("this is no file").At(path);
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

bool HasAny(std::string_view text, std::initializer_list<std::string_view> words) {
  return std::any_of(words.begin(), words.end(),
                     [&](std::string_view word) { return text.find(word) != std::string_view::npos; });
}
bool IsAny(std::string_view text, std::initializer_list<std::string_view> words) {
  return std::find(words.begin(), words.end(), text) != words.end();
}

DimChoice Choose(const OnnxDim& dim, size_t position, const DimRequest& request) {
  std::string low = dim.name;
  std::transform(low.begin(), low.end(), low.begin(), [](unsigned char c) { return std::tolower(c); });
  const std::string shown =
      dim.name.empty() ? fmt::format("dimension {} without a name", position) : dim.name;
  if (const auto it = request.dims.find(dim.name); it != request.dims.end())
    return {shown, it->second, "--dim"};
  if (HasAny(low, {"batch"}) || IsAny(low, {"n", "b", "bs"})) return {shown, request.batch, "batch size"};
  if (HasAny(low, {"seq", "len", "time", "token"}) || IsAny(low, {"s", "t", "l"}))
    return {shown, request.sequence, "sequence length"};
  if (position == 0) return {shown, request.batch, "batch size, as it is the first"};
  if (position == 1 && dim.name.empty())
    return {shown, request.sequence, "sequence length, as it is the second"};
  return {shown, 1, "nothing tells what it is; --dim NAME=SIZE sets it"};
}

}  // namespace

Result<std::vector<OnnxInput>> OnnxInputs(std::string_view bytes) {
  std::vector<OnnxInput> out;
  bool found = false;
  Fields model(bytes);
  while (model.Next()) {
    if (model.number != 7 || model.bytes.empty()) continue;
    found = true;
    NL_TRY(ReadGraph(model.bytes, out));
  }
  if (!model.ok || !found)
    return InvalidInput("this is no ONNX model: it has no graph").Hint("give the .onnx file");
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
