// SPDX-License-Identifier: Apache-2.0
#include "serve/http/guard.h"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

#include "base/terminal.h"
#include "serve/http/problem.h"

namespace nl::http {

namespace {

// "localhost:7070" is "localhost"; "[::1]:7070" is "::1".
std::string HostName(std::string_view authority) {
  const size_t bracket = authority.find(']');
  if (!authority.empty() && authority.front() == '[' && bracket != std::string_view::npos)
    return LowerCase(authority.substr(1, bracket - 1));
  return LowerCase(authority.substr(0, authority.find(':')));
}

bool IsLoopbackName(std::string_view host) {
  if (host == "localhost" || host == "::1") return true;
  return host.rfind("127.", 0) == 0 && host.find_first_not_of("0123456789.") == std::string_view::npos;
}

}  // namespace

bool ListenAddress::is_loopback() const { return IsLoopbackName(host); }

std::string ListenAddress::Url() const {
  return host.find(':') == std::string::npos ? fmt::format("http://{}:{}", host, port)
                                             : fmt::format("http://[{}]:{}", host, port);
}

Result<ListenAddress> ParseListen(std::string_view text) {
  const auto bad = [&] {
    return InvalidInput(fmt::format("'{}' is not an address to listen on", PrintableName(text, 80)))
        .Hint("write ADDRESS:PORT, for example 127.0.0.1:7070 or [::1]:7070");
  };
  const size_t colon = text.rfind(':');
  if (colon == std::string_view::npos || colon == 0) return bad();
  std::string_view host = text.substr(0, colon);
  const std::string_view digits = text.substr(colon + 1);
  if (host.front() == '[' && host.back() == ']') {
    host = host.substr(1, host.size() - 2);
  } else if (host.find(':') != std::string_view::npos) {
    return bad();
  }
  ListenAddress out;
  out.host = LowerCase(host);
  const auto [stop, error] = std::from_chars(digits.data(), digits.data() + digits.size(), out.port);
  if (error != std::errc() || stop != digits.data() + digits.size() || digits.empty()) return bad();
  return out;
}

Status CheckListen(const ListenAddress& address, bool behind_proxy) {
  if (address.is_loopback() || behind_proxy) return {};
  return InvalidInput(
             fmt::format("cannot listen on {}: other machines can reach it, and this version has neither "
                         "logins nor TLS yet",
                         address.host))
      .Hint(
          "listen on 127.0.0.1 and use an SSH tunnel, or give --behind-proxy when a proxy does TLS and "
          "logins");
}

std::optional<Response> CheckOrigin(const Request& request, const ListenAddress& address, bool behind_proxy) {
  const std::string_view host = request.Header("host");
  const std::string name = HostName(host);
  if (!behind_proxy && !IsLoopbackName(name) && name != address.host) {
    return ProblemOf(421, InvalidInput(fmt::format("the server does not answer for the host '{}'",
                                                   PrintableName(name, 80)))
                              .Hint(fmt::format("open {}", address.Url())));
  }
  const std::string_view origin = request.Header("origin");
  const bool reads = request.method == "GET" || request.method == "HEAD";
  if (reads || origin.empty()) return std::nullopt;
  const size_t scheme = origin.find("://");
  const std::string from = scheme == std::string_view::npos ? "" : LowerCase(origin.substr(scheme + 3));
  if (from == LowerCase(host)) return std::nullopt;
  return ProblemOf(
      403, InvalidInput(fmt::format("a page of {} must not change this store", PrintableName(origin, 80))));
}

}  // namespace nl::http
