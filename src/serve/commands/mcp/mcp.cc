// SPDX-License-Identifier: Apache-2.0
// `neurolens mcp`: the operations as tools of the Model Context Protocol over stdin and stdout.

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <mutex>

#include <fmt/format.h>

#include "base/terminal.h"
#include "serve/jobs/keeper.h"
#include "serve/mcp/server.h"

namespace nl::ops::mcp {

namespace {

constexpr size_t kMaxLineBytes = 16 << 20;
constexpr int kLookForSignals_ms = 100;

struct McpTool {
  std::string name, operation, summary;
  bool writes = false, runs_programs = false;
};
void Describe(Record<McpTool>& r) {
  r.Name("McpTool", "One tool of the MCP server");
  r.Field("name", &McpTool::name, "Name of the tool");
  r.Field("operation", &McpTool::operation, "Operation that answers");
  r.Field("summary", &McpTool::summary, "What it answers");
  r.Field("writes", &McpTool::writes, "It changes the store");
  r.Field("runs_programs", &McpTool::runs_programs, "It runs programs that the client names");
}

struct McpReply {
  std::vector<McpTool> tools;
  int64_t messages = 0;
};
void Describe(Record<McpReply>& r) {
  r.Name("McpReply", "Reply of `neurolens mcp`");
  r.Field("tools", &McpReply::tools, "Tools that are offered");
  r.Field("messages", &McpReply::messages, "Messages that were received; 0 with --list");
}

// stdin and stdout belong to the protocol: whatever an operation reads or prints goes elsewhere.
class ProtocolStreams {
 public:
  ProtocolStreams()
      : in_(fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3)), out_(fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3)) {
    const int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (nothing >= 0) dup2(nothing, STDIN_FILENO);
    if (nothing >= 0) close(nothing);
    dup2(STDERR_FILENO, STDOUT_FILENO);
  }
  ~ProtocolStreams() {
    dup2(out_, STDOUT_FILENO);
    dup2(in_, STDIN_FILENO);
    close(in_);
    close(out_);
  }
  ProtocolStreams(const ProtocolStreams&) = delete;
  ProtocolStreams& operator=(const ProtocolStreams&) = delete;

  bool ok() const { return in_ >= 0 && out_ >= 0; }
  int in() const { return in_; }

  // One message and its newline; from any thread.
  void Send(std::string message) {
    message += '\n';
    const std::lock_guard lock(mutex_);
    for (std::string_view left = message; !left.empty();) {
      const ssize_t written = write(out_, left.data(), left.size());
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) return;  // the client has left: reading ends too
      left.remove_prefix(static_cast<size_t>(written));
    }
  }

 private:
  const int in_, out_;
  std::mutex mutex_;
};

// Lines of a descriptor, until its end or until `cancelled`.
class LineReader {
 public:
  LineReader(int fd, const OpContext& context) : fd_(fd), context_(context) {}

  // False at the end. A line that is too long comes as its first part, which is not JSON.
  bool Next(std::string& line) {
    for (;;) {
      const size_t end = buffer_.find('\n', looked_at_);
      if (end != std::string::npos) {
        line.assign(buffer_, 0, end);
        buffer_.erase(0, end + 1);
        looked_at_ = 0;
        return true;
      }
      if (buffer_.size() > kMaxLineBytes) buffer_.resize(kMaxLineBytes);
      looked_at_ = buffer_.size();
      if (!ReadMore()) return false;
    }
  }

 private:
  bool ReadMore() {
    for (;;) {
      if (context_.Cancelled()) return false;
      pollfd ready{fd_, POLLIN, 0};
      const int count = poll(&ready, 1, kLookForSignals_ms);
      if (count < 0 && errno != EINTR) return false;
      if (count <= 0) continue;
      char bytes[65536];
      const ssize_t got = read(fd_, bytes, sizeof bytes);
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0) return false;
      buffer_.append(bytes, static_cast<size_t>(got));
      return true;
    }
  }

  const int fd_;
  const OpContext& context_;
  std::string buffer_;
  size_t looked_at_ = 0;
};

// Looks at the tasks of a server, five times a second, until it is destroyed.
class TaskLooks {
 public:
  explicit TaskLooks(nl::mcp::Server& server) : thread_([this, &server] { Run(server); }) {}
  ~TaskLooks() {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    wake_.notify_all();
    thread_.join();
  }
  TaskLooks(const TaskLooks&) = delete;
  TaskLooks& operator=(const TaskLooks&) = delete;

 private:
  void Run(nl::mcp::Server& server) {
    constexpr auto kLookEvery = std::chrono::milliseconds(200);
    std::unique_lock lock(mutex_);
    while (!wake_.wait_for(lock, kLookEvery, [this] { return stopping_; })) {
      lock.unlock();
      server.LookAtTasks();
      lock.lock();
    }
  }

  std::mutex mutex_;
  std::condition_variable wake_;
  bool stopping_ = false;
  std::thread thread_;  // last: it uses the others
};

class McpOp final : public Op {
 public:
  OpInfo Info() const override {
    OpInfo info;
    info.name = "mcp";
    info.summary = "Serve the operations to agents: Model Context Protocol over stdin and stdout";
    info.choose_when =
        "Choose it as the command of an MCP server in Claude, Cursor or another client (docs/mcp.md). --list "
        "shows the tools.";
    info.example = "neurolens mcp --list";
    info.local = true;
    info.writes = true;
    info.reply = ReplyOf<McpReply>();
    return info;
  }

  void Bind(ParamBinder& b) override {
    b.Add("list", list_, "List the tools and end");
    b.Add("toolset", toolset_, "Tools to offer: the default ones, or every operation")
        .Choices({"default", "all"});
    b.Add("programs", programs_, "Offer the tools that run programs: record, prove and others");
  }

  Result<Reply> Run(OpContext& context) override {
    nl::mcp::Access access{toolset_ == "all", true};
    access.programs = programs_;
    McpReply reply;
    if (list_) {
      for (const nl::mcp::Tool& tool : nl::mcp::ToolsOf(AllOps(), access)) {
        if (tool.listed)
          reply.tools.push_back(
              {tool.name, tool.info.name, tool.info.summary, tool.info.writes, tool.info.runs_programs});
      }
      return Reply::Of(std::move(reply));
    }
    if (IsTerminal(STDIN_FILENO)) {
      return InvalidInput("stdin is a terminal: an MCP client starts this command and writes to its stdin")
          .Hint("`neurolens mcp --list` shows the tools; docs/mcp.md describes the set-up of clients");
    }
    NL_ASSIGN(reply.messages, Serve(context, access));
    return Reply::Of(std::move(reply));
  }

  // Nothing after serving: stdout carries the protocol alone.
  std::string Text(const Reply& any, const TextStyle& style) const override {
    const auto& reply = any.As<McpReply>();
    size_t widest = 0;
    for (const McpTool& tool : reply.tools) widest = std::max(widest, tool.name.size());
    std::string out;
    for (const McpTool& tool : reply.tools) {
      const int indent = static_cast<int>(widest) + 2;
      out += fmt::format("{:<{}}{}\n", tool.name, indent, Wrap(tool.summary, style.width, indent));
    }
    return out;
  }

 private:
  static Result<int64_t> Serve(const OpContext& context, const nl::mcp::Access& access) {
    ProtocolStreams streams;
    if (!streams.ok()) return IoError("cannot use stdin and stdout");
    nl::mcp::ServerOptions options;
    options.settings = context.settings;
    options.access = access;
    options.runs_jobs = true;
    options.notify = [&streams](const std::string& message) { streams.Send(message); };
    nl::jobs::Keeper jobs(*context.settings);  // before the server, whose tools leave jobs for it
    nl::mcp::Server server(options);
    const TaskLooks looks(server);
    LineReader reader(streams.in(), context);
    int64_t messages = 0;
    for (std::string line; reader.Next(line);) {
      if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
      ++messages;
      server.Receive(line, {[&streams](const std::string& message) { streams.Send(message); }, {}});
    }
    return messages;  // the server's destructor cancels what still runs
  }

  bool list_ = false;
  std::string toolset_ = "default";
  bool programs_ = true;
};

}  // namespace

std::unique_ptr<Op> Describe() { return std::make_unique<McpOp>(); }

}  // namespace nl::ops::mcp
