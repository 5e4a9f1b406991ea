// SPDX-License-Identifier: Apache-2.0
#pragma once
// What a program says of its own model: neurolens.models marks it as "neurolens.model" with a JSON object in
// a capture, and as metadata of that name in a Kineto trace. Adapters leave it in SourceFacts::header. Thread
// rule: pure functions.

#include "base/json.h"
#include "model/run_document.h"

namespace nl {

inline constexpr const char* kModelMetadata = "neurolens.model";

// Name, batch, length, parameters, dimensions and settings, each where it is of the right type; false when
// the header has no such object. What does not fit the run document is left out.
bool TakeModelMetadata(const Json& header, RunDocument& to);

}  // namespace nl
