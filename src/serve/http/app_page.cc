// SPDX-License-Identifier: Apache-2.0
#include "serve/http/app_page.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/terminal.h"
#include "serve/http/content.h"
#include "serve/http/problem.h"

// The built files, the assets packed with gzip; all empty when the build had no Node.js.
namespace nl::embedded {
extern const std::string_view kAppPage, kAppScript, kAppStyle;
}

namespace nl::http {

namespace {

constexpr std::string_view kViews[] = {"",      "runs", "compare", "trends", "sql",
                                       "bench", "live", "system",  "login"};
constexpr std::string_view kNoApp =
    "<!doctype html>\n<html lang=\"en\"><meta charset=\"utf-8\"><title>NeuroLens</title>\n"
    "<p>This build has no web application: Node.js or npm was missing when it was built.\n"
    "<p><a href=\"/docs\">/docs</a> lists the operations that this server offers.\n</html>\n";

}  // namespace

bool IsAppPath(std::string_view path) {
  if (path.empty() || path.front() != '/') return false;
  path.remove_prefix(1);
  const std::string_view first = path.substr(0, path.find('/'));
  if (first.empty() && !path.empty()) return false;
  return std::find(std::begin(kViews), std::end(kViews), first) != std::end(kViews);
}

Response AppPage() {
  Response out;
  out.content_type = "text/html; charset=utf-8";
  out.body = embedded::kAppPage.empty() ? kNoApp : embedded::kAppPage;
  out.headers.emplace_back("Cache-Control", "no-cache");
  return out;
}

Response AppAsset(const Request& request, std::string_view path) {
  const bool is_script = path.ends_with(".js");
  const bool named = embedded::kAppPage.find(fmt::format("\"{}\"", path)) != std::string_view::npos;
  if (!named || (!is_script && !path.ends_with(".css"))) {
    return ProblemOf(NotFound(fmt::format("there is nothing at {}", PrintableName(path, 80)))
                         .Hint("load the page again: the server has another version of it"));
  }
  const std::string_view packed = is_script ? embedded::kAppScript : embedded::kAppStyle;
  Response out;
  out.content_type = is_script ? "text/javascript; charset=utf-8" : "text/css; charset=utf-8";
  out.headers.emplace_back("Cache-Control", "public, max-age=31536000, immutable");
  out.headers.emplace_back("Vary", "Accept-Encoding");
  if (AcceptsGzip(request.Header("accept-encoding"))) {
    out.body = packed;
    out.headers.emplace_back("Content-Encoding", "gzip");
    return out;
  }
  out.body = Gunzipped(packed);
  return out;
}

}  // namespace nl::http
