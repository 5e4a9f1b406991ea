// SPDX-License-Identifier: Apache-2.0
#include "model/labels/torch_label.h"

#include <algorithm>
#include <cctype>
#include <charconv>

namespace nl {

namespace {

// Takes ", key = value" off the end of `text`; empty when it has no such part.
std::string_view TakePart(std::string_view& text, std::string_view key) {
  const size_t at = text.rfind(key);
  if (at == std::string_view::npos) return {};
  const std::string_view value = text.substr(at + key.size());
  text = text.substr(0, at);
  return value;
}

bool TakeNumber(std::string_view& text, std::string_view key, int64_t& to) {
  const std::string_view before = text;
  const std::string_view value = TakePart(text, key);
  int64_t number = 0;
  const auto [end, code] = std::from_chars(value.data(), value.data() + value.size(), number);
  if (!value.empty() && code == std::errc() && end == value.data() + value.size()) {
    to = number;
    return true;
  }
  text = before;  // some other text that happens to look like it
  return false;
}

bool LooksLikeOp(std::string_view name) {
  if (name.starts_with("autograd::")) return true;
  for (const std::string_view bare : {"record_param_comms", "detach", "detach_"}) {
    if (name == bare) return true;
  }
  return name.find("::") != std::string_view::npos && std::all_of(name.begin(), name.end(), [](char c) {
           return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == ':' || c == '.';
         });
}

}  // namespace

TorchLabel ParseTorchLabel(std::string_view text) {
  TorchLabel label;
  label.name = text;
  // Most labels of other programs end the search here.
  if (text.find(" = ") == std::string_view::npos) return label;
  std::string_view rest = text;
  label.input_op_ids = TakePart(rest, ", input_op_ids = ");
  label.sizes = TakePart(rest, ", sizes = ");
  const bool op_id = TakeNumber(rest, ", op_id = ", label.op_id);
  const bool sequence = TakeNumber(rest, ", seq = ", label.sequence);
  if (!op_id && !sequence) return {false, false, text, {}, {}};
  label.given = true;
  label.name = rest;
  label.is_op = sequence || LooksLikeOp(rest);
  return label;
}

std::string ShapesOf(const TorchLabel& label) {
  std::string out(label.sizes);
  std::erase(out, ' ');
  return out;
}

TorchLabel ParseTorchLabel(std::string_view text, int64_t op_id, int64_t sequence) {
  TorchLabel label;
  label.given = true;
  label.sizes = TakePart(text, ", sizes = ");
  label.name = text;
  label.op_id = op_id;
  label.sequence = sequence;
  label.is_op = !IsNull(sequence) || LooksLikeOp(text);
  return label;
}

}  // namespace nl
