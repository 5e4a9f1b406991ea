// SPDX-License-Identifier: Apache-2.0
#include <cctype>

#include <fmt/format.h>

#include "import/adapter.h"

namespace nl {

namespace {

// What the first bytes look like, for the error message.
std::string Describe(std::string_view head) {
  std::string shown;
  for (const char c : head.substr(0, 16)) shown += std::isprint(static_cast<unsigned char>(c)) ? c : '.';
  return shown;
}

}  // namespace

Result<RecordingSpan> Adapter::Span(const std::string&, bool) const { return RecordingSpan{}; }

Status Adapter::ImportParts(std::vector<ImportFile>&) const {
  return Internal(fmt::format("files of {} are not parts of one run", Info().name));
}

const Adapter* FindAdapter(std::string_view name) {
  for (const AdapterFn describe : AllAdapters()) {
    if (describe().Info().name == name) return &describe();
  }
  return nullptr;
}

Result<const Adapter*> DetectAdapter(std::string_view head, std::string_view file_name) {
  const Adapter* best = nullptr;
  const Adapter* rival = nullptr;
  int best_score = 0;
  for (const AdapterFn describe : AllAdapters()) {
    const int score = describe().Score(head, file_name);
    if (score > best_score) {
      best = &describe();
      best_score = score;
      rival = nullptr;
    } else if (score == best_score && score > 0) {
      rival = &describe();
    }
  }
  if (best == nullptr) {
    return InvalidInput(fmt::format("no known profile format; it begins with '{}'", Describe(head)))
        .Hint("see neurolens formats");
  }
  if (rival != nullptr) {
    return InvalidInput(fmt::format("could be {} or {}", best->Info().name, rival->Info().name))
        .Hint("say which with --format");
  }
  return best;
}

}  // namespace nl
