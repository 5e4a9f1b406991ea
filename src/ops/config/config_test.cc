// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "ops/op.h"
#include "ops/settings.h"

namespace nl::ops::config {

std::unique_ptr<Op> Describe();

namespace {

TEST(Config, ShowsEverySettingWithItsSource) {
  SettingsInput input;
  input.flags = {{"store", "/data/runs"}, {"threads", "3"}};
  input.environment = [](const char*) -> const char* { return nullptr; };
  input.directory = "/";
  const Result<Settings> settings = Settings::Load(input);
  ASSERT_TRUE(settings.ok());
  OpContext context;
  context.settings = &*settings;
  const std::unique_ptr<Op> op = Describe();
  const Result<Reply> reply = RunOp(*op, Json{{"action", "show"}}, context);
  ASSERT_TRUE(reply.ok());
  const Json settings_json = reply->Document()["settings"];
  ASSERT_EQ(settings_json.size(), Settings::Specs().size());
  EXPECT_EQ(settings_json[0]["value"], "/data/runs");
  EXPECT_EQ(settings_json[0]["source"], "flag");
  EXPECT_EQ(settings_json[1]["value"], 3) << "numbers stay numbers";
  EXPECT_EQ(settings_json[2]["source"], "default");
  const std::string text = op->Text(*reply, {});
  for (const SettingSpec& spec : Settings::Specs()) {
    EXPECT_NE(text.find(Settings::EnvironmentName(spec.key)), std::string::npos) << spec.key;
  }
}

}  // namespace
}  // namespace nl::ops::config
