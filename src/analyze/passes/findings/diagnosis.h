// SPDX-License-Identifier: Apache-2.0
#pragma once
// What bounds the run: one class, and the evidence for it.
// Thread rule: pure function.

#include "analyze/facts/findings.h"

namespace nl::passes::findings {

// A class is named only when two independent pieces of evidence bring its confidence above 0.8.
Diagnosis Diagnose(const Features& features);

}  // namespace nl::passes::findings
