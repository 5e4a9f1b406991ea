// SPDX-License-Identifier: Apache-2.0
#include "import/adapters/nsys/string_table.h"

#include "base/utf8.h"
#include "import/adapters/nsys/counters.h"

namespace nl::adapters::nsys {

namespace {
constexpr int64_t kMaxDense = int64_t{1} << 24;
}  // namespace

Status StringTable::Load(SqliteReader& reader) {
  if (reader.Find("StringIds") == nullptr) return {};
  constexpr const char* kColumns[] = {"id", "value"};
  NL_ASSIGN(SqliteRows rows, reader.Read("StringIds", kColumns));
  while (rows.Next()) {
    const int64_t id = rows.Int(0);
    if (IsNull(id) || rows.IsNull(1)) continue;
    entries_.push_back({texts_.Copy(rows.Text(1))});
    const auto place = static_cast<uint32_t>(entries_.size());
    if (id >= 0 && id < kMaxDense) {
      if (static_cast<size_t>(id) >= dense_.size()) dense_.resize(static_cast<size_t>(id) + 1);
      dense_[static_cast<size_t>(id)] = place;
    } else {
      sparse_.emplace(id, place);
    }
  }
  return rows.status();
}

const StringTable::Entry* StringTable::Lookup(int64_t id) const {
  if (id >= 0 && id < static_cast<int64_t>(dense_.size())) {
    const uint32_t place = dense_[static_cast<size_t>(id)];
    return place == 0 ? nullptr : &entries_[place - 1];
  }
  const auto it = sparse_.find(id);
  return it == sparse_.end() ? nullptr : &entries_[it->second - 1];
}

StringId StringTable::Find(int64_t id) {
  auto* entry = const_cast<Entry*>(Lookup(id));
  if (entry == nullptr) return StringId::kNull;
  if (entry->in_run == StringId::kNull) entry->in_run = Add(entry->text);
  return entry->in_run;
}

std::string_view StringTable::Text(int64_t id) const {
  const Entry* entry = Lookup(id);
  return entry == nullptr ? std::string_view() : entry->text;
}

StringId StringTable::Add(std::string_view text) {
  if (IsUtf8(text)) return pool_.Add(text);
  counters_.Add(kBadUtf8);
  return pool_.Add(ValidUtf8(text));
}

}  // namespace nl::adapters::nsys
