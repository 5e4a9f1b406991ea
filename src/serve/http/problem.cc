// SPDX-License-Identifier: Apache-2.0
#include "serve/http/problem.h"

#include <fmt/format.h>

namespace nl::http {

int StatusOf(ErrorCode code) {
  switch (code) {
    case ErrorCode::kInvalidInput: return 400;
    case ErrorCode::kUnsupported: return 422;
    case ErrorCode::kNotFound: return 404;
    case ErrorCode::kForbidden: return 403;
    case ErrorCode::kLimit: return 422;
    case ErrorCode::kCancelled: return 503;
    case ErrorCode::kIo:
    case ErrorCode::kInternal: return 500;
  }
  return 500;
}

Response ProblemOf(int status, const Error& error) {
  Json document{{"type", fmt::format("urn:neurolens:problem:{}", ErrorCodeName(error.code))},
                {"title", ReasonOf(status)},
                {"status", status},
                {"detail", error.message},
                {"code", ErrorCodeName(error.code)},
                {"file", TextOrNull(error.file)},
                {"byte_offset", error.byte_offset < 0 ? Json() : Json(error.byte_offset)},
                {"hint", TextOrNull(error.hint)}};
  Response out;
  out.status = status;
  out.content_type = kProblemType;
  out.body = DumpJson(document, 2) + "\n";
  return out;
}

Response BusyProblem(std::string_view message) {
  Response out = ProblemOf(503, Limit(std::string(message)));
  out.headers.emplace_back("Retry-After", "1");
  return out;
}

Json ProblemSchema() {
  const auto text = [](const char* about) { return Json{{"type", "string"}, {"description", about}}; };
  const auto text_or_null = [](const char* about) {
    return Json{{"type", Json::array({"string", "null"})}, {"description", about}};
  };
  const Json properties{
      {"type", text("Identifies the kind of problem: urn:neurolens:problem: and the code")},
      {"title", text("Reason phrase of the status")},
      {"status", {{"type", "integer"}, {"description", "Status of HTTP"}}},
      {"detail", text("What failed, and why")},
      {"code", text("Code of the error, as the command line gives it with --json")},
      {"file", text_or_null("The input at fault")},
      {"byte_offset", {{"type", Json::array({"integer", "null"})}, {"description", "Where in that input"}}},
      {"hint", text_or_null("What to do")}};
  Json required = Json::array();
  for (const auto& [name, schema] : properties.items()) required.push_back(name);
  return Json{{"type", "object"}, {"properties", properties}, {"required", required}};
}

}  // namespace nl::http
