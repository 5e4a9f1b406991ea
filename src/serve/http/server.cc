// SPDX-License-Identifier: Apache-2.0
// The one source that includes Boost (Asio for sockets, TLS and timers, Beast for parsing requests).
#include "serve/http/server.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <deque>
#include <limits>
#include <memory>
#include <unordered_set>

#include <fmt/format.h>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/http/buffer_body.hpp>
#include <boost/beast/http/parser.hpp>

#include "base/ascii.h"
#include "serve/http/problem.h"

namespace nl::http {

namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
using boost::system::error_code;
using Clock = std::chrono::steady_clock;
using std::chrono::seconds;
using tcp = asio::ip::tcp;
using Parser = beast::http::request_parser<beast::http::buffer_body>;

constexpr size_t kReadBytes = 4 << 10, kBodyReadBytes = 256 << 10, kRateBytes = 64 << 10;
constexpr size_t kPipeBytes = 1 << 20, kMostEventsQueued = 64;
constexpr int kLinger_s = 2, kEventWrite_s = 30;
constexpr int64_t kFileBytes = 256 << 10;     // of a file that is sent, at a time
constexpr int64_t kSlowestReader = 16 << 10;  // bytes a second
constexpr auto kTick = std::chrono::milliseconds(100);
constexpr auto kCancelWait = std::chrono::milliseconds(1500);
constexpr int kClientGone = 499;  // for the metrics; nobody receives it
constexpr char kContinue[] = "HTTP/1.1 100 Continue\r\n\r\n";
constexpr char kFull[] =
    "HTTP/1.1 503 Service Unavailable\r\nRetry-After: 1\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
class Session;

}  // namespace

struct Server::State {
  State(App& a, Limits l) : app(a), limits(l), acceptor(io), timer(io) {}
  void Accept();
  void Tick(const std::atomic<bool>& stop);
  void BeginStop();

  App& app;
  const Limits limits;
  asio::io_context io{1};
  tcp::acceptor acceptor;
  asio::steady_timer timer;
  std::optional<asio::ssl::context> tls;
  std::unordered_set<std::shared_ptr<Session>> sessions;
  std::atomic<size_t> connections{0}, event_streams{0};
  std::string date = HttpDate();
  bool accepting = false, stopping = false, cancelled_all = false;
  Clock::time_point stop_at{};
};

namespace {

// One connection. Exactly one read is under way, except while a body waits for the importer or a client sends
// ahead.
class Session : public std::enable_shared_from_this<Session> {
 public:
  Session(Server::State& server, tcp::socket socket)
      : server_(server), socket_(std::move(socket)), pipe_(server.io) {
    if (server.tls) tls_.emplace(socket_, *server.tls);
    error_code ignored;
    const auto remote = socket_.remote_endpoint(ignored);
    client_ = remote.address().to_string(ignored);
    socket_.set_option(tcp::no_delay(true), ignored);
    socket_.non_blocking(true, ignored);
  }

  void Start() {
    if (!tls_) return Begin();
    deadline_ = Clock::now() + seconds(server_.limits.client_s);
    tls_->async_handshake(asio::ssl::stream_base::server, [self = shared_from_this()](error_code error) {
      if (self->state_ != State::kClosed) error ? self->Close() : self->Begin();
    });
  }

  void Close() {
    if (state_ == State::kClosed) return;
    const bool was_stream = state_ == State::kEvents;
    if (call_) Abandon();
    state_ = State::kClosed;
    error_code ignored;
    socket_.close(ignored);
    if (was_stream) --server_.event_streams;
    --server_.connections;
    server_.sessions.erase(shared_from_this());
  }

  void CheckDeadline(Clock::time_point now) {
    if (now < deadline_) return;
    const bool slow_sender = (state_ == State::kHeader && !in_.empty()) || state_ == State::kBody;
    if (slow_sender && !piping_)
      Refuse(408, Limit("the request took too long to arrive"));
    else
      Close();
  }

  // Idle connections end at once when the server stops; requests under way may finish.
  bool under_way() const {
    return state_ == State::kBody || state_ == State::kWorking || state_ == State::kWriting ||
           (state_ == State::kEvents && call_);
  }
  void CancelCall() {
    if (call_) call_->cancelled = true;
  }
  // An open stream that is not the answer to one call.
  bool is_event_stream() const { return state_ == State::kEvents && !call_ && !ending_; }
  const std::string& topic() const { return stream_.topic; }

  void SendIfAllowed(const std::shared_ptr<const std::string>& text) {
    stream_.still_allowed && !stream_.still_allowed() ? Close() : Send(text);
  }

  void Send(const std::shared_ptr<const std::string>& text) {
    if (events_.size() >= kMostEventsQueued) return Close();
    events_.push_back(text);
    if (events_.size() == 1) WriteEvent();
  }

 private:
  enum class State { kHandshake, kHeader, kBody, kWorking, kWriting, kEvents, kLinger, kClosed };

  void Begin() {
    BeginRequest();
    Read();
  }

  void BeginRequest() {
    state_ = State::kHeader;
    parser_.emplace();
    parser_->header_limit(static_cast<uint32_t>(server_.limits.header_bytes));
    parser_->body_limit(boost::none);
    call_.reset();
    request_ = {};
    keep_alive_ = false;
    received_ = 0;
    if (in_.capacity() > kReadBytes) in_.shrink_to_fit();
    if (!reading_) std::string().swap(incoming_);
    deadline_ = Clock::now() + seconds(in_.empty() ? server_.limits.idle_s : server_.limits.client_s);
    chunk_.clear();
    chunk_.shrink_to_fit();
    response_ = {};
  }

  void Read() {
    if (reading_ || state_ == State::kClosed) return;
    reading_ = true;
    // Large reads only for bodies that come fast: a thousand slow clients must not take 256 KiB each.
    incoming_.resize(state_ == State::kBody && flows_ ? kBodyReadBytes : kReadBytes);
    auto done = [self = shared_from_this()](error_code error, size_t got) {
      self->reading_ = false;
      self->flows_ = got == self->incoming_.size();
      self->in_.append(self->incoming_, 0, got);
      self->OnRead(error, got);
    };
    tls_ ? tls_->async_read_some(asio::buffer(incoming_), std::move(done))
         : socket_.async_read_some(asio::buffer(incoming_), std::move(done));
  }

  template <class Buffers, class Done>
  void WriteAll(const Buffers& buffers, Done done) {
    tls_ ? asio::async_write(*tls_, buffers, std::move(done))
         : asio::async_write(socket_, buffers, std::move(done));
  }

  void OnRead(error_code error, size_t got) {
    if (state_ == State::kClosed) return;
    if (error && state_ == State::kLinger && tls_) return;  // Drain sees the end
    if (error) return Close();
    switch (state_) {
      case State::kHandshake: break;
      case State::kHeader:
        if (in_.size() == got) deadline_ = Clock::now() + seconds(server_.limits.client_s);
        Advance();
        break;
      case State::kBody: Advance(); break;
      case State::kWorking:
      case State::kWriting:
        // A client may send its next request ahead, within reason.
        if (in_.size() <= server_.limits.header_bytes) Read();
        break;
      case State::kEvents:
      case State::kLinger:
        in_.clear();
        Read();
        break;
      case State::kClosed: break;
    }
  }

  void Consume(size_t bytes) { in_.erase(0, bytes); }

  void Advance() {
    if (state_ == State::kHeader) {
      error_code error;
      Consume(parser_->put(asio::buffer(in_), error));
      if (parser_->is_header_done()) return OnHeader();
      if (error == beast::http::error::need_more) return Read();
      if (error == beast::http::error::header_limit)
        return Refuse(431, Limit(fmt::format("the header of the request is larger than {} bytes",
                                             server_.limits.header_bytes)));
      return Refuse(400, InvalidInput(fmt::format("not an HTTP request: {}", error.message())));
    }
    if (state_ == State::kBody) AdvanceBody();
  }

  void OnHeader() {
    began_ = Clock::now();
    const auto& head = parser_->get();
    request_.method = std::string(head.method_string());
    request_.target = std::string(head.target());
    request_.client = client_;
    for (const auto& field : head) {
      const auto name = field.name_string(), value = field.value();
      request_.headers.emplace_back(ToLower({name.data(), name.size()}), std::string(value));
    }
    keep_alive_ = parser_->keep_alive() && !server_.stopping;
    const auto hosts = std::count_if(request_.headers.begin(), request_.headers.end(),
                                     [](const auto& header) { return header.first == "host"; });
    if (hosts > 1 || (head.version() >= 11 && request_.Header("host").empty()))
      return Refuse(400, InvalidInput("the request must have one Host header"));
    // Two servers may disagree on where the body of any other coding ends.
    const std::string coding = ToLower(request_.Header("transfer-encoding"));
    if (!coding.empty() && coding != "chunked")
      return Refuse(400, InvalidInput("the transfer coding must be chunked"));
    HeadDecision decision = server_.app.OnHead(request_);
    const bool has_body = !parser_->is_done();
    if (decision.answer) {
      keep_alive_ = keep_alive_ && !has_body;
      return Write(*std::move(decision.answer));
    }
    if (decision.is_event_stream) {
      stream_ = std::move(decision);
      return BeginEvents(std::move(stream_.first_events));
    }
    streams_ = decision.streams_body;
    const auto length = parser_->content_length();
    if (length && *length > MostBytes()) return RefuseLarge();
    if (has_body && ToLower(request_.Header("expect")) == "100-continue") {
      error_code ignored;  // what does not fit into an empty send buffer will not be missed
      const auto text = asio::buffer(kContinue, sizeof(kContinue) - 1);
      tls_ ? tls_->write_some(text, ignored) : socket_.write_some(text, ignored);
    }
    state_ = State::kBody;
    RenewDeadline();
    if (streams_ && !BeginUpload(length ? static_cast<int64_t>(*length) : 0)) return;
    AdvanceBody();
  }

  void RefuseLarge() {
    Refuse(413, Limit(fmt::format("the body of the request is larger than {} bytes", MostBytes())));
  }

  uint64_t MostBytes() const {
    if (!streams_) return server_.limits.body_bytes;
    const int64_t most = server_.limits.upload_bytes;
    return most > 0 ? static_cast<uint64_t>(most) : std::numeric_limits<uint64_t>::max();
  }

  // A client must send 64 KiB within its time, again and again.
  void RenewDeadline() {
    rate_bytes_ = 0;
    deadline_ = Clock::now() + seconds(server_.limits.client_s);
  }

  void AdvanceBody() {
    while (!parser_->is_done()) {
      if (in_.empty()) return Read();
      chunk_.resize(std::min(kBodyReadBytes, in_.size()));
      auto& body = parser_->get().body();
      body.data = chunk_.data();
      body.size = chunk_.size();
      body.more = true;
      error_code error;
      Consume(parser_->put(asio::buffer(in_), error));
      chunk_.resize(chunk_.size() - body.size);
      if (error == beast::http::error::need_buffer) error = {};
      const bool need_more = error == beast::http::error::need_more;
      if (error && !need_more)
        return FailBody(InvalidInput(fmt::format("the body of the request is broken: {}", error.message())));
      server_.app.OnReceived(chunk_.size());
      received_ += chunk_.size();
      if (received_ > MostBytes()) return RefuseLarge();
      rate_bytes_ += chunk_.size();
      if (rate_bytes_ >= kRateBytes) RenewDeadline();
      if (!streams_)
        request_.body.append(chunk_);
      else if (!Pump())
        return;
      if (need_more && !parser_->is_done()) return Read();
    }
    EndBody();
  }

  void FailBody(const Error& error) {
    if (call_) Abandon();
    Refuse(400, error);
  }

  bool BeginUpload(int64_t bytes) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) {
      Refuse(500, IoError("cannot make a pipe for the upload"));
      return false;
    }
    fcntl(ends[1], F_SETFL, O_NONBLOCK);
    static_cast<void>(fcntl(ends[1], F_SETPIPE_SZ, kPipeBytes));
    pipe_.assign(ends[1]);
    MakeCall();
    call_->upload = UniqueFd(ends[0]);
    call_->upload_bytes = bytes;
    server_.app.OnCall(call_);
    return state_ == State::kBody;
  }

  // Hands the chunk to the importer; false while it has no room.
  bool Pump() {
    size_t sent = 0;
    while (sent < chunk_.size() && pipe_.is_open()) {
      const ssize_t n = write(pipe_.native_handle(), chunk_.data() + sent, chunk_.size() - sent);
      if (n > 0) {
        sent += static_cast<size_t>(n);
      } else if (errno == EAGAIN) {
        chunk_.erase(0, sent);
        AwaitRoom();
        return false;
      } else if (errno != EINTR) {
        error_code ignored;
        pipe_.close(ignored);  // the importer has seen enough: its answer comes
      }
    }
    return true;
  }

  void AwaitRoom() {
    piping_ = true;
    deadline_ = Clock::time_point::max();
    pipe_.async_wait(asio::posix::stream_descriptor::wait_write, [self = shared_from_this()](error_code) {
      self->piping_ = false;
      if (self->state_ != State::kBody) return;
      self->RenewDeadline();
      if (self->Pump()) self->AdvanceBody();
    });
  }

  void EndBody() {
    state_ = State::kWorking;
    deadline_ = Clock::time_point::max();
    if (streams_) {
      error_code ignored;
      pipe_.close(ignored);
    } else {
      MakeCall();
      server_.app.OnCall(call_);
    }
    if (state_ == State::kWorking) Read();  // to see the client go away
  }

  void MakeCall() {
    call_ = std::make_shared<Call>();
    call_->request = request_;
    call_->on_response = [&io = server_.io, weak = weak_from_this()](Response response) {
      asio::dispatch(io, [weak, response = std::move(response)]() mutable {
        const std::shared_ptr<Session> self = weak.lock();
        if (self && (self->state_ == State::kBody || self->state_ == State::kWorking))
          self->Write(std::move(response));
      });
    };
    call_->on_events = [&io = server_.io, weak = weak_from_this()](std::string text, bool last) {
      asio::dispatch(io, [weak, text = std::move(text), last]() mutable {
        if (const std::shared_ptr<Session> self = weak.lock()) self->OnEvents(std::move(text), last);
      });
    };
  }

  // A part of the stream that answers the call.
  void OnEvents(std::string text, bool last) {
    if (!call_ || ending_ || (state_ != State::kWorking && state_ != State::kEvents)) return;
    ending_ = last;
    if (last) call_.reset();
    if (state_ == State::kWorking)
      BeginEvents(std::move(text));
    else
      Send(std::make_shared<const std::string>(std::move(text)));
  }

  // The client is gone. The pipe stays open until the importer has seen the flag: an end of file would make
  // what came so far a whole profile.
  void Abandon() {
    call_->cancelled = true;
    if (pipe_.is_open()) call_->unfinished = UniqueFd(pipe_.release());
    Response gone;
    gone.status = kClientGone;
    if (state_ != State::kEvents)  // a stream was counted when it began
      server_.app.OnDone(request_, gone, std::chrono::duration<double>(Clock::now() - began_).count());
    call_.reset();
  }

  void Refuse(int status, const Error& error) {
    keep_alive_ = false;
    if (call_) Abandon();
    Write(ProblemOf(status, error));
  }

  void Write(Response response) {
    if (state_ == State::kBody) keep_alive_ = false;  // the rest of the body is not read
    if (server_.stopping) keep_alive_ = false;
    state_ = State::kWriting;
    call_.reset();
    error_code ignored;
    pipe_.close(ignored);
    response_ = std::move(response);
    const bool no_body = response_.status == 304 || response_.status == 204;
    const bool head_only = request_.method == "HEAD" || no_body;
    out_ = HeadText(response_, server_.date, tls_.has_value());
    const int64_t bytes =
        response_.file ? response_.file->bytes : static_cast<int64_t>(response_.body.size());
    if (!no_body) out_ += fmt::format("Content-Length: {}\r\n", bytes);
    out_ += keep_alive_ ? "\r\n" : "Connection: close\r\n\r\n";
    server_.app.OnDone(request_, response_, std::chrono::duration<double>(Clock::now() - began_).count());
    if (head_only) {
      response_.body.clear();
      response_.file.reset();
    }
    deadline_ = Clock::now() + seconds(server_.limits.client_s) +
                seconds(static_cast<int64_t>(response_.body.size()) / kSlowestReader);
    const std::array<asio::const_buffer, 2> parts{asio::buffer(out_), asio::buffer(response_.body)};
    WriteAll(parts, [self = shared_from_this()](error_code error, size_t) {
      if (self->state_ != State::kClosed) error ? self->Close() : self->SendFile(0);
    });
  }

  // The body that is a file, from byte `from` on, a piece at a time. A file that ends early ends the
  // connection.
  void SendFile(int64_t from) {
    const int64_t left = response_.file ? response_.file->bytes - from : 0;
    if (left <= 0) {
      response_.file.reset();
      return OnWritten();
    }
    out_.resize(static_cast<size_t>(std::min<int64_t>(left, kFileBytes)));
    const ssize_t got = ::pread(response_.file->file, out_.data(), out_.size(), from);
    if (got <= 0) return Close();
    out_.resize(static_cast<size_t>(got));
    deadline_ = Clock::now() + seconds(server_.limits.client_s) + seconds(got / kSlowestReader);
    WriteAll(asio::buffer(out_), [self = shared_from_this(), next = from + got](error_code error, size_t) {
      if (self->state_ != State::kClosed) error ? self->Close() : self->SendFile(next);
    });
  }

  void OnWritten() {
    if (!keep_alive_) return Linger();
    BeginRequest();
    in_.empty() ? Read() : Advance();
  }

  // A connection that is closed with unread bytes is reset, and the client may lose the response.
  void Linger() {
    state_ = State::kLinger;
    deadline_ = Clock::now() + seconds(kLinger_s);
    if (!tls_) return Drain();
    // The client must be able to see that nothing was cut off.
    tls_->async_shutdown([self = shared_from_this()](error_code) {
      if (self->state_ != State::kClosed) self->Drain();
    });
  }

  void Drain() {
    error_code ignored;
    socket_.shutdown(tcp::socket::shutdown_send, ignored);
    if (!tls_) return Read();
    chunk_.resize(kReadBytes);  // below TLS: nobody wants to know what it is
    socket_.async_read_some(asio::buffer(chunk_), [self = shared_from_this()](error_code error, size_t) {
      if (self->state_ != State::kClosed) error ? self->Close() : self->Drain();
    });
  }

  void BeginEvents(std::string first) {
    state_ = State::kEvents;
    ++server_.event_streams;
    deadline_ = Clock::time_point::max();
    Response head;
    head.content_type = "text/event-stream";
    head.headers.emplace_back("Cache-Control", "no-store");
    const bool head_only = request_.method == "HEAD";
    server_.app.OnDone(request_, head, 0);
    Send(std::make_shared<const std::string>(HeadText(head, server_.date, tls_.has_value()) +
                                             "Connection: close\r\n\r\n" + first));
    if (head_only) deadline_ = Clock::now();
    Read();
  }

  void WriteEvent() {
    deadline_ = Clock::now() + seconds(kEventWrite_s) +
                seconds(static_cast<int64_t>(events_.front()->size()) / kSlowestReader);
    WriteAll(asio::buffer(*events_.front()), [self = shared_from_this()](error_code error, size_t) {
      if (self->state_ == State::kClosed) return;
      if (error) return self->Close();
      self->events_.pop_front();
      self->deadline_ = Clock::time_point::max();
      if (!self->events_.empty()) return self->WriteEvent();
      if (!self->ending_) return;
      --self->server_.event_streams;
      self->Linger();
    });
  }

  Server::State& server_;
  tcp::socket socket_;
  std::optional<asio::ssl::stream<tcp::socket&>> tls_;
  asio::posix::stream_descriptor pipe_;  // of an upload: the end that is written
  std::string client_;
  State state_ = State::kHandshake;
  Clock::time_point deadline_ = Clock::time_point::max(), began_ = Clock::now();
  std::optional<Parser> parser_;
  std::string incoming_;  // of the read under way
  std::string in_;        // received and not yet parsed
  std::string chunk_;     // of a body, parsed
  std::string out_;
  Request request_;
  Response response_;
  std::shared_ptr<Call> call_;
  HeadDecision stream_;  // of an event stream
  std::deque<std::shared_ptr<const std::string>> events_;
  size_t rate_bytes_ = 0;  // since the deadline was renewed
  uint64_t received_ = 0;  // of the body
  bool flows_ = false;     // the last read filled its buffer
  bool reading_ = false, streams_ = false, piping_ = false, keep_alive_ = false;
  bool ending_ = false;  // of an event stream: closed when all is written
};

void RaiseFileLimit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

}  // namespace

void Server::State::Accept() {
  accepting = true;
  acceptor.async_accept([this](error_code error, tcp::socket socket) {
    accepting = false;
    if (stopping || error == asio::error::operation_aborted) return;
    if (error) return;  // out of descriptors or memory: the next tick tries again
    if (sessions.size() >= limits.connections) {
      error_code ignored;
      socket.non_blocking(true, ignored);
      if (!tls) socket.write_some(asio::buffer(kFull, sizeof(kFull) - 1), ignored);
    } else {
      const auto session = std::make_shared<Session>(*this, std::move(socket));
      sessions.insert(session);
      ++connections;
      session->Start();
    }
    Accept();
  });
}

void Server::State::BeginStop() {
  stopping = true;
  stop_at = Clock::now() + seconds(limits.grace_s);
  error_code ignored;
  acceptor.close(ignored);
  const std::vector<std::shared_ptr<Session>> all(sessions.begin(), sessions.end());
  for (const auto& session : all) {
    if (!session->under_way()) session->Close();
  }
}

void Server::State::Tick(const std::atomic<bool>& stop) {
  const Clock::time_point now = Clock::now();
  date = HttpDate();
  const std::vector<std::shared_ptr<Session>> all(sessions.begin(), sessions.end());
  for (const auto& session : all) session->CheckDeadline(now);
  app.OnTick();
  if (stop && !stopping) BeginStop();
  if (!stopping && !accepting) Accept();
  if (stopping && now > stop_at && !cancelled_all) {
    cancelled_all = true;
    for (const auto& session : sessions) session->CancelCall();
  }
  const bool any =
      std::any_of(sessions.begin(), sessions.end(), [](const auto& session) { return session->under_way(); });
  if (stopping && (!any || now > stop_at + kCancelWait)) return io.stop();
  timer.expires_after(kTick);
  timer.async_wait([this, &stop](error_code) { Tick(stop); });
}

Server::Server(App& app, Limits limits) : state_(std::make_unique<State>(app, limits)) {}

Server::~Server() {
  const std::vector<std::shared_ptr<Session>> all(state_->sessions.begin(), state_->sessions.end());
  for (const auto& session : all) session->Close();
}

void Server::UseTls(TlsContext context) { state_->tls.emplace(context.release()); }

Status Server::Listen(ListenAddress& address) {
  RaiseFileLimit();
  error_code error;
  const std::string host = address.host == "localhost" ? "127.0.0.1" : address.host;
  const asio::ip::address ip = asio::ip::make_address(host, error);
  if (error) {
    return InvalidInput(fmt::format("'{}' is not an IP address", host))
        .Hint("write ADDRESS:PORT, for example 127.0.0.1:7070 or [::1]:7070");
  }
  const tcp::endpoint endpoint(ip, address.port);
  tcp::acceptor& acceptor = state_->acceptor;
  acceptor.open(endpoint.protocol(), error);
  if (!error) acceptor.set_option(tcp::acceptor::reuse_address(true), error);
  if (!error) acceptor.bind(endpoint, error);
  if (!error) acceptor.listen(1024, error);
  if (error) {
    Error out = IoError(fmt::format("cannot listen on {}:{}", address.host, address.port), error.value());
    if (error == asio::error::address_in_use)
      return std::move(out).Hint(
          "another program uses the port; choose one with --listen, port 0 takes a free one");
    return out;
  }
  address.port = acceptor.local_endpoint(error).port();
  return {};
}

void Server::Run(const std::atomic<bool>& stop) {
  state_->Accept();
  state_->Tick(stop);
  state_->io.run();
}

void Server::Post(std::function<void()> work) { asio::post(state_->io, std::move(work)); }

void Server::SendEvent(const std::shared_ptr<const std::string>& text, std::string_view topic) {
  const std::vector<std::shared_ptr<Session>> all(state_->sessions.begin(), state_->sessions.end());
  for (const auto& session : all) {
    if (session->is_event_stream() && session->topic() == topic) session->SendIfAllowed(text);
  }
}

void Server::SendToAll(const std::shared_ptr<const std::string>& text) {
  const std::vector<std::shared_ptr<Session>> all(state_->sessions.begin(), state_->sessions.end());
  for (const auto& session : all) {
    if (session->is_event_stream()) session->SendIfAllowed(text);
  }
}

bool Server::HasStream(std::string_view topic) const {
  return std::any_of(state_->sessions.begin(), state_->sessions.end(), [&](const auto& session) {
    return session->is_event_stream() && session->topic() == topic;
  });
}

void Server::EndStreams(std::string_view topic) {
  const std::vector<std::shared_ptr<Session>> all(state_->sessions.begin(), state_->sessions.end());
  for (const auto& session : all) {
    if (session->is_event_stream() && session->topic() == topic) session->Close();
  }
}

size_t Server::connections() const { return state_->connections; }
size_t Server::event_streams() const { return state_->event_streams; }

}  // namespace nl::http
