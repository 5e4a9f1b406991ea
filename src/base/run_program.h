// SPDX-License-Identifier: Apache-2.0
#pragma once
// RunProgram: another program, run to its end, with what it wrote. Nothing passes through a
// shell. Standard input is empty.
// Thread rule: free functions; any thread.

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace nl {

struct ProgramResult {
  int status = 0;        // exit status; 128 + signal when one ended it
  std::string out, err;  // the last part, when it wrote more than was kept
};

// The file `name` stands for: itself when it has a slash, else the first on PATH that may be
// executed; empty when there is none.
std::string FindProgram(std::string_view name);
// The file of this process; empty: not known.
std::string OwnProgram();

// `keep_going` is asked some ten times a second; when it says no, the program and what it
// started are ended and the answer is Cancelled. Io when it cannot be started at all.
// Standard output goes to the file `out_path` where one is given, all of it.
Result<ProgramResult> RunProgram(const std::vector<std::string>& arguments,
                                 const std::function<bool()>& keep_going, size_t max_kept_bytes = 64 << 10,
                                 const std::string& out_path = {});

}  // namespace nl
