// SPDX-License-Identifier: Apache-2.0
#include "ops/settings_file.h"

#include <algorithm>
#include <fstream>
#include <sstream>

#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

namespace nl {

namespace {

// No sane settings file is larger; a huge one would only cost memory.
constexpr size_t kMaxFileBytes = 1 << 20;

Error Wrong(const std::string& path, int line, std::string_view what) {
  return InvalidInput(fmt::format("{}:{}: {}", path, line, what));
}

Result<std::vector<FileSetting>> Flatten(const YAML::Node& root, const std::string& path) {
  std::vector<FileSetting> settings;
  if (!root.IsDefined() || root.IsNull()) return settings;
  if (!root.IsMap()) return Wrong(path, root.Mark().line + 1, "expected lines of the form 'key: value'");
  for (const auto& item : root) {
    const int line = item.first.Mark().line + 1;
    if (!item.first.IsScalar()) return Wrong(path, line, "a setting's name must be a plain word");
    const std::string key = item.first.Scalar();
    if (!item.second.IsScalar() && !item.second.IsNull()) {
      return Wrong(path, line, fmt::format("'{}' must be a single value, not a list or a mapping", key));
    }
    const auto same = [&](const FileSetting& s) { return s.key == key; };
    if (std::any_of(settings.begin(), settings.end(), same)) {
      return Wrong(path, line, fmt::format("'{}' is set twice in this file", key));
    }
    settings.push_back({key, item.second.IsNull() ? "" : item.second.Scalar(), line});
  }
  return settings;
}

}  // namespace

Result<std::vector<FileSetting>> ReadSettingsFile(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) return IoError(fmt::format("cannot open the settings file {}", path));
  std::string text(kMaxFileBytes + 1, '\0');
  in.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (in.bad()) return IoError(fmt::format("cannot read the settings file {}", path));
  text.resize(static_cast<size_t>(in.gcount()));
  if (text.size() > kMaxFileBytes) return Wrong(path, 1, "larger than 1 MB: not a settings file");
  try {
    return Flatten(YAML::Load(text), path);
  } catch (const YAML::Exception& e) {
    return Wrong(path, e.mark.line + 1, "not valid YAML: " + e.msg);
  }
}

}  // namespace nl
