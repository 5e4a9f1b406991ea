// SPDX-License-Identifier: Apache-2.0
#pragma once
// The web application (web/src/app) as it was built into the program: a page, and the script and style it
// names. Thread rule: pure functions over constant bytes.

#include <string_view>

#include "serve/http/message.h"

namespace nl::http {

// Is this path (without query) a view of the application? All of them are answered with the same page.
bool IsAppPath(std::string_view path);

// The page. A build without Node.js has none and answers with one that says so.
Response AppPage();

// The script or style at this path. Its name has a hash of its bytes, so it is cached for good; a name that
// the page does not contain is not found.
Response AppAsset(const Request& request, std::string_view path);

}  // namespace nl::http
