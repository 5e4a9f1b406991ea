// SPDX-License-Identifier: Apache-2.0
#pragma once
// The terminal: is there one, how wide, may it be coloured; and text made safe
// and measured for it. Names in traces are untrusted: an escape sequence in a
// kernel name must not reach a terminal.
// Thread rule: functions without state.

#include <string>
#include <string_view>

namespace nl {

bool IsTerminal(int fd);
// Columns of the terminal on stdout; without one $COLUMNS, else 100.
int TerminalWidth();
// `setting`: "always", "never" or "auto" (a terminal, NO_COLOR unset, TERM not "dumb").
bool ColorAllowed(std::string_view setting, int fd);

enum class Keep {
  kNothing,        // newlines and tabs are escaped too: one line stays one line
  kLines,          // newlines and tabs stay
  kLinesAndColor,  // and colour sequences (ESC [ digits m)
};
// Control characters, direction overrides and bytes that are not UTF-8 made visible
// (\n, \u001b, U+FFFD).
std::string PrintableText(std::string_view text, Keep keep = Keep::kNothing);

// Columns that printable UTF-8 takes on a terminal.
int DisplayWidth(std::string_view text);
// `text` in at most `width` columns, an ellipsis in its middle when it had to be cut.
std::string CutMiddle(std::string_view text, int width);
// A name of any length, made printable and cut to `width` columns; its first 4 KiB are looked at.
std::string PrintableName(std::string_view name, int width);
// `text` in lines of at most `width` columns, each after the first led by `indent` blanks.
std::string Wrap(std::string_view text, int width, int indent);

}  // namespace nl
