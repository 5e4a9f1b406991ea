// SPDX-License-Identifier: Apache-2.0
#pragma once
// Server: connections, HTTP/1.1 and time limits. What a request means is its App's. The only header of ours
// that server.cc, the one source that knows Boost, shares with the rest. Thread rule: one thread, the one in
// Run, reads and writes all connections and calls the App; Call::Respond and Post may be called from any
// thread.

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/file_ops.h"
#include "base/result.h"
#include "serve/http/guard.h"
#include "serve/http/message.h"
#include "serve/http/tls.h"

namespace nl::http {

struct Limits {
  size_t connections = 10'000;
  size_t header_bytes = 16 << 10;
  size_t body_bytes = 1 << 20;  // of a body that is read whole
  int64_t upload_bytes = 0;     // of a body that is streamed; 0: any size
  int client_s = 15;            // for a whole header, and for each 64 KiB of a body
  int idle_s = 75;              // between two requests
  int grace_s = 3;              // for requests under way when the server stops; then they are cancelled
};

// One request under way.
struct Call {
  Request request;
  std::atomic<bool> cancelled{false};  // the client went away, the server stops, or it is overdue
  std::atomic<bool> overdue{false};    // it ran longer than a request may
  UniqueFd upload;                     // of a streamed body: the end of a pipe to read it from
  int64_t upload_bytes = 0;            // of that body; 0: not known
  UniqueFd unfinished;                 // the other end of the pipe, when the client left before the end
  std::function<void(Response)> on_response;
  std::function<void(std::string, bool last)> on_events;

  // Once. Any thread.
  void Respond(Response response) { on_response(std::move(response)); }
  // Instead of Respond: an event stream, as often as there is text for it, until `last`. Any thread.
  void SendEvents(std::string text, bool last) { on_events(std::move(text), last); }
};

// What to do with a request when its header is read.
struct HeadDecision {
  std::optional<Response> answer;  // at once, without its body
  bool streams_body = false;       // through Call::upload
  bool is_event_stream = false;
  // Of an event stream:
  std::string first_events;
  std::string topic;                      // which events it gets
  std::function<bool()> still_allowed{};  // asked before each event; false ends the stream
};

class App {
 public:
  virtual ~App() = default;
  virtual HeadDecision OnHead(Request& request) = 0;
  // The request with its body; must lead to one Respond, later or at once.
  virtual void OnCall(std::shared_ptr<Call> call) = 0;
  // After a response was handed to the client: for counting and logging.
  virtual void OnDone(const Request& request, const Response& response, double seconds) = 0;
  virtual void OnReceived(size_t bytes) = 0;
  // Ten times a second.
  virtual void OnTick() = 0;
};

class Server {
 public:
  Server(App& app, Limits limits);
  ~Server();
  // Before Listen: connections speak TLS. Later, on the thread of the server: new connections use this one.
  void UseTls(TlsContext context);
  // Io when the address cannot be taken. `address.port` 0 becomes the port that was chosen.
  Status Listen(ListenAddress& address);
  // Serves until `stop` is set, then lets requests under way end.
  void Run(const std::atomic<bool>& stop);
  // Runs `work` on the thread of Run.
  void Post(std::function<void()> work);
  // To the event streams of a topic, or to all. On the thread of Run.
  void SendEvent(const std::shared_ptr<const std::string>& text, std::string_view topic = "");
  void SendToAll(const std::shared_ptr<const std::string>& text);
  bool HasStream(std::string_view topic) const;
  void EndStreams(std::string_view topic);

  size_t connections() const;
  size_t event_streams() const;

  struct State;

 private:
  std::unique_ptr<State> state_;
};

}  // namespace nl::http
