// SPDX-License-Identifier: Apache-2.0
#pragma once
// The measurements of peaks in a store: one document per device and driver, STORE/peaks/ID_DRIVER.json.
// Thread rule: one request, one thread. Documents are replaced atomically, so that readers need no lock.

#include <string>
#include <vector>

#include "analyze/cost_model/measured_peaks.h"
#include "ops/op.h"

namespace nl {

struct StoredPeaks {
  std::vector<MeasuredPeaks> devices;  // latest first
  std::vector<Error> problems;         // documents that cannot be read
};
// None where the store does not exist yet.
StoredPeaks ReadStoredPeaks(const OpContext& context);
// Replaces the document of the same device and driver; the folder is made when it is missing.
Status StorePeaks(const OpContext& context, const MeasuredPeaks& device);
Status ForgetPeaks(const OpContext& context, const MeasuredPeaks& device);

}  // namespace nl
