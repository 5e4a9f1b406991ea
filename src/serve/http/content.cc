// SPDX-License-Identifier: Apache-2.0
#include "serve/http/content.h"

#include <isa-l/igzip_lib.h>
#include <zstd.h>

#include <charconv>
#include <limits>
#include <vector>

#include <fmt/format.h>

#include "base/ascii.h"
#include "base/sha256.h"

namespace nl::http {

namespace {

constexpr size_t kWorthPacking = 1024;
constexpr int kZstdLevel = 1;

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
std::string PackedETag(std::string etag, Packing packing) {
  if (packing == Packing::kNone) return etag;
  return etag.insert(etag.size() - 1, packing == Packing::kGzip ? "-gz" : "-zst");
}

// How much a client wants an encoding, 0 to 1; 0: it does not take it. A name counts before "*".
double WeightOf(std::string_view accept_encoding, std::string_view name) {
  double named = -1, any = 0;
  AnyPart(accept_encoding, [&](std::string_view part) {
    const size_t semicolon = part.find(';');
    const std::string part_name = ToLower(Trimmed(part.substr(0, semicolon)));
    if (part_name != name && part_name != "*") return false;
    double weight = 1;
    if (semicolon != std::string_view::npos) {
      const std::string_view value = Trimmed(part.substr(semicolon + 1));
      if (value.starts_with("q=")) {
        weight = 0;
        std::from_chars(value.data() + 2, value.data() + value.size(), weight);
      }
    }
    (part_name == name ? named : any) = weight;
    return false;
  });
  return named >= 0 ? named : any;
}

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
    return ToLower(Trimmed(part.substr(0, part.find(';')))) == type;
  });
}

bool AcceptsGzip(std::string_view accept_encoding) { return WeightOf(accept_encoding, "gzip") > 0; }

Packing PackingFor(std::string_view accept_encoding) {
  const double gzip = WeightOf(accept_encoding, "gzip"), zstd = WeightOf(accept_encoding, "zstd");
  if (zstd > 0 && zstd >= gzip) return Packing::kZstd;
  return gzip > 0 ? Packing::kGzip : Packing::kNone;
}

std::string Zstandard(std::string_view bytes) {
  std::string out(ZSTD_compressBound(bytes.size()), '\0');
  const size_t size = ZSTD_compress(out.data(), out.size(), bytes.data(), bytes.size(), kZstdLevel);
  if (ZSTD_isError(size) != 0 || size >= bytes.size()) return "";
  out.resize(size);
  return out;
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
  const Packing packing =
      response.body.size() >= kWorthPacking ? PackingFor(request.Header("accept-encoding")) : Packing::kNone;
  response.headers.emplace_back("Vary", "Accept-Encoding");
  if (with_etag) {
    const std::string_view has = request.Header("if-none-match");
    for (const Packing any : {Packing::kGzip, Packing::kZstd, Packing::kNone}) {
      const std::string etag = PackedETag(plain, any);
      if (!MatchesETag(has, etag)) continue;
      response.headers.emplace_back("ETag", etag);
      response.status = 304;
      response.body.clear();
      return;
    }
  }
  std::string packed = packing == Packing::kGzip   ? Gzipped(response.body)
                       : packing == Packing::kZstd ? Zstandard(response.body)
                                                   : "";
  if (with_etag) response.headers.emplace_back("ETag", packed.empty() ? plain : PackedETag(plain, packing));
  if (packed.empty()) return;
  response.body = std::move(packed);
  response.headers.emplace_back("Content-Encoding", packing == Packing::kGzip ? "gzip" : "zstd");
}

}  // namespace nl::http
