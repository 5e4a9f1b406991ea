// SPDX-License-Identifier: Apache-2.0
#pragma once
// The tree between the two halves of DemangleItanium: demangle.cc parses symbols into it, and
// demangle_print.cc writes it out. Nodes are shared (substitutions), so a small tree may print long;
// the printer enforces the limits. Owned by one call; not for other users.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace nl::demangle {

enum class Kind : uint8_t {
  kText,      // text
  kScope,     // a::b
  kTemplate,  // a<b...>; kid 0 the name, kid 1 a kList
  kList,      // a, b, c (also an argument pack)
  kSuffix,    // type followed by text: "*", "&", " const"
  kFunction,  // kid 0 result or kNone, kid 1 parameters; text: qualifiers
  kArray,     // kid 0 element, kid 1 size or kNone
  kMember,    // pointer to member; kid 0 class, kid 1 type
  kLambda,    // kid 0 parameters; text: number
  kEncoding,  // kid 0 name, kid 1 parameters or kNone, kid 2 result or kNone; text: qualifiers
  kLocal,     // kid 0 encoding, kid 1 name
  kWrapped,   // text, kid 0, second text: "decltype (" x ")"
  kBinary,    // (a)op(b)
  kCast,      // (type)text
  kTag,       // name[abi:text]
};

inline constexpr int kNone = -1;
inline constexpr int kFail = -2;

struct Node {
  Kind kind = Kind::kText;
  std::string_view text;
  std::string_view tail;
  std::vector<int> kids;
};

// Adds one level to a depth counter for the life of a call.
struct Nesting {
  explicit Nesting(int* depth) : depth_(depth) { ++*depth_; }
  ~Nesting() { --*depth_; }
  Nesting(const Nesting&) = delete;
  Nesting& operator=(const Nesting&) = delete;
  int* depth_;
};

// nullopt when the text would pass a limit.
std::optional<std::string> PrintTree(const std::vector<Node>& nodes, int root);

}  // namespace nl::demangle
