// SPDX-License-Identifier: Apache-2.0
#pragma once
// How the comparison starts what it may do beside something else: on a thread where the system gives one,
// else when the answer is asked for.

#include <future>

namespace nl::compare {

inline constexpr auto kBeside = std::launch::async | std::launch::deferred;

}  // namespace nl::compare
