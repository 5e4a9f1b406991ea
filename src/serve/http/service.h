// SPDX-License-Identifier: Apache-2.0
#pragma once
// Service: the operations behind the routes. Decides on the thread of the server, runs operations on workers:
// quick ones, heavy ones (a few at a time, so that their memory stays bounded) and uploads (they last as long
// as their clients send). Thread rule: the App's functions on the thread of the server; the rest of it is
// inside.

#include <atomic>
#include <set>
#include <string>

#include "ops/op.h"
#include "serve/http/event_log.h"
#include "serve/http/metrics.h"
#include "serve/http/router.h"
#include "serve/http/server.h"
#include "serve/http/worker_pool.h"

namespace nl::http {

struct ServiceOptions {
  size_t workers = 2, heavy = 2, uploads = 2;  // threads of each kind
  size_t most_queued = 256;                    // requests that wait, of each kind
  bool behind_proxy = false;
  bool access_log = false;
};

class Service final : public App {
 public:
  Service(const Settings& settings, ServiceOptions options);
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
  void Start(WorkerPool& pool, std::shared_ptr<Call> call, Answer answer);
  OpContext ContextOf(Call& call) const;
  Response RunOperation(const Route& route, Call& call) const;
  Response RunUpload(const Route& route, Call& call);
  Response Ready(Call& call) const;
  Response MetricsPage() const;
  void LookForRuns();
  void Publish(std::shared_ptr<const std::string> passing);

  const Settings& settings_;
  const ServiceOptions options_;
  const RemoteOps ops_;
  Server* server_ = nullptr;
  ListenAddress address_;
  Metrics metrics_;
  EventLog events_;
  int64_t ticks_ = 0;
  std::atomic<bool> looking_{false};
  bool looked_ = false;  // of the job that looks for runs, as is the next
  std::set<std::string> known_runs_;
  WorkerPool quick_, heavy_, uploads_;
};

}  // namespace nl::http
