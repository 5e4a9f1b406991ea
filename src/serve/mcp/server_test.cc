// SPDX-License-Identifier: Apache-2.0
#include "serve/mcp/server.h"

#include <gtest/gtest.h>

#include <fmt/format.h>

namespace nl::mcp {
namespace {

std::atomic<int> running{0};

struct GivenReply {
  std::string text;
  std::vector<std::string> rows;
};
void Describe(Record<GivenReply>& r) {
  r.Name("GivenReply", "What was given");
  r.Field("text", &GivenReply::text, "Text");
  r.Field("rows", &GivenReply::rows, "Rows");
}

// Ends as `end` says: repeats its text, fails, throws, or waits until it is cancelled.
class EndOp final : public Op {
 public:
  explicit EndOp(const char* name, bool local = false, AgentTool tool = {}, bool runs_programs = false)
      : name_(name), local_(local), runs_programs_(runs_programs), tool_(std::move(tool)) {}
  OpInfo Info() const override {
    OpInfo info;
    info.name = name_;
    info.summary = "End as asked";
    info.choose_when = "In tests; `ls` lists runs.";
    info.local = local_;
    info.runs_programs = runs_programs_;
    info.tool = tool_;
    info.reply = ReplyOf<GivenReply>();
    return info;
  }
  void Bind(ParamBinder& b) override {
    b.Add("text", text_, "Text to repeat");
    b.Add("end", end_, "How to end").Choices({"text", "fail", "throw", "wait", "progress"});
    b.Add("rows", rows_, "Rows to give").Range(0, 1e6);
    b.Add("file", file_, "A file").Path().LocalOnly();
    if (runs_programs_) b.Add("words", words_, "A command").LocalOnly();
  }
  Result<Reply> Run(OpContext& context) override {
    if (end_ == "fail") return NotFound("no run 'x'").Hint("look again");
    if (end_ == "throw") static_cast<void>(std::string().at(1));
    if (end_ == "wait") {
      ++running;
      while (!context.Cancelled()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
      --running;
      return Cancelled();
    }
    if (end_ == "progress" && context.progress) context.progress("reading", 5, 10);
    GivenReply reply{text_, {}};
    for (int64_t i = 0; i < rows_; ++i) reply.rows.push_back(fmt::format("row {}", i));
    return Reply::Of(std::move(reply));
  }
  std::string Text(const Reply& reply, const TextStyle&) const override {
    return reply.As<GivenReply>().text + "\n";
  }

 private:
  const char* name_;
  bool local_, runs_programs_;
  AgentTool tool_;
  std::string text_, end_ = "text", file_, words_;
  int64_t rows_ = 0;
};

const std::vector<OpEntry>& TestOps() {
  static const std::vector<OpEntry> ops = {
      {"explain",
       []() -> std::unique_ptr<Op> {
         return std::make_unique<EndOp>("explain", false, AgentTool{1, ""});
       }},
      {"here", []() -> std::unique_ptr<Op> { return std::make_unique<EndOp>("here", true); }},
      {"ls",
       []() -> std::unique_ptr<Op> {
         return std::make_unique<EndOp>("ls", false, AgentTool{3, "find_runs"});
       }},
      {"show", []() -> std::unique_ptr<Op> { return std::make_unique<EndOp>("show"); }},
  };
  return ops;
}

class McpServerTest : public ::testing::Test {
 protected:
  explicit McpServerTest() { Make({}); }
  void Make(Access access, size_t max_waiting = 32) {
    ServerOptions options;
    options.ops = &TestOps();
    options.access = access;
    options.max_waiting = max_waiting;
    server_ = std::make_unique<Server>(options);
  }
  void Send(const std::string& text) {
    server_->Receive(text, {[this](const std::string& message) {
                              const std::lock_guard lock(mutex_);
                              sent_.push_back(*ParseJson(message));
                            },
                            [this] { ++done_; }});
  }
  // What one text is answered with.
  std::vector<Json> Ask(const std::string& text) {
    Send(text);
    server_->Drain();
    const std::lock_guard lock(mutex_);
    return std::exchange(sent_, {});
  }
  Json AskOne(const std::string& text) {
    const std::vector<Json> answers = Ask(text);
    EXPECT_EQ(answers.size(), 1u) << text;
    return answers.empty() ? Json() : answers[0];
  }
  int ErrorOf(const std::string& text) {
    const Json answer = AskOne(text);
    return answer.contains("error") ? answer["error"]["code"].get<int>() : 0;
  }
  static std::string Request(const std::string& method, const Json& params = Json::object(),
                             const Json& id = 1) {
    return DumpJson({{"jsonrpc", "2.0"}, {"id", id}, {"method", method}, {"params", params}});
  }
  static std::string ToolCall(const std::string& name, const Json& arguments, const Json& id = 1) {
    return Request("tools/call", {{"name", name}, {"arguments", arguments}}, id);
  }
  Json Result(const std::string& text) { return AskOne(text)["result"]; }
  static void WaitForRunning(int count) {
    while (running != count) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }

  std::mutex mutex_;
  std::vector<Json> sent_;
  std::atomic<int> done_{0};
  std::unique_ptr<Server> server_;
};

TEST_F(McpServerTest, NegotiatesTheVersion) {
  for (const std::string_view version : kProtocolVersions)
    EXPECT_EQ(Result(Request("initialize", {{"protocolVersion", version}}))["protocolVersion"], version);
  EXPECT_EQ(Result(Request("initialize", {{"protocolVersion", "1999-01-01"}}))["protocolVersion"],
            "2025-11-25");
  const Json answer = Result(Request("initialize"));
  EXPECT_EQ(answer["protocolVersion"], "2025-11-25");
  EXPECT_TRUE(answer["capabilities"].contains("tools"));
  EXPECT_EQ(answer["serverInfo"]["name"], "neurolens");
}

TEST_F(McpServerTest, MalformedMessagesGetTheErrorOfJsonRpc) {
  EXPECT_EQ(ErrorOf("{"), -32700);
  EXPECT_EQ(ErrorOf("\xff\xfe"), -32700);
  EXPECT_EQ(ErrorOf(std::string(2000, '[')), -32700);
  for (const char* text :
       {"1", "[]", "[1]", "{}", R"({"jsonrpc":"1.0","id":1,"method":"ping"})", R"({"jsonrpc":"2.0","id":1})",
        R"({"jsonrpc":"2.0","id":1,"method":5})", R"({"jsonrpc":"2.0","id":null,"method":"ping"})",
        R"({"jsonrpc":"2.0","id":1.5,"method":"ping"})", R"({"jsonrpc":"2.0","id":{},"method":"ping"})"}) {
    const std::vector<Json> answers = Ask(text);
    ASSERT_EQ(answers.size(), 1u) << text;
    const Json& one = answers[0].is_array() ? answers[0][0] : answers[0];
    EXPECT_EQ(one["error"]["code"], -32600) << text;
  }
  EXPECT_EQ(ErrorOf(R"({"jsonrpc":"2.0","id":1,"method":"ping","params":[1]})"), -32602);
  EXPECT_EQ(ErrorOf(Request("no/such")), -32601);
  EXPECT_EQ(ErrorOf(Request("tools/list", {{"cursor", "x"}})), -32602);
  EXPECT_EQ(ErrorOf(Request("prompts/get", {{"name", "x"}})), -32602);
  EXPECT_EQ(ErrorOf(Request("prompts/get", {{"name", "explain_regression"}})), -32602);
  EXPECT_EQ(ErrorOf(Request("resources/read")), -32602);
  EXPECT_EQ(ErrorOf(Request("resources/read", {{"uri", "file:///etc/passwd"}})), -32002);
  EXPECT_EQ(ErrorOf(Request("resources/read", {{"uri", "neurolens://runs/a/b"}})), -32002);
  EXPECT_EQ(ErrorOf(ToolCall("nothing", Json::object())), -32602);
  EXPECT_EQ(ErrorOf(ToolCall("explain", Json::array())), -32602);
}

TEST_F(McpServerTest, NotificationsAndResponsesAreNotAnswered) {
  for (const char* text :
       {R"({"jsonrpc":"2.0","method":"notifications/initialized"})",
        R"({"jsonrpc":"2.0","method":"no/such","params":[]})",
        R"({"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":77}})",
        R"({"jsonrpc":"2.0","id":5,"result":{}})"})
    EXPECT_TRUE(Ask(text).empty()) << text;
  EXPECT_EQ(done_, 4);
}

TEST_F(McpServerTest, ABatchIsAnsweredByOneList) {
  const Json answer =
      AskOne("[" + ToolCall("explain", {{"text", "a"}}, 1) + "," + Request("ping", {}, "two") +
             R"(,{"jsonrpc":"2.0","method":"notifications/initialized"},7])");
  ASSERT_TRUE(answer.is_array());
  EXPECT_EQ(answer.size(), 3u);
  EXPECT_EQ(done_, 1);
}

TEST_F(McpServerTest, ToolsHaveTheParametersOfTheirOperation) {
  const Json tools = Result(Request("tools/list"))["tools"];
  ASSERT_EQ(tools.size(), 2u);
  EXPECT_EQ(tools[0]["name"], "explain");
  EXPECT_EQ(tools[1]["name"], "find_runs");
  EXPECT_EQ(tools[0]["description"], "End as asked\nSelection: In tests; `find_runs` lists runs.");
  const Json& properties = tools[0]["inputSchema"]["properties"];
  EXPECT_TRUE(properties.contains("max_tokens"));
  EXPECT_FALSE(properties.contains("file"));
  EXPECT_EQ(tools[0]["annotations"]["readOnlyHint"], true);
  const Json refused = Result(ToolCall("explain", {{"file", "/etc/passwd"}}));
  EXPECT_EQ(refused["_meta"]["neurolens/error"]["message"], "unknown parameter 'file'");
}

TEST_F(McpServerTest, AccessDecidesWhatIsOffered) {
  EXPECT_FALSE(Result(ToolCall("show", Json::object()))["isError"].get<bool>());  // reads, though not listed
  Make({true, false});
  EXPECT_EQ(Result(Request("tools/list"))["tools"].size(), 3u);  // not the local one
  EXPECT_EQ(ErrorOf(ToolCall("here", Json::object())), -32602);
  EXPECT_TRUE(Result(ToolCall("show", {{"file", "x"}}))["isError"].get<bool>());
  Make({true, true});
  EXPECT_FALSE(Result(ToolCall("show", {{"file", "x"}}))["isError"].get<bool>());
}

// An operation with this place, which runs programs when the place is even.
template <int kPlace>
const std::string& PlacedName() {
  static const std::string name = fmt::format("op-{:02}", kPlace);
  return name;
}
template <int kPlace>
std::unique_ptr<Op> Placed() {
  const bool runs_programs = kPlace % 2 == 0;
  return std::make_unique<EndOp>(PlacedName<kPlace>().c_str(), runs_programs, AgentTool{kPlace, ""},
                                 runs_programs);
}
template <int... kPlaces>
std::vector<OpEntry> PlacedOps() {
  return {{PlacedName<kPlaces>(), &Placed<kPlaces>}...};
}

std::vector<std::string> ListedNames(const Access& access) {
  static const std::vector<OpEntry> ops = PlacedOps<1, 2, 3, 4, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25>();
  std::vector<std::string> out;
  for (const Tool& tool : ToolsOf(ops, access)) {
    if (tool.listed) out.push_back(tool.name);
  }
  return out;
}

TEST(McpToolsTest, ProgramsAreForCallersOfThisMachineAndOthersTakeTheirPlaces) {
  const std::vector<std::string> here = ListedNames({false, true});
  ASSERT_EQ(here.size(), kDefaultTools);
  EXPECT_EQ(here[1], "op-02");
  EXPECT_EQ(here.back(), "op-19");
  Access none{false, true};
  none.programs = false;
  for (const Access& access : {none, Access{}}) {
    const std::vector<std::string> names = ListedNames(access);
    ASSERT_EQ(names.size(), kDefaultTools);
    EXPECT_EQ(names[1], "op-03");
    EXPECT_EQ(names.back(), "op-23");
  }
  EXPECT_EQ(ListedNames({true, true}).size(), 15u);
  EXPECT_EQ(ListedNames({true, false}).size(), 13u);
}

TEST(McpToolsTest, AToolThatRunsProgramsNamesACommandAndNoFile) {
  const std::vector<OpEntry> ops = PlacedOps<2>();
  const std::vector<Tool> tools = ToolsOf(ops, {false, true});
  ASSERT_EQ(tools.size(), 1u);
  const Json tool = ToolJson(tools[0]);
  EXPECT_TRUE(tool["inputSchema"]["properties"].contains("words"));
  EXPECT_FALSE(tool["inputSchema"]["properties"].contains("file"));
  EXPECT_FALSE(tool["inputSchema"]["properties"].contains("cursor")) << "it would run the program again";
  EXPECT_EQ(tool["annotations"]["readOnlyHint"], false);
  EXPECT_EQ(tool["annotations"]["destructiveHint"], true);
  EXPECT_EQ(tool["annotations"]["openWorldHint"], true);
}

TEST_F(McpServerTest, FailuresOfAToolAreResults) {
  const Json failed = Result(ToolCall("explain", {{"end", "fail"}}));
  EXPECT_EQ(failed["isError"], true);
  EXPECT_EQ(failed["_meta"]["neurolens/error"]["code"], "not_found");
  EXPECT_EQ(failed["_meta"]["neurolens/error"]["hint"], "look again");
  EXPECT_EQ(failed["content"][0]["text"], "not_found: no run 'x'\nhint: look again");
  EXPECT_FALSE(failed.contains("structuredContent"));
  EXPECT_EQ(Result(ToolCall("explain", {{"max_tokens", 5}}))["isError"], true);
  EXPECT_EQ(Result(ToolCall("explain", {{"cursor", "x"}}))["isError"], true);
  EXPECT_EQ(ErrorOf(ToolCall("explain", {{"end", "throw"}})), -32603);
}

TEST_F(McpServerTest, AnswersHaveTextAndStructuredContentAndPages) {
  const Json answer = Result(ToolCall("explain", {{"text", "a"}, {"rows", 3}}));
  EXPECT_EQ(answer["content"][0]["text"], "a\n");
  EXPECT_EQ(answer["structuredContent"], Json({{"text", "a"}, {"rows", {"row 0", "row 1", "row 2"}}}));
  EXPECT_FALSE(answer.contains("_meta"));
  std::vector<Json> rows;
  Json arguments{{"rows", 500}, {"max_tokens", 300}};
  for (int page = 0; page < 200; ++page) {
    const Json part = Result(ToolCall("explain", arguments));
    EXPECT_LE(DumpJson(part).size(), 1200u);
    for (const Json& row : part["structuredContent"]["rows"]) rows.push_back(row);
    if (!part["_meta"].contains("neurolens/next_cursor")) break;
    arguments["cursor"] = part["_meta"]["neurolens/next_cursor"];
  }
  ASSERT_EQ(rows.size(), 500u);
  EXPECT_EQ(rows[499], "row 499");
}

TEST_F(McpServerTest, PingIsAnsweredAndCancelWorksWhileToolsRun) {
  Send(ToolCall("explain", {{"end", "wait"}}, 1));
  Send(ToolCall("explain", {{"end", "wait"}}, "b"));
  Send(ToolCall("explain", {{"end", "wait"}}, 3));  // waits for a thread
  WaitForRunning(2);
  Send(Request("ping", {}, 9));
  Send(ToolCall("explain", Json::object(), 1));  // the id is in use
  {
    const std::lock_guard lock(mutex_);
    ASSERT_EQ(sent_.size(), 2u);
    EXPECT_EQ(sent_[0]["id"], 9);
    EXPECT_EQ(sent_[1]["error"]["code"], -32600);
  }
  for (const Json& id : {Json(1), Json("b"), Json(3)})
    Send(DumpJson(
        {{"jsonrpc", "2.0"}, {"method", "notifications/cancelled"}, {"params", {{"requestId", id}}}}));
  server_->Drain();
  EXPECT_EQ(sent_.size(), 2u);  // cancelled requests are not answered
  EXPECT_EQ(done_, 8);
}

TEST_F(McpServerTest, TooManyRequestsAreRefusedAndTheEndCancels) {
  Make({}, 1);
  Send(ToolCall("explain", {{"end", "wait"}}, 1));
  WaitForRunning(1);  // one may wait, and this one does not any more
  Send(ToolCall("explain", {{"end", "wait"}}, 2));
  WaitForRunning(2);
  Send(ToolCall("explain", {{"end", "wait"}}, 3));
  Send(ToolCall("explain", {{"end", "wait"}}, 4));
  ASSERT_EQ(sent_.size(), 1u);
  EXPECT_EQ(sent_[0]["error"]["code"], -32000);
  server_.reset();
  EXPECT_EQ(running, 0);
}

TEST_F(McpServerTest, ProgressIsSentWithItsToken) {
  const std::vector<Json> sent = Ask(
      Request("tools/call",
              {{"name", "explain"}, {"arguments", {{"end", "text"}}}, {"_meta", {{"progressToken", "t"}}}}));
  ASSERT_EQ(sent.size(), 2u);
  EXPECT_EQ(sent[0]["method"], "notifications/progress");
  EXPECT_EQ(sent[0]["params"]["progressToken"], "t");
}

TEST_F(McpServerTest, PromptsNameTheirRun) {
  EXPECT_EQ(Result(Request("prompts/list"))["prompts"].size(), 3u);
  const Json prompt = Result(Request(
      "prompts/get", {{"name", "explain_regression"}, {"arguments", {{"before", "r1"}, {"after", "r2"}}}}));
  const std::string text = prompt["messages"][0]["content"]["text"];
  EXPECT_NE(text.find("a [\"r1\"] and b [\"r2\"]"), std::string::npos) << text;
}

}  // namespace
}  // namespace nl::mcp
