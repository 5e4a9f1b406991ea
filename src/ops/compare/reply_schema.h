// SPDX-License-Identifier: Apache-2.0
#pragma once
// The JSON Schema (draft-07) of what `compare` replies.

#include "base/json.h"

namespace nl::ops::compare {

Json CompareReplySchema();

}  // namespace nl::ops::compare
