// SPDX-License-Identifier: Apache-2.0
#pragma once
// NL_CHECK(condition): our own bug if it does not hold; names the place and ends the program.
// NL_FAIL(message): the same for what is known to be wrong, with a message of its own. Input
// never reaches a failing check: what a file or a person can cause is a Result (base/result.h).
// Not for src/capture, where a bug must not end the recorded program.

#include <cstdio>
#include <cstdlib>

#define NL_FAIL(message)                                                                           \
  do {                                                                                             \
    std::fprintf(stderr, "neurolens: internal error: %s:%d: %s\n", __FILE__, __LINE__, (message)); \
    std::abort();                                                                                  \
  } while (0)

#define NL_CHECK(condition)                \
  do {                                     \
    if (!(condition)) NL_FAIL(#condition); \
  } while (0)
