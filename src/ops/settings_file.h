// SPDX-License-Identifier: Apache-2.0
#pragma once
// Reads one YAML settings file into flat key, value, line triples. The only place
// that touches yaml-cpp for settings, and where its exceptions end.

#include <string>
#include <vector>

#include "base/result.h"

namespace nl {

struct FileSetting {
  std::string key;
  std::string value;
  int line = 0;  // from 1
};

// InvalidInput ("path:line: ...") for anything but a mapping of names to single values;
// Io when the file cannot be read. An empty file has no settings.
Result<std::vector<FileSetting>> ReadSettingsFile(const std::string& path);

}  // namespace nl
