// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include "model/demangle.h"
#include "model/demangle_tree.h"

namespace nl::demangle {
namespace {

constexpr int kMaxPrintDepth = 1024;
constexpr int kMaxPrintSteps = 1'000'000;

// C declarators wrap around their name, hence a left and a right half.
class Printer {
 public:
  explicit Printer(const std::vector<Node>& nodes) : nodes_(nodes) {}

  std::optional<std::string> Run(int root) {
    Print(root);
    if (failed_) return std::nullopt;
    return std::move(out_);
  }

 private:
  void Put(std::string_view text) {
    if (out_.size() + text.size() > kMaxDemangledBytes) {
      failed_ = true;
      return;
    }
    out_ += text;
  }

  bool EnterPrint() {
    if (++steps_ > kMaxPrintSteps || print_depth_ > kMaxPrintDepth) failed_ = true;
    return !failed_;
  }

  void Print(int node) {
    PrintLeft(node);
    PrintRight(node);
  }

  void PrintList(int list, std::string_view suffix = {}) {
    if (list < 0) return;
    bool first = true;
    for (size_t i = 0; i < nodes_[list].kids.size() && !failed_; ++i) {
      const int kid = nodes_[list].kids[i];
      const size_t before = out_.size();
      if (!first) Put(", ");
      const size_t start = out_.size();
      Print(kid);
      if (out_.size() == start) {
        out_.resize(before);  // an empty pack takes no comma
      } else {
        Put(suffix);
        first = false;
      }
    }
  }

  // The type a pointer or qualifier finally applies to decides on "(*)".
  bool WrapsDeclarator(int node) const {
    const Kind kind = nodes_[node].kind;
    return kind == Kind::kFunction || (kind == Kind::kArray && nodes_[node].tail == "]");
  }

  void PrintLeft(int node) {
    const Nesting nesting(&print_depth_);
    if (node < 0 || !EnterPrint()) return;
    const Node& n = nodes_[node];
    switch (n.kind) {
      case Kind::kText:
        Put(n.text);
        if (!n.kids.empty()) Print(n.kids[0]);
        break;
      case Kind::kScope:
        Print(n.kids[0]);
        Put("::");
        Print(n.kids[1]);
        break;
      case Kind::kTemplate: PrintTemplate(n); break;
      case Kind::kList: PrintList(node); break;
      case Kind::kSuffix:
        if (nodes_[n.kids[0]].kind == Kind::kList) {
          PrintList(n.kids[0], n.text);
          break;
        }
        PrintLeft(n.kids[0]);
        if (WrapsDeclarator(n.kids[0])) Put(" (");
        Put(n.text);
        break;
      case Kind::kFunction: Print(n.kids[0]); break;
      case Kind::kArray: PrintLeft(n.kids[0]); break;
      case Kind::kMember:
        PrintLeft(n.kids[1]);
        Put(WrapsDeclarator(n.kids[1]) ? " (" : " ");
        Print(n.kids[0]);
        Put("::*");
        break;
      case Kind::kLambda: PrintLambda(n); break;
      case Kind::kEncoding: PrintEncoding(n, true); break;
      case Kind::kLocal:
        PrintEncoding(nodes_[n.kids[0]], false);
        Put("::");
        Print(n.kids[1]);
        break;
      case Kind::kWrapped:
        Put(n.text);
        Print(n.kids[0]);
        if (n.kids.size() > 1) {
          Put(" ");
          Print(n.kids[1]);
        }
        Put(n.tail);
        break;
      case Kind::kBinary:
        Put("(");
        Print(n.kids[0]);
        Put(")");
        Put(n.text);
        Put("(");
        Print(n.kids[1]);
        Put(")");
        break;
      case Kind::kCast: PrintCast(n); break;
      case Kind::kTag:
        Print(n.kids[0]);
        Put("[abi:");
        Put(n.text);
        Put("]");
        break;
    }
  }

  void PrintRight(int node) {
    const Nesting nesting(&print_depth_);
    if (node < 0 || !EnterPrint()) return;
    const Node& n = nodes_[node];
    switch (n.kind) {
      case Kind::kSuffix:
        if (WrapsDeclarator(n.kids[0])) Put(")");
        PrintRight(n.kids[0]);
        break;
      case Kind::kMember:
        if (WrapsDeclarator(n.kids[1])) Put(")");
        PrintRight(n.kids[1]);
        break;
      case Kind::kFunction:
        Put(out_.empty() || out_.back() == ')' ? "(" : " (");
        PrintList(n.kids[1]);
        Put(")");
        break;
      case Kind::kArray:
        Put(n.text);
        Print(n.kids[1]);
        Put(n.tail);
        PrintRight(n.kids[0]);
        break;
      default: break;
    }
  }

  void PrintTemplate(const Node& n) {
    Print(n.kids[0]);
    Put(!out_.empty() && out_.back() == '<' ? " <" : "<");
    PrintList(n.kids[1]);
    Put(!out_.empty() && out_.back() == '>' ? " >" : ">");
  }

  void PrintLambda(const Node& n) {
    Put(n.kids[0] == kNone ? "{unnamed type" : "{lambda(");
    PrintList(n.kids[0]);
    Put(n.kids[0] == kNone ? "#" : ")#");
    int number = 1;
    if (!n.text.empty()) {
      number = 0;
      for (char c : n.text) number = (number * 10 + (c - '0')) % 100'000'000;
      number += 2;
    }
    Put(std::to_string(number));
    Put("}");
  }

  void PrintEncoding(const Node& n, bool with_result) {
    if (with_result && n.kids[2] >= 0) {
      Print(n.kids[2]);
      Put(" ");
    }
    Print(n.kids[0]);
    if (n.kids[1] >= 0) {
      Put("(");
      PrintList(n.kids[1]);
      Put(")");
      Put(n.text);
    }
  }

  void PrintCast(const Node& n) {
    if (n.kids[0] >= 0) {
      Put("(");
      Print(n.kids[0]);
      Put(")");
    }
    std::string_view value = n.text;
    if (!value.empty() && value[0] == 'n') {
      Put("-");
      value.remove_prefix(1);
    }
    Put(value);
    Put(n.tail);
  }

  const std::vector<Node>& nodes_;
  std::string out_;
  int steps_ = 0;
  int print_depth_ = 0;
  bool failed_ = false;
};

}  // namespace

std::optional<std::string> PrintTree(const std::vector<Node>& nodes, int root) {
  return Printer(nodes).Run(root);
}

}  // namespace nl::demangle
