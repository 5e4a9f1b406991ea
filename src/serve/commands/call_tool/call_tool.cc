// SPDX-License-Identifier: Apache-2.0
// `neurolens call-tool`: one call of a tool that runs programs, for the MCP server that starts it
// (serve/mcp/program_call.h). Prints the result of tools/call.

#include <fcntl.h>
#include <unistd.h>

#include "serve/mcp/tools.h"

namespace nl::ops::call_tool {

namespace {

struct CallToolReply {
  Json result = Json::object();
};
void Describe(Record<CallToolReply>& r) {
  r.Name("CallToolReply", "Reply of `neurolens call-tool`");
  r.Field("result", &CallToolReply::result, "A CallToolResult of the Model Context Protocol");
}

// While it lives, what is written to standard output goes to standard error.
class OutputAside {
 public:
  OutputAside() : out_(fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3)) { dup2(STDERR_FILENO, STDOUT_FILENO); }
  ~OutputAside() {
    dup2(out_, STDOUT_FILENO);
    close(out_);
  }
  OutputAside(const OutputAside&) = delete;
  OutputAside& operator=(const OutputAside&) = delete;

 private:
  const int out_;
};

class CallToolOp final : public Op {
 public:
  OpInfo Info() const override {
    OpInfo info;
    info.name = "call-tool";
    info.local = true;
    info.hidden = true;
    info.runs_programs = true;
    info.writes = true;
    info.summary = "Call a tool that runs programs, as the MCP server does";
    info.choose_when = "Choose `run` or `prove`: this is how `neurolens mcp` starts them.";
    info.example = R"(neurolens call-tool '{"tool": "record", "arguments": {"command": ["true"]}}')";
    info.cost = Cost::kMinutes;
    info.reply = ReplyOf<CallToolReply>();
    return info;
  }

  void Bind(ParamBinder& b) override {
    b.Add("call", call_, "Name and arguments of the tool, as JSON").Positional().Required().LocalOnly();
  }

  Result<Reply> Run(OpContext& context) override {
    NL_ASSIGN(const Json call, ParseJson(call_));
    const auto arguments = call.find("arguments");
    if (!call.is_object() || !call.contains("tool") || !call["tool"].is_string() || arguments == call.end() ||
        !arguments->is_object())
      return InvalidInput("a call has the members tool and arguments");
    const std::vector<mcp::Tool> tools = mcp::ToolsOf(AllOps(), mcp::Access{true, true});
    const mcp::Tool* tool = mcp::FindTool(tools, call["tool"].get<std::string>());
    if (tool == nullptr || !tool->info.runs_programs) return NotFound("not a tool that runs programs");
    CallToolReply out;
    {
      const OutputAside aside;
      out.result = mcp::CallTool(*tool, *arguments, context);
    }
    std::string raw = DumpJson(out.result) + "\n";
    Reply reply = Reply::Of(std::move(out));
    reply.raw = std::move(raw);
    return reply;
  }

  std::string Text(const Reply& reply, const TextStyle&) const override { return reply.raw; }

 private:
  std::string call_;
};

}  // namespace

std::unique_ptr<Op> Describe() { return std::make_unique<CallToolOp>(); }

}  // namespace nl::ops::call_tool
