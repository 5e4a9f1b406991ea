// SPDX-License-Identifier: Apache-2.0
#include "base/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <iterator>
#include <vector>

#include <fmt/format.h>

namespace nl {

namespace {

constexpr uint32_t kInvalid = 0xFFFFFFFF;
constexpr std::string_view kReplacement = "\uFFFD";
constexpr std::string_view kEllipsis = "…";

struct CodePoint {
  uint32_t value;
  size_t bytes;
};

// The code point at the start of `text` (not empty); kInvalid and one byte when it is not UTF-8.
CodePoint Decode(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<uint8_t>(text[i]); };
  const uint8_t lead = byte(0);
  if (lead < 0x80) return {lead, 1};
  const size_t length = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  if (lead < 0xC2 || lead > 0xF4 || text.size() < length) return {kInvalid, 1};
  uint32_t value = lead & (0x7Fu >> length);
  for (size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return {kInvalid, 1};
    value = value << 6 | (byte(i) & 0x3F);
  }
  static constexpr uint32_t kSmallest[] = {0, 0, 0x80, 0x800, 0x10000};
  if (value < kSmallest[length] || value > 0x10FFFF || (value >= 0xD800 && value <= 0xDFFF)) {
    return {kInvalid, 1};
  }
  return {value, length};
}

struct Range {
  uint32_t first, last;
};

template <size_t N>
bool In(const Range (&ranges)[N], uint32_t c) {
  const auto* it = std::upper_bound(std::begin(ranges), std::end(ranges), c,
                                    [](uint32_t value, const Range& range) { return value < range.first; });
  return it != std::begin(ranges) && c <= std::prev(it)->last;
}

// Blocks of combining marks and joiners: they add no column.
constexpr Range kZeroWidth[] = {
    {0x0300, 0x036F}, {0x0483, 0x0489},   {0x0591, 0x05BD},   {0x0610, 0x061A}, {0x064B, 0x065F},
    {0x06D6, 0x06DC}, {0x093A, 0x093A},   {0x093C, 0x093C},   {0x0941, 0x0948}, {0x094D, 0x094D},
    {0x0E31, 0x0E31}, {0x0E34, 0x0E3A},   {0x0E47, 0x0E4E},   {0x1AB0, 0x1ACE}, {0x1DC0, 0x1DFF},
    {0x200B, 0x200D}, {0x20D0, 0x20F0},   {0x302A, 0x302D},   {0x3099, 0x309A}, {0xFE00, 0xFE0F},
    {0xFE20, 0xFE2F}, {0x1F3FB, 0x1F3FF}, {0xE0100, 0xE01EF},
};

// East Asian wide and full-width blocks, and emoji shown as pictures.
constexpr Range kWide[] = {
    {0x1100, 0x115F},   {0x231A, 0x231B},   {0x2329, 0x232A},   {0x23E9, 0x23EC},   {0x25FD, 0x25FE},
    {0x2614, 0x2615},   {0x2648, 0x2653},   {0x26A1, 0x26A1},   {0x26BD, 0x26BE},   {0x26C4, 0x26C5},
    {0x26D4, 0x26D4},   {0x2705, 0x2705},   {0x270A, 0x270B},   {0x2728, 0x2728},   {0x274C, 0x274C},
    {0x2753, 0x2755},   {0x2757, 0x2757},   {0x2795, 0x2797},   {0x2B1B, 0x2B1C},   {0x2B50, 0x2B50},
    {0x2B55, 0x2B55},   {0x2E80, 0x303E},   {0x3041, 0x33FF},   {0x3400, 0x4DBF},   {0x4E00, 0x9FFF},
    {0xA000, 0xA4CF},   {0xA960, 0xA97F},   {0xAC00, 0xD7A3},   {0xF900, 0xFAFF},   {0xFE30, 0xFE6F},
    {0xFF00, 0xFF60},   {0xFFE0, 0xFFE6},   {0x16FE0, 0x18CFF}, {0x1B000, 0x1B2FF}, {0x1F18E, 0x1F18E},
    {0x1F191, 0x1F19A}, {0x1F1E6, 0x1F202}, {0x1F210, 0x1F23B}, {0x1F240, 0x1F248}, {0x1F300, 0x1F64F},
    {0x1F680, 0x1F6FF}, {0x1F7E0, 0x1F7EB}, {0x1F900, 0x1F9FF}, {0x1FA70, 0x1FAFF}, {0x20000, 0x3FFFD},
};

int Width(uint32_t c) {
  if (c < 0x300) return 1;
  if (In(kZeroWidth, c)) return 0;
  return In(kWide, c) ? 2 : 1;
}

// Characters that move the cursor, start an escape sequence, or reorder what follows.
bool Harmful(uint32_t c) {
  return c < 0x20 || (c >= 0x7F && c <= 0x9F) || c == 0x061C || c == 0x200E || c == 0x200F ||
         (c >= 0x2028 && c <= 0x202E) || (c >= 0x2066 && c <= 0x2069) || c == 0xFEFF;
}

// Bytes of the colour sequence at the start of `text`, or 0.
size_t ColorSequence(std::string_view text) {
  if (text.size() < 3 || text[0] != '\x1b' || text[1] != '[') return 0;
  size_t end = 2;
  while (end < text.size() && ((text[end] >= '0' && text[end] <= '9') || text[end] == ';')) ++end;
  return end < text.size() && text[end] == 'm' ? end + 1 : 0;
}

void AppendEscaped(std::string& out, uint32_t c) {
  switch (c) {
    case '\n': out += "\\n"; break;
    case '\r': out += "\\r"; break;
    case '\t': out += "\\t"; break;
    default: out += fmt::format("\\u{:04x}", c);
  }
}

}  // namespace

bool IsTerminal(int fd) { return isatty(fd) == 1; }

int TerminalWidth() {
  winsize size{};
  if (IsTerminal(STDOUT_FILENO) && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) {
    return size.ws_col;
  }
  if (const char* columns = std::getenv("COLUMNS")) {
    const int value = std::atoi(columns);
    if (value >= 20 && value <= 10000) return value;
  }
  return 100;
}

bool ColorAllowed(std::string_view setting, int fd) {
  if (setting == "always") return true;
  if (setting == "never" || !IsTerminal(fd)) return false;
  const char* no_color = std::getenv("NO_COLOR");
  if (no_color != nullptr && *no_color != '\0') return false;
  const char* term = std::getenv("TERM");
  return term == nullptr || std::string_view(term) != "dumb";
}

std::string PrintableText(std::string_view text, Keep keep) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const CodePoint c = Decode(text);
    size_t bytes = c.bytes;
    if (c.value == kInvalid) {
      out += kReplacement;
    } else if (!Harmful(c.value)) {
      out += text.substr(0, bytes);
    } else if (keep != Keep::kNothing && (c.value == '\n' || c.value == '\t')) {
      out += text[0];
    } else if (const size_t color = keep == Keep::kLinesAndColor ? ColorSequence(text) : 0; color > 0) {
      bytes = color;
      out += text.substr(0, bytes);
    } else {
      AppendEscaped(out, c.value);
    }
    text.remove_prefix(bytes);
  }
  return out;
}

int DisplayWidth(std::string_view text) {
  int width = 0;
  while (!text.empty()) {
    const CodePoint c = Decode(text);
    width += c.value == kInvalid ? 1 : Width(c.value);
    text.remove_prefix(c.bytes);
  }
  return width;
}

std::string CutMiddle(std::string_view text, int width) {
  if (DisplayWidth(text) <= width) return std::string(text);
  if (width <= 1) return width == 1 ? std::string(kEllipsis) : std::string();

  struct Glyph {
    size_t offset;
    int width;
  };
  std::vector<Glyph> glyphs;
  for (size_t at = 0; at < text.size();) {
    const CodePoint c = Decode(text.substr(at));
    glyphs.push_back({at, c.value == kInvalid ? 1 : Width(c.value)});
    at += c.bytes;
  }
  const int room = width - 1;
  const int head_room = (room + 1) / 2;
  int used = 0;
  size_t head = 0;
  while (head < glyphs.size() && used + glyphs[head].width <= head_room) used += glyphs[head++].width;
  size_t tail = glyphs.size();
  while (tail > head && used + glyphs[tail - 1].width <= room) used += glyphs[--tail].width;
  // A tail must not begin with a combining mark: it would join the ellipsis.
  while (tail < glyphs.size() && glyphs[tail].width == 0) ++tail;

  std::string out(text.substr(0, glyphs[head].offset));
  out += kEllipsis;
  if (tail < glyphs.size()) out += text.substr(glyphs[tail].offset);
  return out;
}

std::string PrintableName(std::string_view name, int width) {
  constexpr size_t kLookedAtBytes = 4096;
  return CutMiddle(PrintableText(name.substr(0, kLookedAtBytes)), width);
}

std::string Wrap(std::string_view text, int width, int indent) {
  std::string out;
  int column = 0;
  bool first_word = true;
  while (!text.empty()) {
    const size_t end = std::min(text.find(' '), text.size());
    const std::string_view word = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (word.empty()) continue;
    const int word_width = DisplayWidth(word);
    if (!first_word && column + 1 + word_width > width) {
      out += '\n';
      out.append(static_cast<size_t>(indent), ' ');
      column = indent;
    } else if (!first_word) {
      out += ' ';
      ++column;
    } else {
      column = indent;
    }
    out += word;
    column += word_width;
    first_word = false;
  }
  return out;
}

}  // namespace nl
