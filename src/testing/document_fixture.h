// SPDX-License-Identifier: Apache-2.0
#pragma once
// For tests: the documents of tests/ajv/cases.

#include <string>

#include "base/json.h"

namespace nl::testing_model {

Json LoadCase(const std::string& name);

}  // namespace nl::testing_model
