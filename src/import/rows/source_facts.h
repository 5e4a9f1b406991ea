// SPDX-License-Identifier: Apache-2.0
#pragma once
// SourceFacts: what a profile says about the machine, the software and the model, as
// far as it says anything. Empty means not said.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "model/run_document.h"

namespace nl {

struct SourceFacts {
  std::string backend = "other";
  std::string tool, tool_version;
  bool from_program_start = false;  // the tool started the program: its imports and initialisation are there
  std::string vendor;               // nvidia, amd, intel, other, cpu; empty when not given
  std::optional<std::string> framework_version, cuda_version, python_version, cupti_version;
  std::map<std::string, std::string> frameworks;  // versions of further frameworks, by name
  struct Device {
    int32_t index = 0;
    std::optional<std::string> name, compute_capability, driver_version;
    std::optional<int64_t> memory_bytes, sm_count;
  };
  std::vector<Device> devices;
  struct Host {
    std::optional<std::string> cpu_model, os, kernel;
    std::optional<int64_t> cores, memory_bytes;
  };
  Host host;
  std::optional<std::string> precision;   // as run documents name it; empty: taken from the types of the ops
  std::map<std::string, double> metrics;  // of the whole run, for the document's summary, by glossary name
  std::vector<std::string> notes;         // what a reader of the run must know of the source
  std::optional<int64_t> rank, world_size;
  std::optional<int64_t> base_time_ns;  // unix time of time zero
  // The source measured durations one by one and has no common clock: starts give only the order.
  bool order_only = false;
  // Of a recording that says how good it is; else nothing is claimed.
  std::optional<ClockFacts> clock;
  std::optional<CaptureFacts> capture;
  std::vector<std::string> command;
  std::optional<int64_t> exit_code;
  // The machine when it was recorded, as `neurolens system --json` writes it (src/machine/describe.h); else
  // null.
  Json system;
  Json header = Json::object();  // the file's own header, everything in it
  std::string file_stem;         // file name without the endings of its format; the importer's
};

}  // namespace nl
