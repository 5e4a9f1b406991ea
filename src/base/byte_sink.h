// SPDX-License-Identifier: Apache-2.0
#pragma once
// ByteSink: where an output streams to (a file, standard output, memory), so that its
// writer need not know. Thread rule: that of the function after it.

#include <functional>
#include <string_view>

#include "base/result.h"

namespace nl {

// Takes the bytes of an output in order; an error ends the output.
using ByteSink = std::function<Status(std::string_view bytes)>;

}  // namespace nl
