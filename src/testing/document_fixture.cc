// SPDX-License-Identifier: Apache-2.0
#include "testing/document_fixture.h"

#include <fstream>
#include <sstream>

#include <gtest/gtest.h>

namespace nl::testing_model {

Json LoadCase(const std::string& name) {
  std::ifstream file(std::string(NL_SOURCE_DIR "/tests/ajv/cases/") + name, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  auto parsed = ParseJson(text.str());
  EXPECT_TRUE(parsed.ok()) << name;
  return parsed.ok() ? *parsed : Json();
}

}  // namespace nl::testing_model
