// SPDX-License-Identifier: Apache-2.0
#include "analyze/compare/sequence/call_types.h"

namespace nl::compare {

namespace {

uint64_t Join(uint32_t high, uint32_t low) { return static_cast<uint64_t>(high) << 32 | low; }
uint64_t Join(StringId high, StringId low) {
  return Join(static_cast<uint32_t>(high), static_cast<uint32_t>(low));
}

// cudaDeviceSynchronize and hipDeviceSynchronize are the same call.
std::string_view WithoutVendor(std::string_view name) {
  for (const std::string_view vendor : {"cuda", "hip"}) {
    if (name.starts_with(vendor) && name.size() > vendor.size() && name[vendor.size()] >= 'A' &&
        name[vendor.size()] <= 'Z')
      return name.substr(vendor.size());
  }
  return name;
}

}  // namespace

uint64_t CallTypes::TextHash(StringId id) {
  return texts_.Of(id, [&] { return HashText(WithoutVendor(data_.Text(id))); });
}

// Some tools write "[8, 512]", others "[8,512]", and some nest a list of tensors: blanks and repeated
// brackets are ignored.
uint64_t CallTypes::ShapeHash(StringId dims) {
  return shapes_.Of(dims, [&] {
    std::string text;
    for (const char c : data_.Text(dims)) {
      const bool again = (c == '[' || c == ']') && !text.empty() && text.back() == c;
      if (c != ' ' && !again) text += c;
    }
    return HashText(text);
  });
}

uint64_t CallTypes::OpHash(StringId op) {
  const std::string_view type = op_types_.Of(op);
  return type.empty() ? TextHash(op) : HashText(type) | 1;
}

uint64_t CallTypes::WorkHash(uint32_t work) {
  const StringId name = w_.name[work];
  return work_names_.Of(name, [&] {
    return HashText(w_.kind[work] == WorkKind::kKernel
                        ? std::string_view(program_.timeline.KernelNameOf(name).normalized)
                        : data_.Text(name));
  });
}

// The first two words of a kernel's short name: what it computes, not how.
uint64_t CallTypes::KinOf(uint32_t work) {
  return kins_.Of(w_.name[work], [&] {
    const std::string& name = program_.timeline.KernelNameOf(w_.name[work]).short_name;
    const size_t first = name.find(' ');
    return HashText(name.substr(0, first == std::string::npos ? first : name.find(' ', first + 1)));
  });
}

uint64_t CallTypes::GridHash(uint32_t work) const {
  const uint32_t row = w_.row[work];
  return HashPair(HashPair(static_cast<uint64_t>(data_.kernel.grid_x[row]),
                           static_cast<uint64_t>(data_.kernel.grid_y[row])),
                  static_cast<uint64_t>(data_.kernel.grid_z[row]));
}

StringId CallTypes::OpText(const ColumnView<StringId>& column, uint32_t node) const {
  const uint32_t row = h_.row[node];
  return row < column.size() ? column[row] : StringId::kNull;
}

uint32_t CallTypes::Of(const CallDraft& d) {
  CallType type;
  type.kernel_hash = d.kernel_hash;
  type.module = d.module;
  type.stage = d.node == kNone ? kNone : program_.stage_of[d.node];
  type.kernels = d.kernels;
  type.bytes = d.bytes;
  type.kind = d.kind;
  type.family = d.family;
  type.graph = d.graph;
  if (d.op || d.work == kNone) type.op = h_.name[d.node];
  if (d.op) {
    type.dims = OpText(data_.op.input_dims, d.node);
    type.types = OpText(data_.op.input_types, d.node);
  }
  if (d.work != kNone) type.kernel = w_.name[d.work];
  if (d.kind == CallKind::kKernel && IsNull(type.dims)) type.shape_hash = GridHash(d.work);
  uint32_t at = Guess(type);
  if (at == kNone) {
    const size_t known = types_.size();
    at = Intern(type, d.op);
    if (types_.size() > known) Describe(types_[at], d);
    next_.resize(types_.size(), kNone);
    if (last_ != kNone) next_[last_] = at;
  }
  return last_ = at;
}

// The type that followed the previous type before, if this call has it; else kNone. shape_hash is that of the
// grid where shapes were not recorded.
uint32_t CallTypes::Guess(const CallType& t) const {
  const uint32_t at = last_ == kNone ? kNone : next_[last_];
  if (at == kNone) return kNone;
  const CallType& is = types_[at];
  const bool same = is.kernel_hash == t.kernel_hash && is.op == t.op && is.dims == t.dims &&
                    is.types == t.types && is.kernel == t.kernel && is.module == t.module &&
                    is.stage == t.stage && is.kernels == t.kernels && is.bytes == t.bytes &&
                    is.kind == t.kind && is.family == t.family && is.graph == t.graph &&
                    (!IsNull(t.dims) || is.shape_hash == t.shape_hash);
  return same ? at : kNone;
}

uint32_t CallTypes::OfHost(uint32_t node) {
  const bool op = h_.kind[node] == HostKind::kOp;
  CallType type;
  type.kind = CallKind::kHost;
  type.op = h_.name[node];
  type.module = program_.module_of[node];
  type.stage = program_.stage_of[node];
  if (op) {
    type.dims = OpText(data_.op.input_dims, node);
    type.types = OpText(data_.op.input_types, node);
  }
  const size_t known = types_.size();
  const uint32_t at = Intern(type, op);
  if (types_.size() == known) return at;
  CallType& made = types_[at];
  made.op_hash = OpHash(made.op);
  made.token = HashPair(made.op_hash, 2);
  made.related_hash = HashPair(made.op_hash, 3);
  if (op) NameOp(made, node);
  return at;
}

uint32_t CallTypes::Intern(const CallType& t, bool op) {
  const uint32_t flags = static_cast<uint32_t>(t.kind) << 16 | static_cast<uint32_t>(t.family) << 8 |
                         static_cast<uint32_t>(t.graph) << 1 | static_cast<uint32_t>(op);
  uint64_t key = MixedPair(Join(t.op, t.dims), Join(t.types, t.kernel));
  key = MixedPair(key, Join(t.module, t.stage));
  key = MixedPair(key, t.kernel_hash ^ MixedBits(t.shape_hash));
  key = MixedPair(key, Join(t.kernels, flags));
  if (t.bytes != 0) key = MixedPair(key, static_cast<uint64_t>(t.bytes));
  const auto next = static_cast<uint32_t>(types_.size());
  const uint32_t at = type_at_.FindOrPut(key, next);
  if (at == next) types_.push_back(t);
  return at;
}

void CallTypes::Describe(CallType& type, const CallDraft& d) {
  type.op_hash = d.op ? OpHash(type.op) : TextHash(type.op);
  if (d.work == kNone) {
    type.token = type.related_hash = HashPair(type.op_hash, 2);
    return;
  }
  if (d.op) NameOp(type, d.node);
  type.related_hash = HashPair(type.op_hash, static_cast<uint64_t>(type.kind));
  if (type.op_hash == 0) {
    type.token = HashPair(type.kernel_hash, 1);
    type.related_hash = type.kind == CallKind::kKernel ? KinOf(d.work) : type.token;
  }
}

// Operator and the dimensions that belong to the model, not to the input.
void CallTypes::NameOp(CallType& type, uint32_t node) {
  if (!IsNull(type.dims)) type.shape_hash = ShapeHash(type.dims);
  type.type_hash = TextHash(type.types);
  const program::OpInputs& inputs = program_.InputsOf(h_.row[node]);
  type.token = type.op_hash;
  const std::optional<GemmShape> gemm = GemmOf(data_.Text(type.op), inputs.dims);
  if (gemm && gemm->batch == 1) {
    type.token =
        HashPair(type.token, HashPair(static_cast<uint64_t>(gemm->n), static_cast<uint64_t>(gemm->k)));
  } else if (!inputs.dims.empty()) {
    type.token =
        HashPair(type.token, HashPair(inputs.dims[0].size(), static_cast<uint64_t>(inputs.LastDim(0))));
  }
}

}  // namespace nl::compare
