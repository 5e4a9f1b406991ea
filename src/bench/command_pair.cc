// SPDX-License-Identifier: Apache-2.0
#include "bench/command_pair.h"

#include <fmt/format.h>

#include "base/terminal.h"
#include "base/time_text.h"

namespace nl::bench {

namespace {

constexpr int64_t kMostStdoutBytes = int64_t{64} << 20;

const char* SideName(Side side) { return side == Side::kA ? "A" : "B"; }

}  // namespace

Result<CommandPair> CommandPair::Make(Command a, Command b, PairOptions options) {
  NL_ASSIGN(TimedProcess first, TimedProcess::Make(std::move(a)));
  NL_ASSIGN(TimedProcess second, TimedProcess::Make(std::move(b)));
  return CommandPair({std::move(first), {}, {}, {}, {}, true, {}},
                     {std::move(second), {}, {}, {}, {}, true, {}}, std::move(options));
}

void CommandPair::TakeOutput(Member& member) const {
  if (!options_.check_output || member.unread) return;
  Result<std::string> output = member.process.Output(kMostStdoutBytes);
  if (!output.ok()) {
    member.unread = output.error().message;
  } else if (!member.output) {
    member.output = *std::move(output);
  } else if (member.stable && TextDifference(*member.output, *output, options_.tolerance)) {
    member.stable = false;
  }
}

Result<double> CommandPair::Run(Side side, bool timed, const std::function<bool()>& keep_going) {
  Member& member = Of(side);
  const int64_t since_ns = UnixNowNs();
  NL_ASSIGN(const TimedRun run, member.process.Run(keep_going, timed ? StartBy::kSpawn : StartBy::kFork));
  if (run.status != 0) {
    const std::string said = PrintableText(member.process.ErrorTail(), Keep::kLines);
    return InvalidInput(fmt::format("{} failed with status {}: {}{}{}", SideName(side), run.status,
                                    member.process.command().text, said.empty() ? "" : "\n", said))
        .Hint("a command that fails cannot be compared");
  }
  TakeOutput(member);
  if (!timed && !options_.output_files.empty()) {
    NL_ASSIGN(member.files,
              ReadOutputFiles(options_.output_files, member.process.command().directory, since_ns));
  }
  if (timed) member.runs.push_back(run);
  if (!timed && run.peak_rss_bytes) member.peaks.push_back(*run.peak_rss_bytes);
  return run.wall_s;
}

void CommandPair::DropLastPair() {
  for (Member& member : members_) {
    if (!member.runs.empty()) member.runs.pop_back();
  }
}

OutputCheck CommandPair::Outputs() const {
  OutputCheck out;
  const Member& a = Of(Side::kA);
  const Member& b = Of(Side::kB);
  if (!options_.check_output) {
    out.reason = "not compared: --no-check-output";
    return out;
  }
  if (!options_.output_files.empty()) {
    for (const OutputFile& file : a.files) out.compared.push_back(file.path);
    out.difference = FilesDifference(a.files, b.files, options_.tolerance);
    out.equal = !out.difference;
    if (out.difference) return out;
  }
  if (a.unread || b.unread) {
    if (!out.equal) out.reason = a.unread ? a.unread : b.unread;
    return out;
  }
  if (!a.stable || !b.stable) {
    if (!out.equal)
      out.reason = fmt::format(
          "the output of {} differs between its own runs; --tolerance allows for numbers, "
          "--output compares files instead",
          a.stable ? "B" : "A");
    return out;
  }
  // A program whose result is a file often says something else on each side.
  if (out.equal) return out;
  out.compared.emplace_back("standard output");
  if (a.output && b.output) out.difference = TextDifference(*a.output, *b.output, options_.tolerance);
  out.equal = !out.difference;
  return out;
}

void Describe(Record<OutputCheck>& r) {
  r.Name("OutputCheck", "Whether both commands gave the same result");
  r.Field("equal", &OutputCheck::equal, "They did; null: not known");
  r.Field("compared", &OutputCheck::compared, "What was compared");
  r.Field("difference", &OutputCheck::difference, "The first difference");
  r.Field("reason", &OutputCheck::reason, "Why it is not known");
}

}  // namespace nl::bench
