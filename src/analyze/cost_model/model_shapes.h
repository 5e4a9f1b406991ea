// SPDX-License-Identifier: Apache-2.0
#pragma once
// The dimensions of the model from the shapes of recorded ops: the embedding table gives
// vocabulary and width, attention gives heads, pairs of GEMMs give the feed-forward width.
// Part of model_dims; each value has its source.
// Thread rule: pure functions.

#include "analyze/cost_model/model_dims.h"

namespace nl {

struct InferredShape {
  ModelShape shape;
  int64_t forwards = 0;  // forwards of the model that were recorded
};
InferredShape InferShape(const RunData& data);

}  // namespace nl
