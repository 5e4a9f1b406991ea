// SPDX-License-Identifier: Apache-2.0
#pragma once
// The command line face: words in, one operation run, text or JSON out, exit status
// back. Knows operations in general; the exceptions are --version, --help and the
// completion of run names.
// Thread rule: one call at a time; progress may arrive from any thread.

#include <atomic>
#include <string>
#include <vector>

#include "ops/op.h"
#include "ops/settings.h"

namespace nl {

// What the command line runs with: the process itself in main(), replacements in tests.
struct CliHost {
  const std::vector<OpEntry>* ops = nullptr;
  int out_fd = 1;
  int err_fd = 2;
  const std::atomic<bool>* cancelled = nullptr;
  SettingsInput settings{};  // flags are filled in from the command line
};

// Runs the command line `words` (without the program's name) and returns the exit
// status: 0 ok, 1 the answer is "no", 2 bad usage or input, 3 I/O, 4 internal, 130 stopped. An
// operation may answer with another status and then moves bad input to another too (OpInfo).
// Nothing is thrown.
int RunCli(const std::vector<std::string>& words, const CliHost& host);

}  // namespace nl
