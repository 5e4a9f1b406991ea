// SPDX-License-Identifier: Apache-2.0
#pragma once
// Bundle: the folder that `neurolens deep` leaves, OUT/RUN_ID/. It has a file PARTIAL from its first moment
// until everything is in it, so that whatever ends the program leaves a folder that says what it is.
// Thread rule: one thread. Ownership: the folder stays when the object ends.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace nl::deep {

inline constexpr char kPartialFile[] = "PARTIAL";

class Bundle {
 public:
  // OUT/.deep-RANDOM/ with PARTIAL in it; OUT is made.
  static Result<Bundle> Make(const std::string& out);

  // Gives the folder its name, which must be free.
  Status Rename(const std::string& id);
  // Writes a file of the bundle as a whole, and its folder.
  Status Write(const std::string& name, std::string_view bytes);
  Result<std::string> Folder(const std::string& name);  // made when absent; its path
  // The words of a command, quoted for a shell, as NAME/cmd.txt.
  Status WriteCommand(const std::string& folder, const std::vector<std::vector<std::string>>& commands);

  // What failed, in PARTIAL; without problems PARTIAL is removed.
  Status Finish(const std::vector<std::string>& problems);
  // While it is larger, removes the largest of the files that can be made again from others, and names them.
  Result<std::vector<std::string>> Shrink(int64_t max_bytes);

  const std::string& path() const { return path_; }
  std::string PathOf(const std::string& name) const { return path_ + "/" + name; }
  // Every file, by name.
  Result<std::vector<std::string>> Files() const;

 private:
  Bundle(std::string out, std::string path) : out_(std::move(out)), path_(std::move(path)) {}
  std::string out_, path_;
};

// Removes the oldest bundles of `out` beyond the newest `keep`, and names them. Folders that are not bundles
// and the one named `own` stay. 0: all are kept.
Result<std::vector<std::string>> KeepNewest(const std::string& out, int64_t keep, const std::string& own);

// A word for a shell.
std::string Quoted(std::string_view word);

// An input that is not a file of its own, such as a workload file that comes with the program.
struct InputText {
  std::string name, origin, text;
};
// inputs.yaml: the files that the words of a command name and those of `more` (of a folder, all in it), and
// `texts`, each with its size and SHA-256.
Result<std::string> InputsYaml(const std::vector<std::string>& command, const std::vector<std::string>& more,
                               const std::vector<InputText>& texts);

}  // namespace nl::deep
