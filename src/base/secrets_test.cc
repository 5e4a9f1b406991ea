// SPDX-License-Identifier: Apache-2.0
#include "base/secrets.h"

#include <gtest/gtest.h>

#include "base/json.h"

namespace nl {
namespace {

using Texts = std::vector<std::string>;

TEST(Secrets, OfACommandLineOnlyTheNamesStay) {
  Texts arguments = {"python3",
                     "serve.py",
                     "--api-key=abc",
                     "--token",
                     "def",
                     "HF_TOKEN=ghi",
                     "--max-tokens",
                     "512",
                     "--tokenizer=gpt2",
                     "https://me:pw@host/x?access_token=jkl&n=1",
                     "hf_abcdefghijklmnopq",
                     "--password"};
  Texts hidden;
  HideSecretArguments(arguments, hidden);
  EXPECT_EQ(arguments, (Texts{"python3", "serve.py", "--api-key=[not stored]", "--token", "[not stored]",
                              "HF_TOKEN=[not stored]", "--max-tokens", "512", "--tokenizer=gpt2",
                              "https://me:[not stored]@host/x?access_token=[not stored]&n=1", "[not stored]",
                              "--password"}));
  EXPECT_EQ(hidden,
            (Texts{"--api-key", "--token", "HF_TOKEN", "password of a URL", "access_token", "hf_..."}));
}

TEST(Secrets, CodeAndPathsAreLeftAlone) {
  const Texts arguments = {
      "-c",   "token = 5; print(token)", "sk-learn/model.py", "--eos-token-id=2", "tiktoken=0.9", "a@b",
      "x://y"};
  Texts same = arguments, hidden;
  HideSecretArguments(same, hidden);
  EXPECT_EQ(same, arguments);
  EXPECT_TRUE(hidden.empty());
}

TEST(Secrets, AreFoundAtAnyDepthOfAHeader) {
  Json json = {{"env", {{"API_KEY", "x"}, {"PATH", "/bin"}}},
               {"processes", {{"1", {{"arguments", R"(["a","--secret","b"])"}}}}},
               {"command", {"a", "--secret", "b"}}};
  Texts hidden;
  HideSecrets(json, hidden);
  EXPECT_EQ(json["env"]["API_KEY"], "[not stored]");
  EXPECT_EQ(json["env"]["PATH"], "/bin");
  EXPECT_EQ(json["processes"]["1"]["arguments"], R"(["a","--secret","[not stored]"])");
  EXPECT_EQ(json["command"], (Json{"a", "--secret", "[not stored]"}));
  EXPECT_EQ(hidden.size(), 3u);
}

}  // namespace
}  // namespace nl
