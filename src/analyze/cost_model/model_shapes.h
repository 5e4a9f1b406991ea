// SPDX-License-Identifier: Apache-2.0
#pragma once
// What the shapes of recorded ops tell about the model: the embedding table gives
// vocabulary and width, attention gives heads, pairs of GEMMs give the feed-forward width.
// Part of model_dims; each value says what it was read from.
// Thread rule: pure functions.

#include "analyze/cost_model/model_dims.h"

namespace nl {

struct InferredShape {
  ModelShape shape;
  int64_t forwards = 0;  // forwards of the model that were recorded
};
InferredShape InferShape(const RunData& data);

}  // namespace nl
