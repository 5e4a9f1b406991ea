// SPDX-License-Identifier: Apache-2.0
#pragma once
// What of a folder `neurolens import` takes: profiles, grouped as runs; and what it leaves out, with the
// reason: stores of NeuroLens, its own exports and reports, and files that are not profiles.
// Thread rule: one request, one thread.

#include <string>
#include <vector>

#include "import/file_sets.h"
#include "import/rank_groups.h"
#include "ledger/catalog.h"
#include "ops/import/reply.h"

namespace nl::ops::import {

// Parts of one run and ranks of one distributed run together, others one by one; with `apart` no ranks
// together. Adds what is left out to `skipped`, also what must not be read.
Result<std::vector<FileGroup>> GroupsOfFolder(const std::string& folder, bool apart, const MayRead& may_read,
                                              Catalog& catalog, std::vector<ImportSkipped>& skipped);

}  // namespace nl::ops::import
