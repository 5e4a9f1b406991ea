// SPDX-License-Identifier: Apache-2.0
#include "serve/http/service.h"

#include <unistd.h>

#include <chrono>
#include <exception>
#include <mutex>
#include <new>

#include <fmt/format.h>

#include "base/ascii.h"
#include "base/file_mark.h"
#include "base/record_json.h"
#include "base/terminal.h"
#include "base/time_text.h"
#include "ops/settings.h"
#include "serve/http/app_page.h"
#include "serve/http/content.h"
#include "serve/http/openapi.h"
#include "serve/http/problem.h"

namespace nl::embedded {
extern const std::string_view kServeDocsPage, kServeDocsScript, kServeDocsStyle;  // serve/http/page
}

namespace nl::http {

namespace {

constexpr int64_t kTicksPerKeepAlive = 150, kTick_ms = 100;
constexpr size_t kMostLogins = 16;  // that wait; each takes 0.1 s and 64 MiB, one after the other
constexpr int64_t kTicksPerCertificate = 10;
constexpr int64_t kTicksPerAdopt = 20, kTicksPerSweep = 6000, kTicksPerSilence = 50;
constexpr auto kJobGrace = std::chrono::seconds(3);
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
  if (const std::shared_ptr<const ReplyFile>& file = reply->file) {
    out.content_type = file->media_type;
    out.headers.emplace_back("Content-Disposition", fmt::format("attachment; filename=\"{}\"", file->name));
    out.file = FileBody{file->file.get(), file->bytes, file};
    return out;
  }
  out.body = reply->JsonText(2) + "\n";
  return out;
}

// The same, or the binary form of the reply where the operation has one and the client asks for it by name.
Response ReplyOf(const Op& op, const OpInfo& info, const Request& request, const Result<Reply>& reply) {
  if (info.binary_type.empty() || !reply.ok()) return ReplyOf(reply);
  Response out;
  if (AcceptsType(request.Header("accept"), info.binary_type)) {
    out.content_type = info.binary_type;
    out.body = op.Binary(*reply);
  } else {
    out = ReplyOf(reply);
  }
  out.headers.emplace_back("Vary", "Accept");
  return out;
}

// Passes four calls a second on.
ProgressFn Seldom(ProgressFn progress) {
  struct Last {
    std::mutex mutex;
    std::chrono::steady_clock::time_point at = std::chrono::steady_clock::now();
  };
  return [progress = std::move(progress), last = std::make_shared<Last>()](std::string_view what,
                                                                           int64_t done, int64_t total) {
    const auto now = std::chrono::steady_clock::now();
    {
      const std::lock_guard lock(last->mutex);
      if (now - last->at < kProgressEvery) return;
      last->at = now;
    }
    progress(what, done, total);
  };
}

// The name of the first file that a client asks to import, for events about it.
std::string ImportedName(const Json& args) {
  const Json paths = args.value("paths", Json::array());
  const bool named = paths.is_array() && !paths.empty() && paths[0].is_string();
  return named ? uploads::CleanName(paths[0].get<std::string>()) : "";
}

bool HasBody(const Request& request) {
  const std::string_view length = request.Header("content-length");
  return (!length.empty() && length != "0") || !request.Header("transfer-encoding").empty();
}

bool IsJson(std::string_view content_type) {
  std::string_view type = content_type.substr(0, content_type.find(';'));
  while (!type.empty() && type.back() == ' ') type.remove_suffix(1);
  return ToLower(type) == "application/json";
}

}  // namespace

Service::Service(const Settings& settings, ServiceOptions options)
    : settings_(settings),
      options_(options),
      exposure_(options.exposure),
      authority_(settings.Get("store"),
                 {.always = options.auth || options.exposure.needs_login(), .now_ns = {}}),
      audit_log_(settings.Get("store")),
      access_(authority_, exposure_),
      ops_(AllOps(), Roots()),
      events_(fmt::format("{:x}", UnixNowNs())),
      desk_(settings.Get("store"), options.most_upload_bytes),
      recordings_(settings.Get("store"), desk_.store()),
      jobs_(settings, ops_, desk_.store(), options.jobs,
            [this](const jobs::Job& job, bool state) { OnJob(job, state); }),
      mcp_({.settings = &settings,
            .roots = Roots(),
            .run = [this](Cost cost,
                          std::function<void()> work) { return PoolOf(cost).Submit(std::move(work)); },
            .on_write = [this](const auth::AuditEntry& entry) { Audit(audit_log_, entry); }}),
      quick_(options.workers, options.most_queued),
      heavy_(options.heavy, options.most_queued),
      uploads_(options.uploads, options.most_queued),
      logins_(1, kMostLogins) {
  if (options_.access_log) log_ = std::make_unique<AccessLog>(STDERR_FILENO);
  for (const RemoteOp& op : ops_.all()) {
    if (!op.info.watched.event.empty()) watches_.push_back(std::make_unique<Watch>(op));
  }
}

Status Service::CheckAccess() {
  NL_TRY(authority_.Check());
  return CheckExposure(exposure_, authority_.HasAccounts());
}

void Service::Attach(Server& server, const ListenAddress& address) {
  server_ = &server;
  mcp_.Attach(server);
  exposure_.address = address;
  LookForNews();
  jobs_.Adopt();
  if (!options_.tls_cert.empty()) LookForCertificate();
}

void Service::Stop() {
  mcp_.Stop();
  jobs_.Stop(kJobGrace);
  quick_.Stop();
  heavy_.Stop();
  uploads_.Stop();
  recordings_.Stop();
  logins_.Stop();
}

HeadDecision Service::OnHead(Request& request) {
  HeadDecision out;
  Routed routed = RouteHead(ops_, request);
  request.route = routed.route.label;
  if (std::optional<Response> refusal = CheckOrigin(request, exposure_)) {
    out.answer = std::move(refusal);
  } else if (std::optional<Response> denied = access_.Check(request, routed)) {
    if (denied->status == 403 && routed.route.op != nullptr)
      AuditOp(request, *routed.route.op, routed.route.args, "forbidden");
    out.answer = std::move(denied);
  } else if (!routed.ok) {
    out.answer = std::move(routed.problem);
  } else if (routed.route.endpoint == Endpoint::kEvents) {
    out.is_event_stream = true;
    out.first_events = ": connected\n\n" + events_.Since(request.Header("last-event-id"));
    out.still_allowed = [this, request, routed] { return access_.StillAllowed(request, routed); };
  } else if (routed.route.endpoint == Endpoint::kUpload ||
             (routed.route.endpoint == Endpoint::kUploads && request.method == "PATCH")) {
    out.streams_body = true;
  } else if (routed.route.endpoint == Endpoint::kMcp) {
    DecideMcp(request, routed, out);
  } else if (routed.route.takes_json && HasBody(request) && !IsJson(request.Header("content-type"))) {
    out.answer = ProblemOf(415, InvalidInput("the body of the request must be JSON")
                                    .Hint("send the header Content-Type: application/json"));
  }
  return out;
}

void Service::DecideMcp(const Request& request, const Routed& routed, HeadDecision& out) {
  if (request.method == "POST" && !IsJson(request.Header("content-type"))) {
    out.answer = ProblemOf(415, InvalidInput("the body of the request must be JSON")
                                    .Hint("send the header Content-Type: application/json"));
  } else if (std::optional<Response> refusal = McpEndpoint::CheckHead(request)) {
    out.answer = std::move(refusal);
  } else if (request.method == "GET") {
    out = mcp_.Get(request, [this, request, routed] { return access_.StillAllowed(request, routed); });
  } else if (request.method == "DELETE") {
    out.answer = mcp_.Delete(request);
  }
}

void Service::OnCall(std::shared_ptr<Call> call) {
  Routed routed = RouteHead(ops_, call->request);
  Route& route = routed.route;
  switch (route.endpoint) {
    case Endpoint::kOperation: return StartOperation(route, std::move(call));
    case Endpoint::kUpload:
      return Start(uploads_, std::move(call), [this, route](Call& c) { return RunUpload(route, c); });
    case Endpoint::kUploads: {
      WorkerPool& pool = call->request.method == "PATCH" ? uploads_ : quick_;
      return Start(pool, std::move(call), [this, route](Call& c) { return desk_.Answer(route, c); });
    }
    case Endpoint::kJobs:
      return Start(quick_, std::move(call), [this, route](Call& c) { return AnswerJob(route, c.request); });
    case Endpoint::kRecordings:
      return Start(quick_, std::move(call),
                   [this, route](Call& c) { return recordings_.Answer(route, c.request); });
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
    case Endpoint::kLogin:
      return Start(logins_, std::move(call),
                   [this](Call& c) { return access_.Login(c.request, audit_log_); });
    case Endpoint::kLogout: return call->Respond(access_.Logout(call->request));
    case Endpoint::kMe: return call->Respond(access_.Me(call->request));
    case Endpoint::kMcp:
      if (!quick_.Submit([this, call] { mcp_.Post(call); }))
        call->Respond(BusyProblem("too many requests are waiting"));
      return;
    case Endpoint::kApp: OpenAhead(call->request); return call->Respond(AppPage());
    case Endpoint::kAppAsset: {
      const std::string_view target = call->request.target;
      return call->Respond(AppAsset(call->request, target.substr(0, target.find('?'))));
    }
    case Endpoint::kEvents: break;  // answered by its header
  }
  call->Respond(ProblemOf(Internal("a request without an answer")));
}

// A page of a timeline asks for its lanes once its scripts run; opening the run begins while they load.
void Service::OpenAhead(const Request& page) {
  constexpr std::string_view kBefore = "/runs/", kAfter = "/timeline";
  const std::string_view path = std::string_view(page.target).substr(0, page.target.find('?'));
  if (page.method != "GET" || path.size() <= kBefore.size() + kAfter.size() ||
      path.substr(path.size() - kAfter.size()) != kAfter)
    return;
  auto ahead = std::make_shared<Call>();
  ahead->request = page;
  ahead->request.target = fmt::format("/api/v1{}-lanes", path);
  ahead->on_response = [](const Response&) {};
  const Routed routed = RouteHead(ops_, ahead->request);
  if (routed.ok && !access_.Check(ahead->request, routed)) StartOperation(routed.route, std::move(ahead));
}

void Service::Start(WorkerPool& pool, std::shared_ptr<Call> call, Answer answer) {
  const bool taken = pool.Submit([call, answer = std::move(answer)] {
    call->Respond(call->cancelled ? ProblemOf(Cancelled()) : Guarded([&] { return answer(*call); }));
  });
  if (!taken) call->Respond(BusyProblem("too many requests are waiting"));
}

// What may answer at once is tried by a quick worker, and goes on to a heavy one when it needs seconds.
void Service::StartOperation(const Route& route, std::shared_ptr<Call> call) {
  const auto start = [this, route](std::shared_ptr<Call> on) {
    Start(PoolOf(route.op->info.cost), std::move(on),
          [this, route](Call& c) { return RunOperation(route, c, nullptr); });
  };
  if (!route.op->info.quick_when_open) return start(std::move(call));
  const bool taken = quick_.Submit([this, call, route, start] {
    bool too_long = false;
    Response response = Guarded([&] { return RunOperation(route, *call, &too_long); });
    if (too_long && !call->cancelled) return start(call);
    call->Respond(std::move(response));
  });
  if (!taken) call->Respond(BusyProblem("too many requests are waiting"));
}

OpContext Service::ContextOf(Call& call) const {
  OpContext context;
  context.settings = &settings_;
  context.cancelled = &call.cancelled;
  context.remote = true;
  context.roots = Roots();
  context.takes_files = true;
  context.actor = call.request.identity.Label();
  context.is_admin = auth::Allows(call.request.identity.role, auth::Role::kAdmin);
  return context;
}

Service::Deadline::Deadline(Service& service, Call& call) : service_(service), call_(call) {
  if (service_.options_.most_time.count() == 0) return;
  const std::lock_guard lock(service_.deadlines_mutex_);
  service_.deadlines_[&call_] = std::chrono::steady_clock::now() + service_.options_.most_time;
}

Service::Deadline::~Deadline() {
  const std::lock_guard lock(service_.deadlines_mutex_);
  service_.deadlines_.erase(&call_);
}

void Service::CancelOverdue() {
  const auto now = std::chrono::steady_clock::now();
  const std::lock_guard lock(deadlines_mutex_);
  for (const auto& [call, until] : deadlines_) {
    if (now < until) continue;
    call->overdue = true;
    call->cancelled = true;
  }
}

Response Service::RunOperation(const Route& route, Call& call, bool* too_long) {
  Json args = route.args;
  if (route.takes_json) {
    if (const Status added = AddBody(*route.op, call.request.body, args); !added.ok())
      return ProblemOf(added.error());
  }
  const std::unique_ptr<Op> op = route.op->make();
  OpContext context = ContextOf(call);
  context.too_long = too_long;
  if (too_long == nullptr && route.op->info.quick_when_open) context.progress = OperationProgress(route);
  const bool imports = route.op->info.role == ServerRole::kUpload;
  if (imports) context.progress = ImportProgress(ImportedName(args), 0);
  const Result<Reply> reply = [&]() -> Result<Reply> {
    const Deadline deadline(*this, call);
    Result<Reply> made = RunOp(*op, args, context);
    if (made.ok() || made.error().code != ErrorCode::kCancelled || !call.overdue) return made;
    return Limit(fmt::format("the request took longer than {} s", options_.most_time.count()))
        .Hint("start it as a job: POST /api/v1/jobs");
  }();
  AuditOp(call.request, *route.op, args, reply.ok() ? "ok" : ErrorCodeName(reply.error().code));
  if (imports && reply.ok()) LookForNews();
  Response out = ReplyOf(*op, route.op->info, call.request, reply);
  out.headers.emplace_back("Cache-Control", route.has_etag ? "private, no-cache" : "no-store");
  if (!out.file) Negotiate(call.request, route.has_etag, out);
  return out;
}

void Service::AuditOp(const Request& request, const RemoteOp& op, const Json& args,
                      std::string_view outcome) const {
  if (op.reads_only()) return;
  Audit(audit_log_,
        {request.identity.Label(), request.client, op.info.name, DumpJson(args), std::string(outcome)});
}

// Jobs that are started and cancelled are in the audit log whatever their operation does.
Response Service::AnswerJob(const Route& route, const Request& request) {
  Response out = jobs_.Answer(route, request);
  if (request.method != "GET" && request.method != "HEAD") {
    constexpr size_t kMostAudited = 2000;
    Audit(audit_log_,
          {request.identity.Label(), request.client, "job",
           fmt::format("{} {} {}", request.method, request.target, request.body).substr(0, kMostAudited),
           out.status < 300 ? "ok" : std::to_string(out.status)});
  }
  return out;
}

ProgressFn Service::ImportProgress(const std::string& name, int64_t total_bytes) {
  return Seldom([this, name, total_bytes](std::string_view, int64_t done, int64_t total) {
    const int64_t known = total_bytes > 0 ? total_bytes : total;
    Publish(EventLog::Passing(
        "import", {{"name", name}, {"done_bytes", done}, {"total_bytes", known > 0 ? Json(known) : Json()}}));
  });
}

ProgressFn Service::OperationProgress(const Route& route) {
  const ParamInfo* param = route.op->RunParam();
  const Json run = param == nullptr ? Json() : route.args.value(param->name, Json());
  return Seldom([this, run, op = route.op->info.name](std::string_view what, int64_t done, int64_t total) {
    Publish(EventLog::Passing("progress", {{"op", op},
                                           {"run", run},
                                           {"what", what},
                                           {"done_bytes", done},
                                           {"total_bytes", total > 0 ? Json(total) : Json()}}));
  });
}

Response Service::RunUpload(const Route& route, Call& call) {
  Result<Received> received = desk_.Receive(route, call);
  if (!received.ok()) return ProblemOf(received.error());
  const std::string name = UploadName(call.request, route.args);
  Json args = received->args;
  args.erase("name");
  const InputStream input{call.upload.get(), name};
  OpContext context = ContextOf(call);
  if (received->spool) {
    context.received = received->spool->path();
    args["paths"] = received->spool->files();
  } else {
    context.input = &input;
    args["paths"] = Json::array({"-"});
  }
  context.progress = ImportProgress(name, received->spool ? 0 : call.upload_bytes);
  const std::unique_ptr<Op> op = route.op->make();
  const Result<Reply> reply = RunOp(*op, args, context);
  call.upload = UniqueFd();
  args["paths"] = Json::array({name});
  AuditOp(call.request, *route.op, args, reply.ok() ? "ok" : ErrorCodeName(reply.error().code));
  if (!reply.ok()) return ProblemOf(uploads::WithoutFolder(reply.error(), context.received));
  desk_.Forget(received->upload_ids);
  LookForNews();
  return ReplyOf(reply);
}

Response Service::Ready(Call& call) const {
  const std::unique_ptr<Op> list = ops_.WithRole(ServerRole::kRunList).make();
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
  gauges.push_back(
      {"neurolens_jobs_running", "Jobs that run now.", "", static_cast<double>(jobs_.running())});
  gauges.push_back({"neurolens_jobs_queued", "Jobs that wait.", "", static_cast<double>(jobs_.queued())});
  gauges.push_back({"neurolens_http_event_streams", "Clients that receive events.", "",
                    static_cast<double>(server_->event_streams())});
  gauges.push_back({"neurolens_log_lines_dropped_total",
                    "Lines of the access log that standard error did not take in time.", "",
                    static_cast<double>(log_ != nullptr ? log_->dropped() : 0), "counter"});
  gauges.push_back(
      {"neurolens_mcp_sessions", "Sessions of agents.", "", static_cast<double>(mcp_.sessions())});
  Response out = Page("text/plain; version=0.0.4; charset=utf-8", metrics_.Text(gauges));
  return out;
}

void Service::OnDone(const Request& request, const Response& response, double seconds) {
  metrics_.Count(request.route.empty() ? "(none)" : request.route, request.method, response.status, seconds,
                 response.body.size());
  if (!options_.access_log) return;
  std::string line = fmt::format("{} {} \"{} {}\" {} {} {:.1f}ms\n", Rfc3339Utc(UnixNowNs()), request.client,
                                 PrintableName(request.method, 20), PrintableName(request.target, 300),
                                 response.status, response.body.size(), seconds * 1000);
  log_->Add(std::move(line));
}

// A certificate is renewed by replacing its files, one after the other: what does not fit together is not
// used, and the next change is looked at again.
void Service::LookForCertificate() {
  const std::string now = FileMark(options_.tls_cert) + FileMark(options_.tls_key);
  if (now == tls_mark_) return;
  const bool first = tls_mark_.empty();
  tls_mark_ = now;
  if (first) return;
  Result<TlsContext> fresh = LoadTls(options_.tls_cert, options_.tls_key);
  Say(fresh.ok() ? "neurolens: the certificate was renewed\n"
                 : fmt::format("neurolens: the certificate is not renewed: {}\n", fresh.error().ToString()));
  if (fresh.ok()) server_->UseTls(*std::move(fresh));
}

void Service::Say(std::string line) {
  if (log_ == nullptr) log_ = std::make_unique<AccessLog>(STDERR_FILENO);
  log_->Add(std::move(line));
}

void Service::OnTick() {
  ++ticks_;
  CancelOverdue();
  mcp_.Tick();
  if (!options_.tls_cert.empty() && ticks_ % kTicksPerCertificate == 1) LookForCertificate();
  // Another server may have run the jobs, and ended.
  if (ticks_ % kTicksPerAdopt == 0) static_cast<void>(quick_.Submit([this] { jobs_.Adopt(); }));
  if (ticks_ % kTicksPerSweep == 1) static_cast<void>(quick_.Submit([this] { desk_.Sweep(); }));
  if (ticks_ % kTicksPerSilence == 0) static_cast<void>(quick_.Submit([this] { recordings_.DropSilent(); }));
  const bool listened = server_->event_streams() > 0;
  for (const std::unique_ptr<Watch>& watch : watches_) {
    const WatchedList& list = watch->list.list();
    if ((listened || list.unasked) && ticks_ * kTick_ms % list.every_ms == 0) LookAt(*watch);
  }
  if (!listened) return;
  static const auto keep_alive = std::make_shared<const std::string>(": keep-alive\n\n");
  if (ticks_ % kTicksPerKeepAlive == 0) server_->SendToAll(keep_alive);
}

// What is in the lists comes from requests and from commands beside the server: looking finds both.
void Service::LookAt(Watch& watch) {
  if (watch.looking.exchange(true)) return;
  const bool taken = quick_.Submit([this, &watch] {
    for (ListEvent& event : watch.list.Look(settings_)) {
      if (event.kept) {
        Keep(watch, std::move(event));
      } else {
        Publish(EventLog::Passing(event.type, event.data));
      }
    }
    const bool ended = watch.list.ended();
    watch.looking = false;
    // What is gone from one list may be in another now, such as the run of a recording.
    if (ended) LookForNews();
  });
  if (!taken) watch.looking = false;
}

void Service::LookForNews() {
  for (const std::unique_ptr<Watch>& watch : watches_) LookAt(*watch);
}

void Service::Keep(const Watch& watch, ListEvent event) {
  const bool runs = watch.list.op().info.role == ServerRole::kRunList;
  server_->Post([this, runs, event = std::move(event)] {
    server_->SendEvent(events_.Add(event.type, event.data));
    if (runs) mcp_.RunsChanged();
  });
}

// New states have ids, so that a client that connects again gets them; progress does not.
void Service::OnJob(const jobs::Job& job, bool state) {
  Json data = jobs::ToJson(job);
  data.erase("params");  // they may be long
  if (!state) return Publish(EventLog::Passing("job", data));
  server_->Post([this, data = std::move(data)] { server_->SendEvent(events_.Add("job", data)); });
  if (job.state != jobs::JobState::kDone) return;
  desk_.Forget(jobs::UploadsOf(job.params));
  LookForNews();
}

void Service::Publish(std::shared_ptr<const std::string> passing) {
  server_->Post([this, passing = std::move(passing)] { server_->SendEvent(passing); });
}

}  // namespace nl::http
