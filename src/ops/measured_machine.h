// SPDX-License-Identifier: Apache-2.0
#pragma once
// What `bench` and `prove` ask of this machine before they time anything: the checks of bench/environment.h
// with the GPUs as NVML reports them. Thread rule: one thread at a time.

#include <string_view>

#include "base/result.h"
#include "bench/environment.h"

namespace nl {

// InvalidInput where `validity` ("strict" or "portable") asks for a machine without errors.
Result<bench::EnvironmentReply> RequireMeasurable(std::string_view validity, bool allow_virtualization);

}  // namespace nl
