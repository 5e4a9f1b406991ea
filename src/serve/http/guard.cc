// SPDX-License-Identifier: Apache-2.0
#include "serve/http/guard.h"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

#include "base/ascii.h"
#include "base/terminal.h"
#include "serve/http/problem.h"

namespace nl::http {

namespace {

// "localhost:7070" is "localhost"; "[::1]:7070" is "::1".
std::string HostName(std::string_view authority) {
  const size_t bracket = authority.find(']');
  if (!authority.empty() && authority.front() == '[' && bracket != std::string_view::npos)
    return ToLower(authority.substr(1, bracket - 1));
  return ToLower(authority.substr(0, authority.find(':')));
}

bool IsLoopbackName(std::string_view host) {
  if (host == "localhost" || host == "::1") return true;
  return host.rfind("127.", 0) == 0 && host.find_first_not_of("0123456789.") == std::string_view::npos;
}

// A name can be made to resolve to this machine; the digits of an address cannot.
bool IsAddressText(std::string_view host) {
  return !host.empty() && (host.find_first_not_of("0123456789.") == std::string_view::npos ||
                           (host.find(':') != std::string_view::npos &&
                            host.find_first_not_of("0123456789abcdef:.") == std::string_view::npos));
}

bool IsOwnHost(const std::string& name, const Exposure& exposure) {
  const auto& allowed = exposure.allowed_hosts;
  if (std::find(allowed.begin(), allowed.end(), name) != allowed.end()) return true;
  if (exposure.behind_proxy) return allowed.empty();
  if (IsLoopbackName(name) || name == exposure.address.host) return true;
  return !exposure.address.is_loopback() && IsAddressText(name);
}

}  // namespace

bool ListenAddress::is_loopback() const { return IsLoopbackName(host); }

std::string ListenAddress::Url() const {
  const char* scheme = tls ? "https" : "http";
  return host.find(':') == std::string::npos ? fmt::format("{}://{}:{}", scheme, host, port)
                                             : fmt::format("{}://[{}]:{}", scheme, host, port);
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
  out.host = ToLower(host);
  const auto [stop, error] = std::from_chars(digits.data(), digits.data() + digits.size(), out.port);
  if (error != std::errc() || stop != digits.data() + digits.size() || digits.empty()) return bad();
  return out;
}

Status CheckExposure(const Exposure& exposure, bool has_accounts) {
  const ListenAddress& address = exposure.address;
  if (exposure.proxy_auth && !exposure.behind_proxy)
    return InvalidInput("--proxy-auth needs --behind-proxy: only a proxy can know who asks");
  if (!address.is_loopback() && !address.tls && !exposure.behind_proxy) {
    return InvalidInput(
               fmt::format("cannot listen on {} without TLS: other machines can reach it", address.host))
        .Hint(
            "give --tls-cert and --tls-key, or --behind-proxy when a proxy does TLS; or listen on 127.0.0.1 "
            "and use an SSH tunnel");
  }
  if (!exposure.needs_login() || has_accounts) return {};
  return InvalidInput("other machines can reach the server, and the store has no user and no token")
      .Hint(
          "add one: neurolens auth add-user NAME, or neurolens auth token-add NAME; --proxy-auth when a "
          "proxy "
          "does the logins");
}

std::optional<Response> CheckOrigin(const Request& request, const Exposure& exposure) {
  const std::string_view host = request.Header("host");
  const std::string name = HostName(host);
  if (!IsOwnHost(name, exposure)) {
    return ProblemOf(
        421,
        InvalidInput(fmt::format("the server does not answer for the host '{}'", PrintableName(name, 80)))
            .Hint(fmt::format("open {}, or start the server with --allow-host", exposure.address.Url())));
  }
  const std::string_view origin = request.Header("origin");
  const bool reads = request.method == "GET" || request.method == "HEAD";
  if (reads || origin.empty()) return std::nullopt;
  const size_t end = origin.find("://");
  const std::string scheme = end == std::string_view::npos ? "" : ToLower(origin.substr(0, end));
  const std::string from = end == std::string_view::npos ? "" : ToLower(origin.substr(end + 3));
  // Which of the two a proxy speaks with its clients is not known here.
  const bool same_scheme = exposure.behind_proxy || scheme == (exposure.address.tls ? "https" : "http");
  if (from == ToLower(host) && same_scheme) return std::nullopt;
  return ProblemOf(
      403, InvalidInput(fmt::format("a page of {} must not change this store", PrintableName(origin, 80))));
}

}  // namespace nl::http
