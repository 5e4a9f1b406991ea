// SPDX-License-Identifier: Apache-2.0
#pragma once
// Text of any origin inside an XML attribute or element.
// Thread rule: pure function.

#include <string>
#include <string_view>

namespace nl {

// Control characters made visible, what XML gives a meaning escaped; lines are kept.
std::string XmlText(std::string_view text);

}  // namespace nl
