// SPDX-License-Identifier: Apache-2.0
#pragma once
// The certificate and key of the server, read and checked (OpenSSL). TLS 1.2 and 1.3 only.
// Thread rule: the context is handed to the Server, which uses it on its own thread.

#include <memory>
#include <string>

#include "base/result.h"

struct ssl_ctx_st;

namespace nl::http {

struct FreeTls {
  void operator()(ssl_ctx_st* context) const;
};
using TlsContext = std::unique_ptr<ssl_ctx_st, FreeTls>;

// PEM files; `cert_file` has the certificate first, then those that lead to the root. InvalidInput says which
// file is wrong and why.
Result<TlsContext> LoadTls(const std::string& cert_file, const std::string& key_file);

}  // namespace nl::http
