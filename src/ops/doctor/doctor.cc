// SPDX-License-Identifier: Apache-2.0
#include "ledger/doctor.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/terminal.h"
#include "ops/open_store.h"
#include "ops/recording_ability.h"
#include "ops/settings.h"

namespace nl::ops::doctor {

namespace {

struct DoctorReply {
  bool healthy = false;
  std::string store;
  std::vector<DoctorCheck> checks;
  std::vector<RecordingAbility> recording;
};
void Describe(Record<DoctorReply>& r) {
  r.Name("DoctorReply", "Reply of `neurolens doctor`");
  r.Field("healthy", &DoctorReply::healthy, "No problem remains");
  r.Field("store", &DoctorReply::store, "Folder of the store");
  r.Field("checks", &DoctorReply::checks, "Every check");
  r.Field("recording", &DoctorReply::recording, "What can be recorded on this machine");
}

class DoctorOp final : public Op {
 public:
  OpInfo Info() const override {
    OpInfo info;
    info.name = "doctor";
    info.local = true;
    info.summary = "Check the store and this machine, list what can be recorded here, and repair the store";
    info.choose_when = "Choose it after a crash or a full disk, or when a command reports a damaged store.";
    info.example = "neurolens doctor --repair";
    info.starts_here = true;
    info.cost = Cost::kSeconds;
    info.writes = true;
    info.reply = ReplyOf<DoctorReply>();
    return info;
  }

  void Bind(ParamBinder& binder) override {
    binder.Add("repair", repair_, "Repair what can be repaired without losing a run");
  }

  Result<Reply> Run(OpContext& context) override {
    DoctorOptions options;
    options.repair = repair_;
    if (context.settings != nullptr) {
      options.store_path = context.settings->Get("store");
      options.duckdb_path = context.settings->Get("duckdb");
    }
    options.cancelled = context.cancelled;
    if (context.progress) {
      options.progress = [&context](int64_t done, int64_t total) {
        context.progress("verifying", done, total);
      };
    }
    NL_ASSIGN(DoctorReport report, RunDoctor(options));
    const bool healthy = report.Healthy();
    DoctorReply out;
    out.healthy = healthy;
    out.store = options.store_path;
    out.checks = std::move(report.checks);
    // Something that cannot be recorded here is not a defect of the store: the answer stays "yes".
    out.recording = RecordingAbilities();
    Reply reply = Reply::Of(std::move(out));
    reply.answer_is_no = !healthy;
    return reply;
  }

  std::string Text(const Reply& any, const TextStyle& style) const override {
    const auto& reply = any.As<DoctorReply>();
    std::string out;
    int problems = 0;
    for (const DoctorCheck& check : reply.checks) {
      if (check.status == CheckStatus::kProblem) ++problems;
      const std::string_view word =
          check.repaired ? "repaired" : NamesOf(check.status)[static_cast<size_t>(check.status)];
      out += fmt::format("{:<8}  {:<8}  {}\n", word, check.name,
                         Wrap(PrintableText(check.detail), style.width, 20));
    }
    out += "\n" + RecordingText(reply.recording, style.width);
    out += problems == 0 ? "\nno problems\n"
                         : fmt::format("\n{} problem{} left\n", problems, problems == 1 ? "" : "s");
    return out;
  }

 private:
  bool repair_ = false;
};

}  // namespace

std::unique_ptr<Op> Describe() { return std::make_unique<DoctorOp>(); }

}  // namespace nl::ops::doctor
