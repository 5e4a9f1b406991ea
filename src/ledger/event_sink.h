// SPDX-License-Identifier: Apache-2.0
#pragma once
// EventSink: what crosses the arrow import -> ledger. Importers hand over typed event
// rows in column batches, in file order; the sink numbers and stores them.
// Thread rule: strings(), rows() and Append() by one thread at a time (the importer's
// ordered stage); EncodeOne() from any thread at any time; the rest by one thread at
// the end. Ownership: the sink copies what it is given.

#include <cstdint>
#include <span>

#include "base/result.h"
#include "model/event_batch.h"
#include "model/string_pool.h"

namespace nl {

class EventSink {
 public:
  virtual ~EventSink() = default;

  // The run's strings. Ids in appended batches are ids of this pool.
  virtual StringPool& strings() = 0;
  // Rows appended to a table so far; the next row gets this number.
  virtual int64_t rows(Table table) const = 0;
  // Takes the rows of every table of the batch. The batch keeps them.
  virtual void Append(EventBatch& batch) = 0;
  // Encodes and writes one full row group if there is one; false: nothing to do.
  // Called outside the ordered stage, so that encoding runs in parallel with parsing.
  virtual Result<bool> EncodeOne() = 0;
  // Queues the rows that fill no row group yet for EncodeOne and lets buffers go: at the
  // end of a file, and at the end of all.
  virtual Status Flush() = 0;
  // Values of a link column (Encoding::kLate) for every row of its table.
  virtual Status SetLate(Table table, const char* column, std::span<const int64_t> values) = 0;
  virtual Status Finish() = 0;
};

}  // namespace nl
