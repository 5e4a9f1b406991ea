// SPDX-License-Identifier: Apache-2.0
#include "remote/http_client.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>

#include <fmt/format.h>

#include "base/ascii.h"
#include "base/json.h"
#include "base/terminal.h"
#include "base/version.h"

namespace nl::remote {

namespace {

using std::chrono::milliseconds;

constexpr size_t kMostHeaderBytes = 64 << 10, kMostBodyBytes = 64 << 20, kReadBytes = 64 << 10;
constexpr milliseconds kLookForCancel{100};

std::string_view TrimmedOf(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t' || text.back() == '\r'))
    text.remove_suffix(1);
  return text;
}

bool IsAddress(const std::string& host) {
  in6_addr bytes{};
  return inet_pton(AF_INET, host.c_str(), &bytes) == 1 || inet_pton(AF_INET6, host.c_str(), &bytes) == 1;
}

std::string HostAndPort(const Url& url) {
  const bool brackets = url.host.find(':') != std::string::npos;
  return fmt::format("{}{}{}:{}", brackets ? "[" : "", url.host, brackets ? "]" : "", url.port);
}

Error Broken(const Url& url, std::string_view why) {
  return IoError(fmt::format("{} does not answer as a server should: {}", url.Text(), why), 0);
}

std::string SslReason(const ssl_st* ssl) {
  if (const long verify = SSL_get_verify_result(ssl); verify != X509_V_OK)  // NOLINT: the type of OpenSSL
    return X509_verify_cert_error_string(verify);
  const char* reason = ERR_reason_error_string(ERR_peek_error());
  ERR_clear_error();
  return reason != nullptr ? reason : "the connection ended";
}

}  // namespace

std::string Url::Text() const {
  return fmt::format("{}://{}{}", tls ? "https" : "http", HostAndPort(*this), prefix);
}

Result<Url> ParseUrl(std::string_view text) {
  const Error bad = InvalidInput(fmt::format("'{}' is not the address of a server", PrintableName(text, 200)))
                        .Hint("write it as http://HOST:PORT or https://HOST:PORT");
  Url out;
  constexpr std::string_view kPlain = "http://", kTls = "https://";
  std::string_view rest = text;
  if (rest.starts_with(kTls)) {
    out.tls = true;
    rest.remove_prefix(kTls.size());
  } else if (rest.starts_with(kPlain)) {
    rest.remove_prefix(kPlain.size());
  } else {
    return bad;
  }
  const size_t slash = rest.find('/');
  std::string_view place = rest.substr(0, slash);
  if (slash != std::string_view::npos) out.prefix = rest.substr(slash);
  while (out.prefix.ends_with('/')) out.prefix.pop_back();
  out.port = out.tls ? "443" : "80";
  if (place.starts_with('[')) {
    const size_t end = place.find(']');
    if (end == std::string_view::npos) return bad;
    out.host = place.substr(1, end - 1);
    place.remove_prefix(end + 1);
  } else {
    const size_t colon = place.find(':');
    out.host = place.substr(0, colon);
    place = colon == std::string_view::npos ? "" : place.substr(colon);
  }
  if (!place.empty()) {
    int port = 0;
    const auto [end, error] = std::from_chars(place.data() + 1, place.data() + place.size(), port);
    if (place[0] != ':' || error != std::errc() || end != place.data() + place.size() || port < 1 ||
        port > 65535)
      return bad;
    out.port = std::to_string(port);
  }
  const auto is_bad = [](char c) {
    return static_cast<unsigned char>(c) <= ' ' || c == '@' || c == '?' || c == '#';
  };
  if (out.host.empty() || std::any_of(text.begin(), text.end(), is_bad)) return bad;
  return out;
}

std::string PercentEncoded(std::string_view text) {
  constexpr std::string_view kPlain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~";
  std::string out;
  for (const char c : text) {
    if (kPlain.find(c) != std::string_view::npos) {
      out += c;
    } else {
      out += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    }
  }
  return out;
}

std::string_view HttpAnswer::Header(std::string_view name) const {
  for (const auto& [key, value] : headers) {
    if (key == name) return value;
  }
  return "";
}

Error ErrorOf(const HttpAnswer& answer) {
  const Result<Json> document = ParseJson(answer.body);
  const auto text = [&](const char* name) -> std::string {
    const bool has = document.ok() && document->is_object() && document->contains(name);
    return has && (*document)[name].is_string() ? PrintableText((*document)[name].get<std::string>()) : "";
  };
  Error out = answer.status == 404   ? NotFound("")
              : answer.status == 503 ? Limit("")
              : answer.status >= 500 ? IoError("", 0)
                                     : InvalidInput("");
  const std::string detail = text("detail");
  out.message = detail.empty() ? fmt::format("the server answers with status {}", answer.status) : detail;
  out.hint = text("hint");
  return out;
}

void HttpClient::FreeSsl::operator()(ssl_st* ssl) const { SSL_free(ssl); }
void HttpClient::FreeSsl::operator()(ssl_ctx_st* context) const { SSL_CTX_free(context); }

HttpClient::HttpClient(Url url, std::string token, const std::atomic<bool>* cancelled)
    : url_(std::move(url)), token_(std::move(token)), cancelled_(cancelled) {}

HttpClient::~HttpClient() { Close(); }

void HttpClient::Close() {
  ssl_.reset();
  socket_ = UniqueFd();
  buffer_.clear();
}

Status HttpClient::Wait(bool to_write, milliseconds patience) const {
  for (milliseconds waited{0}; waited < patience; waited += kLookForCancel) {
    if (cancelled_ != nullptr && *cancelled_) return Cancelled();
    pollfd ready{socket_.get(), static_cast<short>(to_write ? POLLOUT : POLLIN), 0};
    const int count = poll(&ready, 1, static_cast<int>(kLookForCancel.count()));
    if (count > 0) return {};
    if (count < 0 && errno != EINTR) return IoError(fmt::format("cannot reach {}", url_.Text()));
  }
  return IoError(fmt::format("{} does not answer within {} s", url_.Text(), patience.count() / 1000), 0);
}

Status HttpClient::Connect(milliseconds patience) {
  Close();
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (const int failed = getaddrinfo(url_.host.c_str(), url_.port.c_str(), &hints, &found); failed != 0)
    return IoError(fmt::format("cannot find {}: {}", url_.host, gai_strerror(failed)), 0);
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> addresses(found, freeaddrinfo);
  int reason = 0;
  for (const addrinfo* address = found; address != nullptr; address = address->ai_next) {
    socket_ = UniqueFd(socket(address->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!socket_.valid()) continue;
    if (connect(socket_.get(), address->ai_addr, address->ai_addrlen) != 0) {
      reason = errno;
      if (reason != EINPROGRESS) continue;
      NL_TRY(Wait(true, patience));
      socklen_t size = sizeof reason;
      if (getsockopt(socket_.get(), SOL_SOCKET, SO_ERROR, &reason, &size) != 0 || reason != 0) continue;
    }
    const int on = 1;
    setsockopt(socket_.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    return url_.tls ? ConnectTls(patience) : Status();
  }
  socket_ = UniqueFd();
  return IoError(fmt::format("cannot connect to {}", url_.Text()), reason);
}

Status HttpClient::ConnectTls(milliseconds patience) {
  if (!context_) {
    context_.reset(SSL_CTX_new(TLS_client_method()));
    if (!context_) return Internal("cannot prepare TLS");
    SSL_CTX_set_min_proto_version(context_.get(), TLS1_2_VERSION);
    SSL_CTX_set_verify(context_.get(), SSL_VERIFY_PEER, nullptr);
    SSL_CTX_set_default_verify_paths(context_.get());
    SSL_CTX_set_mode(context_.get(), SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  }
  ERR_clear_error();
  ssl_.reset(SSL_new(context_.get()));
  if (!ssl_) return Internal("cannot prepare TLS");
  if (IsAddress(url_.host)) {
    X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl_.get()), url_.host.c_str());
  } else {
    SSL_set1_host(ssl_.get(), url_.host.c_str());
    SSL_set_tlsext_host_name(ssl_.get(), url_.host.c_str());
  }
  SSL_set_fd(ssl_.get(), socket_.get());
  for (;;) {
    const int done = SSL_connect(ssl_.get());
    if (done == 1) return {};
    const int why = SSL_get_error(ssl_.get(), done);
    if (why != SSL_ERROR_WANT_READ && why != SSL_ERROR_WANT_WRITE) {
      // A certificate that is not trusted stays so; a broken connection may not.
      const bool not_trusted = SSL_get_verify_result(ssl_.get()) != X509_V_OK;
      const std::string message = fmt::format("TLS with {} failed: {}", url_.Text(), SslReason(ssl_.get()));
      Close();
      if (!not_trusted) return IoError(message, 0);
      return InvalidInput(message).Hint("SSL_CERT_FILE names a file of certificates to trust");
    }
    NL_TRY(Wait(why == SSL_ERROR_WANT_WRITE, patience));
  }
}

Status HttpClient::Write(std::string_view bytes, milliseconds patience) {
  while (!bytes.empty()) {
    bool to_write = true;
    ssize_t n = -1;
    if (ssl_) {
      const int done =
          SSL_write(ssl_.get(), bytes.data(), static_cast<int>(std::min<size_t>(bytes.size(), 1 << 20)));
      n = done;
      if (done <= 0) {
        const int why = SSL_get_error(ssl_.get(), done);
        if (why != SSL_ERROR_WANT_READ && why != SSL_ERROR_WANT_WRITE)
          return IoError(fmt::format("the connection to {} broke: {}", url_.Text(), SslReason(ssl_.get())),
                         0);
        to_write = why == SSL_ERROR_WANT_WRITE;
      }
    } else {
      n = send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (n < 0 && errno != EAGAIN && errno != EINTR)
        return IoError(fmt::format("the connection to {} broke", url_.Text()));
    }
    if (n > 0) {
      bytes.remove_prefix(static_cast<size_t>(n));
    } else {
      NL_TRY(Wait(to_write, patience));
    }
  }
  return {};
}

Result<bool> HttpClient::Read(milliseconds patience) {
  const size_t had = buffer_.size();
  for (;;) {
    buffer_.resize(had + kReadBytes);
    bool to_write = false;
    ssize_t n = -1;
    if (ssl_) {
      const int done = SSL_read(ssl_.get(), buffer_.data() + had, static_cast<int>(kReadBytes));
      n = done;
      if (done <= 0) {
        const int why = SSL_get_error(ssl_.get(), done);
        if (why == SSL_ERROR_ZERO_RETURN || why == SSL_ERROR_SSL || why == SSL_ERROR_SYSCALL) n = 0;
        to_write = why == SSL_ERROR_WANT_WRITE;
        ERR_clear_error();
      }
    } else {
      n = recv(socket_.get(), buffer_.data() + had, kReadBytes, 0);
      if (n < 0 && errno == ECONNRESET) n = 0;
    }
    const int reason = errno;
    buffer_.resize(had + static_cast<size_t>(std::max<ssize_t>(n, 0)));
    if (n > 0) return true;
    if (n == 0) return false;
    if (!ssl_ && reason != EAGAIN && reason != EINTR)
      return IoError(fmt::format("the connection to {} broke", url_.Text()), reason);
    NL_TRY(Wait(to_write, patience));
  }
}

Result<std::string> HttpClient::ReadLine(milliseconds patience) {
  for (;;) {
    if (const size_t end = buffer_.find('\n'); end != std::string::npos) {
      std::string line(TrimmedOf(std::string_view(buffer_).substr(0, end)));
      buffer_.erase(0, end + 1);
      return line;
    }
    if (buffer_.size() > kMostHeaderBytes) return Broken(url_, "a line of its header is too long");
    NL_ASSIGN(const bool more, Read(patience));
    if (!more) return Broken(url_, "the connection ended");
  }
}

Result<std::string> HttpClient::ReadBytes(size_t bytes, milliseconds patience) {
  if (bytes > kMostBodyBytes) return Broken(url_, "its answer is too large");
  while (buffer_.size() < bytes) {
    NL_ASSIGN(const bool more, Read(patience));
    if (!more) return Broken(url_, "the connection ended");
  }
  std::string out = buffer_.substr(0, bytes);
  buffer_.erase(0, bytes);
  return out;
}

Result<std::string> HttpClient::ReadBody(const HttpAnswer& answer, milliseconds patience) {
  if (ToLower(answer.Header("transfer-encoding")).find("chunked") == std::string::npos) {
    size_t bytes = 0;
    const std::string_view length = answer.Header("content-length");
    std::from_chars(length.data(), length.data() + length.size(), bytes);
    return ReadBytes(bytes, patience);
  }
  std::string out;
  for (;;) {
    NL_ASSIGN(const std::string line, ReadLine(patience));
    size_t bytes = 0;
    const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), bytes, 16);
    if (error != std::errc()) return Broken(url_, "the size of a chunk is not a number");
    NL_ASSIGN(const std::string chunk, ReadBytes(bytes, patience));
    out += chunk;
    if (out.size() > kMostBodyBytes) return Broken(url_, "its answer is too large");
    std::string after = "-";
    while (bytes == 0 ? !after.empty() : after == "-") {  // trailers end with an empty line
      NL_ASSIGN(after, ReadLine(patience));
    }
    if (bytes == 0) return out;
  }
}

Result<HttpAnswer> HttpClient::Exchange(const HttpRequest& request, bool& nothing_came) {
  std::string head = fmt::format("{} {}{} HTTP/1.1\r\nHost: {}\r\nUser-Agent: neurolens/{}\r\n",
                                 request.method, url_.prefix, request.path, HostAndPort(url_), kVersion);
  const bool has_body = request.method == "POST" || request.method == "PUT" || request.method == "PATCH";
  if (has_body) head += fmt::format("Content-Length: {}\r\n", request.body.size());
  if (!token_.empty()) head += fmt::format("Authorization: Bearer {}\r\n", token_);
  for (const auto& [name, value] : request.headers) head += fmt::format("{}: {}\r\n", name, value);
  nothing_came = true;
  NL_TRY(Write(head + "\r\n", request.patience));
  // A server that refuses a body may answer before it is sent; what it says is what counts.
  const Status sent = Write(request.body, request.patience);
  if (!sent.ok() && sent.error().code == ErrorCode::kCancelled) return sent.error();
  HttpAnswer out;
  for (;;) {
    Result<std::string> line = ReadLine(request.patience);
    if (!line.ok()) return sent.ok() ? std::move(line).error() : sent.error();
    nothing_came = false;
    const size_t space = line->find(' ');
    if (!line->starts_with("HTTP/1.") || space == std::string::npos) return Broken(url_, "it is not HTTP");
    out.status = std::atoi(line->c_str() + space + 1);
    out.headers.clear();
    for (size_t bytes = 0;;) {
      NL_ASSIGN(const std::string field, ReadLine(request.patience));
      if (field.empty()) break;
      bytes += field.size();
      const size_t colon = field.find(':');
      if (colon == std::string::npos || bytes > kMostHeaderBytes)
        return Broken(url_, "its header is not HTTP");
      out.headers.emplace_back(ToLower(field.substr(0, colon)),
                               TrimmedOf(std::string_view(field).substr(colon + 1)));
    }
    if (out.status >= 200) break;  // 100 Continue comes before the answer
  }
  if (request.method != "HEAD" && out.status != 204 && out.status != 304) {
    NL_ASSIGN(out.body, ReadBody(out, request.patience));
  }
  if (!sent.ok() || ToLower(out.Header("connection")) == "close") Close();
  return out;
}

Result<HttpAnswer> HttpClient::Send(const HttpRequest& request) {
  const bool kept = socket_.valid();
  if (!kept) NL_TRY(Connect(request.patience));
  bool nothing_came = false;
  Result<HttpAnswer> answer = Exchange(request, nothing_came);
  if (answer.ok()) return answer;
  Close();
  if (!kept || !nothing_came || answer.error().code == ErrorCode::kCancelled) return answer;
  NL_TRY(Connect(request.patience));
  answer = Exchange(request, nothing_came);
  if (!answer.ok()) Close();
  return answer;
}

}  // namespace nl::remote
