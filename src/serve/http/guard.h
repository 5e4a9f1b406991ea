// SPDX-License-Identifier: Apache-2.0
#pragma once
// Who may ask: where the server listens, and whether a request comes from a page of another site.
// A page of another site can make a browser send requests to this machine. It cannot choose the Host header
// (which stays the name it was loaded from, also when that name now resolves to 127.0.0.1), nor hide the
// Origin header. Thread rule: pure functions.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "serve/http/message.h"

namespace nl::http {

struct ListenAddress {
  std::string host;  // without brackets
  uint16_t port = 0;
  bool tls = false;
  bool is_loopback() const;
  std::string Url() const;  // "http://127.0.0.1:7070"
};

// "127.0.0.1:7070", "[::1]:0", "localhost:7070".
Result<ListenAddress> ParseListen(std::string_view text);

// How clients reach the server.
struct Exposure {
  ListenAddress address;
  bool behind_proxy = false;  // a proxy does TLS
  bool proxy_auth = false;    // and knows who asks
  std::vector<std::string> allowed_hosts;

  // No one is let in without a login or a token, whether there are accounts or not.
  bool needs_login() const { return !proxy_auth && (behind_proxy || !address.is_loopback()); }
};

// Refuses an address that other machines can reach without TLS, or without any account that could log in.
Status CheckExposure(const Exposure& exposure, bool has_accounts);

// The refusal of a request with a wrong Host or, for one with side effects, a wrong Origin.
std::optional<Response> CheckOrigin(const Request& request, const Exposure& exposure);

}  // namespace nl::http
