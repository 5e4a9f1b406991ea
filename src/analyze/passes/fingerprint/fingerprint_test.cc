// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <set>

#include "analyze/facts/fingerprint.h"
#include "base/record_json.h"
#include "testing/run_builder.h"

namespace nl {
namespace {

using testing_analyze::RunBuilder;

Json OpEntry(const std::string& type, double duration_ms, Json kernels = Json::array()) {
  return {{"op_index", 0},
          {"op_name", "aten::" + type},
          {"op_type", type},
          {"start_ms", nullptr},
          {"end_ms", nullptr},
          {"duration_ms", duration_ms},
          {"kernels", std::move(kernels)}};
}

Json Document(std::vector<Json> ops) {
  Json out{{"run_id", "r1"}, {"created_at", "2026-01-01T00:00:00Z"}};
  out["hardware"] = {{"devices", Json::array({{{"index", 0}, {"name", "NVIDIA H200"}}})}};
  out["timeline"] = Json::array();
  for (size_t i = 0; i < ops.size(); ++i) {
    ops[i]["op_index"] = i;
    out["timeline"].push_back(ops[i]);
  }
  out["summary"] = {{"total_ops", ops.size()}};
  return out;
}

Json Make(const Json& document) {
  RunBuilder run;
  run.Device(0, "NVIDIA H200");
  run.Kernel("k", 7, 0, 10);
  run.document() = document;
  Analysis analysis = run.Finish();
  const auto made = analysis.Need<FingerprintFacts>();
  EXPECT_TRUE(made.ok()) << (made.ok() ? "" : made.error().ToString());
  return ToDocument(SectionOf(**made, analysis.data()));
}

TEST(Fingerprint, VectorsFollowTheFormulas) {
  Json gemm = OpEntry("mm", 3,
                      Json::array({{{"name", "a"},
                                    {"start_ms", 0},
                                    {"duration_ms", 1},
                                    {"achieved_occupancy", 0.2},
                                    {"l2_hit_rate", 0.5},
                                    {"dram_read_gb", 0.1},
                                    {"dram_write_gb", 0.02}},
                                   {{"name", "b"},
                                    {"start_ms", 1},
                                    {"duration_ms", 3},
                                    {"achieved_occupancy", 0.6},
                                    {"dram_read_gb", 0.2},
                                    {"dram_write_gb", 0.08}}}));
  gemm["flops"] = 8e9;
  const Json f = Make(Document({gemm, OpEntry("add", 1)}));
  const Json& v = f["ops"][0]["vector"];
  EXPECT_DOUBLE_EQ(v[0], 0.75);
  EXPECT_DOUBLE_EQ(v[1], 8e9 / 0.4e9);
  EXPECT_DOUBLE_EQ(v[2], (0.2 * 1 + 0.6 * 3) / 4);
  EXPECT_TRUE(v[3].is_null());
  EXPECT_TRUE(v[4].is_null()) << "one kernel has no value: the mean of the rest is not the op's";
  EXPECT_DOUBLE_EQ(v[5], 0.4e9 / 4e-3 / 4800e9);
  EXPECT_EQ(f["ops"][0]["ai_source"], "counters");
  for (size_t i = 1; i < 6; ++i) EXPECT_TRUE(f["ops"][1]["vector"][i].is_null()) << i;
}

TEST(Fingerprint, IntensityComesFromShapesWhenNothingCounted) {
  RunBuilder run;
  run.Device(0, "NVIDIA H200");
  const ThreadId main = run.Thread("main");
  run.Op(main, "aten::mm", 0, 50, "[[8,16],[16,32]]", R"(["float","float"])");
  run.Kernel("gemm", 7, 100, 10, run.Api(main, "cudaLaunchKernel", 10, 10));
  Json op = OpEntry("mm", 3);
  op["shapes"] = Json::array({{8, 16}, {16, 32}});
  op["dtypes"] = {"float", "float"};
  run.document() = Document({op});
  Analysis analysis = run.Finish();
  const Json f = ToDocument(SectionOf(**analysis.Need<FingerprintFacts>(), analysis.data()));
  EXPECT_DOUBLE_EQ(f["ops"][0]["vector"][1], 2.0 * 8 * 16 * 32 / (4.0 * (8 * 16 + 16 * 32 + 8 * 32)));
  EXPECT_EQ(f["ops"][0]["ai_source"], "shapes");
}

TEST(Fingerprint, TheSameRunGivesTheSameBytesWheneverItWasStored) {
  const Json a = Document({OpEntry("mm", 1), OpEntry("add", 2)});
  EXPECT_EQ(DumpJson(Make(a)), DumpJson(Make(a)));
  Json later = a;
  later["created_at"] = "2027-01-01T00:00:00Z";
  later["run_id"] = "r2";
  EXPECT_EQ(Make(a)["source_run_sha"], Make(later)["source_run_sha"]);
  Json other = a;
  other["timeline"][0]["duration_ms"] = 1.5;
  EXPECT_NE(Make(a)["source_run_sha"], Make(other)["source_run_sha"]);
  EXPECT_EQ(Make(later)["created_at"], "2027-01-01T00:00:00Z");
}

TEST(Fingerprint, AnInsertedOpChangesNoOtherSignature) {
  const Json a = Make(Document({OpEntry("mm", 1), OpEntry("add", 2), OpEntry("mm", 3)}));
  const Json b = Make(Document({OpEntry("new", 9), OpEntry("mm", 1), OpEntry("add", 2), OpEntry("mm", 3)}));
  for (size_t i = 0; i < 3; ++i) EXPECT_EQ(a["ops"][i]["sig"], b["ops"][i + 1]["sig"]);
  EXPECT_NE(a["ops"][0]["sig"], a["ops"][2]["sig"]) << "equals are told apart by their occurrence";
  EXPECT_EQ(b["ops"][3]["index"], 3);
}

TEST(Fingerprint, ShapesTypesAndModuleAreInTheSignature) {
  Json plain = OpEntry("mm", 1), shaped = plain, typed = plain, placed = plain;
  shaped["shapes"] = Json::array({{1, 2}});
  typed["dtypes"] = {"float"};
  placed["module"] = "model.layers.0";
  const Json f = Make(Document({plain, shaped, typed, placed}));
  std::set<std::string> sigs;
  for (const Json& op : f["ops"]) sigs.insert(op["sig"].get<std::string>());
  EXPECT_EQ(sigs.size(), 4u);
}

TEST(Fingerprint, ARunWithoutADocumentHasNoOps) {
  const Json f = Make(Json::object());
  EXPECT_TRUE(f["ops"].empty());
  EXPECT_TRUE(f["summary"].is_null());
}

}  // namespace
}  // namespace nl
