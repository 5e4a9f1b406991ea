// SPDX-License-Identifier: Apache-2.0
#include "capture/lib/torch_text.h"

#include <cstring>

namespace nl::capture {

namespace {

constexpr std::string_view kOpId = ", op_id = ", kSequence = ", seq = ", kSizes = ", sizes = ",
                           kInputs = ", input_op_ids = ";

// The digits `text` begins with; what is after them, or null when there are none.
// (std::from_chars would make symbols of its own visible.)
const char* Parse(std::string_view text, uint64_t& to) {
  size_t at = 0;
  to = 0;
  for (; at < text.size() && at < 19 && text[at] >= '0' && text[at] <= '9'; ++at)
    to = to * 10 + static_cast<uint64_t>(text[at] - '0');
  return at > 0 ? text.data() + at : nullptr;
}

}  // namespace

TorchText TakeTorchText(std::string_view text, char* buffer) {
  TorchText out;
  const size_t at = text.find(kOpId);
  if (at == std::string_view::npos) return out;
  const char* after = Parse(text.substr(at + kOpId.size()), out.op_id);
  if (after == nullptr) return {};
  std::string_view name = text.substr(0, at);
  std::string_view sizes = text.substr(static_cast<size_t>(after - text.data()));
  sizes = sizes.substr(0, sizes.find(kInputs));
  if (!sizes.empty() && !sizes.starts_with(kSizes)) return {};  // somebody's own words
  if (const size_t sequence = name.rfind(kSequence); sequence != std::string_view::npos) {
    const std::string_view number = name.substr(sequence + kSequence.size());
    if (Parse(number, out.sequence) == number.data() + number.size()) {
      out.has_sequence = true;
      name = name.substr(0, sequence);
    }
  }
  out.is_torch = true;
  out.text = name;
  if (sizes.empty()) return out;
  name = name.substr(0, kMaxStringBytes + 1);
  sizes = sizes.substr(0, kMaxStringBytes + 1 - name.size());
  std::memcpy(buffer, name.data(), name.size());
  std::memcpy(buffer + name.size(), sizes.data(), sizes.size());
  out.text = {buffer, name.size() + sizes.size()};
  return out;
}

}  // namespace nl::capture
