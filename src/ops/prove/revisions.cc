// SPDX-License-Identifier: Apache-2.0
#include "ops/prove/revisions.h"

#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>

#include <fmt/format.h>

#include "base/run_program.h"

namespace nl::ops::prove {

namespace {

constexpr char kPrefix[] = "neurolens-prove-";

bool Always() { return true; }

// Standard output of git without its last newline.
Result<std::string> Git(const std::string& repository, std::vector<std::string> words,
                        const std::function<bool()>& keep_going = Always) {
  const std::string git = FindProgram("git");
  if (git.empty()) return NotFound("cannot run 'git': no such program").Hint("revisions need git");
  std::vector<std::string> command{git};
  if (!repository.empty()) command.insert(command.end(), {"-C", repository});
  command.insert(command.end(), words.begin(), words.end());
  NL_ASSIGN(ProgramResult result, RunProgram(command, keep_going, 1 << 20));
  while (!result.err.empty() && result.err.back() == '\n') result.err.pop_back();
  if (result.status != 0) return InvalidInput(fmt::format("git {} failed: {}", words[0], result.err));
  while (!result.out.empty() && result.out.back() == '\n') result.out.pop_back();
  return std::move(result.out);
}

// Worktrees of processes that no longer exist.
void RemoveLeftovers(const std::string& repository) {
  const Result<std::string> list = Git(repository, {"worktree", "list", "--porcelain"});
  if (!list.ok()) return;
  bool removed = false;
  for (size_t at = 0; at < list->size();) {
    const size_t end = std::min(list->find('\n', at), list->size());
    const std::string line = list->substr(at, end - at);
    at = end + 1;
    const size_t name = line.find(kPrefix);
    if (line.rfind("worktree ", 0) != 0 || name == std::string::npos) continue;
    const std::string path = line.substr(9);
    const char* digits = line.data() + name + sizeof(kPrefix) - 1;
    pid_t owner = 0;
    std::from_chars(digits, line.data() + line.size(), owner);
    if (owner <= 0 || kill(owner, 0) == 0 || errno == EPERM) continue;
    static_cast<void>(RemoveTree(path.substr(0, path.rfind('/'))));
    removed = true;
  }
  if (removed) static_cast<void>(Git(repository, {"worktree", "prune"}));
}

}  // namespace

Result<Revisions> Revisions::CheckOut(const std::string& range, const std::function<bool()>& keep_going) {
  const size_t dots = range.find("..");
  if (dots == std::string::npos || dots == 0 || range.find("...") != std::string::npos)
    return InvalidInput(fmt::format("'{}' is not BASE..HEAD", range))
        .Hint("neurolens prove main..HEAD -- CMD measures CMD on both revisions");
  const std::string head = range.substr(dots + 2);
  NL_ASSIGN(std::string repository, Git("", {"rev-parse", "--show-toplevel"}));
  NL_ASSIGN(const std::string below, Git("", {"rev-parse", "--show-prefix"}));
  RemoveLeftovers(repository);
  NL_ASSIGN(TempDir scratch, TempDir::Make(fmt::format("{}{}-", kPrefix, getpid())));
  Revisions out(std::move(scratch), std::move(repository));
  NL_TRY(out.Add(range.substr(0, dots), "base", below, out.base_, keep_going));
  NL_TRY(out.Add(head.empty() ? "HEAD" : head, "head", below, out.head_, keep_going));
  return out;
}

Status Revisions::Add(const std::string& revision, const std::string& name, const std::string& below,
                      Tree& tree, const std::function<bool()>& keep_going) {
  // Before a word that begins with a dash could be taken for an option.
  NL_ASSIGN(tree.commit,
            Git(repository_, {"rev-parse", "--verify", "--end-of-options", revision + "^{commit}"}));
  tree.root = scratch_.path() + "/" + name;
  NL_ASSIGN(const std::string added,
            Git(repository_, {"worktree", "add", "--quiet", "--detach", tree.root, tree.commit}, keep_going));
  tree.directory = tree.root + (below.empty() ? "" : "/" + below.substr(0, below.size() - 1));
  if (!IsDirectory(tree.directory))
    return InvalidInput(fmt::format("{} does not exist in {}", below, revision));
  return {};
}

Revisions::~Revisions() {
  if (repository_.empty()) return;
  for (const Tree* tree : {&base_, &head_}) {
    if (!tree->root.empty()) static_cast<void>(RemoveTree(tree->root));
  }
  static_cast<void>(Git(repository_, {"worktree", "prune"}));
}

Status Revisions::Build(const std::string& command, const std::function<bool()>& keep_going) const {
  for (const Tree* tree : {&base_, &head_}) {
    NL_ASSIGN(const ProgramResult result,
              RunProgram({"/bin/sh", "-c", "cd \"$1\" && eval \"$2\"", "sh", tree->directory, command},
                         keep_going));
    if (result.status == 0) continue;
    constexpr size_t kShown = 2000;
    const std::string& said = result.err.empty() ? result.out : result.err;
    return InvalidInput(fmt::format("--build failed with status {} on {}:\n{}", result.status,
                                    tree->commit.substr(0, 12),
                                    said.substr(said.size() > kShown ? said.size() - kShown : 0)));
  }
  return {};
}

}  // namespace nl::ops::prove
