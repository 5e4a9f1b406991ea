// SPDX-License-Identifier: Apache-2.0
#pragma once
// NVTX's injection interface as far as we use it, declared by ourselves. A program with
// NVTX calls InitializeInjectionNvtx2 of the library that NVTX_INJECTION64_PATH names, once
// for each copy of NVTX in it, and gives a function that hands out tables: one per module,
// of places into which we put our functions.
// Thread rule: plain data.

#include <cstddef>
#include <cstdint>

namespace nl::capture::nvtx {

using GetExportTable = const void* (*)(uint32_t id);
inline constexpr uint32_t kCallbacksTable = 1;

using Function = void (*)();
struct CallbacksTable {
  size_t struct_bytes;
  int (*GetModuleFunctionTable)(int module, Function*** table, unsigned int* size);
};
enum Module : int { kCore = 1, kCore2 = 5 };
enum CoreId : unsigned {
  kMarkEx = 1,
  kMarkA = 2,
  kMarkW = 3,
  kRangeStartEx = 4,
  kRangeStartA = 5,
  kRangeStartW = 6,
  kRangeEnd = 7,
  kRangePushEx = 8,
  kRangePushA = 9,
  kRangePushW = 10,
  kRangePop = 11,
  kNameCategoryA = 12,
  kNameCategoryW = 13,
  kNameOsThreadA = 14,
  kNameOsThreadW = 15,
};
enum Core2Id : unsigned {
  kDomainMarkEx = 1,
  kDomainRangeStartEx = 2,
  kDomainRangeEnd = 3,
  kDomainRangePushEx = 4,
  kDomainRangePop = 5,
  kDomainNameCategoryA = 8,
  kDomainNameCategoryW = 9,
  kDomainRegisterStringA = 10,
  kDomainRegisterStringW = 11,
  kDomainCreateA = 12,
  kDomainCreateW = 13,
  kDomainDestroy = 14,
};

enum MessageType : int32_t { kAscii = 1, kUnicode = 2, kRegistered = 3 };
struct EventAttributes {
  uint16_t version, bytes;
  uint32_t category;
  int32_t color_type;  // 1: ARGB
  uint32_t color;
  int32_t payload_type;  // 1 uint64, 2 int64, 3 double, 4 uint32, 5 int32, 6 float
  int32_t reserved0;
  union {
    uint64_t as_uint64;
    int64_t as_int64;
    double as_double;
    uint32_t as_uint32;
    int32_t as_int32;
    float as_float;
  } payload;
  int32_t message_type;
  union {
    const char* ascii;
    const wchar_t* unicode;
    const void* registered;
  } message;
};
static_assert(sizeof(EventAttributes) == 48 && offsetof(EventAttributes, message) == 40);

}  // namespace nl::capture::nvtx
