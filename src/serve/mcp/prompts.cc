// SPDX-License-Identifier: Apache-2.0
#include "serve/mcp/prompts.h"

#include <vector>

#include <fmt/format.h>

namespace nl::mcp {

namespace {

struct PromptArgument {
  const char* name;
  const char* help;
  bool required;
};

// In the text, {name} stands for the argument of that name.
struct Prompt {
  const char* name;
  const char* title;
  const char* help;
  std::vector<PromptArgument> arguments;
  const char* text;
};

const std::vector<Prompt>& Prompts() {
  static const std::vector<Prompt> prompts = {
      {"triage_slow_run",
       "Triage a slow run",
       "Find out why a run is slow, and name the first thing to change",
       {{"run", "Run: id, start of an id, @latest, tag or model name", false}},
       "Find out why the run {run} is slow.\n"
       "1. Call `explain` with run \"{run}\".\n"
       "2. Make the first call that its `next` suggests, and further ones only while the cause is not "
       "clear.\n"
       "3. Report the cause with its time in ms and share, the finding and its rule id, the fix with its "
       "predicted gain, and the confidence. Say what was not recorded if that limits the answer."},
      {"explain_regression",
       "Explain a regression",
       "Find out what made a run slower than another, and whether the difference is real",
       {{"before", "Run before the change", true}, {"after", "Run after the change", true}},
       "The run {after} may be slower than the run {before}.\n"
       "1. Call `compare` with a [\"{before}\"] and b [\"{after}\"].\n"
       "2. If the verdict is undecided, repeat it with time \"device\", or ask for more runs of each side.\n"
       "3. Make the call that `next` suggests for the largest contribution.\n"
       "4. Report whether the difference is real, each cause with its cost in ms, and where in the program "
       "it is. "
       "List separately what changed in the setup or the work, which is not a regression of the code."},
      {"plan_optimisation",
       "Plan an optimisation",
       "Rank the fixes of a run by what they gain together",
       {{"run", "Run: id, start of an id, @latest, tag or model name", false}},
       "Plan how to make the run {run} faster.\n"
       "1. Call `findings` with run \"{run}\".\n"
       "2. Ask `what-if`, through `job` where it is not among your tools: without `apply` it says what each "
       "fix "
       "gains alone, then with the best ones together: gains do not add up.\n"
       "3. Report the fixes in the order to make them, each with the predicted time of a step after it, the "
       "change "
       "in the code, and how to check it: record again and compare, or prove it with both commands."},
  };
  return prompts;
}

std::string Filled(std::string text, const std::string& name, const std::string& value) {
  const std::string mark = "{" + name + "}";
  for (size_t at = text.find(mark); at != std::string::npos; at = text.find(mark, at + value.size()))
    text.replace(at, mark.size(), value);
  return text;
}

}  // namespace

Json PromptList() {
  Json list = Json::array();
  for (const Prompt& prompt : Prompts()) {
    Json arguments = Json::array();
    for (const PromptArgument& argument : prompt.arguments) {
      arguments.push_back(
          {{"name", argument.name}, {"description", argument.help}, {"required", argument.required}});
    }
    list.push_back({{"name", prompt.name},
                    {"title", prompt.title},
                    {"description", prompt.help},
                    {"arguments", std::move(arguments)}});
  }
  return {{"prompts", std::move(list)}};
}

RpcAnswer PromptMessages(const std::string& name, const Json& arguments) {
  for (const Prompt& prompt : Prompts()) {
    if (prompt.name != name) continue;
    std::string text = prompt.text;
    for (const PromptArgument& argument : prompt.arguments) {
      const auto given = arguments.find(argument.name);
      const bool has = given != arguments.end() && given->is_string();
      if (!has && argument.required)
        return RpcError{RpcCode::kInvalidParams,
                        fmt::format("prompt '{}' needs the argument '{}'", name, argument.name)};
      text = Filled(std::move(text), argument.name, has ? given->get<std::string>() : "@latest");
    }
    Json message{{"role", "user"}, {"content", {{"type", "text"}, {"text", std::move(text)}}}};
    return Json{{"description", prompt.help}, {"messages", Json::array({std::move(message)})}};
  }
  return RpcError{RpcCode::kInvalidParams, fmt::format("unknown prompt '{}'", name)};
}

}  // namespace nl::mcp
