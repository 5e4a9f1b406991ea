// SPDX-License-Identifier: Apache-2.0
#include "serve/http/list_watch.h"

#include <algorithm>

namespace nl::http {

void ListWatch::Compare(const std::string& id, const Json& row, std::vector<ListEvent>& out) {
  const bool is_news = looked_ || list().first_are_new;
  const auto before = rows_.find(id);
  if (before == rows_.end()) {
    if (seen_.insert(id).second && is_news) out.push_back({list().event, row});
    return;
  }
  const Json& old = before->second;
  const auto differs = [&](const std::string& member) { return old.at(member) != row.at(member); };
  if (std::any_of(list().changes.begin(), list().changes.end(), differs))
    out.push_back({list().event, row, false});
}

std::vector<ListEvent> ListWatch::Look(const Settings& settings) {
  ended_ = false;
  if (list().mark != nullptr) {
    // Before the reply: what changes meanwhile has another mark at the next look.
    std::string mark = list().mark(settings);
    if (looked_ && mark == mark_) return {};
    mark_ = std::move(mark);
  }
  OpContext context;
  context.settings = &settings;
  const std::unique_ptr<Op> op = op_.make();
  const Result<Reply> reply = RunOp(*op, list().args, context);
  if (list().rows.empty()) {
    const bool is_news = looked_ || list().first_are_new;
    looked_ = true;
    if (!reply.ok() || !is_news) return {};
    return {{list().event, reply->Document(), false}};
  }
  return CompareRows(reply.ok() ? reply->Document().at(list().rows) : Json::array());
}

std::vector<ListEvent> ListWatch::CompareRows(const Json& rows) {
  std::vector<ListEvent> out;
  std::map<std::string, Json> now;
  // Lists of runs have the newest first; events are in the order of time, which ids of version 7 have.
  std::map<std::string, const Json*> by_id;
  for (const Json& row : rows) by_id[row.at(list().id).get<std::string>()] = &row;
  for (const auto& [id, row] : by_id) {
    Compare(id, *row, out);
    now[id] = *row;
  }
  if (!list().end_member.empty()) {
    for (auto& [id, row] : rows_) {
      if (now.count(id) > 0) continue;
      ended_ = true;
      seen_.erase(id);
      row[list().end_member] = list().end_value;
      out.push_back({list().event, std::move(row)});
    }
    rows_ = std::move(now);
  }
  looked_ = true;
  return out;
}

}  // namespace nl::http
