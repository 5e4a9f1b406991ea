// SPDX-License-Identifier: Apache-2.0
#pragma once
// Gain: what a change of the program is predicted to save, with bounds. One model of how far off
// predictions are, for findings and for `neurolens what-if`.
// Thread rule: pure functions.

namespace nl {

// Milliseconds of one steady step.
struct Gain {
  double low = 0, expected = 0, high = 0;
};

namespace replay {

class StepReplay;

// Bounds of a gain that a replay of these steps gives; never below 0, nor above the step.
Gain GainOf(const StepReplay& steps, double gain_ns);

}  // namespace replay

}  // namespace nl
