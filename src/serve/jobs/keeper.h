// SPDX-License-Identifier: Apache-2.0
#pragma once
// Keeper: runs the jobs of a store for a process that has no HTTP server, while there are any and no other
// process runs them. It looks twice a second for jobs that were left in the store, by its own process or by
// one that ended, and leaves the journal to others when the last job is over.
// Thread rule: any thread. Ownership: the destructor stops it; jobs that run are journalled and continue in
// the next process that runs jobs of this store.

#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>

#include "serve/jobs/op_work.h"

namespace nl::jobs {

class Keeper {
 public:
  explicit Keeper(const Settings& settings);
  ~Keeper();
  Keeper(const Keeper&) = delete;
  Keeper& operator=(const Keeper&) = delete;

 private:
  bool HasWork() const;
  void OpenRunner();
  void Look();

  const std::string folder_;
  const RemoteOps ops_;
  uploads::UploadStore uploads_;  // a server may have left imports of files that were uploaded to it
  OpWork work_;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool stopping_ = false;
  std::unique_ptr<Runner> runner_;  // of the thread
  std::thread thread_;
};

}  // namespace nl::jobs
