// SPDX-License-Identifier: Apache-2.0
#pragma once
// What must not be stored: values whose name looks like a secret, in headers, environments and command lines,
// and what is written inside a URL. A value becomes kNotStored; its name stays. Thread rule: pure functions.

#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"

namespace nl {

inline constexpr std::string_view kNotStored = "[not stored]";

bool LooksSecret(std::string_view name);

// Each adds the names of what it hid to `hidden`.
// "--api-key=V", "--token V", "PASSWORD=V", "https://user:V@host/?token=V", and what begins as well-known
// tokens do.
void HideSecretArguments(std::vector<std::string>& arguments, std::vector<std::string>& hidden);
// Members whose name looks like a secret and texts as above, at any depth. A list of texts, or a text that is
// such a list in JSON, is read as a command line.
void HideSecrets(Json& json, std::vector<std::string>& hidden);

}  // namespace nl
