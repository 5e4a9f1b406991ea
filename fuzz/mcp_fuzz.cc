// SPDX-License-Identifier: Apache-2.0
// Any bytes as messages of an MCP client that is not on this machine, one per line, over an empty store.
// Promises: no crash; every answer is JSON-RPC 2.0 with a result or an error; every message is done exactly
// once; no request is answered twice.

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <mutex>
#include <string>

#include "ops/settings.h"
#include "serve/mcp/server.h"

namespace {

void Require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "%s\n", what);
  std::abort();
}

const nl::Settings& EmptyStore() {
  static const nl::Settings settings = [] {
    nl::SettingsInput input;
    input.flags = {{"store", "/nonexistent/neurolens-fuzz"}};
    input.environment = [](const char*) -> const char* { return nullptr; };
    input.directory = "/nonexistent";
    nl::Result<nl::Settings> loaded = nl::Settings::Load(input);
    Require(loaded.ok(), "the settings cannot be loaded");
    return *loaded;
  }();
  return settings;
}

void CheckAnswer(const nl::Json& answer) {
  Require(answer.is_object() && answer.contains("jsonrpc") && answer["jsonrpc"] == "2.0", "not JSON-RPC 2.0");
  if (answer.contains("method")) return;  // progress
  Require(answer.contains("id"), "an answer without an id");
  Require(answer.contains("result") != answer.contains("error"), "neither or both of result and error");
  if (answer.contains("error"))
    Require(!answer["error"]["message"].get<std::string>().empty(), "an error without words");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  std::string_view text(reinterpret_cast<const char*>(bytes), size);
  std::mutex mutex;
  std::atomic<int> received{0}, done{0};
  {
    nl::mcp::ServerOptions options;
    options.settings = &EmptyStore();
    options.access.all_tools = size % 2 == 1;
    options.threads = 1;
    nl::mcp::Server server(options);
    while (!text.empty()) {
      const size_t end = std::min(text.find('\n'), text.size());
      ++received;
      server.Receive(text.substr(0, end), {[&mutex](const std::string& message) {
                                             const std::lock_guard lock(mutex);
                                             const nl::Result<nl::Json> json = nl::ParseJson(message);
                                             Require(json.ok(), "an answer that is not JSON");
                                             if (!json->is_array()) return CheckAnswer(*json);
                                             for (const nl::Json& one : *json) CheckAnswer(one);
                                           },
                                           [&done] { ++done; }});
      text.remove_prefix(std::min(end + 1, text.size()));
    }
    server.Drain();
  }
  Require(received == done, "a message was not done exactly once");
  return 0;
}
