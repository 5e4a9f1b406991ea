// SPDX-License-Identifier: Apache-2.0
#pragma once
// HttpClient: requests to a NeuroLens server, HTTP/1.1 over one connection that is kept, with TLS where the
// URL says https. Small on purpose: it knows what our server sends (and chunked bodies, as proxies do),
// follows no redirects and keeps no cookies. Certificates are checked with those that the system trusts;
// SSL_CERT_FILE and SSL_CERT_DIR change that, as with every program that uses OpenSSL. Thread rule: one
// thread at a time. Ownership: closes its connection.

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/file_ops.h"
#include "base/result.h"

struct ssl_ctx_st;
struct ssl_st;

namespace nl::remote {

struct Url {
  bool tls = false;
  std::string host;
  std::string port;
  std::string prefix;  // of every path, such as "/neurolens"; empty: none
  std::string Text() const;
};
// "http://HOST[:PORT][/PREFIX]", or with https. InvalidInput for anything else.
Result<Url> ParseUrl(std::string_view text);

// As it may stand in the query of a URL.
std::string PercentEncoded(std::string_view text);

struct HttpRequest {
  std::string method = "GET";
  std::string path;  // with its query, after the prefix
  std::vector<std::pair<std::string, std::string>> headers{};
  std::string_view body{};
  std::chrono::milliseconds patience{20'000};  // for each step without a byte
};

struct HttpAnswer {
  int status = 0;
  std::vector<std::pair<std::string, std::string>> headers;  // names in lower case
  std::string body;
  std::string_view Header(std::string_view name) const;
  bool ok() const { return status >= 200 && status < 300; }
};

// What a problem document says, as the error that the server had; or the status, where it is not one.
Error ErrorOf(const HttpAnswer& answer);

class HttpClient {
 public:
  // `token`: sent as Authorization: Bearer; empty: none. A request ends early when `cancelled` is set.
  HttpClient(Url url, std::string token, const std::atomic<bool>* cancelled = nullptr);
  ~HttpClient();
  HttpClient(const HttpClient&) = delete;
  HttpClient& operator=(const HttpClient&) = delete;

  // Any answer of the server is one; Io when there is none. A kept connection that the server closed
  // meanwhile is made again, once.
  Result<HttpAnswer> Send(const HttpRequest& request);
  const Url& url() const { return url_; }

 private:
  struct FreeSsl {
    void operator()(ssl_st* ssl) const;
    void operator()(ssl_ctx_st* context) const;
  };
  Status Connect(std::chrono::milliseconds patience);
  Status ConnectTls(std::chrono::milliseconds patience);
  void Close();
  Result<HttpAnswer> Exchange(const HttpRequest& request, bool& nothing_came);
  Status Write(std::string_view bytes, std::chrono::milliseconds patience);
  // Adds what comes to `buffer_`; false at the end of the connection.
  Result<bool> Read(std::chrono::milliseconds patience);
  Result<std::string> ReadBytes(size_t bytes, std::chrono::milliseconds patience);
  Result<std::string> ReadLine(std::chrono::milliseconds patience);
  Result<std::string> ReadBody(const HttpAnswer& answer, std::chrono::milliseconds patience);
  Status Wait(bool to_write, std::chrono::milliseconds patience) const;

  const Url url_;
  const std::string token_;
  const std::atomic<bool>* const cancelled_;
  UniqueFd socket_;
  std::unique_ptr<ssl_ctx_st, FreeSsl> context_;
  std::unique_ptr<ssl_st, FreeSsl> ssl_;
  std::string buffer_;  // what came and was not used yet
};

}  // namespace nl::remote
