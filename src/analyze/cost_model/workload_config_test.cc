// SPDX-License-Identifier: Apache-2.0
#include "analyze/cost_model/workload_config.h"

#include <gtest/gtest.h>

namespace nl {
namespace {

constexpr const char* kFile = R"(name: small
model:
  task: causal_lm
  hf: {model_type: gpt2, vocab_size: 100, n_embd: 64, n_layer: 2, n_head: 4}
workload: {batch: 4, prompt_tokens: 32}
variants:
  tiny: {model.hf.n_layer: 1, workload.batch: 1}
)";

Json Resolved(const std::vector<std::string>& sets) {
  const Result<Json> found = ResolveWorkload(kFile, "small.yaml", sets);
  EXPECT_TRUE(found.ok()) << found.error().ToString();
  return found.ok() ? *found : Json();
}

TEST(WorkloadConfig, VariantThenOverridesThenDefaults) {
  const Json plain = Resolved({});
  EXPECT_EQ(plain["model"]["hf"]["n_layer"], 2);
  EXPECT_EQ(plain["dtype"], "bf16");
  EXPECT_EQ(plain["workload"]["logits"], "last");
  EXPECT_FALSE(plain.contains("variants"));
  // The order of --set does not matter for the variant: what is set by hand comes after it.
  const Json tiny = Resolved({"workload.batch=7", "variant=tiny", "dtype=fp16"});
  EXPECT_EQ(tiny["model"]["hf"]["n_layer"], 1);
  EXPECT_EQ(tiny["workload"]["batch"], 7);
  EXPECT_EQ(tiny["dtype"], "fp16");
}

TEST(WorkloadConfig, MistakesAreNamed) {
  struct Row {
    const char *set, *says;
  };
  for (const Row& row :
       {Row{"workload.batsh=2", "'workload.batsh' is not a setting"}, Row{"workload.batch=0", "at least 1"},
        Row{"workload.batch=two", "at least 1"}, Row{"batch", "expected key.path=value"},
        Row{"variant=huge", "no variant 'huge'; known are tiny"}, Row{"dtype=int3", "dtype"},
        Row{"model.hf.n_layer.x=1", "no names in it"}, Row{"model.target=nothing", "package.module:function"},
        Row{"workload.logits=some", "last or all"}, Row{"workload.batch=[1", "not valid YAML"}}) {
    const Result<Json> found = ResolveWorkload(kFile, "small.yaml", {row.set});
    ASSERT_FALSE(found.ok()) << row.set;
    EXPECT_NE(found.error().ToString().find(row.says), std::string::npos) << found.error().ToString();
  }
}

TEST(WorkloadConfig, ShippedFilesAreFoundByNameAndResolve) {
  const std::vector<std::string> names = ShippedWorkloads();
  ASSERT_GE(names.size(), 14u);
  for (const std::string& name : names) {
    for (const std::string& spelling : {name, "conf/" + name + ".yaml"}) {
      const Result<std::string> text = ReadWorkload(spelling, false);
      ASSERT_TRUE(text.ok()) << spelling;
      for (const std::vector<std::string>& sets : {std::vector<std::string>{}, {"variant=tiny"}})
        EXPECT_TRUE(ResolveWorkload(*text, spelling, sets).ok()) << spelling;
    }
  }
  EXPECT_FALSE(ReadWorkload("llama_9b", false).ok());
  // A remote caller names no files of this machine.
  EXPECT_FALSE(ReadWorkload("/etc/hostname", false).ok());
}

}  // namespace
}  // namespace nl
