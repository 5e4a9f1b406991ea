// SPDX-License-Identifier: Apache-2.0
#pragma once
// A recording that is sent to a server while it is made: what `--serve URL` of `run` and `record` does, and
// `send` for a capture that exists already (docs/live.md). The token comes from NEUROLENS_TOKEN, which the
// recorded program does not get. Thread rule: one request, one thread.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "capture/launcher/launch.h"
#include "ops/op.h"
#include "remote/capture_sender.h"

namespace nl {

struct ServeParams {
  std::string url;  // empty: nothing is sent
  double wait_s = 30;
  void Bind(ParamBinder& binder);
};

// What became of a capture on a server.
struct ServedReply {
  std::string url;
  std::optional<std::string> run_id, run_url, problem;
  bool duplicate = false;
  int64_t bytes = 0, outages = 0;
};
void Describe(Record<ServedReply>& r);
// Lines for people.
std::string ServedText(const ServedReply& reply, const std::string& directory, const TextStyle& style);

class ServedRecording {
 public:
  // InvalidInput for an address that is not one, and when the server refuses the caller: before the program
  // starts. A server that does not answer now may do so later.
  static Result<std::unique_ptr<ServedRecording>> Make(OpContext& context, const ServeParams& params);

  // Begins with the program, which `options` is about. After a `watch` of the options.
  void Watch(capture::LaunchOptions& options);
  // The capture is whole, in this folder: sends the rest and has it imported. Never an error: see `problem`.
  ServedReply Finish(const std::string& directory, const std::vector<std::string>& tags);

 private:
  ServedRecording(std::string url, remote::SenderOptions options)
      : url_(std::move(url)), sender_(std::move(options)) {}

  const std::string url_;
  remote::CaptureSender sender_;
  bool begun_ = false;
};

}  // namespace nl
