// SPDX-License-Identifier: Apache-2.0
#include "analyze/cost_model/flops.h"

#include <gtest/gtest.h>

#include "testing/run_builder.h"

namespace nl {
namespace {

using testing_analyze::RunBuilder;

struct Case {
  const char* what;
  const char *name, *dims, *types, *concrete;
  double flops, bytes;  // by hand
};

class FlopsByHand : public ::testing::TestWithParam<Case> {};

TEST_P(FlopsByHand, AgreesWithPaper) {
  const Case& c = GetParam();
  const OpCost cost = OpCostOf(c.name, c.dims, c.types, c.concrete);
  ASSERT_TRUE(cost.flops.has_value()) << cost.reason;
  ASSERT_TRUE(cost.bytes.has_value()) << cost.reason;
  EXPECT_DOUBLE_EQ(*cost.flops, c.flops);
  EXPECT_DOUBLE_EQ(*cost.bytes, c.bytes);
  EXPECT_EQ(cost.reason, "");
}

#define BF "\"c10::BFloat16\""
const Case kCases[] = {
    {"mm", "aten::mm", "[[8,2048],[2048,512]]", "[" BF "," BF "]", R"(["",""])", 2.0 * 8 * 2048 * 512,
     2.0 * (8 * 2048 + 2048 * 512 + 8 * 512)},
    {"mm_spaced", "aten::mm", "[[8, 2048], [2048, 512]]", "[" BF ", " BF "]", "", 2.0 * 8 * 2048 * 512,
     2.0 * (8 * 2048 + 2048 * 512 + 8 * 512)},
    {"addmm", "aten::addmm", "[[1000],[64,2048],[2048,1000],[],[]]",
     R"(["c10::Half","c10::Half","c10::Half","Scalar","Scalar"])", R"(["","","","1","1"])",
     2.0 * 64 * 2048 * 1000, 2.0 * (1000 + 64 * 2048 + 2048 * 1000 + 64 * 1000)},
    {"bmm", "aten::bmm", "[[4,3,5],[4,5,7]]", R"(["float","float"])", "", 2.0 * 4 * 3 * 5 * 7,
     4.0 * (4 * 3 * 5 + 4 * 5 * 7 + 4 * 3 * 7)},
    {"baddbmm", "aten::baddbmm", "[[4,3,7],[4,3,5],[4,5,7]]", R"(["float","float","float"])", "",
     2.0 * 4 * 3 * 5 * 7, 4.0 * (4 * 3 * 5 + 4 * 5 * 7 + 2 * 4 * 3 * 7)},
    {"linear", "aten::linear", "[[2,3,5],[7,5],[7]]", R"(["float","float","float"])", "", 2.0 * 6 * 5 * 7,
     4.0 * (30 + 35 + 42 + 7)},
    {"matmul_broadcast", "aten::matmul", "[[2,1,3,5],[4,5,7]]", R"(["float","float"])", "",
     2.0 * 8 * 3 * 5 * 7, 4.0 * (30 + 140 + 8 * 21)},
    {"matmul_vector", "aten::matmul", "[[3,5],[5]]", R"(["float","float"])", "", 2.0 * 15,
     4.0 * (15 + 5 + 3)},
    {"mul_out", "aten::mul", "[[512,2862],[],[512,2862]]", R"(["float","double","float"])", "", 512.0 * 2862,
     8.0 * 512 * 2862 + 8},
    {"add_of_three_arguments", "aten::add", "[[8,4],[8,4],[]]", R"(["float","float","Scalar"])", "", 32, 384},
    // Rows of 100 tokens, each multiplied by the matrix of its expert.
    {"grouped_mm", "aten::_grouped_mm", "[[100,64],[8,64,32],[8]]", "[" BF "," BF ",\"int\"]", "",
     2.0 * 100 * 64 * 32, 2.0 * (100 * 64 + 8 * 64 * 32 + 100 * 32)},
    {"scaled_grouped_mm", "aten::_scaled_grouped_mm", "[[100,64],[8,64,32]]",
     R"(["c10::Float8_e4m3fn","c10::Float8_e4m3fn"])", "", 2.0 * 100 * 64 * 32,
     100.0 * 64 + 8 * 64 * 32 + 2 * 100 * 32},
    {"cutlass_scaled_mm", "_C::cutlass_scaled_mm", "[[16,64],[16,32],[32,64],[],[]]",
     "[" BF R"(,"c10::Float8_e4m3fn","c10::Float8_e4m3fn","float","float"])", "", 2.0 * 16 * 32 * 64,
     2.0 * 16 * 64 + 16 * 32 + 32 * 64},
    // Two fp4 values in a byte: K is 64.
    {"cutlass_scaled_fp4_mm", "_C::cutlass_scaled_fp4_mm", "[[16,48],[16,32],[48,32]]",
     "[" BF R"(,"unsigned char","unsigned char"])", "", 2.0 * 16 * 64 * 48,
     2.0 * 16 * 48 + 16 * 32 + 48 * 32},
    // 10 tokens choose 2 of 8 experts: up to 20 choices, so every expert is read.
    {"fused_experts", "vllm::inplace_fused_experts", "[[10,16],[8,24,16],[8,16,12],[10,2],[10,2]]",
     "[" BF "," BF "," BF R"(,"float","int"])", "", 2.0 * 20 * (24 * 16 + 16 * 12),
     2.0 * (2 * 10 * 16 + 8 * 24 * 16 + 8 * 16 * 12)},
    {"conv_depthwise", "aten::_conv_depthwise2d", "[[1,8,4,4],[8,1,3,3],[],[],[],[],[]]",
     R"(["float","float","ScalarList","","ScalarList","ScalarList","ScalarList"])",
     R"(["","","[3, 3]","","[1, 1]","[1, 1]","[1, 1]"])", 2.0 * 8 * 16 * 9, 4.0 * (128 + 72 + 128)},
    {"conv_backward_input", "aten::cudnn_convolution_backward_input", "[[],[2,8,4,4],[8,3,3,3],[]]",
     R"(["ScalarList","float","float","ScalarList"])", R"(["[2, 3, 4, 4]","","","[1, 1]"])",
     2.0 * 2 * 16 * 8 * 3 * 9, 4.0 * (256 + 216 + 96)},
    {"conv_backward_weight", "aten::cudnn_convolution_backward_weight", "[[],[2,8,4,4],[2,3,4,4],[]]",
     R"(["ScalarList","float","float","ScalarList"])", R"(["[8, 3, 3, 3]","","","[1, 1]"])",
     2.0 * 2 * 16 * 8 * 3 * 9, 4.0 * (256 + 96 + 216)},
    // Two sequences of 128 tokens packed in one tensor, causal.
    {"packed_attention", "flash_attn::_flash_attn_varlen_forward",
     "[[256,8,64],[256,2,64],[256,2,64],[3],[3],[],[],[],[],[]]",
     "[" BF "," BF "," BF R"(,"int","int","Scalar","Scalar","Scalar","Scalar","Scalar"])",
     R"(["","","","","","128","128","0.","0.125","True"])", 0.5 * 2.0 * 2 * 8 * 128 * 128 * 128,
     2.0 * (2 * 256 * 8 * 64 + 2 * 256 * 2 * 64)},
    {"max_pool", "aten::max_pool2d_with_indices", "[[1,8,8,8],[],[],[],[],[]]",
     R"(["c10::Half","ScalarList","ScalarList","ScalarList","ScalarList","Scalar"])",
     R"(["","[3, 3]","[2, 2]","[1, 1]","[1, 1]","False"])", 8.0 * 16 * 9, 2.0 * 512 + 10.0 * 8 * 16},
    {"scaled_mm", "aten::_scaled_mm", "[[16,32],[32,64],[],[],[],[],[],[]]",
     R"(["c10::Float8_e4m3fn","c10::Float8_e4m3fn","float","float","","","Scalar","Scalar"])",
     R"(["","","","","","","15","False"])", 2.0 * 16 * 32 * 64, 16.0 * 32 + 32 * 64 + 2 * 16 * 64},
    // 7x7 stride 2 padding 3: 112 x 112 places.
    {"cudnn_convolution", "aten::cudnn_convolution", "[[64,3,224,224],[64,3,7,7],[],[],[],[],[],[],[]]",
     R"(["c10::Half","c10::Half","ScalarList","ScalarList","ScalarList","Scalar","Scalar","Scalar","Scalar"])",
     R"(["","","[3, 3]","[2, 2]","[1, 1]","1","False","False","True"])", 2.0 * 64 * 64 * 112 * 112 * 3 * 49,
     2.0 * (64.0 * 3 * 224 * 224 + 64 * 3 * 49 + 64.0 * 64 * 112 * 112)},
    {"conv_grouped", "aten::conv2d", "[[1,8,4,4],[8,2,3,3],[8],[],[],[],[]]",
     R"(["float","float","float","ScalarList","ScalarList","ScalarList","Scalar"])",
     R"(["","","","[1, 1]","[1, 1]","[1, 1]","4"])", 2.0 * 8 * 16 * 2 * 9, 4.0 * (128 + 144 + 128 + 8)},
    {"convolution_transposed", "aten::convolution", "[[1,4,5],[4,6,3],[],[],[],[],[],[],[]]",
     R"(["float","float","","ScalarList","ScalarList","ScalarList","Scalar","ScalarList","Scalar"])",
     R"(["","","","[2]","[1]","[1]","True","[1]","1"])", 2.0 * 5 * 4 * 6 * 3, 4.0 * (20 + 72 + 6 * 10)},
    {"convolution_backward", "aten::convolution_backward",
     "[[64,2048,7,7],[64,512,7,7],[2048,512,1,1],[],[],[],[],[],[],[],[]]",
     R"(["c10::Half","c10::Half","c10::Half","ScalarList","ScalarList","ScalarList","ScalarList","Scalar","ScalarList","Scalar","ScalarList"])",
     R"(["","","","[0]","[1, 1]","[0, 0]","[1, 1]","False","[0, 0]","1","[True, True, False]"])",
     2 * 2.0 * 64 * 49 * 2048 * 512, 2.0 * (64.0 * 2048 * 49 + 2 * (2048.0 * 512 + 64 * 512 * 49))},
    {"sdpa_causal_square", "aten::_cudnn_attention_forward",
     "[[8,32,512,64],[8,8,512,64],[8,8,512,64],[],[],[],[],[],[],[],[],[],[]]",
     "[" BF "," BF "," BF R"(,"","","","Scalar","Scalar","Scalar","Scalar","Scalar","Scalar","Scalar"])",
     R"(["","","","","","","512","512","False","0.","True","False","0.125"])",
     2.0 * 8 * 32 * 512 * 512 * 128 / 2, 2.0 * (2.0 * 8 * 32 * 512 * 64 + 2.0 * 8 * 8 * 512 * 64)},
    {"sdpa_causal_decode_is_not_halved", "aten::_scaled_dot_product_flash_attention",
     "[[8,32,1,64],[8,32,100,64],[8,32,100,64],[],[],[],[]]",
     "[" BF "," BF "," BF R"(,"Scalar","Scalar","Scalar","Scalar"])",
     R"(["","","","0.","True","False","0.125"])", 2.0 * 8 * 32 * 100 * 128,
     2.0 * (2.0 * 8 * 32 * 64 + 2.0 * 8 * 32 * 100 * 64)},
    {"sdpa_values_of_another_width", "aten::scaled_dot_product_attention",
     "[[1,2,4,8],[1,2,6,8],[1,2,6,16],[],[],[],[],[]]",
     "[" BF "," BF "," BF R"(,"","Scalar","Scalar","","Scalar"])", R"(["","","","","0.","False","",""])",
     2.0 * 2 * 4 * 6 * 24, 2.0 * (64 + 96 + 192 + 128)},
    {"flash_heads_last", "aten::_flash_attention_forward",
     "[[16,559,16,64],[16,559,16,64],[16,559,16,64],[],[],[],[],[],[],[],[],[],[],[],[]]",
     "[" BF "," BF "," BF R"(,"","","Scalar","Scalar","Scalar","Scalar","Scalar","Scalar","","","",""])",
     R"(["","","","","","559","559","0.","True","False","0.125","","","",""])",
     2.0 * 16 * 16 * 559 * 559 * 128 / 2, 2.0 * 4 * 16 * 559 * 16 * 64},
    {"attention_backward", "aten::_scaled_dot_product_flash_attention_backward",
     "[[1,2,4,8],[1,2,4,8],[1,2,4,8],[1,2,4,8],[1,2,4,8],[],[],[],[],[],[],[]]",
     "[" BF "," BF "," BF "," BF "," BF R"(,"","","","","","",""])",
     R"(["","","","","","","","","","","","False"])", 2.0 * 2 * 4 * 4 * 40, 2.0 * 64 * 8},
    {"add_broadcast", "aten::add", "[[128,197,768],[1,197,768],[]]", "[" BF "," BF R"(,"Scalar"])",
     R"(["","","1"])", 128.0 * 197 * 768, 2.0 * 197 * 768 * (128 + 1 + 128)},
    {"mul_by_a_number_keeps_the_type", "aten::mul", "[[1,559,64],[]]", R"(["float","double"])", "",
     559.0 * 64, 4.0 * 2 * 559 * 64 + 8},
    {"add_in_place", "aten::add_", "[[10],[10],[]]", R"(["c10::Half","float","Scalar"])", "", 10,
     20.0 + 40 + 20},
    {"copy_converts", "aten::copy_", "[[8,2048],[8,2048],[]]", R"(["float","c10::BFloat16","Scalar"])", "", 0,
     8.0 * 2048 * 6},
    {"fill", "aten::fill_", "[[64,1000],[]]", R"(["float","Scalar"])", R"(["","0"])", 0, 256000},
    {"to_bf16", "aten::_to_copy", "[[100],[],[],[],[],[],[]]", R"(["float","Scalar","","","","",""])",
     R"(["","15","","","","",""])", 0, 600},
    {"eq_gives_bool", "aten::eq", "[[16,559],[]]", R"(["long int","Scalar"])", R"(["","1"])", 16.0 * 559,
     9.0 * 16 * 559},
    {"silu", "aten::silu", "[[8,512]]", "[" BF "]", "", 4096, 4 * 4096},
    {"mean_of_rows", "aten::mean", "[[8,512,2048],[],[],[]]", R"(["float","ScalarList","Scalar",""])",
     R"(["","[-1]","True",""])", 8.0 * 512 * 2048, 4.0 * (8 * 512 * 2048 + 8 * 512)},
    {"sum_of_all", "aten::sum", "[[8,16],[]]", R"(["float",""])", R"(["",""])", 128, 4 * 129.0},
    {"layer_norm", "aten::native_layer_norm", "[[32,768],[],[768],[768],[]]",
     "[" BF R"(,"ScalarList",)" BF "," BF R"(,"Scalar"])", "", 5.0 * 32 * 768,
     2.0 * (2 * 32 * 768 + 2 * 768)},
    {"softmax", "aten::_softmax", "[[3136,12,8,8],[],[]]", "[" BF R"(,"Scalar","Scalar"])", "",
     5.0 * 3136 * 12 * 64, 4.0 * 3136 * 12 * 64},
    {"fused_add_rms_norm", "_C::fused_add_rms_norm", "[[888,2880],[888,2880],[2880],[]]",
     "[" BF "," BF "," BF R"(,"Scalar"])", "", 6.0 * 888 * 2880, 2.0 * (4.0 * 888 * 2880 + 2880)},
    {"embedding", "aten::embedding", "[[32000,2048],[8,512],[],[],[]]",
     "[" BF R"(,"long int","Scalar","Scalar","Scalar"])", "", 0, 8.0 * 4096 + 2.0 * 2 * 4096 * 2048},
    {"index_select", "aten::index_select", "[[151936,1024],[],[8944]]", "[" BF R"(,"Scalar","long int"])",
     R"(["","0",""])", 0, 8.0 * 8944 + 2.0 * 2 * 8944 * 1024},
    {"empty_tensor", "aten::mul", "[[0,4],[4]]", R"(["float","float"])", "", 0, 16},
};
#undef BF
INSTANTIATE_TEST_SUITE_P(Flops, FlopsByHand, ::testing::ValuesIn(kCases),
                         [](const auto& info) { return std::string(info.param.what); });

TEST(Flops, WhatIsNotKnownIsNullWithAReason) {
  const auto reason = [](const char* name, const char* dims, const char* types, const char* concrete = "") {
    const OpCost cost = OpCostOf(name, dims, types, concrete);
    EXPECT_FALSE(cost.flops.has_value() && cost.bytes.has_value()) << name;
    return cost.reason;
  };
  EXPECT_EQ(reason("my::op", "[[1]]", R"(["float"])"), "no formula for this op");
  EXPECT_NE(reason("aten::mm", "", "").find("record_shapes"), std::string::npos);
  EXPECT_NE(reason("aten::mm", "[[2,3],[4,5]]", R"(["float","float"])"), "");
  EXPECT_NE(reason("aten::mm", "[[2,3]]", R"(["float"])"), "");
  EXPECT_NE(reason("aten::mm", "nonsense", "[["), "");
  EXPECT_NE(
      reason("aten::conv2d", "[[1,8,4,4],[8,8,3,3],[],[],[],[],[]]", R"(["float","float","","","","",""])"),
      "");
  EXPECT_NE(reason("aten::_flash_attention_forward", "[[888,8,64],[888,1,64],[888,1,64]]",
                   R"(["float","float","float"])"),
            "");
  EXPECT_NE(reason("aten::cat", "[[[8,4],[8,4]],[]]", R"(["TensorList","Scalar"])"), "");
  EXPECT_NE(reason("aten::mm", "[[2,3],[3,5]]", R"(["mystery","float"])"), "");
}

// Whether a square attention is causal decides by a factor of two: unknown stays unknown.
TEST(Flops, AttentionWithoutItsCausalFlagIsNotGuessed) {
  const OpCost square = OpCostOf("aten::scaled_dot_product_attention", "[[1,2,4,8],[1,2,4,8],[1,2,4,8]]",
                                 R"(["float","float","float"])", "");
  EXPECT_FALSE(square.flops.has_value());
  EXPECT_TRUE(square.bytes.has_value());
  const OpCost decode = OpCostOf("aten::scaled_dot_product_attention", "[[1,2,1,8],[1,2,4,8],[1,2,4,8]]",
                                 R"(["float","float","float"])", "");
  ASSERT_TRUE(decode.flops.has_value());
  EXPECT_DOUBLE_EQ(*decode.flops, 2.0 * 2 * 4 * 16);
}

TEST(Flops, ATableWorksEachDistinctCallOutOnce) {
  RunBuilder run;
  const ThreadId main = run.Thread("main");
  for (int i = 0; i < 3; ++i) run.Op(main, "aten::mm", i, 1, "[[2,3],[3,4]]", R"(["float","float"])");
  run.Op(main, "aten::mm", 9, 1, "[[2,3],[3,5]]", R"(["float","float"])");
  Analysis analysis = run.Finish();
  CostTable table(analysis.data());
  EXPECT_EQ(table.SlotOf(0), table.SlotOf(2));
  EXPECT_NE(table.SlotOf(0), table.SlotOf(3));
  EXPECT_EQ(table.size(), 2u);
  EXPECT_EQ(*table.Cost(table.SlotOf(3)).flops, 2.0 * 2 * 3 * 5);
}

}  // namespace
}  // namespace nl
