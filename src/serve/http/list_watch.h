// SPDX-License-Identifier: Apache-2.0
#pragma once
// ListWatch: what is new in a list that an operation gives (WatchedList of its description), as events.
// Thread rule: one look at a time, on any thread.

#include <map>
#include <set>
#include <string>
#include <vector>

#include "ops/op.h"
#include "serve/remote_ops.h"

namespace nl::http {

struct ListEvent {
  std::string type;
  Json data;
  bool kept = true;  // a client that connects again gets it; growth is not kept
};

class ListWatch {
 public:
  explicit ListWatch(const RemoteOp& op) : op_(op) {}
  const RemoteOp& op() const { return op_; }
  const WatchedList& list() const { return op_.info.watched; }

  // Runs the operation, unless its mark is that of the last look, and compares its rows with those of that
  // look. A list that cannot be read has no rows; a reply without rows that cannot be made is not an event.
  std::vector<ListEvent> Look(const Settings& settings);
  // Whether the last look found that a row is gone.
  bool ended() const { return ended_; }

 private:
  std::vector<ListEvent> CompareRows(const Json& rows);
  void Compare(const std::string& id, const Json& row, std::vector<ListEvent>& out);

  const RemoteOp& op_;
  bool looked_ = false, ended_ = false;
  std::string mark_;                  // of the last look
  std::set<std::string> seen_;        // where rows that are gone are not events
  std::map<std::string, Json> rows_;  // where they are: the rows of the last look
};

}  // namespace nl::http
