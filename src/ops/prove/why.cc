// SPDX-License-Identifier: Apache-2.0
#include "ops/prove/why.h"

#include <fmt/format.h>

#include "base/run_program.h"
#include "ops/import_recording.h"
#include "ops/run_difference.h"

namespace nl::ops::prove {

namespace {

constexpr double kShortMs = 2000;  // commands below are sampled more often

// Records in a process of its own, so that the output of the command does not mix with ours.
Result<std::string> RecordOnce(OpContext& context, const nl::bench::Command& command,
                               const std::string& folder, double wall_ms) {
  std::vector<std::string> words;
  if (!command.directory.empty()) words = {"/usr/bin/env", "-C", command.directory};
  // Light detail with CPU samples: what a program without a GPU has.
  words.insert(words.end(), {OwnProgram(), "record", "--no-counters", "--no-ops", "--no-modules", "--rate",
                             wall_ms < kShortMs ? "1000" : "200", "--out", folder, "--"});
  words.insert(words.end(), command.words.begin(), command.words.end());
  NL_ASSIGN(const ProgramResult recorded, RunProgram(words, [&] { return !context.Cancelled(); }));
  if (recorded.status != 0)
    return InvalidInput(fmt::format("the recorded command ended with status {}", recorded.status));
  ImportArguments request;
  request.paths = {folder};
  NL_ASSIGN(ImportedRun run, ImportRecording(context, request, "the recording"));
  return std::move(run.run_id);
}

}  // namespace

Status ExplainDifference(OpContext& context, const nl::bench::Command& a, const nl::bench::Command& b,
                         ProveReply& reply) {
  reply.why.emplace();
  NL_ASSIGN(const TempDir scratch, TempDir::Make("neurolens-prove-record-"));
  const auto record = [&](const nl::bench::Command& command, const char* name, ProveSide& side) -> Status {
    if (context.progress) context.progress(fmt::format("recording {}", name), 0, 0);
    Result<std::string> run =
        RecordOnce(context, command, fmt::format("{}/{}.nlcap", scratch.path(), name), side.wall.median_ms);
    if (context.Cancelled()) return Cancelled();
    if (!run.ok()) return std::move(run).error().With(fmt::format("recording {}", name));
    side.run_id = *std::move(run);
    return {};
  };
  Status done = record(a, "A", reply.a);
  if (done.ok()) done = record(b, "B", reply.b);
  if (done.ok())
    done = ExplainRuns(context, *reply.a.run_id, *reply.b.run_id, nl::bench::IsFaster(reply.verdict),
                       *reply.why);
  if (done.ok()) return {};
  if (done.error().code == ErrorCode::kCancelled) return done;
  reply.why->reason = done.error().message;
  return {};
}

}  // namespace nl::ops::prove
