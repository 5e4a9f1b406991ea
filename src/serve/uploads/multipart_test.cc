// SPDX-License-Identifier: Apache-2.0
#include "serve/uploads/multipart.h"

#include <gtest/gtest.h>

namespace nl::uploads {
namespace {

// "name/filename=content;" of every part, or the error.
std::string Read(const std::string& boundary, const std::string& body, size_t piece) {
  std::string out;
  PartSink sink;
  sink.begin = [&](const PartHead& head) -> Status {
    out += head.name + (head.is_file ? "/" + head.filename : "") + "=";
    return {};
  };
  sink.data = [&](std::string_view bytes) -> Status {
    out += bytes;
    return {};
  };
  sink.end = [&]() -> Status {
    out += ";";
    return {};
  };
  MultipartReader reader(boundary, sink);
  for (size_t at = 0; at < body.size(); at += piece) {
    if (const Status fed = reader.Feed(std::string_view(body).substr(at, piece)); !fed.ok())
      return fed.error().message;
  }
  const Status finished = reader.Finish();
  return finished.ok() ? out : finished.error().message;
}

std::string Part(const std::string& disposition, const std::string& content, const std::string& more = "") {
  return "--b\r\nContent-Disposition: form-data; " + disposition + "\r\n" + more + "\r\n" + content + "\r\n";
}

TEST(Multipart, ReadsPartsInPiecesOfAnySize) {
  const std::string tricky = "\r\n--a\r\n-\r\n--B\r\n\r--b \n--b--\r";  // nearly a boundary
  const std::string body =
      Part("name=\"f\"; filename=\"a \\\"b\\\".json\"", tricky, "Content-Type: application/json\r\n") +
      Part("name=model", "resnet") + Part("name=\"e\"; filename=\"\"", "") + "--b--\r\n";
  const std::string expected = "f/a \"b\".json=" + tricky + ";model=resnet;e/=;";
  for (size_t piece = 1; piece <= body.size(); ++piece) EXPECT_EQ(Read("b", body, piece), expected) << piece;
}

TEST(Multipart, CutAnywhereIsAnError) {
  const std::string body = Part("name=\"f\"; filename=\"a\"", "main;f 1\n") + "--b--";
  EXPECT_EQ(Read("b", body, 4096), "f/a=main;f 1\n;");
  for (size_t size = 0; size < body.size(); ++size)
    EXPECT_EQ(Read("b", body.substr(0, size), 4096),
              "the multipart body is broken: it ends before its last boundary")
        << size;
}

TEST(Multipart, BrokenBodiesAreNamed) {
  const std::string good = Part("name=\"f\"", "x");
  const struct {
    std::string body;
    const char* words;
  } cases[] = {
      {"preamble\r\n" + good + "--b--", "does not begin with its boundary"},
      {"--c\r\n", "does not begin with its boundary"},
      {"--bx\r\n" + good, "text after a boundary"},
      {"--b--", "no parts"},
      {good + "--b--more", "text after its end"},
      {"--b\r\n\r\nx\r\n--b--", "no Content-Disposition"},
      {"--b\r\nContent-Type: text/plain\r\n\r\nx\r\n--b--", "no Content-Disposition"},
      {"--b\r\nno colon\r\n\r\nx\r\n--b--", "not NAME: VALUE"},
      {"--b\r\nContent-Disposition: attachment; name=a\r\n\r\nx\r\n--b--", "no proper Content-Disposition"},
      {Part("filename=\"a\"", "x") + "--b--", "no proper Content-Disposition"},
      {Part("name=\"open", "x") + "--b--", "no proper Content-Disposition"},
      {Part("name=a; name=b", "x") + "--b--", "no proper Content-Disposition"},
      {Part("name=a", "x", "Content-Disposition: form-data; name=b\r\n") + "--b--",
       "no proper Content-Disposition"},
      {Part("name=a", "x", "Content-Type: Multipart/mixed; boundary=i\r\n") + "--b--", "multipart itself"},
      {Part("name=a", "x", "Content-Transfer-Encoding: base64\r\n") + "--b--", "transfer encoding base64"},
      {Part("name=a", "x", "X: " + std::string(9000, 'y') + "\r\n") + "--b--", "larger than 8192"},
      {"--b\r\nX: " + std::string(100'000, 'y'), "larger than 8192"},
  };
  for (const auto& c : cases) {
    for (const size_t piece : {size_t{1}, size_t{7}, c.body.size()}) {
      const std::string got = Read("b", c.body, piece);
      EXPECT_NE(got.find(c.words), std::string::npos)
          << c.body.substr(0, 80) << " gave " << got.substr(0, 200);
    }
  }
  std::string many;
  for (int i = 0; i <= MultipartReader::kMostParts; ++i) many += good;
  EXPECT_NE(Read("b", many + "--b--", 4096).find("more than 1000 parts"), std::string::npos);
}

TEST(Multipart, Boundaries) {
  EXPECT_EQ(*MultipartBoundary("multipart/form-data; boundary=----x1"), "----x1");
  EXPECT_EQ(*MultipartBoundary("Multipart/Form-Data;charset=utf-8; Boundary=\"a b\""), "a b");
  EXPECT_EQ(*MultipartBoundary("application/json"), "");
  EXPECT_EQ(*MultipartBoundary(""), "");
  for (const std::string bad :
       {"multipart/form-data", "multipart/form-data; boundary=", "multipart/form-data; boundary=\"a ",
        "multipart/form-data; boundary=a\tb", "multipart/form-data; boundary=\"a \""})
    EXPECT_FALSE(MultipartBoundary(bad).ok()) << bad;
  EXPECT_FALSE(MultipartBoundary("multipart/form-data; boundary=" + std::string(71, 'x')).ok());
}

}  // namespace
}  // namespace nl::uploads
