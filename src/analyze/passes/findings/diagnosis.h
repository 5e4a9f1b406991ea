// SPDX-License-Identifier: Apache-2.0
#pragma once
// What bounds the run, with the evidence.
// Thread rule: pure function.

#include "analyze/facts/findings.h"

namespace nl::passes::findings {

// A bound other than unknown needs two independent pieces of evidence and a confidence above 0.8.
Diagnosis Diagnose(const Features& features);

}  // namespace nl::passes::findings
