// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "ops/profile/backend.h"

namespace nl::ops::profile {
namespace {

std::string Varint(uint64_t value) {
  std::string out;
  for (; value > 0x7f; value >>= 7) out.push_back(static_cast<char>((value & 0x7f) | 0x80));
  out.push_back(static_cast<char>(value));
  return out;
}
std::string Number(uint32_t field, uint64_t value) { return Varint(field << 3) + Varint(value); }
std::string Bytes(uint32_t field, const std::string& value) {
  return Varint(field << 3 | 2) + Varint(value.size()) + value;
}
std::string Input(const std::string& name, uint64_t type, const std::vector<std::string>& dims) {
  std::string shape;
  for (const std::string& dim : dims) shape += Bytes(1, dim);
  return Bytes(11, Bytes(1, name) + Bytes(2, Bytes(1, Number(1, type) + Bytes(2, shape))));
}
const std::string kModel =
    Number(1, 8) +
    Bytes(7, Bytes(5, Number(1, 4) + Bytes(8, "bias") + Bytes(9, std::string(16, '\0'))) +
                 Input("ids", 7, {Bytes(2, "batch_size"), Bytes(2, "sequence_length")}) +
                 Input("image", 1,
                       {"", Number(1, 3), Bytes(2, "height"), Number(1, static_cast<uint64_t>(-1))}) +
                 Input("bias", 1, {Number(1, 4)}) + Input("text", 8, {}));

TEST(OnnxSignature, NamesTypesAndDimensionsAreRead) {
  const auto inputs = OnnxInputs(kModel);
  ASSERT_TRUE(inputs.ok()) << inputs.error().ToString();
  ASSERT_EQ(inputs->size(), 3u) << "bias has a default";
  EXPECT_EQ((*inputs)[0].name, "ids");
  EXPECT_EQ((*inputs)[0].type, "int64");
  EXPECT_EQ((*inputs)[0].dims[1].name, "sequence_length");
  EXPECT_EQ((*inputs)[1].type, "float32");
  EXPECT_EQ((*inputs)[1].dims[1].size, 3);
  EXPECT_EQ((*inputs)[1].dims[3].size, std::nullopt) << "-1 is not a size";
  EXPECT_EQ((*inputs)[2].type, "") << "random text is not supported";
}

TEST(OnnxSignature, OpenDimensionsAreChosenWithAReason) {
  const auto inputs = OnnxInputs(kModel);
  ASSERT_TRUE(inputs.ok());
  DimRequest request;
  request.batch = 8;
  request.sequence = 64;
  request.dims["height"] = 224;
  std::vector<DimChoice> chosen;
  EXPECT_EQ(ChooseShape((*inputs)[0], request, chosen), (std::vector<int64_t>{8, 64}));
  EXPECT_EQ(ChooseShape((*inputs)[1], request, chosen), (std::vector<int64_t>{8, 3, 224, 1}));
  ASSERT_EQ(chosen.size(), 5u);
  EXPECT_EQ(chosen[0].why, "batch size");
  EXPECT_EQ(chosen[1].why, "sequence length");
  EXPECT_EQ(chosen[2].why, "batch size, because it is the first dimension");
  EXPECT_EQ(chosen[3].why, "--dim");
  EXPECT_NE(chosen[4].why.find("--dim NAME=SIZE"), std::string::npos);
}

TEST(OnnxSignature, CutAndForeignBytesAreErrorsNotCrashes) {
  for (size_t cut = 0; cut < kModel.size(); ++cut) {
    const auto inputs = OnnxInputs(std::string_view(kModel).substr(0, cut));
    EXPECT_FALSE(inputs.ok()) << cut;
  }
  EXPECT_FALSE(OnnxInputs("hello, this is text").ok());
  EXPECT_FALSE(OnnxInputs(std::string(64, '\xff')).ok());
}

TEST(Profile, LastLinesDropColours) {
  EXPECT_EQ(LastLines("a\nb\n\x1b[0;93mc\x1b[m\nd\n\n", 2), "c\nd");
  EXPECT_EQ(LastLines("one"), "one");
  EXPECT_EQ(LastLines(""), "");
}

}  // namespace
}  // namespace nl::ops::profile
