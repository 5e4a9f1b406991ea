// SPDX-License-Identifier: Apache-2.0
#include "base/secrets.h"

#include <algorithm>
#include <cctype>

#include "base/json.h"

namespace nl {

namespace {

constexpr std::string_view kWords[] = {"TOKEN",       "SECRET",      "PASSWORD",   "PASSWD",
                                       "API_KEY",     "APIKEY",      "API-KEY",    "CREDENTIAL",
                                       "PRIVATE_KEY", "PRIVATE-KEY", "ACCESS_KEY", "ACCESS-KEY"};
// Options of language models and their servers that speak of tokens of text, and names of packages.
constexpr std::string_view kTextTokens[] = {"TOKENS",    "TOKENIZ",   "TOKEN_ID", "TOKEN-ID",
                                            "TOKEN_LEN", "TOKEN-LEN", "TIKTOKEN", "SECRETSTORAGE"};
// How tokens of well-known services begin.
constexpr std::string_view kTokenStarts[] = {"hf_",         "sk-",    "ghp_",  "gho_",
                                             "github_pat_", "glpat-", "xoxb-", "AKIA"};
constexpr size_t kShortestToken = 16;

bool Has(std::string_view text, std::string_view word) { return text.find(word) != std::string_view::npos; }

// user:password@ and ?token=... of the URL in `text`.
void HideInUrl(std::string& text, std::vector<std::string>& hidden) {
  const size_t scheme = text.find("://");
  if (scheme == std::string::npos) return;
  const size_t host = scheme + 3;
  const size_t at = text.find('@', host), slash = text.find('/', host), colon = text.find(':', host);
  if (at != std::string::npos && (slash == std::string::npos || at < slash) && colon < at) {
    text.replace(colon + 1, at - colon - 1, kNotStored);
    hidden.emplace_back("password of a URL");
  }
  for (size_t from = text.find('?'); from != std::string::npos; from = text.find('&', from)) {
    ++from;
    const size_t end = std::min(text.find('&', from), text.size()), equals = text.find('=', from);
    if (equals == std::string::npos || equals >= end) continue;
    const std::string name = text.substr(from, equals - from);
    if (!LooksSecret(name)) continue;
    text.replace(equals + 1, end - equals - 1, kNotStored);
    hidden.push_back(name);
  }
}

// One argument by itself; true when its value is the next one.
bool HideInArgument(std::string& text, std::vector<std::string>& hidden) {
  const size_t equals = text.find('='), space = text.find_first_of(" \t\n");
  const bool option = text.starts_with('-');
  if (equals != std::string::npos && equals < space) {
    const std::string name = text.substr(0, equals);
    if (!Has(name, "://") && LooksSecret(name) && equals + 1 < text.size()) {
      text.replace(equals + 1, std::string::npos, kNotStored);
      hidden.push_back(name);
      return false;
    }
  } else if (option && space == std::string::npos && LooksSecret(text)) {
    return true;
  }
  const std::string_view value =
      equals == std::string::npos ? std::string_view(text) : std::string_view(text).substr(equals + 1);
  for (const std::string_view start : kTokenStarts) {
    if (!value.starts_with(start) || value.size() < kShortestToken ||
        value.find_first_of(" /.") != std::string_view::npos)
      continue;
    hidden.push_back(std::string(start) + "...");
    text.replace(text.size() - value.size(), std::string::npos, kNotStored);
    return false;
  }
  HideInUrl(text, hidden);
  return false;
}

bool IsListOfTexts(const Json& json) {
  return json.is_array() && !json.empty() &&
         std::all_of(json.begin(), json.end(), [](const Json& v) { return v.is_string(); });
}

void HideInList(Json& list, std::vector<std::string>& hidden) {
  auto arguments = list.get<std::vector<std::string>>();
  HideSecretArguments(arguments, hidden);
  list = arguments;
}

void HideInText(Json& json, std::vector<std::string>& hidden) {
  auto& text = json.get_ref<std::string&>();
  if (text.starts_with("[\"")) {
    Result<Json> list = ParseJson(text);
    if (list.ok() && IsListOfTexts(*list)) {
      const size_t before = hidden.size();
      HideInList(*list, hidden);
      if (hidden.size() > before) text = DumpJson(*list);
      return;
    }
  }
  HideInArgument(text, hidden);
}

}  // namespace

bool LooksSecret(std::string_view name) {
  std::string upper(name);
  std::transform(upper.begin(), upper.end(), upper.begin(), [](unsigned char c) { return std::toupper(c); });
  if (std::any_of(std::begin(kTextTokens), std::end(kTextTokens),
                  [&](std::string_view w) { return Has(upper, w); }))
    return false;
  return std::any_of(std::begin(kWords), std::end(kWords), [&](std::string_view w) { return Has(upper, w); });
}

void HideSecretArguments(std::vector<std::string>& arguments, std::vector<std::string>& hidden) {
  for (size_t i = 0; i < arguments.size(); ++i) {
    const std::string name = arguments[i];
    if (!HideInArgument(arguments[i], hidden) || i + 1 == arguments.size() ||
        arguments[i + 1].starts_with('-'))
      continue;
    arguments[++i] = kNotStored;
    hidden.push_back(name);
  }
}

void HideSecrets(Json& json, std::vector<std::string>& hidden) {
  if (IsListOfTexts(json)) return HideInList(json, hidden);
  if (json.is_string()) return HideInText(json, hidden);
  if (json.is_array()) {
    for (Json& value : json) HideSecrets(value, hidden);
  }
  if (!json.is_object()) return;
  for (auto& [key, value] : json.items()) {
    if (LooksSecret(key) && value.is_string() && !value.get_ref<const std::string&>().empty()) {
      value = kNotStored;
      hidden.push_back(key);
    } else {
      HideSecrets(value, hidden);
    }
  }
}

}  // namespace nl
