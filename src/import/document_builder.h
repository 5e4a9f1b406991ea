// SPDX-License-Identifier: Apache-2.0
#pragma once
// DescribeRun: the run document, from what passed by during the import.
// Sits between RunFacts and the ledger; knows no format.

#include <vector>

#include "import/importer.h"

namespace nl {

// Fills result.document (but run_id, created_at and source) and the result's totals.
void DescribeRun(const RunFacts& facts, const std::vector<SourceFacts>& about, const std::string& model_name,
                 EventSink& sink, ImportResult& result);

}  // namespace nl
