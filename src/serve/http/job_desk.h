// SPDX-License-Identifier: Apache-2.0
#pragma once
// JobDesk: /api/v1/jobs over HTTP. It runs the jobs of the store (serve/jobs/runner.h), unless another
// process does: then it reads that one's journal and leaves requests for it, so that the answers are the
// same.
//
//   GET    /api/v1/jobs?state&limit&offset   list
//   POST   /api/v1/jobs                      {"op": ..., "params": {...}}: 202 and the job
//   GET    /api/v1/jobs/ID                   one job
//   DELETE /api/v1/jobs/ID                   cancel; POST /api/v1/jobs/ID/cancel is the same
//   GET    /api/v1/jobs/ID/result            exactly the reply of the operation
//
// Thread rule: any thread.

#include <memory>
#include <mutex>
#include <string>

#include "serve/http/message.h"
#include "serve/http/router.h"
#include "serve/jobs/op_work.h"

namespace nl::http {

class JobDesk {
 public:
  JobDesk(const Settings& settings, const RemoteOps& ops, uploads::UploadStore& uploads, size_t threads,
          jobs::Runner::ChangeFn changed);
  // Runs the jobs from now on when a folder for them exists and nobody else does.
  void Adopt();
  Response Answer(const Route& route, const Request& request);
  void Stop(std::chrono::milliseconds grace);

  size_t running() const;
  size_t queued() const;

 private:
  std::shared_ptr<jobs::Runner> runner() const;
  // Null when another process runs the jobs; an error when the store cannot be written.
  Result<std::shared_ptr<jobs::Runner>> RunnerForWriting();
  Result<std::vector<jobs::Job>> All() const;
  Result<jobs::Job> Get(const std::string& id) const;
  Response Submit(const Request& request);
  Response List(const Fields& query) const;
  Response Cancel(const std::string& id, const auth::Identity& who);
  Response ResultOf(const std::string& id) const;

  const std::string folder_;
  const size_t threads_;
  const jobs::Runner::ChangeFn changed_;
  jobs::OpWork work_;
  mutable std::mutex mutex_;
  std::shared_ptr<jobs::Runner> runner_;
  bool stopped_ = false;
};

}  // namespace nl::http
