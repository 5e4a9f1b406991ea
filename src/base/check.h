// SPDX-License-Identifier: Apache-2.0
#pragma once
// NL_CHECK(condition): our own bug if it does not hold; names the place and ends the program. Input
// never reaches a failing check: what a file or a person can cause is a Result (base/result.h).
// Not for src/capture, where a bug must not end the recorded program.

#include <cstdio>
#include <cstdlib>

#define NL_CHECK(condition)                                                                           \
  do {                                                                                                \
    if (!(condition)) {                                                                               \
      std::fprintf(stderr, "neurolens: internal error: %s:%d: %s\n", __FILE__, __LINE__, #condition); \
      std::abort();                                                                                   \
    }                                                                                                 \
  } while (0)
