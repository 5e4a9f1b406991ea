// SPDX-License-Identifier: Apache-2.0
#include "import/model_metadata.h"

#include <gtest/gtest.h>

namespace nl {
namespace {

Json Header(const char* text) { return Json{{kModelMetadata, *ParseJson(text)}}; }

TEST(ModelMetadata, ReachesTheDocument) {
  RunDocument doc;
  EXPECT_TRUE(TakeModelMetadata(Header(R"({"name": "llama_8b", "batch_size": 8, "sequence_length": 1024,
      "parameters_millions": 8030.26, "dims": {"layers": 32, "d_model": 4096},
      "config": {"workload.batch": 8, "dtype": "bf16", "model.weights": null}})"),
                                doc));
  EXPECT_EQ(doc.model.name, "llama_8b");
  EXPECT_EQ(doc.model.batch_size, 8);
  EXPECT_EQ(doc.model.sequence_length, 1024);
  EXPECT_EQ(doc.model.parameters_millions, 8030.26);
  EXPECT_EQ(doc.model.dims->layers, 32);
  EXPECT_EQ(doc.model.dims->heads, std::nullopt);
  EXPECT_EQ(doc.config->at("workload.batch"), Json(8));
  EXPECT_TRUE(doc.config->at("model.weights").is_null());
}

TEST(ModelMetadata, WhatDoesNotFitIsLeftOut) {
  RunDocument doc;
  doc.model.name = "from the file";
  EXPECT_TRUE(TakeModelMetadata(
      Header(R"({"name": 3, "batch_size": -1, "sequence_length": "x", "parameters_millions": "many",
      "dims": [1], "config": {"list": [1, 2], "map": {}}})"),
      doc));
  EXPECT_EQ(doc.model.name, "from the file");
  EXPECT_FALSE(doc.model.batch_size || doc.model.sequence_length || doc.model.parameters_millions ||
               doc.model.dims || doc.config);
  EXPECT_FALSE(TakeModelMetadata(Header("[1]"), doc));
  EXPECT_FALSE(TakeModelMetadata(Json::object(), doc));
}

}  // namespace
}  // namespace nl
