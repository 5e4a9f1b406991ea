// SPDX-License-Identifier: Apache-2.0
#pragma once
// OpWork: the operations that other machines may use (serve/remote_ops.h), as jobs. The one that imports
// takes the ids of finished uploads instead of paths; jobs of this machine's own user may name paths, those
// of others paths below the allowed roots. Thread rule: any thread; constant after it was made.

#include "serve/jobs/runner.h"
#include "serve/remote_ops.h"
#include "serve/uploads/upload_store.h"

namespace nl::jobs {

inline constexpr char kUploadParam[] = "upload";
// Owner of the jobs that commands of this machine start.
inline constexpr char kLocalOwner[] = "local";

// A reply for a person's eyes, as jobs keep it and agents get it: plain text, 100 columns wide.
std::string ReplyText(const Op& op, const Reply& reply);

class OpWork final : public JobWork {
 public:
  // `uploads`: where the files of an import come from; null: there are none.
  OpWork(const RemoteOps& ops, const Settings& settings, uploads::UploadStore* uploads = nullptr)
      : ops_(ops), settings_(settings), uploads_(uploads) {}

  Status Check(const std::string& op, const Json& params, const std::string& owner) const override;
  bool MayRepeat(const std::string& op) const override;
  Result<JobOutput> Run(const Job& job, OpContext& context) override;

 private:
  Result<const RemoteOp*> Find(const std::string& op) const;
  // Whether a job imports files that it names itself.
  static bool NamesFiles(const Json& params) { return params.contains("paths"); }
  Status CheckFiles(const Json& params, const std::string& owner) const;
  bool IsUpload(const RemoteOp& op) const { return &op == &ops_.upload(); }

  const RemoteOps& ops_;
  const Settings& settings_;
  uploads::UploadStore* const uploads_;
};

// The uploads that a job reads: its parameter `upload`.
std::vector<std::string> UploadsOf(const Json& params);

}  // namespace nl::jobs
