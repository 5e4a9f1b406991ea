// SPDX-License-Identifier: Apache-2.0
#pragma once
// Launch policy of the comparison's std::async calls: on another thread if the system can start
// one, else deferred until the result is needed.

#include <future>

namespace nl::compare {

inline constexpr auto kAsyncOrDeferred = std::launch::async | std::launch::deferred;

}  // namespace nl::compare
