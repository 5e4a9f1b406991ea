// SPDX-License-Identifier: Apache-2.0
#pragma once
// Service: the operations behind the routes. Decides on the thread of the server, runs operations on workers:
// quick ones, heavy ones (a few at a time, so that their memory stays bounded) and uploads (they last as long
// as their clients send). Thread rule: the App's functions on the thread of the server; the rest of it is
// inside.

#include <atomic>
#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "ops/allowed_roots.h"
#include "ops/op.h"
#include "serve/http/access.h"
#include "serve/http/access_log.h"
#include "serve/http/event_log.h"
#include "serve/http/job_desk.h"
#include "serve/http/list_watch.h"
#include "serve/http/mcp_endpoint.h"
#include "serve/http/metrics.h"
#include "serve/http/recording_desk.h"
#include "serve/http/router.h"
#include "serve/http/server.h"
#include "serve/http/upload_desk.h"
#include "serve/http/worker_pool.h"

namespace nl::http {

struct ServiceOptions {
  size_t workers = 2, heavy = 2, uploads = 2, jobs = 1;  // threads of each kind
  size_t most_queued = 256;                              // requests that wait, of each kind
  int64_t most_upload_bytes = 0;                         // of one profile; 0: any size
  std::chrono::seconds most_time{0};                     // that an operation may run; 0: any
  Exposure exposure;                                     // the address is known when the server listens
  bool auth = false;                                     // needs a login even while the store has no accounts
  bool access_log = false;
  AllowedRoots roots;             // below which clients may name files to import
  std::string tls_cert, tls_key;  // looked at for changes; empty: no TLS
};

class Service final : public App {
 public:
  Service(const Settings& settings, ServiceOptions options);
  // Why this must not be offered where the options say: no TLS, no accounts, or accounts that are damaged.
  Status CheckAccess();
  // Before the server runs. `address` is where it listens.
  void Attach(Server& server, const ListenAddress& address);
  // Ends the workers; requests that are queued are answered or cancelled first.
  void Stop();
  int64_t requests() const { return metrics_.requests(); }

  HeadDecision OnHead(Request& request) override;
  void OnCall(std::shared_ptr<Call> call) override;
  void OnDone(const Request& request, const Response& response, double seconds) override;
  void OnReceived(size_t bytes) override { metrics_.CountReceived(bytes); }
  void OnTick() override;

 private:
  using Answer = std::function<Response(Call&)>;
  const AllowedRoots* Roots() const { return options_.roots.empty() ? nullptr : &options_.roots; }
  WorkerPool& PoolOf(Cost cost) { return cost == Cost::kInstant ? quick_ : heavy_; }
  void Start(WorkerPool& pool, std::shared_ptr<Call> call, Answer answer);
  void OpenAhead(const Request& page);
  void StartOperation(const Route& route, std::shared_ptr<Call> call);
  OpContext ContextOf(Call& call) const;
  // `too_long`: see OpContext. Null: it may take long, and reports its progress.
  Response RunOperation(const Route& route, Call& call, bool* too_long);
  // Logs what a request changed, or was refused to change.
  void AuditOp(const Request& request, const RemoteOp& op, const Json& args, std::string_view outcome) const;
  Response RunUpload(const Route& route, Call& call);
  void DecideMcp(const Request& request, const Routed& routed, HeadDecision& out);
  Response AnswerJob(const Route& route, const Request& request);
  ProgressFn ImportProgress(const std::string& name, int64_t total_bytes);
  ProgressFn OperationProgress(const Route& route);
  Response Ready(Call& call) const;
  Response MetricsPage() const;
  // While it exists, the request is cancelled when it runs too long. Uploads last as long as they are sent.
  class Deadline {
   public:
    Deadline(Service& service, Call& call);
    ~Deadline();
    Deadline(const Deadline&) = delete;
    Deadline& operator=(const Deadline&) = delete;

   private:
    Service& service_;
    Call& call_;
  };
  void CancelOverdue();
  struct Watch {
    explicit Watch(const RemoteOp& op) : list(op) {}
    ListWatch list;
    std::atomic<bool> looking{false};
  };
  void LookAt(Watch& watch);
  void LookForNews();
  void LookForCertificate();
  void Say(std::string line);  // on the thread of the server
  void OnJob(const jobs::Job& job, bool state);
  // An event that a client gets when it connects again; and one that it does not.
  void Keep(const Watch& watch, ListEvent event);
  void Publish(std::shared_ptr<const std::string> passing);

  const Settings& settings_;
  const ServiceOptions options_;
  Exposure exposure_;
  auth::Authority authority_;
  const auth::AuditLog audit_log_;
  const Access access_;
  const RemoteOps ops_;
  Server* server_ = nullptr;
  Metrics metrics_;
  std::unique_ptr<AccessLog> log_;  // of the thread of the server
  std::string tls_mark_;            // of the files that were read last
  EventLog events_;
  int64_t ticks_ = 0;
  std::mutex deadlines_mutex_;
  std::map<Call*, std::chrono::steady_clock::time_point> deadlines_;  // of operations that run
  std::vector<std::unique_ptr<Watch>> watches_;                       // constant after it was made
  UploadDesk desk_;
  RecordingDesk recordings_;
  JobDesk jobs_;
  McpEndpoint mcp_;  // before the workers, which may hold its sessions to the end
  WorkerPool quick_, heavy_, uploads_, logins_;
};

}  // namespace nl::http
