// SPDX-License-Identifier: Apache-2.0
#pragma once
// The reason in import_log that adapters give for records that a recorder dropped and counted itself: the
// only loss whose size is known. Thread rule: a constant.

namespace nl {

inline constexpr const char* kRecordsLost = "records_lost";

}  // namespace nl
