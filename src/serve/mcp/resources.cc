// SPDX-License-Identifier: Apache-2.0
#include "serve/mcp/resources.h"

#include <charconv>

#include <fmt/format.h>

#include "ops/ls/reply.h"
#include "ops/write_report.h"

namespace nl::mcp {

namespace {

constexpr std::string_view kRuns = "neurolens://runs/";
constexpr std::string_view kReport = "/report";
constexpr size_t kRunsPerPage = 50;
constexpr size_t kMaxCompletions = 100;  // of the protocol

RpcError RpcErrorOf(const Error& error) {
  const bool missing = error.code == ErrorCode::kNotFound;
  const bool bad = error.code == ErrorCode::kInvalidInput;
  std::string message = error.message;
  if (!error.hint.empty()) message += fmt::format(" (hint: {})", error.hint);
  return {missing ? RpcCode::kResourceNotFound
          : bad   ? RpcCode::kInvalidParams
                  : RpcCode::kInternalError,
          std::move(message)};
}

Result<Reply> Call(const OpEntry* entry, const Json& args, OpContext& context) {
  if (entry == nullptr) return Unsupported("this server has no operation that reads runs");
  const std::unique_ptr<Op> op = entry->make();
  return RunOp(*op, args, context);
}

Json ResourceOf(const std::string& uri, const std::string& name, const char* what, const char* type) {
  return {{"uri", uri}, {"name", name}, {"description", what}, {"mimeType", type}};
}

void AddRun(const ListedRun& run, Json& list) {
  const std::string uri = fmt::format("{}{}", kRuns, run.run_id);
  const std::string name = fmt::format("{} ({})", run.model.empty() ? "run" : run.model, run.short_id);
  list.push_back(ResourceOf(uri, name, "Run document", "application/json"));
  list.push_back(ResourceOf(uri + std::string(kReport), "Report of " + name, "Full analysis of the run",
                            "text/markdown"));
}

Json ContentsOf(const std::string& uri, const char* type, std::string text) {
  return {{"contents", Json::array({{{"uri", uri}, {"mimeType", type}, {"text", std::move(text)}}})}};
}

}  // namespace

RunOps RunOps::In(const std::vector<OpEntry>& ops) {
  return {FindRole(ops, ServerRole::kRunList), FindRole(ops, ServerRole::kRun)};
}

RpcAnswer ResourceList(const RunOps& ops, const std::string& cursor, OpContext& context) {
  size_t first = 0;
  const char* end = cursor.data() + cursor.size();
  if (!cursor.empty()) {
    const auto [stop, error] = std::from_chars(cursor.data(), end, first);
    if (error != std::errc() || stop != end)
      return RpcError{RpcCode::kInvalidParams, "the cursor is not one that this server gave"};
  }
  const Result<Reply> reply = Call(ops.list, {{"limit", 0}}, context);
  if (!reply.ok()) return RpcErrorOf(reply.error());
  const std::vector<ListedRun>& runs = reply->As<LsReply>().runs;
  Json list = Json::array();
  for (size_t i = first; i < std::min(runs.size(), first + kRunsPerPage); ++i) AddRun(runs[i], list);
  Json out{{"resources", std::move(list)}};
  if (first + kRunsPerPage < runs.size()) out["nextCursor"] = std::to_string(first + kRunsPerPage);
  return out;
}

Json ResourceTemplates() {
  const auto entry = [](const char* uri, const char* name, const char* what, const char* type) {
    return Json{{"uriTemplate", uri}, {"name", name}, {"description", what}, {"mimeType", type}};
  };
  return {{"resourceTemplates", Json::array({entry("neurolens://runs/{id}", "run",
                                                   "Run document without its timeline", "application/json"),
                                             entry("neurolens://runs/{id}/report", "report",
                                                   "Report of the run in Markdown", "text/markdown")})}};
}

RpcAnswer ReadResource(const RunOps& ops, const std::string& uri, OpContext& context) {
  const RpcError unknown{RpcCode::kResourceNotFound, fmt::format("no resource '{}'", uri.substr(0, 200))};
  if (!uri.starts_with(kRuns)) return unknown;
  std::string run = uri.substr(kRuns.size());
  const bool report = run.ends_with(kReport);
  if (report) run.resize(run.size() - kReport.size());
  if (run.empty() || run.find('/') != std::string::npos) return unknown;
  if (report) {
    Result<std::string> text = MarkdownReportOf(context, run);
    if (!text.ok()) return RpcErrorOf(text.error());
    return ContentsOf(uri, "text/markdown", *std::move(text));
  }
  const Result<Reply> reply = Call(ops.show, {{"run", run}}, context);
  if (!reply.ok()) return RpcErrorOf(reply.error());
  return ContentsOf(uri, "application/json", DumpJson(reply->Document()["document"]));
}

RpcAnswer CompleteRun(const RunOps& ops, const std::string& prefix, OpContext& context) {
  const Result<Reply> reply = Call(ops.list, {{"limit", 0}}, context);
  if (!reply.ok()) return RpcErrorOf(reply.error());
  Json values = Json::array();
  size_t total = 0;
  for (const ListedRun& run : reply->As<LsReply>().runs) {
    if (!run.run_id.starts_with(prefix)) continue;
    if (++total <= kMaxCompletions) values.push_back(run.run_id);
  }
  return Json{{"completion", {{"values", values}, {"total", total}, {"hasMore", total > kMaxCompletions}}}};
}

}  // namespace nl::mcp
