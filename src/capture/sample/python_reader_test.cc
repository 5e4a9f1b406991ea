// SPDX-License-Identifier: Apache-2.0
// Against real interpreters: those on PATH by their versioned names, and those NEUROLENS_TEST_PYTHONS
// lists (with colons).
#include "capture/sample/python_reader.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>

namespace nl::capture {
namespace {

constexpr char kScript[] = R"(import sys, threading, time
def idle_here():
    time.sleep(600)
class Work:
    def größe_спин(self):
        x = 0
        while True:
            x = (x * 31 + 7) % 1000003
def outer_call():
    Work().größe_спин()
threading.Thread(target=idle_here, daemon=True).start()
sys.stdout.write("ready\n"); sys.stdout.flush()
outer_call()
)";

std::vector<std::string> Interpreters() {
  std::vector<std::string> out;
  const auto add = [&out](const std::string& path) {
    char* real = realpath(path.c_str(), nullptr);
    if (real == nullptr) return;
    if (access(real, X_OK) == 0 && std::find(out.begin(), out.end(), real) == out.end())
      out.emplace_back(real);
    std::free(real);
  };
  if (const char* listed = std::getenv("NEUROLENS_TEST_PYTHONS")) {
    std::string rest = listed;
    while (!rest.empty()) {
      const size_t colon = std::min(rest.find(':'), rest.size());
      add(rest.substr(0, colon));
      rest.erase(0, std::min(colon + 1, rest.size()));
    }
  }
  for (const char* folder : {"/usr/bin/", "/usr/local/bin/"}) {
    for (int minor = 9; minor <= 14; ++minor) add(folder + ("python3." + std::to_string(minor)));
  }
  return out;
}

// A child interpreter running the script, ended with this object.
class Interpreter {
 public:
  explicit Interpreter(const std::string& path) {
    int ends[2];
    if (pipe(ends) != 0) return;
    pid_ = fork();
    if (pid_ == 0) {
      dup2(ends[1], 1);
      close(ends[0]);
      execl(path.c_str(), path.c_str(), "-X", "utf8", "-c", kScript, nullptr);
      _exit(127);
    }
    close(ends[1]);
    pollfd waiting{ends[0], POLLIN, 0};
    char text[16] = {};
    ready_ = poll(&waiting, 1, 600'000) == 1 && read(ends[0], text, sizeof(text)) > 0;
    close(ends[0]);
  }
  ~Interpreter() {
    if (pid_ <= 0) return;
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  Interpreter(const Interpreter&) = delete;
  Interpreter& operator=(const Interpreter&) = delete;
  pid_t pid() const { return pid_; }
  bool ready() const { return ready_; }

 private:
  pid_t pid_ = -1;
  bool ready_ = false;
};

std::vector<std::string> Names(PythonReader& reader, const std::vector<PythonFrame>& frames) {
  std::vector<std::string> out;
  for (const PythonFrame& frame : frames) {
    const std::string& name = reader.function(frame.function).name;
    out.push_back(name.substr(name.rfind('.') + 1) + ":" + std::to_string(frame.line));
  }
  return out;
}

TEST(PythonReader, ReadsStacksOfRealInterpreters) {
  const std::vector<std::string> interpreters = Interpreters();
  if (interpreters.empty()) GTEST_SKIP() << "no CPython 3.9 to 3.14 here";
  for (const std::string& path : interpreters) {
    SCOPED_TRACE(path);
    const Interpreter child(path);
    ASSERT_TRUE(child.ready());
    PythonReader reader(child.pid());
    const auto attached = reader.TryAttach(ReadMappings(child.pid()));
    if (attached == PythonReader::Attach::kImpossible &&
        reader.reason().find("not allowed") != std::string::npos)
      GTEST_SKIP() << reader.reason();
    ASSERT_EQ(attached, PythonReader::Attach::kReady) << reader.reason();
    bool spun = false, idled = false, held = false;
    for (int tries = 0; tries < 60'000 && !(spun && idled && held); ++tries) {
      std::vector<PythonThread> threads;
      ASSERT_TRUE(reader.ReadThreads(threads));
      for (const PythonThread& thread : threads) {
        std::vector<PythonFrame> frames;
        if (!reader.ReadStack(thread, frames) || frames.empty()) continue;
        const std::vector<std::string> names = Names(reader, frames);
        const std::string& leaf = names.back();
        if (thread.tid == child.pid() && (leaf == "größe_спин:7" || leaf == "größe_спин:8")) {
          spun = spun || (names.size() == 3 && names[0] == "<module>:13" && names[1] == "outer_call:10");
          held = held || thread.holds_gil;
        }
        if (leaf == "idle_here:3") idled = idled || (thread.tid > 0 && thread.tid != child.pid());
      }
      usleep(2000);
    }
    EXPECT_TRUE(spun) << "the busy function, its callers and its lines";
    EXPECT_TRUE(idled) << "the thread that sleeps";
    EXPECT_TRUE(held) << "the busy thread holds the lock";
  }
}

TEST(PythonReader, AProcessWithoutPythonIsNotYetOne) {
  const pid_t child = fork();
  if (child == 0) {
    execl("/bin/sleep", "sleep", "600", nullptr);
    _exit(127);
  }
  for (int i = 0; i < 1000 && ReadMappings(child).empty(); ++i) usleep(1000);
  PythonReader reader(child);
  EXPECT_NE(reader.TryAttach(ReadMappings(child)), PythonReader::Attach::kReady);
  EXPECT_FALSE(reader.ready());
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  EXPECT_NE(reader.TryAttach(ReadMappings(child)), PythonReader::Attach::kReady);
}

TEST(PythonReader, AnEndedProcessGivesNoStacks) {
  const std::vector<std::string> interpreters = Interpreters();
  if (interpreters.empty()) GTEST_SKIP() << "no CPython 3.9 to 3.14 here";
  auto child = std::make_unique<Interpreter>(interpreters[0]);
  ASSERT_TRUE(child->ready());
  PythonReader reader(child->pid());
  if (reader.TryAttach(ReadMappings(child->pid())) != PythonReader::Attach::kReady)
    GTEST_SKIP() << reader.reason();
  std::vector<PythonThread> threads;
  ASSERT_TRUE(reader.ReadThreads(threads));
  ASSERT_FALSE(threads.empty());
  child.reset();
  std::vector<PythonThread> after;
  EXPECT_FALSE(reader.ReadThreads(after));
  std::vector<PythonFrame> frames;
  EXPECT_FALSE(reader.ReadStack(threads[0], frames));
}

}  // namespace
}  // namespace nl::capture
