// SPDX-License-Identifier: Apache-2.0
#include "cli/parse.h"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "base/near_names.h"
#include "ops/param_text.h"

namespace nl {

namespace {

using Words = std::vector<std::string>;

bool LooksLikeNumber(std::string_view word) {
  if (!word.empty() && word[0] == '-') word.remove_prefix(1);
  return !word.empty() && ((word[0] >= '0' && word[0] <= '9') ||
                           (word[0] == '.' && word.size() > 1 && word[1] >= '0' && word[1] <= '9'));
}

// "-" is stdin or stdout, "-5" a number: neither is a flag.
bool LooksLikeFlag(std::string_view word) {
  return word.size() > 1 && word[0] == '-' && !LooksLikeNumber(word);
}

// A flag word taken apart: "--limit=5" is name "--limit" and value "5".
struct FlagWord {
  std::string name;
  std::optional<std::string> value;

  explicit FlagWord(const std::string& word) {
    const size_t equals = word.rfind("--", 0) == 0 ? word.find('=') : std::string::npos;
    name = word.substr(0, equals);
    if (equals != std::string::npos) value = word.substr(equals + 1);
  }
};

const GlobalFlag* FindGlobal(const std::string& name) {
  for (const GlobalFlag& flag : GlobalFlags()) {
    if (flag.name == name || (!flag.short_name.empty() && flag.short_name == name)) return &flag;
  }
  return nullptr;
}

// The value of a flag: after its "=", or the next word.
Result<std::string> TakeValue(const FlagWord& flag, const Words& words, size_t& at) {
  if (flag.value) return *flag.value;
  if (at >= words.size()) return InvalidInput(fmt::format("{} needs a value", flag.name));
  if (LooksLikeFlag(words[at])) {
    return InvalidInput(fmt::format("{} needs a value, but '{}' follows", flag.name, words[at]))
        .Hint(fmt::format("write {}={} if that is the value", flag.name, words[at]));
  }
  return words[at++];
}

Status ApplyGlobal(const GlobalFlag& global, const FlagWord& flag, const Words& words, size_t& at,
                   GlobalOptions& options) {
  if (!global.setting.empty()) {
    NL_ASSIGN(std::string value, TakeValue(flag, words, at));
    options.settings.emplace_back(global.setting, std::move(value));
    return {};
  }
  if (flag.value) return InvalidInput(fmt::format("{} takes no value", flag.name));
  if (global.name == "--help") options.help = true;
  if (global.name == "--json") options.json = true;
  if (global.name == "--quiet") options.quiet = true;
  if (global.name == "--version") options.version = true;
  return {};
}

Error UnknownFlag(const std::string& name, const std::vector<ParamInfo>& params, std::string_view help) {
  Words known;
  for (const ParamInfo& param : params) {
    if (param.positional) continue;
    known.push_back(FlagName(param.name));
    if (param.kind == ParamKind::kBool) known.push_back("--no-" + known.back().substr(2));
  }
  for (const GlobalFlag& flag : GlobalFlags()) known.push_back(flag.name);
  const std::string guess = DidYouMean(Nearest(name, known));
  return InvalidInput(fmt::format("unknown flag '{}'", name))
      .Hint(guess.empty() ? fmt::format("'{}' lists the flags", help) : guess);
}

class ParamParser {
 public:
  ParamParser(const CommandInfo& command, const Words& words, GlobalOptions& options)
      : command_(command), words_(words), options_(options) {
    for (const ParamInfo& param : command_.params) {
      if (param.positional) params_.push_back(&param);
    }
    lists_ = TakesTwoLists(command_);
  }

  Result<Json> Parse() {
    bool flags_ended = false;
    while (at_ < words_.size()) {
      const std::string& word = words_[at_++];
      if (!flags_ended && word == "--") {
        if (lists_ && !divided_at_) {
          divided_at_ = positionals_.size();
        } else {
          flags_ended = true;
        }
      } else if (flags_ended || !LooksLikeFlag(word)) {
        positionals_.push_back(word);
      } else {
        NL_TRY(TakeFlag(FlagWord(word)));
      }
    }
    if (options_.help || options_.version) return args_;
    NL_TRY(AssignPositionals());
    for (const ParamInfo& param : command_.params) {
      if (param.required && !args_.contains(param.name)) {
        return Misuse(fmt::format("{} is missing", Shown(param)));
      }
    }
    return args_;
  }

 private:
  static std::string Shown(const ParamInfo& param) {
    if (!param.positional) return FlagName(param.name);
    ParamInfo bare = param;
    bare.required = true;
    bare.repeated = false;
    return PositionalName(bare);
  }

  Error Misuse(std::string message) const {
    return InvalidInput(std::move(message)).Hint(fmt::format("usage: {}", Usage(command_)));
  }

  Status TakeFlag(const FlagWord& flag) {
    for (const ParamInfo& param : command_.params) {
      if (param.positional) continue;
      const std::string name = FlagName(param.name);
      if (flag.name == name && !MeantAsGlobal(param, flag)) return TakeParam(param, flag);
      if (param.kind == ParamKind::kBool && flag.name == "--no-" + name.substr(2)) {
        if (flag.value) return InvalidInput(fmt::format("{} takes no value", flag.name));
        args_[param.name] = false;
        return {};
      }
    }
    if (const GlobalFlag* global = FindGlobal(flag.name)) {
      return ApplyGlobal(*global, flag, words_, at_, options_);
    }
    return UnknownFlag(flag.name, command_.params, fmt::format("neurolens {} --help", command_.op.name));
  }

  // A command may give a global flag a value of its own (analyze --json FILE); bare, it is the global one.
  bool MeantAsGlobal(const ParamInfo& param, const FlagWord& flag) const {
    const GlobalFlag* global = FindGlobal(flag.name);
    return global != nullptr && global->value_name.empty() && param.kind != ParamKind::kBool && !flag.value &&
           (at_ >= words_.size() || LooksLikeFlag(words_[at_]));
  }

  Status TakeParam(const ParamInfo& param, const FlagWord& flag) {
    if (param.kind == ParamKind::kBool && !flag.value) {
      args_[param.name] = true;
      return {};
    }
    NL_ASSIGN(const std::string text, TakeValue(flag, words_, at_));
    NL_ASSIGN(Json value, ValueFromText(param, flag.name, text));
    if (param.repeated) {
      args_[param.name].push_back(std::move(value));
      return flag.value || !params_.empty() ? Status() : TakeMore(param, flag);
    }
    if (args_.contains(param.name) && param.kind != ParamKind::kBool) {
      return InvalidInput(fmt::format("{} is given twice", flag.name));
    }
    args_[param.name] = std::move(value);
    return {};
  }

  // Without positionals a bare word can only belong to the list before it: --candidate A B C.
  Status TakeMore(const ParamInfo& param, const FlagWord& flag) {
    while (at_ < words_.size() && !LooksLikeFlag(words_[at_])) {
      NL_ASSIGN(Json value, ValueFromText(param, flag.name, words_[at_++]));
      args_[param.name].push_back(std::move(value));
    }
    return {};
  }

  // Of two lists, the words before the first "--" are the first one's.
  Status AssignPositionals() {
    size_t needed = 0;
    for (const ParamInfo* param : params_) needed += param->required ? 1 : 0;
    if (lists_ && !divided_at_ && positionals_.size() > needed)
      return Misuse("two lists need -- between them");
    if (!divided_at_) return Assign(params_, positionals_);
    const auto list =
        std::find_if(params_.begin(), params_.end(), [](const ParamInfo* p) { return p->repeated; });
    const auto middle = positionals_.begin() + static_cast<std::ptrdiff_t>(*divided_at_);
    NL_TRY(Assign({params_.begin(), list + 1}, {positionals_.begin(), middle}));
    return Assign({list + 1, params_.end()}, {middle, positionals_.end()});
  }

  // Every required parameter gets one word; what is left over goes, from left to
  // right, to the optional ones, and all of it to the first that is repeated.
  Status Assign(const std::vector<const ParamInfo*>& params, const Words& words) {
    size_t needed = 0;
    for (const ParamInfo* param : params) needed += param->required ? 1 : 0;
    size_t spare = words.size() > needed ? words.size() - needed : 0;
    size_t next = 0;
    for (const ParamInfo* param : params) {
      size_t count = param->required ? 1 : 0;
      if (param->repeated) {
        count += std::exchange(spare, 0);
      } else if (!param->required && spare > 0) {
        --spare;
        count = 1;
      }
      for (; count > 0; --count) {
        if (next == words.size()) return Misuse(fmt::format("{} is missing", Shown(*param)));
        NL_ASSIGN(Json value, ValueFromText(*param, Shown(*param), words[next++]));
        if (param->repeated) {
          args_[param->name].push_back(std::move(value));
        } else {
          args_[param->name] = std::move(value);
        }
      }
    }
    if (next < words.size()) return Misuse(fmt::format("unexpected argument '{}'", words[next]));
    return {};
  }

  const CommandInfo& command_;
  const Words& words_;
  GlobalOptions& options_;
  size_t at_ = 0;
  std::vector<const ParamInfo*> params_;  // the positional ones
  bool lists_ = false;
  std::optional<size_t> divided_at_;
  Words positionals_;
  Json args_ = Json::object();
};

}  // namespace

Result<CommandWords> ParseLeading(const std::vector<std::string>& words, GlobalOptions& options) {
  CommandWords out;
  size_t at = 0;
  while (at < words.size()) {
    const std::string& word = words[at++];
    if (!LooksLikeFlag(word)) {
      out.command = word;
      break;
    }
    const FlagWord flag(word);
    const GlobalFlag* global = FindGlobal(flag.name);
    if (global == nullptr) return UnknownFlag(flag.name, {}, "neurolens --help");
    NL_TRY(ApplyGlobal(*global, flag, words, at, options));
  }
  out.rest.assign(words.begin() + static_cast<std::ptrdiff_t>(at), words.end());
  return out;
}

Result<Json> ParseParams(const CommandInfo& command, const std::vector<std::string>& words,
                         GlobalOptions& options) {
  return ParamParser(command, words, options).Parse();
}

}  // namespace nl
