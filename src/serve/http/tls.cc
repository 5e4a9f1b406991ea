// SPDX-License-Identifier: Apache-2.0
#include "serve/http/tls.h"

#include <openssl/err.h>
#include <openssl/ssl.h>

#include <unistd.h>

#include <fmt/format.h>

#include "base/file_ops.h"

namespace nl::http {

namespace {

// The first reason that OpenSSL gives, which is the most exact; the queue is empty afterwards.
std::string TlsReason() {
  const unsigned long code = ERR_peek_error();  // NOLINT: the type of OpenSSL
  const char* reason = ERR_reason_error_string(code);
  ERR_clear_error();
  return reason != nullptr ? reason : "unknown error";
}

Error BadFile(std::string_view what, const std::string& path, std::string_view hint) {
  return InvalidInput(fmt::format("cannot use the {}: {}", what, TlsReason())).At(path).Hint(hint);
}

// A key with a passphrase would ask for it at the terminal, in a server that nobody watches.
int NoPassphrase(char*, int, int, void*) { return 0; }

}  // namespace

void FreeTls::operator()(ssl_ctx_st* context) const { SSL_CTX_free(context); }

Result<TlsContext> LoadTls(const std::string& cert_file, const std::string& key_file) {
  for (const std::string& path : {cert_file, key_file}) {
    if (access(path.c_str(), R_OK) != 0) return FileError("read", path);
  }
  TlsContext out(SSL_CTX_new(TLS_server_method()));
  if (!out) return Internal(fmt::format("cannot prepare TLS: {}", TlsReason()));
  SSL_CTX_set_min_proto_version(out.get(), TLS1_2_VERSION);
  SSL_CTX_set_options(out.get(),
                      SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION | SSL_OP_CIPHER_SERVER_PREFERENCE);
  // Without authenticated encryption and forward secrecy TLS 1.2 is not worth offering.
  SSL_CTX_set_cipher_list(out.get(), "ECDHE+AESGCM:ECDHE+CHACHA20");
  SSL_CTX_set_mode(out.get(), SSL_MODE_RELEASE_BUFFERS);
  SSL_CTX_set_default_passwd_cb(out.get(), NoPassphrase);
  ERR_clear_error();
  if (SSL_CTX_use_certificate_chain_file(out.get(), cert_file.c_str()) != 1)
    return BadFile("certificate", cert_file,
                   "--tls-cert is a PEM file: the certificate, then those of its issuers");
  if (SSL_CTX_use_PrivateKey_file(out.get(), key_file.c_str(), SSL_FILETYPE_PEM) != 1 ||
      SSL_CTX_check_private_key(out.get()) != 1)
    return BadFile("private key", key_file,
                   "--tls-key is a PEM file with the key of the certificate, without a passphrase");
  return out;
}

}  // namespace nl::http
