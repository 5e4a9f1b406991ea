// SPDX-License-Identifier: Apache-2.0
#include "cli/cli.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <exception>
#include <memory>
#include <new>
#include <optional>
#include <string_view>

#include <fmt/format.h>

#include "base/near_names.h"
#include "base/terminal.h"
#include "cli/help.h"
#include "cli/parse.h"
#include "cli/progress.h"
#include "cli/run_files.h"
#include "ops/ls/reply.h"

namespace nl {

namespace {

constexpr int kOk = 0;
constexpr int kAnswerIsNo = 1;
constexpr int kBadUsage = 2;

// 0, or the errno of the write that failed.
int WriteAll(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = write(fd, text.data(), text.size());
    if (written > 0) {
      text.remove_prefix(static_cast<size_t>(written));
    } else if (errno != EINTR) {
      return errno;
    }
  }
  return 0;
}

Json ErrorJson(const Error& error) {
  Json inner{{"code", ErrorCodeName(error.code)}, {"message", error.message}};
  inner["file"] = error.file.empty() ? Json() : Json(error.file);
  inner["byte_offset"] = error.byte_offset < 0 ? Json() : Json(error.byte_offset);
  inner["hint"] = error.hint.empty() ? Json() : Json(error.hint);
  return Json{{"error", std::move(inner)}};
}

std::string EndWithNewline(std::string text) {
  if (!text.empty() && text.back() != '\n') text += '\n';
  return text;
}

class Session {
 public:
  Session(const std::vector<std::string>& words, const CliHost& host) : words_(words), host_(host) {
    // Known before parsing, so that an error in the words is reported as asked for.
    const auto end = std::find(words.begin(), words.end(), "--");
    guessed_json_ = std::find(words.begin(), end, "--json") != end;
  }

  int Run() {
    Result<CommandWords> leading = ParseLeading(words_, options_);
    if (!leading.ok()) return Fail(leading.error());
    std::string command = std::move(leading->command);
    std::vector<std::string> rest = std::move(leading->rest);
    if (command == "__complete") return Complete(rest);
    if (command == "help") {
      command = rest.empty() ? "" : rest[0];
      rest.clear();
      options_.help = true;
    }
    if (command.empty()) {
      if (options_.version) return RunCommand("version", {});
      const std::string overview = OverviewHelp(DescribeCommands(*host_.ops), Style(host_.out_fd));
      if (options_.help) return Print(overview, kOk);
      WriteAll(host_.err_fd, overview);
      return kBadUsage;
    }
    return RunCommand(command, rest);
  }

  int Fail(const Error& error) {
    if (progress_) progress_->Clear();
    Error bare = error;
    bare.hint.clear();
    bare.file = PrintableText(bare.file);  // lines are kept in messages, not in names
    const bool color = ColorAllowed(ColorSetting(), host_.err_fd);
    std::string text = fmt::format("neurolens: {}error:{} {}\n", color ? "\x1b[1;31m" : "",
                                   color ? "\x1b[0m" : "", PrintableText(bare.ToString(), Keep::kLines));
    if (!error.hint.empty()) text += fmt::format("  hint: {}\n", PrintableText(error.hint));
    WriteAll(host_.err_fd, text);
    if (options_.json || (!parsed_ && guessed_json_))
      WriteAll(host_.out_fd, DumpJson(ErrorJson(error), 2) + "\n");
    const int status = ExitStatus(error.code);
    return status == kBadUsage ? bad_input_status_ : status;
  }

 private:
  int RunCommand(const std::string& name, const std::vector<std::string>& rest) {
    const std::unique_ptr<Op> op = MakeOp(*host_.ops, name);
    if (op == nullptr) return Fail(UnknownCommand(name));
    const CommandInfo command = DescribeCommand(*op);
    bad_input_status_ = command.op.bad_input_status;
    Result<Json> args = ParseParams(command, rest, options_);
    if (!args.ok()) return Fail(args.error());
    parsed_ = true;
    if (options_.help) return Print(CommandHelp(command, Style(host_.out_fd)), kOk);
    if (options_.version && name != "version") return RunCommand("version", {});
    if (const Status loaded = LoadSettings(); !loaded.ok()) return Fail(loaded.error());
    NoteRedirectedStore();

    OpContext context = MakeContext();
    const Result<std::vector<NamedProfile>> profiles = ImportNamedProfiles(command, *args, context);
    if (!profiles.ok()) return Fail(profiles.error());
    NoteProfiles(*profiles);
    Result<Reply> reply = RunOp(*op, *args, context);
    if (progress_) progress_->Clear();
    if (!reply.ok()) return Fail(reply.error());
    return PrintReply(*op, *reply);
  }

  Error UnknownCommand(const std::string& name) const {
    std::vector<std::string> names;
    for (const CommandInfo& command : DescribeCommands(*host_.ops)) names.push_back(command.op.name);
    const std::string guess = DidYouMean(Nearest(name, names));
    return InvalidInput(fmt::format("unknown command '{}'", name))
        .Hint(guess.empty() ? "'neurolens --help' lists the commands" : guess);
  }

  Status LoadSettings() {
    SettingsInput input = host_.settings;
    input.flags = options_.settings;
    NL_ASSIGN(settings_, Settings::Load(input));
    return {};
  }

  // A project's file may come from a stranger: that it moves the store must not go unseen.
  void NoteRedirectedStore() const {
    if (options_.quiet) return;
    for (const Settings::File& file : settings_->files()) {
      if (file.kind != "project" || !file.exists) continue;
      for (const Settings::Entry& entry : settings_->entries()) {
        if (entry.key == "store" && entry.source.rfind(fmt::format("file {}:", file.path), 0) == 0)
          WriteAll(host_.err_fd, PrintableText(fmt::format("neurolens: note: {} sets the store to {}",
                                                           file.path, entry.value)) +
                                     "\n");
      }
    }
  }

  // The store has changed, which the operation itself does not do.
  void NoteProfiles(const std::vector<NamedProfile>& profiles) {
    if (progress_) progress_->Clear();
    if (options_.quiet) return;
    for (const NamedProfile& profile : profiles) {
      WriteAll(
          host_.err_fd,
          PrintableText(fmt::format("neurolens: note: {} is run {}", profile.path, profile.run_id)) + "\n");
    }
  }

  OpContext MakeContext() {
    OpContext context;
    context.settings = &*settings_;
    context.cancelled = host_.cancelled;
    context.interactive = IsTerminal(host_.err_fd) && !options_.quiet;
    if (context.interactive) {
      progress_.emplace(host_.err_fd);
      context.progress = [this](std::string_view what, int64_t done_bytes, int64_t total_bytes) {
        progress_->Update(what, done_bytes, total_bytes);
      };
    }
    return context;
  }

  std::string ColorSetting() const {
    if (settings_) return settings_->Get("color");
    for (const auto& [key, value] : options_.settings) {
      if (key == "color") return value;
    }
    return "auto";
  }

  TextStyle Style(int fd) const { return {TerminalWidth(), ColorAllowed(ColorSetting(), fd)}; }

  int PrintReply(const Op& op, const Reply& reply) {
    const int no_or_ok = reply.answer_is_no ? kAnswerIsNo : kOk;
    const int answer = reply.answer_status != 0 ? reply.answer_status : no_or_ok;
    if (op.Info().stdout_is_programs && !options_.json) {
      if (!options_.quiet) WriteAll(host_.err_fd, WholeText(op, reply, host_.err_fd));
      return answer;
    }
    const int status = Print(WholeText(op, reply, host_.out_fd), answer);
    if (status != answer || reply.problems.empty()) return status;
    options_.json = false;  // the reply has the problems already; stderr repeats them for people
    for (size_t i = 1; i < reply.problems.size(); ++i) Fail(reply.problems[i]);
    return Fail(reply.problems[0]);
  }

  std::string WholeText(const Op& op, const Reply& reply, int fd) const {
    // A file or a pipe gets exact bytes; a terminal gets nothing that could command it.
    const bool terminal = IsTerminal(fd);
    if (options_.json) {
      const std::string text = reply.JsonText(2) + "\n";
      return terminal ? PrintableText(text, Keep::kLines) : text;
    }
    if (!reply.raw.empty()) return terminal ? PrintableText(reply.raw, Keep::kLines) : reply.raw;
    const TextStyle style = Style(fd);
    const Keep keep = style.color ? Keep::kLinesAndColor : Keep::kLines;
    return EndWithNewline(PrintableText(op.Text(reply, style), keep));
  }

  int Print(std::string_view text, int status) {
    const int error = WriteAll(host_.out_fd, text);
    // The reader has seen enough ("| head"): not a failure.
    if (error == 0 || error == EPIPE) return status;
    options_.json = false;  // stdout is what failed
    return Fail(IoError("cannot write the output", error));
  }

  // Candidates for the completion scripts, one per line; nothing when anything fails.
  int Complete(const std::vector<std::string>& rest) {
    if (rest.empty() || rest[0] != "runs") return kOk;
    const std::unique_ptr<Op> list = MakeOp(*host_.ops, "ls");
    if (list == nullptr || !LoadSettings().ok()) return kOk;
    OpContext context;
    context.settings = &*settings_;
    const Result<Reply> reply = RunOp(*list, Json::object(), context);
    if (!reply.ok()) return kOk;
    std::string text;
    for (const ListedRun& run : reply->As<LsReply>().runs) {
      if (text.empty()) text = "@latest\n";
      text += run.run_id + "\n";
    }
    return Print(text, kOk);
  }

  const std::vector<std::string>& words_;
  const CliHost& host_;
  GlobalOptions options_;
  bool guessed_json_ = false;  // --json is somewhere among the words
  bool parsed_ = false;        // the words are parsed into options_
  int bad_input_status_ = kBadUsage;
  std::optional<Settings> settings_;
  std::optional<ProgressLine> progress_;
};

}  // namespace

int RunCli(const std::vector<std::string>& words, const CliHost& host) {
  Session session(words, host);
  // The edge of the process: whatever third-party code threw past its wrapper ends here.
  try {
    return session.Run();
  } catch (const std::bad_alloc&) {
    return session.Fail(Limit("not enough memory"));
  } catch (const std::exception& e) {
    return session.Fail(Internal(fmt::format("unexpected exception: {}", e.what())));
  } catch (...) {
    return session.Fail(Internal("unexpected exception of unknown type"));
  }
}

}  // namespace nl
