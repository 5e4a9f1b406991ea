// SPDX-License-Identifier: Apache-2.0
#pragma once
// The OpenAPI 3.1 description of the server, made from the operations: parameters, bodies, replies and
// problems. Thread rule: pure function.

#include <string>

#include "serve/remote_ops.h"

namespace nl::http {

Json OpenApiDocument(const RemoteOps& ops);

}  // namespace nl::http
