// SPDX-License-Identifier: Apache-2.0
#include "cli/run_files.h"

#include "base/file_ops.h"
#include "ops/find_run.h"
#include "ops/open_run_or_file.h"

namespace nl {

namespace {

bool NamesProfile(const OpContext& context, const std::string& ref) {
  return PathExists(ref) && !FindRun(context, ref).ok();
}

}  // namespace

Result<std::vector<NamedProfile>> ImportNamedProfiles(const CommandInfo& command, Json& args,
                                                      OpContext& context) {
  std::vector<NamedProfile> imported;
  for (const ParamInfo& param : command.params) {
    const auto given = args.find(param.name);
    if (param.kind != ParamKind::kRun || !TakesProfiles(command.op, param) || given == args.end()) continue;
    const auto import = [&](Json& value) -> Status {
      if (!value.is_string()) return {};
      const std::string ref = value.get<std::string>();
      if (!NamesProfile(context, ref)) return {};
      NL_ASSIGN(std::string run_id, RunOrFileId(context, ref));
      imported.push_back({ref, run_id});
      value = std::move(run_id);
      return {};
    };
    if (!given->is_array()) NL_TRY(import(*given));
    if (given->is_array()) {
      for (Json& value : *given) NL_TRY(import(value));
    }
  }
  return imported;
}

}  // namespace nl
