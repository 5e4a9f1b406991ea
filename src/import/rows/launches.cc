// SPDX-License-Identifier: Apache-2.0
#include "import/rows/launches.h"

namespace nl {

LaunchIndex::Calls* LaunchIndex::CallsOf(int64_t process, bool make) {
  if (last_ != nullptr && process == last_process_) return last_;
  const auto it = make ? processes_.try_emplace(process).first : processes_.find(process);
  if (it == processes_.end()) return nullptr;
  last_ = &it->second;
  last_process_ = process;
  return last_;
}

void LaunchIndex::Add(int64_t process, int64_t correlation, const Launch& launch) {
  Calls& calls = *CallsOf(process, true);
  calls.correlation.Add(correlation);
  calls.api_call.Add(static_cast<int64_t>(launch.api_call));
  calls.op.Add(static_cast<int64_t>(launch.op));
  calls.wait.Add(static_cast<int64_t>(launch.wait));
}

LaunchIndex::Launch LaunchIndex::Find(int64_t process, int64_t correlation) {
  if (IsNull(correlation)) return {};
  Calls* calls = CallsOf(process, false);
  if (calls == nullptr) return {};
  if (calls->index == nullptr) {
    calls->index = std::make_unique<IdIndex>(calls->correlation, 0);
    duplicates_ += calls->index->duplicates();
  }
  const int64_t at = calls->index->Find(correlation, calls->hint);
  if (IsNull(at)) return {};
  const auto i = static_cast<size_t>(at);
  return {static_cast<RowId>(calls->api_call.At(i)), static_cast<RowId>(calls->op.At(i)),
          static_cast<WaitKind>(calls->wait.At(i))};
}

}  // namespace nl
