// SPDX-License-Identifier: Apache-2.0
#pragma once
// ReadDeviceFacts: what CUPTI reports about a device when its first context is made, asked of the
// driver: for devices whose context was made while CUPTI was not in the process.
// Thread rule: any thread.

#include "capture/format/gpu_records.h"

namespace nl::capture {

// All but the name's string id; `name` gets the text. False: the driver does not say.
bool ReadDeviceFacts(uint32_t device, DeviceRecord& to, char* name, int name_bytes);

}  // namespace nl::capture
