// SPDX-License-Identifier: Apache-2.0
#include "serve/http/content.h"

#include <isa-l/igzip_lib.h>

#include <charconv>
#include <limits>
#include <vector>

#include <fmt/format.h>

#include "base/sha256.h"

namespace nl::http {

namespace {

constexpr size_t kWorthPacking = 1024;
constexpr std::string_view kGzipMark = "-gz";

// Calls `take` with each part of a comma-separated header until it returns true.
template <class Take>
bool AnyPart(std::string_view list, const Take& take) {
  while (!list.empty()) {
    const size_t comma = list.find(',');
    if (take(Trimmed(list.substr(0, comma)))) return true;
    list = comma == std::string_view::npos ? "" : list.substr(comma + 1);
  }
  return false;
}

// Each encoding has bytes of its own, so a strong ETag of its own.
std::string GzipETag(std::string etag) { return etag.insert(etag.size() - 1, kGzipMark); }

}  // namespace

std::string ETagOf(std::string_view bytes) { return fmt::format("\"{}\"", Sha256Hex(bytes).substr(0, 32)); }

bool MatchesETag(std::string_view if_none_match, std::string_view etag) {
  return AnyPart(if_none_match, [&](std::string_view part) {
    if (part.rfind("W/", 0) == 0) part.remove_prefix(2);
    return part == "*" || part == etag;
  });
}

bool AcceptsType(std::string_view accept, std::string_view type) {
  return AnyPart(accept, [type](std::string_view part) {
    return LowerCase(Trimmed(part.substr(0, part.find(';')))) == type;
  });
}

bool AcceptsGzip(std::string_view accept_encoding) {
  return AnyPart(accept_encoding, [](std::string_view part) {
    const size_t semicolon = part.find(';');
    const std::string_view name = Trimmed(part.substr(0, semicolon));
    if (name != "gzip" && name != "*") return false;
    if (semicolon == std::string_view::npos) return true;
    const std::string_view weight = Trimmed(part.substr(semicolon + 1));
    return weight.rfind("q=0", 0) != 0 || weight.find_first_of("123456789") != std::string_view::npos;
  });
}

std::string Gzipped(std::string_view bytes) {
  if (bytes.size() > std::numeric_limits<uint32_t>::max() / 2) return "";
  isal_zstream stream;
  isal_deflate_stateless_init(&stream);
  std::vector<uint8_t> work(ISAL_DEF_LVL1_DEFAULT);
  stream.level = 1;
  stream.level_buf = work.data();
  stream.level_buf_size = static_cast<uint32_t>(work.size());
  stream.gzip_flag = IGZIP_GZIP;
  stream.end_of_stream = 1;
  std::string out(bytes.size(), '\0');
  stream.next_in = reinterpret_cast<uint8_t*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uint32_t>(bytes.size());
  stream.next_out = reinterpret_cast<uint8_t*>(out.data());
  stream.avail_out = static_cast<uint32_t>(out.size());
  if (isal_deflate_stateless(&stream) != COMP_OK) return "";
  out.resize(stream.total_out);
  return out;
}

std::string Gunzipped(std::string_view packed) {
  // The last four bytes of a gzip member are the size of what it holds.
  if (packed.size() < 18) return "";
  uint32_t size = 0;
  for (size_t i = 0; i < 4; ++i)
    size |= static_cast<uint32_t>(static_cast<uint8_t>(packed[packed.size() - 4 + i])) << (8 * i);
  inflate_state state;
  isal_inflate_init(&state);
  state.crc_flag = ISAL_GZIP;
  std::string out(size, '\0');
  state.next_in = reinterpret_cast<uint8_t*>(const_cast<char*>(packed.data()));
  state.avail_in = static_cast<uint32_t>(packed.size());
  state.next_out = reinterpret_cast<uint8_t*>(out.data());
  state.avail_out = size;
  return isal_inflate(&state) == ISAL_DECOMP_OK && state.avail_out == 0 ? out : "";
}

void Negotiate(const Request& request, bool with_etag, Response& response) {
  if (response.status != 200) return;
  const std::string plain = with_etag ? ETagOf(response.body) : "";
  const bool gzip = AcceptsGzip(request.Header("accept-encoding")) && response.body.size() >= kWorthPacking;
  response.headers.emplace_back("Vary", "Accept-Encoding");
  if (with_etag) {
    const std::string_view has = request.Header("if-none-match");
    const std::string packed = GzipETag(plain);
    if (MatchesETag(has, plain) || MatchesETag(has, packed)) {
      response.headers.emplace_back("ETag", MatchesETag(has, packed) ? packed : plain);
      response.status = 304;
      response.body.clear();
      return;
    }
  }
  std::string packed = gzip ? Gzipped(response.body) : "";
  if (with_etag) response.headers.emplace_back("ETag", packed.empty() ? plain : GzipETag(plain));
  if (packed.empty()) return;
  response.body = std::move(packed);
  response.headers.emplace_back("Content-Encoding", "gzip");
}

}  // namespace nl::http
