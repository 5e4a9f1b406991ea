// SPDX-License-Identifier: Apache-2.0
#pragma once
// InputStream: what the path "-" reads: standard input, or the pipe that a face fills with an upload.
// Thread rule: a plain value; the owner of the descriptor keeps it open while it is read.

#include <string>

namespace nl {

struct InputStream {
  int fd = 0;
  std::string name = "stdin";  // as the run and its errors call it
};

}  // namespace nl
