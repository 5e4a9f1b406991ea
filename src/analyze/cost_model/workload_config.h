// SPDX-License-Identifier: Apache-2.0
#pragma once
// A workload file (conf/*.yaml): which model runs, with which sizes and inputs. Found, overridden and
// checked by the rules of python/neurolens/models/config.py, which runs the same files.
// Thread rule: pure functions over constant data.

#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"

namespace nl {

// Names of the workload files that are compiled in, sorted.
std::vector<std::string> ShippedWorkloads();

// The text of a workload file: a path where `may_read_files`, else or otherwise the name of a shipped one
// ("llama_8b", "conf/llama_8b.yaml"). NotFound names those that exist.
Result<std::string> ReadWorkload(const std::string& config, bool may_read_files);

// The file, then its chosen variant, then `sets` ("key.path=value"), then defaults. `origin` names the file
// in errors.
Result<Json> ResolveWorkload(std::string_view yaml, const std::string& origin,
                             const std::vector<std::string>& sets);

// A resolved workload as the lines of a YAML file, each behind `indent` spaces; the Python package reads the
// same values from it.
std::string WorkloadYaml(const Json& config, int indent = 0);

}  // namespace nl
