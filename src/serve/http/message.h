// SPDX-License-Identifier: Apache-2.0
#pragma once
// A request and a response of HTTP, apart from how they travel (serve/http/server.h).
// Thread rule: plain values.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "serve/auth/identity.h"

namespace nl::http {

using Fields = std::vector<std::pair<std::string, std::string>>;

struct Request {
  std::string method;  // "GET"
  std::string target;  // as sent: path and query
  Fields headers;      // names in lower case
  std::string body;
  std::string client;       // address of the other side
  std::string route;        // what metrics call it; filled when the header is read
  auth::Identity identity;  // filled with it

  // The first header of this lower-case name; empty when there is none.
  std::string_view Header(std::string_view name) const;
};

// A body that is read from a file while it is sent.
struct FileBody {
  int file = -1;
  int64_t bytes = 0;
  std::shared_ptr<const void> owner;  // of the descriptor
};

struct Response {
  int status = 200;
  std::string content_type = "application/json";
  std::string body;
  Fields headers;
  std::optional<FileBody> file{};  // instead of `body`
};

// What headers may hold: printable ASCII, so that a value cannot begin another header.
bool IsHeaderValue(std::string_view value);

std::string_view Trimmed(std::string_view text);  // without blanks and tabs at its ends

std::string_view ReasonOf(int status);  // "Not Found"

std::string HttpDate();  // now, as the header Date has it

// Status line and headers of a response, without those about its length and its connection.
std::string HeadText(const Response& response, std::string_view date, bool has_tls);

}  // namespace nl::http
