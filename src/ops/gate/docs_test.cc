// SPDX-License-Identifier: Apache-2.0
// The CI examples of docs/gate.md: they are YAML, and what they call exists.
#include <gtest/gtest.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <sstream>

#include "base/file_ops.h"
#include "ops/command.h"

namespace nl {
namespace {

std::vector<std::string> Blocks(const std::string& text, const std::string& language) {
  std::vector<std::string> out;
  const std::string open = "```" + language + "\n";
  for (size_t at = text.find(open); at != std::string::npos; at = text.find(open, at + 1)) {
    const size_t begin = at + open.size();
    out.push_back(text.substr(begin, text.find("```", begin) - begin));
  }
  return out;
}

void CollectTexts(const YAML::Node& node, std::vector<std::string>& out) {
  if (node.IsScalar()) out.push_back(node.Scalar());
  for (const auto& child : node) {
    if (node.IsMap()) {
      CollectTexts(child.second, out);
    } else {
      CollectTexts(child, out);
    }
  }
}

// Checks every "neurolens COMMAND ..." of a shell text; gives how many there were.
int CheckCommands(std::string text) {
  for (size_t at = text.find("\\\n"); at != std::string::npos; at = text.find("\\\n"))
    text.replace(at, 2, " ");
  int found = 0;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string word;
    if (!(words >> word) || word != "neurolens" || !(words >> word)) continue;
    ++found;
    const std::unique_ptr<Op> op = MakeOp(word);
    EXPECT_NE(op, nullptr) << line;
    if (op == nullptr) continue;
    const CommandInfo command = DescribeCommand(*op);
    while (words >> word) {
      if (word.rfind("--", 0) != 0) continue;
      const std::string flag = word.substr(0, word.find('='));
      const bool known = std::any_of(command.params.begin(), command.params.end(), [&](const ParamInfo& p) {
        return !p.positional && FlagName(p.name) == flag;
      });
      EXPECT_TRUE(known) << flag << " in: " << line;
    }
  }
  return found;
}

TEST(GateDocs, ExamplesAreYamlAndCallWhatExists) {
  const Result<std::string> page = ReadWholeFile(std::string(NL_SOURCE_DIR) + "/docs/gate.md");
  ASSERT_TRUE(page.ok());
  const std::vector<std::string> yaml = Blocks(*page, "yaml");
  ASSERT_EQ(yaml.size(), 2u);
  for (const std::string& text : yaml) {
    YAML::Node node;
    ASSERT_NO_THROW(node = YAML::Load(text)) << text;
    ASSERT_TRUE(node.IsMap());
    ASSERT_TRUE(node["jobs"] || node["gate"]["script"]) << text;
    std::vector<std::string> texts;
    CollectTexts(node, texts);
    int commands = 0;
    for (const std::string& t : texts) commands += CheckCommands(t);
    EXPECT_GE(commands, 1) << text;
  }
  int commands = 0;
  for (const std::string& text : Blocks(*page, "")) commands += CheckCommands(text);
  EXPECT_GE(commands, 2);
}

}  // namespace
}  // namespace nl
