// SPDX-License-Identifier: Apache-2.0
#include "model/demangle.h"

#include <gtest/gtest.h>

#include <string>

namespace nl {
namespace {

struct Case {
  const char* mangled;
  const char* readable;
};

TEST(Demangle, ReadsWhatCompilersWriteForKernels) {
  const Case cases[] = {
      {"_Z1fv", "f()"},
      {"_ZN2at6native6kernelEPKfi", "at::native::kernel(float const*, int)"},
      {"_Z22ncclDevKernel_SendRecv24ncclDevKernelArgsStorageILm4096EE",
       "ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)"},
      {"_ZN2at6native29vectorized_elementwise_kernelILi4ENS0_15CUDAFunctor_addIfEESt5arrayIPcLm3EEEEviT0_T1_",
       "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>, "
       "std::array<char*, 3ul> >(int, at::native::CUDAFunctor_add<float>, std::array<char*, 3ul>)"},
      {"_ZN2at6native18elementwise_kernelILi128ELi2EZNS0_22gpu_kernel_impl_nocastIZZZNS0_15neg_kernel_"
       "cudaERNS_"
       "18TensorIteratorBaseEENKUlvE0_clEvENKUlvE5_clEvEUlfE_EEvS4_RKT_EUliE_EEviT1_",
       "void at::native::elementwise_kernel<128, 2, "
       "at::native::gpu_kernel_impl_nocast<at::native::neg_kernel_cuda("
       "at::TensorIteratorBase&)::{lambda()#2}::operator()() const::{lambda()#7}::operator()() "
       "const::{lambda("
       "float)#1}>(at::TensorIteratorBase&, "
       "at::native::neg_kernel_cuda(at::TensorIteratorBase&)::{lambda()#2}::"
       "operator()() const::{lambda()#7}::operator()() const::{lambda(float)#1} "
       "const&)::{lambda(int)#1}>(int, "
       "at::native::gpu_kernel_impl_nocast<at::native::neg_kernel_cuda(at::TensorIteratorBase&)::{lambda()#2}"
       "::"
       "operator()() const::{lambda()#7}::operator()() const::{lambda(float)#1}>(at::TensorIteratorBase&, "
       "at::native::neg_kernel_cuda(at::TensorIteratorBase&)::{lambda()#2}::operator()() "
       "const::{lambda()#7}::"
       "operator()() const::{lambda(float)#1} const&)::{lambda(int)#1})"},
      {"_ZN51_GLOBAL__N__b1108092_12_PowKernel_cu_398dda3b_222423fooE1AIXadL_Z3barfEEE",
       "(anonymous namespace)::foo(A<&bar>)"},
      {"_Z1fPFvRA3_KfELb1EM1Ai", nullptr},
      {"_Z1fPFvRA3_KfEM1Ai", "f(void (*)(float const (&) [3]), int A::*)"},
      {"_Z1fIJifEEvDpOT_", "void f<int, float>(int&&, float&&)"},
      {"_Z1fILi8EENSt9enable_ifIXgtT_Li0EEvE4typeEv", "std::enable_if<(8)>(0), void>::type f<8>()"},
      {"_Z1fILN1A1BE2ELin1EEvDF16bDF16_", "void f<(A::B)2, -1>(std::bfloat16_t, _Float16)"},
      {"_Z6kernelPf.kd", "kernel(float*) [clone .kd]"},
  };
  for (const Case& c : cases) {
    const std::optional<std::string> text = DemangleItanium(c.mangled);
    if (c.readable == nullptr) {
      EXPECT_EQ(text, std::nullopt) << c.mangled;
    } else {
      EXPECT_EQ(text.value_or("(refused)"), c.readable) << c.mangled;
    }
  }
}

TEST(Demangle, ReadsSymbolsOverOneThousandBytes) {
  std::string symbol = "_Z6kernelI";
  std::string expected = "void kernel<";
  for (int i = 0; i < 1000; ++i) {
    symbol += "Li7E";
    expected += i == 0 ? "7" : ", 7";
  }
  EXPECT_EQ(DemangleItanium(symbol + "Evv"), expected + ">()");
}

TEST(Demangle, RefusesOutputThatDoublesWithEverySubstitution) {
  std::string symbol = "_Z1f1AIiiE";
  const std::string digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
  for (char digit : digits) {
    symbol += std::string("S_IS") + digit + "_S" + digit + "_E";
  }
  EXPECT_EQ(DemangleItanium(symbol), std::nullopt);
}

TEST(Demangle, RefusesEveryTruncation) {
  const std::string symbol =
      "_ZN2at6native13reduce_kernelILi512ELi1ENS0_8ReduceOpIfNS0_7MeanOpsIffffEEjfLi4ELi4EEEEEvT1_";
  ASSERT_TRUE(DemangleItanium(symbol).has_value());
  for (size_t length = 0; length < symbol.size() - 4; ++length) {  // "...EEEEE" alone is a data symbol
    EXPECT_EQ(DemangleItanium(symbol.substr(0, length)), std::nullopt) << length;
  }
}

TEST(Demangle, RefusesDeepNesting) {
  for (const char* unit : {"P", "N", "Z", "1AI", "F", "A_", "X", "LZ", "J", "DT", "cv", "Ul", "M"}) {
    std::string symbol = "_Z1fI";
    while (symbol.size() < kMaxMangledBytes - 8) symbol += unit;
    EXPECT_EQ(DemangleItanium(symbol), std::nullopt) << unit;
  }
}

TEST(Demangle, RefusesWhatIsNotMangled) {
  for (const char* text : {"", "_", "_Z", "Z1fv", "void f()", "_Z99999999999f", "_Z0", "_ZS_", "_ZT_"}) {
    EXPECT_EQ(DemangleItanium(text), std::nullopt) << text;
  }
}

}  // namespace
}  // namespace nl
