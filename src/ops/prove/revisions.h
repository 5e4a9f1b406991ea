// SPDX-License-Identifier: Apache-2.0
#pragma once
// Revisions: two commits of the current git repository, checked out side by side in temporary worktrees,
// which are removed with this object. Those of a process that was killed are removed by the next one. Thread
// rule: one thread. Owns the worktrees.

#include <functional>
#include <string>

#include "base/file_ops.h"
#include "base/result.h"

namespace nl::ops::prove {

class Revisions {
 public:
  // `range` is BASE..HEAD; an empty HEAD is HEAD. InvalidInput outside of a repository.
  static Result<Revisions> CheckOut(const std::string& range, const std::function<bool()>& keep_going);
  Revisions(Revisions&& other) = default;
  Revisions& operator=(Revisions&& other) = delete;
  ~Revisions();

  // Runs a shell command in both; its failure is an error with the end of its output.
  Status Build(const std::string& command, const std::function<bool()>& keep_going) const;

  // Commit, and the folder that corresponds to the current one.
  struct Tree {
    std::string commit, root, directory;
  };
  const Tree& base() const { return base_; }
  const Tree& head() const { return head_; }

 private:
  Revisions(TempDir scratch, std::string repository)
      : scratch_(std::move(scratch)), repository_(std::move(repository)) {}
  Status Add(const std::string& revision, const std::string& name, const std::string& below, Tree& tree,
             const std::function<bool()>& keep_going);

  TempDir scratch_;
  std::string repository_;  // empty: moved from
  Tree base_, head_;
};

}  // namespace nl::ops::prove
