// SPDX-License-Identifier: Apache-2.0
// `neurolens serve`: the operations over HTTP, until a signal stops it.

#include <unistd.h>

#include <algorithm>
#include <thread>

#include <fmt/format.h>

#include "base/ascii.h"
#include "base/human.h"
#include "base/plural.h"
#include "base/run_program.h"
#include "ops/settings.h"
#include "serve/http/service.h"

namespace nl::ops::serve {

namespace {

struct ServeReply {
  std::string url;
  int64_t requests = 0;
};
void Describe(Record<ServeReply>& r) {
  r.Name("ServeReply", "Reply of `neurolens serve`, when it has stopped");
  r.Field("url", &ServeReply::url, "Address it listened on");
  r.Field("requests", &ServeReply::requests, "Requests it answered");
}

class ServeOp final : public Op {
 public:
  OpInfo Info() const override {
    OpInfo info;
    info.name = "serve";
    info.summary = "Serve the operations, uploads and the web application over HTTP";
    info.choose_when =
        "Choose it when other programs or people use the store, with a browser at / or over the API that "
        "/docs lists. It answers this machine only and needs no login, unless `auth` added users or tokens.";
    info.example = "neurolens serve --listen 127.0.0.1:7070";
    info.cost = Cost::kMinutes;
    info.local = true;
    info.reply = ReplyOf<ServeReply>();
    return info;
  }

  void Bind(ParamBinder& b) override {
    b.Add("listen", listen_, "Address and port; port 0 takes a free one");
    b.Add("open", open_, "Open the web application in the browser");
    b.Add("tls_cert", tls_cert_, "File with the certificate, then those of its issuers (PEM): serve over TLS")
        .Path();
    b.Add("tls_key", tls_key_, "File with the private key of the certificate (PEM, without a passphrase)")
        .Path();
    b.Add("auth", options_.auth, "Ask for a login or token even while the store has no user and no token");
    b.Add("allow_host", options_.exposure.allowed_hosts,
          "Host name that clients may use for this server, besides localhost and addresses");
    b.Add("behind_proxy", options_.exposure.behind_proxy,
          "A proxy does TLS: allow addresses that other machines reach, and any Host header without "
          "--allow-host");
    b.Add("proxy_auth", options_.exposure.proxy_auth,
          "With --behind-proxy: the proxy has checked who asks, no login is needed here");
    b.Add("allow_root", allow_roots_,
          "Folder of this machine below which clients may name files to import; otherwise they upload them")
        .Path();
    b.Add("access_log", options_.access_log, "Write a line to standard error for every request");
    b.Add("workers", workers_, "Threads for quick requests; 0: one per core").Range(0, 1024);
    b.Add("heavy_workers", heavy_, "Analyses and queries that run at the same time").Range(1, 1024);
    b.Add("job_workers", jobs_, "Jobs that run at the same time").Range(1, 1024);
    b.Add("max_queued", queued_, "Requests that may wait for a thread").Range(0, 1e6);
    b.Add("max_connections", connections_, "Connections that may be open").Range(1, 1e6);
    b.Add("max_upload_mb", upload_mb_, "Largest profile that may be uploaded, in MB as sent; 0: any")
        .Range(0, 1e9);
    b.Add("request_seconds", request_s_,
          "Time in seconds that an operation may take; jobs may take longer; 0: any")
        .Range(0, 86'400);
    b.Add("client_seconds", client_s_, "Time in seconds for a request header, and for each 64 KiB of a body")
        .Range(1, 3600);
  }

  Result<Reply> Run(OpContext& context) override {
    NL_ASSIGN(http::ListenAddress address, http::ParseListen(listen_));
    if (tls_cert_.empty() != tls_key_.empty())
      return InvalidInput("--tls-cert and --tls-key are given together or not at all");
    address.tls = !tls_cert_.empty();
    options_.exposure.address = address;
    NL_ASSIGN(options_.roots, AllowedRoots::Open(allow_roots_));
    options_.tls_cert = tls_cert_;
    options_.tls_key = tls_key_;
    for (std::string& host : options_.exposure.allowed_hosts) host = ToLower(host);
    const size_t cores = std::max<size_t>(std::thread::hardware_concurrency(), 1);
    options_.workers = workers_ > 0 ? static_cast<size_t>(workers_) : cores;
    options_.heavy = static_cast<size_t>(heavy_);
    options_.jobs = static_cast<size_t>(jobs_);
    options_.most_queued = static_cast<size_t>(queued_);
    options_.most_time = std::chrono::seconds(request_s_);
    http::Limits limits;
    limits.connections = static_cast<size_t>(connections_);
    limits.upload_bytes = upload_mb_ * 1'000'000;
    options_.most_upload_bytes = limits.upload_bytes;
    limits.client_s = static_cast<int>(client_s_);
    http::Service service(*context.settings, options_);
    NL_TRY(service.CheckAccess());
    http::Server server(service, limits);
    if (address.tls) {
      NL_ASSIGN(http::TlsContext certificate, http::LoadTls(tls_cert_, tls_key_));
      server.UseTls(std::move(certificate));
    }
    NL_TRY(server.Listen(address));
    service.Attach(server, address);
    const std::string line =
        fmt::format("neurolens: serving {} at {}\n", context.settings->Get("store"), address.Url());
    static_cast<void>(!write(STDERR_FILENO, line.data(), line.size()));
    if (open_) OpenBrowser(address.Url() + "/");
    static const std::atomic<bool> never{false};
    server.Run(context.cancelled != nullptr ? *context.cancelled : never);
    service.Stop();
    ServeReply reply;
    reply.url = address.Url();
    reply.requests = service.requests();
    return Reply::Of(std::move(reply));
  }

  std::string Text(const Reply& any, const TextStyle&) const override {
    return fmt::format("stopped after {}\n", Counted(any.As<ServeReply>().requests, "request"));
  }

 private:
  static void OpenBrowser(const std::string& url) {
    std::thread([url] { static_cast<void>(RunProgram({"xdg-open", url}, [] { return true; })); }).detach();
  }

  std::string listen_ = "127.0.0.1:7070", tls_cert_, tls_key_;
  std::vector<std::string> allow_roots_;
  bool open_ = false;
  http::ServiceOptions options_;
  int64_t workers_ = 0, heavy_ = 2, jobs_ = 1, queued_ = 256, connections_ = 10'000, client_s_ = 15,
          upload_mb_ = 0, request_s_ = 600;
};

}  // namespace

std::unique_ptr<Op> Describe() { return std::make_unique<ServeOp>(); }

}  // namespace nl::ops::serve
