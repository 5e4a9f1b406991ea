// SPDX-License-Identifier: Apache-2.0
#pragma once
// What a runtime or driver API call is for, from its name (CUDA and HIP spellings). The
// one place that reads these names.
// Thread rule: the functions are pure; an ApiKinds belongs to one thread.

#include <cstdint>
#include <string_view>
#include <vector>

#include "model/ids.h"
#include "model/string_pool.h"

namespace nl {

enum class ApiKind : uint8_t {
  kLaunch,
  kGraphLaunch,
  kMemset,
  kSync,
  kCopy,          // returns before the copy is done, unless its memory is pageable
  kBlockingCopy,  // returns when the copy is done
  kAlloc,
  kBlockingFree,  // cudaFree waits for the device, as documented
  kPoolAlloc,     // the asynchronous ones, from the driver's pool
  kEventRecord,
  kStreamWait,
  kOther,
};
inline constexpr size_t kApiKinds = 12;

ApiKind ClassifyApi(std::string_view name);
// The group people know: "launch", "graph launch", "sync", "copy", "alloc", "other".
std::string_view ApiGroup(ApiKind kind);

// Makes, records, asks or ends an event, or waits for one; also what Kineto calls INVALID, which some of
// these are.
bool IsEventCall(std::string_view name);

// What a call waits for; frozen; 0 means no wait.
enum class WaitKind : uint8_t { kNone, kEvent, kStreamWait, kStream, kContext };
WaitKind WaitOf(std::string_view name);
// Name of a row of table sync; null for kNone.
const char* NameOf(WaitKind kind);

// "cudaLaunchKernel_v7000" without "_v7000", as most profilers write it; "cuMemcpyHtoD_v2" stays.
std::string_view WithoutApiVersion(std::string_view name);

// Puts work other than a copy on a stream.
inline bool IsLaunch(ApiKind kind) {
  return kind == ApiKind::kLaunch || kind == ApiKind::kGraphLaunch || kind == ApiKind::kMemset;
}
inline bool IsCopy(ApiKind kind) { return kind == ApiKind::kCopy || kind == ApiKind::kBlockingCopy; }
inline bool IsAlloc(ApiKind kind) { return kind == ApiKind::kAlloc || kind == ApiKind::kBlockingFree; }

// Kinds of a run's calls, each distinct name read once.
class ApiKinds {
 public:
  explicit ApiKinds(const StringPool* strings) : strings_(strings) {}
  ApiKind Of(StringId name) {
    if (IsNull(name)) return ApiKind::kOther;
    const auto id = static_cast<size_t>(name);
    if (id >= kinds_.size()) kinds_.resize(strings_->size(), kNotRead);
    if (kinds_[id] == kNotRead) kinds_[id] = static_cast<uint8_t>(ClassifyApi(strings_->Text(name)));
    return static_cast<ApiKind>(kinds_[id]);
  }

 private:
  static constexpr uint8_t kNotRead = 0xff;
  const StringPool* strings_;
  std::vector<uint8_t> kinds_;  // by string
};

}  // namespace nl
