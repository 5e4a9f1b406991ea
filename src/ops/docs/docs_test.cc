// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "ops/docs/reference.h"

namespace nl::ops::docs {
namespace {

TEST(CommandReference, DescribesParametersAndKeepsTheTableWhole) {
  CommandInfo command;
  command.op.name = "export";
  command.op.summary = "Write a <run> somewhere | else, as `import_a|b` does.";
  command.op.example = "neurolens export @latest --format bundle";
  ParamInfo format;
  format.name = "file_format";
  format.help = "What to write.";
  format.kind = ParamKind::kChoice;
  format.choices = {"bundle", "parquet"};
  format.default_value = "bundle";
  command.params = {format};
  const std::string page = CommandReference({command});
  EXPECT_NE(page.find("### neurolens export"), std::string::npos);
  EXPECT_NE(page.find("Write a &lt;run&gt; somewhere \\| else, as `import_a\\|b` does."), std::string::npos);
  EXPECT_NE(page.find("| `--file-format bundle\\|parquet` | What to write. (default bundle) |"),
            std::string::npos)
      << page;
  EXPECT_NE(page.find("neurolens export @latest --format bundle"), std::string::npos);
  EXPECT_NE(page.find("`NEUROLENS_STORE`"), std::string::npos);
}

// Holds for every operation of the program, those added later too.
TEST(CommandReference, EveryOperationHasASummaryAndAnExampleThatBeginsWithItsName) {
  for (const OpEntry& entry : AllOps()) {
    const OpInfo info = entry.make()->Info();
    EXPECT_FALSE(info.summary.empty()) << info.name;
    EXPECT_NE(info.example.find("neurolens " + info.name), std::string::npos) << info.name;
    EXPECT_NE(info.reply, nullptr) << info.name;
  }
}

}  // namespace
}  // namespace nl::ops::docs
