// SPDX-License-Identifier: Apache-2.0
#include "report/next_step.h"

namespace nl {

void Describe(Record<NextStep>& r) {
  r.Name("NextStep", "A command worth running next");
  r.Field("command", &NextStep::command, "Command line");
  r.Field("why", &NextStep::why, "What it shows");
  r.Field("operation", &NextStep::operation,
          "The operation of the command, as tools name it; null: only for the command line");
  r.Field("arguments", &NextStep::arguments, "Its arguments");
}

}  // namespace nl
