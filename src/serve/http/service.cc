// SPDX-License-Identifier: Apache-2.0
#include "serve/http/service.h"

#include <unistd.h>

#include <chrono>
#include <exception>
#include <mutex>
#include <new>

#include <fmt/format.h>

#include "base/record_json.h"
#include "base/terminal.h"
#include "base/time_text.h"
#include "ops/ls/reply.h"
#include "serve/http/content.h"
#include "serve/http/openapi.h"
#include "serve/http/problem.h"

namespace nl::embedded {
extern const std::string_view kServeDocsPage, kServeDocsScript, kServeDocsStyle;  // serve/http/page
}

namespace nl::http {

namespace {

constexpr int64_t kTicksPerLook = 20, kTicksPerKeepAlive = 150;  // ten ticks a second
constexpr int64_t kNewestRuns = 100;
constexpr auto kProgressEvery = std::chrono::milliseconds(250);

Response Page(std::string_view type, std::string_view text) {
  Response out;
  out.content_type = type;
  out.body = text;
  out.headers.emplace_back("Cache-Control", "no-cache");
  return out;
}

// The edge of a request: whatever third-party code threw past its wrapper ends here.
template <class Work>
Response Guarded(const Work& work) {
  try {
    return work();
  } catch (const std::bad_alloc&) {
    return ProblemOf(Limit("not enough memory"));
  } catch (const std::exception& e) {
    return ProblemOf(Internal(fmt::format("unexpected exception: {}", e.what())));
  } catch (...) {
    return ProblemOf(Internal("unexpected exception of unknown type"));
  }
}

// The bytes that `--json` prints.
Response ReplyOf(const Result<Reply>& reply) {
  if (!reply.ok()) return ProblemOf(reply.error());
  Response out;
  out.body = reply->JsonText(2) + "\n";
  return out;
}

bool HasBody(const Request& request) {
  const std::string_view length = request.Header("content-length");
  return (!length.empty() && length != "0") || !request.Header("transfer-encoding").empty();
}

bool IsJson(std::string_view content_type) {
  std::string_view type = content_type.substr(0, content_type.find(';'));
  while (!type.empty() && type.back() == ' ') type.remove_suffix(1);
  return LowerCase(type) == "application/json";
}

}  // namespace

Service::Service(const Settings& settings, ServiceOptions options)
    : settings_(settings),
      options_(options),
      ops_(AllOps()),
      events_(fmt::format("{:x}", UnixNowNs())),
      quick_(options.workers, options.most_queued),
      heavy_(options.heavy, options.most_queued),
      uploads_(options.uploads, options.most_queued) {}

void Service::Attach(Server& server, const ListenAddress& address) {
  server_ = &server;
  address_ = address;
  LookForRuns();
}

void Service::Stop() {
  quick_.Stop();
  heavy_.Stop();
  uploads_.Stop();
}

HeadDecision Service::OnHead(Request& request) {
  HeadDecision out;
  Routed routed = RouteHead(ops_, request);
  request.route = routed.route.label;
  if (std::optional<Response> refusal = CheckOrigin(request, address_, options_.behind_proxy)) {
    out.answer = std::move(refusal);
  } else if (!routed.ok) {
    out.answer = std::move(routed.problem);
  } else if (routed.route.endpoint == Endpoint::kEvents) {
    out.is_event_stream = true;
    out.first_events = ": connected\n\n" + events_.Since(request.Header("last-event-id"));
  } else if (routed.route.endpoint == Endpoint::kUpload) {
    out.streams_body = true;
  } else if (routed.route.takes_json && HasBody(request) && !IsJson(request.Header("content-type"))) {
    out.answer = ProblemOf(415, InvalidInput("the body of the request must be JSON")
                                    .Hint("send the header Content-Type: application/json"));
  }
  return out;
}

void Service::OnCall(std::shared_ptr<Call> call) {
  Routed routed = RouteHead(ops_, call->request);
  Route& route = routed.route;
  switch (route.endpoint) {
    case Endpoint::kOperation: {
      WorkerPool& pool = route.op->info.cost == Cost::kInstant ? quick_ : heavy_;
      return Start(pool, std::move(call), [this, route](Call& c) { return RunOperation(route, c); });
    }
    case Endpoint::kUpload:
      return Start(uploads_, std::move(call), [this, route](Call& c) { return RunUpload(route, c); });
    case Endpoint::kReady: return Start(quick_, std::move(call), [this](Call& c) { return Ready(c); });
    case Endpoint::kHealth: return call->Respond(Page("application/json", "{\"status\":\"ok\"}\n"));
    case Endpoint::kMetrics: return call->Respond(MetricsPage());
    case Endpoint::kOpenApi:
      return Start(quick_, std::move(call), [this](Call& c) {
        static const std::string text = DumpJson(OpenApiDocument(ops_), 2) + "\n";
        Response out = Page("application/json", text);
        Negotiate(c.request, true, out);
        return out;
      });
    case Endpoint::kDocs: return call->Respond(Page("text/html; charset=utf-8", embedded::kServeDocsPage));
    case Endpoint::kDocsScript:
      return call->Respond(Page("text/javascript; charset=utf-8", embedded::kServeDocsScript));
    case Endpoint::kDocsStyle:
      return call->Respond(Page("text/css; charset=utf-8", embedded::kServeDocsStyle));
    case Endpoint::kEvents: break;  // answered by its header
  }
  call->Respond(ProblemOf(Internal("a request without an answer")));
}

void Service::Start(WorkerPool& pool, std::shared_ptr<Call> call, Answer answer) {
  const bool taken = pool.Submit([call, answer = std::move(answer)] {
    call->Respond(call->cancelled ? ProblemOf(Cancelled()) : Guarded([&] { return answer(*call); }));
  });
  if (!taken) call->Respond(BusyProblem("too many requests are waiting"));
}

OpContext Service::ContextOf(Call& call) const {
  OpContext context;
  context.settings = &settings_;
  context.cancelled = &call.cancelled;
  context.remote = true;
  return context;
}

Response Service::RunOperation(const Route& route, Call& call) const {
  Json args = route.args;
  if (route.takes_json) {
    if (const Status added = AddBody(*route.op, call.request.body, args); !added.ok())
      return ProblemOf(added.error());
  }
  const std::unique_ptr<Op> op = route.op->make();
  OpContext context = ContextOf(call);
  Response out = ReplyOf(RunOp(*op, args, context));
  out.headers.emplace_back("Cache-Control", route.has_etag ? "private, no-cache" : "no-store");
  Negotiate(call.request, route.has_etag, out);
  return out;
}

Response Service::RunUpload(const Route& route, Call& call) {
  const std::string name = UploadName(call.request, route.args);
  Json args = route.args;
  args.erase("name");
  args["paths"] = Json::array({"-"});
  const InputStream input{call.upload.get(), name};
  OpContext context = ContextOf(call);
  context.input = &input;
  std::mutex mutex;
  auto last = std::chrono::steady_clock::now();
  context.progress = [&](std::string_view, int64_t done_bytes, int64_t) {
    const auto now = std::chrono::steady_clock::now();
    {
      const std::lock_guard lock(mutex);
      if (now - last < kProgressEvery) return;
      last = now;
    }
    Publish(EventLog::Passing("import",
                              {{"name", name},
                               {"done_bytes", done_bytes},
                               {"total_bytes", call.upload_bytes > 0 ? Json(call.upload_bytes) : Json()}}));
  };
  const std::unique_ptr<Op> op = route.op->make();
  const Result<Reply> reply = RunOp(*op, args, context);
  call.upload = UniqueFd();
  if (reply.ok()) LookForRuns();
  return ReplyOf(reply);
}

Response Service::Ready(Call& call) const {
  const std::unique_ptr<Op> list = MakeOp("ls");
  OpContext context = ContextOf(call);
  const Result<Reply> reply = RunOp(*list, {{"limit", 1}}, context);
  // A store that does not exist yet is made by the first upload.
  if (!reply.ok() && reply.error().code != ErrorCode::kNotFound) return ProblemOf(503, reply.error());
  return Page("application/json", "{\"status\":\"ready\"}\n");
}

Response Service::MetricsPage() const {
  std::vector<Gauge> gauges;
  const std::pair<const char*, const WorkerPool*> pools[] = {
      {"quick", &quick_}, {"heavy", &heavy_}, {"upload", &uploads_}};
  const auto add = [&](const char* name, const char* help, auto value_of) {
    for (const auto& [pool, workers] : pools)
      gauges.push_back(
          {name, help, fmt::format("pool=\"{}\"", pool), static_cast<double>(value_of(*workers))});
  };
  add("neurolens_workers", "Threads that run requests.", [](const WorkerPool& p) { return p.threads(); });
  add("neurolens_workers_busy", "Threads that run a request now.",
      [](const WorkerPool& p) { return p.busy(); });
  add("neurolens_requests_queued", "Requests that wait for a thread.",
      [](const WorkerPool& p) { return p.queued(); });
  gauges.push_back(
      {"neurolens_http_connections", "Open connections.", "", static_cast<double>(server_->connections())});
  gauges.push_back({"neurolens_http_event_streams", "Clients that receive events.", "",
                    static_cast<double>(server_->event_streams())});
  Response out = Page("text/plain; version=0.0.4; charset=utf-8", metrics_.Text(gauges));
  return out;
}

void Service::OnDone(const Request& request, const Response& response, double seconds) {
  metrics_.Count(request.route.empty() ? "(none)" : request.route, request.method, response.status, seconds,
                 response.body.size());
  if (!options_.access_log) return;
  const std::string line =
      fmt::format("{} {} \"{} {}\" {} {} {:.1f}ms\n", Rfc3339Utc(UnixNowNs()), request.client,
                  PrintableName(request.method, 20), PrintableName(request.target, 300), response.status,
                  response.body.size(), seconds * 1000);
  static_cast<void>(!write(STDERR_FILENO, line.data(), line.size()));
}

void Service::OnTick() {
  ++ticks_;
  if (server_->event_streams() == 0) return;
  if (ticks_ % kTicksPerLook == 0) LookForRuns();
  static const auto keep_alive = std::make_shared<const std::string>(": keep-alive\n\n");
  if (ticks_ % kTicksPerKeepAlive == 0) server_->SendEvent(keep_alive);
}

// Runs come from uploads and from commands beside the server: the list is what both have in common.
void Service::LookForRuns() {
  if (looking_.exchange(true)) return;
  const bool taken = quick_.Submit([this] {
    const std::unique_ptr<Op> list = MakeOp("ls");
    OpContext context;
    context.settings = &settings_;
    const Result<Reply> reply = RunOp(*list, {{"limit", kNewestRuns}}, context);
    if (reply.ok()) {
      const std::vector<ListedRun>& runs = reply->As<LsReply>().runs;
      for (auto run = runs.rbegin(); run != runs.rend(); ++run) {
        if (!known_runs_.insert(run->run_id).second || !looked_) continue;
        server_->Post([this, data = ToDocument(*run)] { server_->SendEvent(events_.Add("run", data)); });
      }
    }
    looked_ = true;
    looking_ = false;
  });
  if (!taken) looking_ = false;
}

void Service::Publish(std::shared_ptr<const std::string> passing) {
  server_->Post([this, passing = std::move(passing)] { server_->SendEvent(passing); });
}

}  // namespace nl::http
