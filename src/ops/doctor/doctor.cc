// SPDX-License-Identifier: Apache-2.0
#include "ledger/doctor.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/terminal.h"
#include "capture/launcher/abilities.h"
#include "ops/open_store.h"
#include "ops/settings.h"

namespace nl::ops::doctor {

namespace {

class DoctorOp final : public Op {
 public:
  OpInfo Info() const override {
    OpInfo info;
    info.name = "doctor";
    info.summary = "Check the store and this machine, what can be recorded here, and repair what can be";
    info.choose_when = "after a crash or a full disk, or when a command speaks of a damaged store";
    info.example = "neurolens doctor --repair";
    info.cost = Cost::kSeconds;
    info.writes = true;
    info.reply_schema = SchemaFromText(
        R"({"type": "object", "required": ["healthy", "store", "checks", "recording"], "properties": {
      "healthy": {"type": "boolean"}, "store": {"type": "string"},
      "checks": {"type": "array", "items": {"type": "object", "required": ["name", "status", "detail", "repaired"],
        "properties": {"name": {"type": "string"}, "status": {"enum": ["ok", "warning", "problem"]},
                       "detail": {"type": "string"}, "repaired": {"type": "boolean"}}}},
      "recording": {"type": "array", "description": "what can be recorded here", "items": {"type": "object",
        "required": ["name", "works", "detail"], "properties": {"name": {"type": "string"}, "works": {"type": "boolean"},
        "detail": {"type": "string"}}}}}})");
    return info;
  }

  void Bind(ParamBinder& binder) override {
    binder.Add("repair", repair_, "Repair what is safe to repair, and say what was done");
  }

  Result<Reply> Run(OpContext& context) override {
    DoctorOptions options;
    options.repair = repair_;
    if (context.settings != nullptr) {
      options.store_path = context.settings->Get("store");
      options.duckdb_path = context.settings->Get("duckdb");
    }
    const DoctorReport report = RunDoctor(options);
    Reply reply;
    reply.answer_is_no = !report.Healthy();
    reply.json = {{"healthy", report.Healthy()}, {"store", options.store_path}, {"checks", Json::array()}};
    for (const DoctorCheck& check : report.checks) {
      reply.json["checks"].push_back({{"name", check.name},
                                      {"status", std::string(CheckStatusName(check.status))},
                                      {"detail", check.detail},
                                      {"repaired", check.repaired}});
    }
    // What cannot be recorded here is no fault of the store: it does not make the answer "no".
    reply.json["recording"] = Json::array();
    for (const capture::Ability& ability : capture::FindAbilities()) {
      reply.json["recording"].push_back(
          {{"name", ability.name}, {"works", ability.works}, {"detail", ability.detail}});
    }
    return reply;
  }

  std::string Text(const Reply& reply, const TextStyle& style) const override {
    std::string out;
    int problems = 0;
    for (const Json& check : reply.json["checks"]) {
      const std::string status = check["status"].get<std::string>();
      if (status == "problem") ++problems;
      const std::string word = check["repaired"].get<bool>() ? "repaired" : status;
      out += fmt::format("{:<8}  {:<8}  {}\n", word, check["name"].get<std::string>(),
                         Wrap(PrintableText(check["detail"].get<std::string>()), style.width, 20));
    }
    out += "\nrecording (neurolens run)\n";
    for (const Json& ability : reply.json["recording"]) {
      out += fmt::format("{:<8}  {:<13}  {}\n", ability["works"].get<bool>() ? "yes" : "no",
                         ability["name"].get<std::string>(),
                         Wrap(PrintableText(ability["detail"].get<std::string>()), style.width, 25));
    }
    out += "\n";
    out += problems == 0 ? "all is well\n"
                         : fmt::format("{} problem{} left\n", problems, problems == 1 ? "" : "s");
    return out;
  }

 private:
  bool repair_ = false;
};

}  // namespace

std::unique_ptr<Op> Describe() { return std::make_unique<DoctorOp>(); }

}  // namespace nl::ops::doctor
