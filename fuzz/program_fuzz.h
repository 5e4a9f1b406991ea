// SPDX-License-Identifier: Apache-2.0
#pragma once
// Program: the whole program in one process, for targets that go on where importing ends. It holds a store in
// a temporary folder with one good run, which every other run is compared with. A broken promise (status 4)
// ends the target; crashes and reports end it by themselves. Thread rule: one thread. Ownership: removes its
// folder at the end.

#include <string>
#include <vector>

#include "base/file_ops.h"

namespace nl {

class Program {
 public:
  Program();
  // A file of this name in the folder, for the content of the next import.
  std::string PathOf(const std::string& name) const { return folder_.path() + "/" + name; }
  // Imports a file and takes the run through every pass, the report and a comparison; then removes it.
  void Explain(const std::string& path, const std::vector<std::string>& import_flags);

 private:
  // Standard output of a command; the exit status in `status`.
  std::string Call(std::vector<std::string> words, int& status);
  std::vector<std::string> Import(const std::string& path, const std::vector<std::string>& flags);

  TempDir folder_;
  std::string other_run_;
};

}  // namespace nl
