// SPDX-License-Identifier: Apache-2.0
#include "import/adapters/xplane/details.h"

#include <algorithm>
#include <cctype>
#include <charconv>

namespace nl::adapters::xplane {

namespace {

// Calls take(key, value) for every "key:value" of the text.
template <class Take>
void ForEachPair(std::string_view text, const Take& take) {
  while (!text.empty()) {
    const size_t space = text.find(' ');
    const std::string_view word = text.substr(0, space);
    text.remove_prefix(space == std::string_view::npos ? text.size() : space + 1);
    const size_t colon = word.find(':');
    if (colon != std::string_view::npos) take(word.substr(0, colon), word.substr(colon + 1));
  }
}

template <class T>
bool Number(std::string_view text, T& out) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  return error == std::errc() && end == text.data() + text.size();
}

int64_t Bytes(std::string_view text) {
  int64_t value = 0;
  return Number(text, value) && value >= 0 ? value : NullOf<int64_t>::value;
}

void Dimensions(std::string_view text, int32_t (&out)[3]) {
  int32_t values[3];
  for (int i = 0; i < 3; ++i) {
    const size_t comma = i < 2 ? text.find(',') : text.size();
    if (comma == std::string_view::npos || !Number(text.substr(0, comma), values[i]) || values[i] < 0) return;
    text.remove_prefix(std::min(text.size(), comma + 1));
  }
  for (int i = 0; i < 3; ++i) out[i] = values[i];
}

std::string Capital(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (c == '_') c = ' ';
  }
  if (!out.empty()) out[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(out[0])));
  return out == "Unknown" ? "" : out;
}

char SideOf(std::string_view memory) {
  if (memory == "Device" || memory == "Managed" || memory == "Device static") return 'D';
  return memory == "Pageable" || memory == "Pinned" || memory == "Host" ? 'H' : '\0';
}

}  // namespace

KernelDetails ParseKernelDetails(std::string_view text) {
  KernelDetails out;
  int64_t fixed = NullOf<int64_t>::value, asked = NullOf<int64_t>::value;
  ForEachPair(text, [&](std::string_view key, std::string_view value) {
    if (key == "regs") {
      int32_t registers = 0;
      if (Number(value, registers) && registers >= 0) out.registers = registers;
    } else if (key == "static_shared") {
      fixed = Bytes(value);
    } else if (key == "dynamic_shared") {
      asked = Bytes(value);
    } else if (key == "group_mem") {
      out.shared_bytes = Bytes(value);
    } else if (key == "grid") {
      Dimensions(value, out.grid);
    } else if (key == "block") {
      Dimensions(value, out.block);
    } else if (key == "occ_pct") {
      double percent = 0;
      if (Number(value, percent) && percent > 0 && percent <= 100) out.occupancy_pct = percent;
    }
  });
  if (!IsNull(fixed) && !IsNull(asked) && fixed < INT32_MAX && asked < INT32_MAX)
    out.shared_bytes = fixed + asked;
  return out;
}

CopyDetails ParseCopyDetails(std::string_view text, std::string_view name) {
  CopyDetails out;
  ForEachPair(text, [&](std::string_view key, std::string_view value) {
    if (key == "kind_src") out.src_memory = Capital(value);
    if (key == "kind_dst") out.dst_memory = Capital(value);
    if (key == "size" || key == "num_bytes") out.bytes = Bytes(value);
  });
  for (const char* kind : {"H2D", "D2H", "D2D", "H2H", "P2P"}) {
    if (name.find(kind) != std::string_view::npos) out.kind = std::string{kind[0], 't', 'o', kind[2]};
  }
  const char from = SideOf(out.src_memory), to = SideOf(out.dst_memory);
  if (out.kind.empty() && from != '\0' && to != '\0') out.kind = std::string{from, 't', 'o', to};
  return out;
}

int64_t ParseMemsetBytes(std::string_view text) {
  int64_t bytes = NullOf<int64_t>::value;
  ForEachPair(text, [&](std::string_view key, std::string_view value) {
    if (key == "num_bytes") bytes = Bytes(value);
  });
  return bytes;
}

}  // namespace nl::adapters::xplane
