// SPDX-License-Identifier: Apache-2.0
#pragma once
// The reply of `neurolens deep`: metrics.json of the bundle, and where the bundle is. docs/deep.md documents
// the files. Null: unknown.
// Thread rule: plain values.

#include <string>
#include <vector>

#include "base/record.h"
#include "deep/metrics.h"

namespace nl {

struct DeepReply : deep::DeepMetrics {
  std::string bundle;
  std::vector<std::string> files;
  std::vector<std::string> removed;
};
void Describe(Record<DeepReply>& r);

namespace ops::deep {

std::string DeepText(const DeepReply& reply, int width, bool color);
// kernels.md of a bundle: selected kernels with their counters.
std::string CountersMarkdown(const nl::deep::DeepMetrics& metrics);

}  // namespace ops::deep
}  // namespace nl
