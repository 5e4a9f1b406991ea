// SPDX-License-Identifier: Apache-2.0
#include "serve/http/content.h"

#include <gtest/gtest.h>
#include <zstd.h>

#include <atomic>
#include <future>

#include "serve/http/event_log.h"
#include "serve/http/guard.h"
#include "serve/http/metrics.h"
#include "serve/http/worker_pool.h"

namespace nl::http {
namespace {

TEST(Content, GunzippedGivesBackWhatWasPacked) {
  const std::string text(100'000, 'x');
  const std::string packed = Gzipped(text);
  ASSERT_FALSE(packed.empty());
  EXPECT_EQ(Gunzipped(packed), text);
  EXPECT_EQ(Gunzipped(packed.substr(0, packed.size() - 9)), "");
  EXPECT_EQ(Gunzipped(""), "");
}

TEST(ETag, ListsAndWeakFormsMatch) {
  const std::string etag = ETagOf("bytes");
  EXPECT_EQ(etag.size(), 34u);
  EXPECT_NE(etag, ETagOf("other"));
  EXPECT_TRUE(MatchesETag(etag, etag));
  EXPECT_TRUE(MatchesETag("\"x\", W/" + etag + " ", etag));
  EXPECT_TRUE(MatchesETag("*", etag));
  EXPECT_FALSE(MatchesETag("", etag));
  EXPECT_FALSE(MatchesETag("\"x\"", etag));
}

TEST(Gzip, AcceptEncodingIsHonoured) {
  for (const char* yes : {"gzip", "deflate, gzip;q=0.5", "*", "br , gzip"})
    EXPECT_TRUE(AcceptsGzip(yes)) << yes;
  for (const char* no : {"", "br", "gzip;q=0", "gzip;q=0.0", "identity", "*, gzip;q=0", "gzip;q=x"})
    EXPECT_FALSE(AcceptsGzip(no)) << no;
  for (const char* zstd : {"gzip, deflate, br, zstd", "zstd", "*", "gzip;q=0.5, zstd;q=0.6"})
    EXPECT_EQ(PackingFor(zstd), Packing::kZstd) << zstd;
  for (const char* gzip : {"gzip", "GZIP, zstd;q=0", "gzip, zstd;q=0.5"})
    EXPECT_EQ(PackingFor(gzip), Packing::kGzip) << gzip;
  for (const char* none : {"", "br", "identity", "*;q=0"})
    EXPECT_EQ(PackingFor(none), Packing::kNone) << none;
}

TEST(Zstd, EveryEncodingHasAnETagOfItsOwn) {
  const std::string text(100'000, 'a');
  const auto ask = [&](const char* accepts, const std::string& has) {
    Request request;
    request.headers = {{"accept-encoding", accepts}, {"if-none-match", has}};
    Response response;
    response.body = text;
    Negotiate(request, true, response);
    return response;
  };
  const auto header = [](const Response& response, const char* name) {
    for (const auto& [key, value] : response.headers) {
      if (key == name) return value;
    }
    return std::string();
  };
  const Response packed = ask("zstd, gzip", "");
  EXPECT_EQ(header(packed, "Content-Encoding"), "zstd");
  std::string plain(text.size(), '\0');
  EXPECT_EQ(ZSTD_decompress(plain.data(), plain.size(), packed.body.data(), packed.body.size()), text.size());
  EXPECT_EQ(plain, text);
  const std::string etag = header(packed, "ETag");
  EXPECT_NE(etag, header(ask("gzip", ""), "ETag"));
  EXPECT_NE(etag, header(ask("", ""), "ETag"));
  EXPECT_EQ(ask("gzip", etag).status, 304);
  EXPECT_EQ(header(ask("gzip", etag), "ETag"), etag);
}

TEST(Gzip, NegotiationPacksAndRemembers) {
  Request request;
  request.headers = {{"accept-encoding", "gzip"}};
  Response response;
  response.body = std::string(100'000, 'a');
  Negotiate(request, true, response);
  EXPECT_EQ(response.status, 200);
  EXPECT_LT(response.body.size(), 2'000u);
  EXPECT_EQ(response.body.substr(0, 2), "\x1f\x8b");
  std::string etag;
  for (const auto& [name, value] : response.headers) etag = name == "ETag" ? value : etag;
  request.headers.emplace_back("if-none-match", etag);
  Response again;
  again.body = std::string(100'000, 'a');
  Negotiate(request, true, again);
  EXPECT_EQ(again.status, 304);
  EXPECT_TRUE(again.body.empty());
  Response small;
  small.body = "tiny";
  Negotiate(request, false, small);
  EXPECT_EQ(small.body, "tiny");
}

TEST(Guard, OtherMachinesNeedTlsAndAccounts) {
  for (const char* text : {"127.0.0.1:7070", "[::1]:0", "localhost:80", "127.8.9.1:1"}) {
    const Result<ListenAddress> address = ParseListen(text);
    ASSERT_TRUE(address.ok()) << text;
    EXPECT_TRUE(CheckExposure({*address}, false).ok()) << text;
    EXPECT_FALSE(Exposure{*address}.needs_login()) << text;
    EXPECT_FALSE(CheckExposure({*address, true}, false).ok()) << "a proxy brings other machines";
  }
  for (const char* text : {"0.0.0.0:7070", "[::]:7070", "192.168.1.5:80", "127.evil:1", "example.org:1"}) {
    const Result<ListenAddress> address = ParseListen(text);
    ASSERT_TRUE(address.ok()) << text;
    Exposure exposure{*address};
    EXPECT_TRUE(exposure.needs_login()) << text;
    EXPECT_FALSE(CheckExposure(exposure, true).ok()) << text;
    exposure.address.tls = true;
    EXPECT_FALSE(CheckExposure(exposure, false).ok()) << text;
    EXPECT_TRUE(CheckExposure(exposure, true).ok()) << text;
    exposure.address.tls = false;
    exposure.behind_proxy = true;
    EXPECT_FALSE(CheckExposure(exposure, false).ok()) << text;
    EXPECT_TRUE(CheckExposure(exposure, true).ok()) << text;
    exposure.proxy_auth = true;
    EXPECT_TRUE(CheckExposure(exposure, false).ok()) << text;
    exposure.behind_proxy = false;
    EXPECT_FALSE(CheckExposure(exposure, true).ok()) << text;
  }
  for (const char* text :
       {"", "7070", ":7070", "127.0.0.1", "127.0.0.1:", "127.0.0.1:70000", "127.0.0.1:x", "::1:80"})
    EXPECT_FALSE(ParseListen(text).ok()) << text;
}

int CheckedBy(const Exposure& exposure, const std::string& method, const std::string& host,
              const std::string& origin) {
  Request request;
  request.method = method;
  request.headers = {{"host", host}};
  if (!origin.empty()) request.headers.emplace_back("origin", origin);
  const std::optional<Response> refusal = CheckOrigin(request, exposure);
  return refusal ? refusal->status : 200;
}

int Checked(const std::string& method, const std::string& host, const std::string& origin) {
  return CheckedBy({*ParseListen("127.0.0.1:7070")}, method, host, origin);
}

TEST(Guard, OtherSitesAreRefused) {
  for (const char* host : {"127.0.0.1:7070", "localhost", "LOCALHOST:9", "[::1]:7070"})
    EXPECT_EQ(Checked("GET", host, ""), 200) << host;
  for (const char* host :
       {"evil.example:7070", "127.0.0.1.evil.example", "", "[::1", "localhost.evil.example"})
    EXPECT_EQ(Checked("GET", host, ""), 421) << host;
  EXPECT_EQ(Checked("POST", "localhost:7070", "http://localhost:7070"), 200);
  EXPECT_EQ(Checked("POST", "localhost:7070", ""), 200);
  for (const char* origin :
       {"http://evil.example", "null", "http://localhost:7071", "http://localhost:7070.evil.example"})
    EXPECT_EQ(Checked("POST", "localhost:7070", origin), 403) << origin;
}

TEST(Guard, HostsOfAServerForOtherMachines) {
  Exposure exposure{*ParseListen("0.0.0.0:7070")};
  exposure.address.tls = true;
  exposure.allowed_hosts = {"gpu.example"};
  for (const char* host :
       {"gpu.example", "GPU.example:7070", "192.168.1.5:7070", "[fe80::1]:7070", "localhost"})
    EXPECT_EQ(CheckedBy(exposure, "GET", host, ""), 200) << host;
  for (const char* host : {"evil.example", "gpu.example.evil", "abc", "192.168.1.5.evil", "[evil]"})
    EXPECT_EQ(CheckedBy(exposure, "GET", host, ""), 421) << host;
  EXPECT_EQ(CheckedBy(exposure, "POST", "gpu.example", "https://gpu.example"), 200);
  EXPECT_EQ(CheckedBy(exposure, "POST", "gpu.example", "http://gpu.example"), 403)
      << "not the page of this server";
  Exposure proxied{*ParseListen("127.0.0.1:7070"), true};
  EXPECT_EQ(CheckedBy(proxied, "GET", "any.example", ""), 200);
  proxied.allowed_hosts = {"gpu.example"};
  EXPECT_EQ(CheckedBy(proxied, "GET", "any.example", ""), 421);
  EXPECT_EQ(CheckedBy(proxied, "POST", "gpu.example", "https://gpu.example"), 200);
}

TEST(EventLog, GivesWhatWasMissed) {
  EventLog log("e");
  EXPECT_EQ(*log.Add("run", {{"a", "x\ny"}}), "id: e-1\nevent: run\ndata: {\"a\":\"x\\ny\"}\n\n");
  const std::string second = *log.Add("run", {{"a", 2}});
  EXPECT_EQ(log.Since("e-1"), second);
  EXPECT_EQ(log.Since("e-2"), "");
  EXPECT_EQ(log.Since(""), "");
  EXPECT_EQ(log.Since("other-1"), "");
}

TEST(Metrics, TextCountsByRoute) {
  Metrics metrics;
  metrics.Count("/x", "GET", 200, 0.002, 10);
  metrics.Count("/x", "BREW", 405, 0.2, 0);
  const std::string text = metrics.Text({{"g", "A gauge.", "", 3}});
  EXPECT_NE(text.find("requests_total{route=\"/x\",method=\"GET\",status=\"200\"} 1\n"), std::string::npos);
  EXPECT_NE(text.find("method=\"other\",status=\"405\"} 1\n"), std::string::npos);
  EXPECT_NE(text.find("duration_seconds_bucket{route=\"/x\",le=\"0.0025\"} 1\n"), std::string::npos);
  EXPECT_NE(text.find("duration_seconds_bucket{route=\"/x\",le=\"+Inf\"} 2\n"), std::string::npos);
  EXPECT_NE(text.find("# TYPE g gauge\ng 3\n"), std::string::npos);
  EXPECT_EQ(metrics.requests(), 2);
}

TEST(WorkerPool, ThreadsTakeJobsUpToTheLimit) {
  WorkerPool pool(1, 1);
  std::promise<void> started, release;
  std::atomic<int> done{0};
  EXPECT_TRUE(pool.Submit([&] {
    started.set_value();
    release.get_future().wait();
    ++done;
  }));
  started.get_future().wait();
  EXPECT_TRUE(pool.Submit([&] { ++done; }));
  EXPECT_FALSE(pool.Submit([&] { ++done; })) << "the queue holds one";
  EXPECT_EQ(pool.busy(), 1u);
  EXPECT_EQ(pool.queued(), 1u);
  release.set_value();
  pool.Stop();
  EXPECT_EQ(done, 2);
  EXPECT_FALSE(pool.Submit([] {}));
}

}  // namespace
}  // namespace nl::http
