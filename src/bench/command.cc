// SPDX-License-Identifier: Apache-2.0
#include "bench/command.h"

#include <algorithm>
#include <cctype>

#include <fmt/format.h>

#include "base/secrets.h"

namespace nl::bench {

namespace {

constexpr std::string_view kShellOnly = "|&;<>()$`*?[]{}~#!\n";

// NAME=value before the program is an assignment, which only a shell does.
bool IsAssignment(const std::string& word) {
  const size_t equals = word.find('=');
  if (equals == std::string::npos || equals == 0) return false;
  for (size_t i = 0; i < equals; ++i) {
    const auto c = static_cast<unsigned char>(word[i]);
    if (c != '_' && std::isalnum(c) == 0) return false;
  }
  return std::isdigit(static_cast<unsigned char>(word[0])) == 0;
}

class Splitter {
 public:
  explicit Splitter(const std::string& text) : text_(text) {}

  Result<std::vector<std::string>> Split() {
    while (at_ < text_.size()) {
      const char c = text_[at_++];
      if (c == '\'' || c == '"') {
        if (!Quoted(c))
          return InvalidInput(fmt::format("the command has an open quote: {}", text_))
              .Hint("close it, or write \\' for the character itself");
      } else if (c == '\\' && at_ < text_.size()) {
        Add(text_[at_++]);
      } else if (c == ' ' || c == '\t') {
        EndWord();
      } else {
        if (kShellOnly.find(c) != std::string_view::npos) needs_shell_ = true;
        Add(c);
      }
    }
    EndWord();
    if (!words_.empty() && IsAssignment(words_[0])) needs_shell_ = true;
    return words_;
  }
  bool needs_shell() const { return needs_shell_; }

 private:
  void Add(char c) {
    word_ += c;
    open_ = true;
  }
  void EndWord() {
    if (open_) words_.push_back(std::move(word_));
    word_.clear();
    open_ = false;
  }
  bool Quoted(char quote) {
    open_ = true;
    while (at_ < text_.size()) {
      const char c = text_[at_++];
      if (c == quote) return true;
      if (quote == '"' && (c == '$' || c == '`')) needs_shell_ = true;
      const bool escaped = quote == '"' && c == '\\' && at_ < text_.size() &&
                           std::string_view("\"\\$`").find(text_[at_]) != std::string_view::npos;
      word_ += escaped ? text_[at_++] : c;
    }
    return false;
  }

  const std::string& text_;
  size_t at_ = 0;
  std::string word_;
  bool open_ = false, needs_shell_ = false;
  std::vector<std::string> words_;
};

}  // namespace

Result<Command> ParseCommand(const std::string& text) {
  Splitter splitter(text);
  NL_ASSIGN(std::vector<std::string> words, splitter.Split());
  if (words.empty()) return InvalidInput("the command is empty");
  Command out;
  out.text = text;
  out.shell = splitter.needs_shell();
  out.words = out.shell ? std::vector<std::string>{"/bin/sh", "-c", text} : std::move(words);
  return out;
}

std::string QuoteCommand(const std::vector<std::string>& words) {
  std::string out;
  for (const std::string& word : words) {
    if (!out.empty()) out += ' ';
    const bool plain = !word.empty() && word.find_first_of("'\"\\ \t") == std::string::npos &&
                       word.find_first_of(kShellOnly) == std::string::npos &&
                       !(out.empty() && IsAssignment(word));
    if (plain) {
      out += word;
      continue;
    }
    out += '\'';
    for (const char c : word) c == '\'' ? out += "'\\''" : out += c;
    out += '\'';
  }
  return out;
}

std::string CommandWithoutSecrets(const std::string& command) {
  std::vector<std::string> words, hidden;
  for (size_t at = 0; at <= command.size();) {
    const size_t end = std::min(command.find(' ', at), command.size());
    words.push_back(command.substr(at, end - at));
    at = end + 1;
  }
  HideSecretArguments(words, hidden);
  return hidden.empty() ? command : fmt::format("{}", fmt::join(words, " "));
}

}  // namespace nl::bench
