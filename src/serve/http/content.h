// SPDX-License-Identifier: Apache-2.0
#pragma once
// What a client has and takes: ETags, so that an unchanged reply is not sent again, gzip and zstd.
// Thread rule: pure functions.

#include <cstdint>
#include <string>
#include <string_view>

#include "serve/http/message.h"

namespace nl::http {

// A strong ETag of these bytes, in quotes.
std::string ETagOf(std::string_view bytes);
// Is `etag` in the list of an If-None-Match header? Weak forms of it count, as RFC 9110 has it.
bool MatchesETag(std::string_view if_none_match, std::string_view etag);

// Is this media type in the list of an Accept header? Wildcards do not count: they take the usual form.
bool AcceptsType(std::string_view accept, std::string_view type);

enum class Packing : uint8_t { kNone, kGzip, kZstd };
bool AcceptsGzip(std::string_view accept_encoding);
// The one that the client prefers; zstd, which is faster, where it has no preference.
Packing PackingFor(std::string_view accept_encoding);
// Gzip of the bytes; empty when it does not get smaller.
std::string Gzipped(std::string_view bytes);
std::string Zstandard(std::string_view bytes);
// The bytes that one gzip member holds; empty when it is damaged. For what the program itself was built with.
std::string Gunzipped(std::string_view packed);

// Turns a reply into 304 where the client has it already (`with_etag`), or packs it where that pays.
void Negotiate(const Request& request, bool with_etag, Response& response);

}  // namespace nl::http
