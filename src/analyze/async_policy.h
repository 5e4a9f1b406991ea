// SPDX-License-Identifier: Apache-2.0
#pragma once
// Launch policy of std::async calls: on another thread if the system can start
// one, else deferred until the result is needed.

#include <future>

namespace nl {

inline constexpr auto kAsyncOrDeferred = std::launch::async | std::launch::deferred;

}  // namespace nl
