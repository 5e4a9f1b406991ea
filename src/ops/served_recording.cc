// SPDX-License-Identifier: Apache-2.0
#include "ops/served_recording.h"

#include <cstdlib>

#include <fmt/format.h>

#include "base/human.h"
#include "base/plural.h"
#include "base/terminal.h"

namespace nl {

namespace {

constexpr char kTokenVariable[] = "NEUROLENS_TOKEN";

// Taken out of the environment: the recorded program has no use for it.
std::string TakeToken() {
  const char* token = std::getenv(kTokenVariable);
  std::string out = token != nullptr ? token : "";
  unsetenv(kTokenVariable);
  return out;
}

Json NumbersOf(const capture::ControlBlock& control) {
  uint64_t processes = 0, kernels = 0, ranges = 0, lost = 0;
  for (const capture::ProcessSlot& slot : control.process) {
    if (slot.pid.load() == 0) break;
    ++processes;
    kernels += slot.kernels.load();
    ranges += slot.ranges.load();
    lost += slot.lost_records.load();
  }
  return {{"recording", control.recording.load() != 0},
          {"processes", processes},
          {"kernels", kernels},
          {"ranges", ranges},
          {"lost_records", lost}};
}

}  // namespace

void ServeParams::Bind(ParamBinder& binder) {
  binder.Add("serve", url,
             "Server to send the recording to while it grows, such as https://HOST:7070; the token is in "
             "NEUROLENS_TOKEN");
  binder
      .Add("serve_wait", wait_s,
           "With --serve: seconds to wait for a server that does not answer after the program has ended")
      .Range(0, 1e6);
}

void Describe(Record<ServedReply>& r) {
  r.Name("ServedReply", "What became of a capture on a server");
  r.Field("url", &ServedReply::url, "The server");
  r.Field("run_id", &ServedReply::run_id, "The run in the store of the server; null: see problem");
  r.Field("run_url", &ServedReply::run_url, "The run in the web application of the server");
  r.Field("problem", &ServedReply::problem, "Why the server does not have the run");
  r.Field("duplicate", &ServedReply::duplicate, "The server had this capture already");
  r.Field("bytes", &ServedReply::bytes, Unit::kBytes, "Bytes that were sent");
  r.Field("outages", &ServedReply::outages,
          "Times that the server did not answer while the program ran or after it");
}

std::string ServedText(const ServedReply& reply, const std::string& directory, const TextStyle& style) {
  if (!reply.run_id)
    return Wrap(fmt::format("not sent to {}: {}; send the capture later: neurolens send {} --serve {}",
                            PrintableText(reply.url), PrintableText(reply.problem.value_or("")),
                            PrintableText(directory), PrintableText(reply.url)),
                style.width, 2) +
           "\n";
  std::string out =
      fmt::format("sent {} to {}: run {}{}\n", HumanBytes(reply.bytes), PrintableText(reply.url),
                  *reply.run_id, reply.duplicate ? ", which the server had already" : "");
  if (reply.outages > 0)
    out += fmt::format("the server did not answer {}; nothing was lost\n", Counted(reply.outages, "time"));
  if (reply.run_url) out += PrintableText(*reply.run_url) + "\n";
  return out;
}

Result<std::unique_ptr<ServedRecording>> ServedRecording::Make(OpContext& context,
                                                               const ServeParams& params) {
  remote::SenderOptions options;
  NL_ASSIGN(options.url, remote::ParseUrl(params.url));
  options.token = TakeToken();
  options.cancelled = context.cancelled;
  options.patience = std::chrono::milliseconds(static_cast<int64_t>(1000 * params.wait_s));
  std::unique_ptr<ServedRecording> out(new ServedRecording(options.url.Text(), options));
  const Status checked = out->sender_.Check();
  if (!checked.ok() && checked.error().code != ErrorCode::kIo && checked.error().code != ErrorCode::kLimit)
    return checked.error();
  return out;
}

void ServedRecording::Watch(capture::LaunchOptions& options) {
  options.watch = [this, command = options.command, next = std::move(options.watch)](
                      const capture::ControlBlock& control, const std::string& directory) {
    sender_.Update(NumbersOf(control));
    if (!std::exchange(begun_, true)) sender_.Begin(directory, command);
    if (next) next(control, directory);
  };
}

ServedReply ServedRecording::Finish(const std::string& directory, const std::vector<std::string>& tags) {
  ServedReply out;
  out.url = url_;
  std::vector<std::pair<std::string, std::string>> fields;
  for (const std::string& tag : tags) fields.emplace_back("tag", tag);
  const Result<remote::SentCapture> sent = sender_.Finish(directory, fields);
  if (!sent.ok()) {
    out.problem = sent.error().ToString();
    return out;
  }
  out.run_id = sent->run_id;
  out.run_url = fmt::format("{}/runs/{}", url_, sent->run_id);
  out.duplicate = sent->duplicate;
  out.bytes = sent->bytes;
  out.outages = sent->outages;
  return out;
}

}  // namespace nl
