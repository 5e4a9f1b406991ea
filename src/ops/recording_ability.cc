// SPDX-License-Identifier: Apache-2.0
#include "ops/recording_ability.h"

#include <fmt/format.h>

#include "base/terminal.h"
#include "capture/launcher/abilities.h"
#include "deep/tools.h"

namespace nl {

void Describe(Record<RecordingAbility>& r) {
  r.Name("RecordingAbility", "Something that can be recorded on this machine, or cannot");
  r.Field("name", &RecordingAbility::name, "What would be recorded");
  r.Field("works", &RecordingAbility::works, "It can be recorded here");
  r.Field("detail", &RecordingAbility::detail, "What was found, or what is missing and how to get it");
}

std::vector<RecordingAbility> RecordingAbilities() {
  std::vector<RecordingAbility> out;
  for (const capture::Ability& ability : capture::FindAbilities())
    out.push_back({ability.name, ability.works, ability.detail});
  // What `deep` runs.
  for (const char* name : {"ncu", "nsys"}) {
    const deep::Tool tool = deep::FindTool(name);
    out.push_back({tool.name, !tool.path.empty(), tool.detail});
  }
  return out;
}

std::string RecordingText(const std::vector<RecordingAbility>& abilities, int width) {
  std::string out = "recording (neurolens run, neurolens deep)\n";
  for (const RecordingAbility& ability : abilities) {
    out += fmt::format("{:<8}  {:<13}  {}\n", ability.works ? "yes" : "no", ability.name,
                       Wrap(PrintableText(ability.detail), width, 25));
  }
  return out;
}

}  // namespace nl
