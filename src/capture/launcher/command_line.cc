// SPDX-License-Identifier: Apache-2.0
#include "capture/launcher/command_line.h"

#include <charconv>
#include <cmath>
#include <cstdlib>
#include <string_view>

namespace nl::capture {

namespace {

struct Switch {
  const char* name;
  uint64_t bits;
  const char* help;
};
// One switch may stand for several kinds of records.
constexpr Switch kSwitches[] = {
    {"gpu", kWantKernels | kWantApi | kWantSync | kWantMemory | kWantClocks,
     "kernels, copies, launches, device memory"},
    {"counters", kWantCounters, "hardware counters by PM sampling"},
    {"cpu", kWantCpu, "native stacks of all threads"},
    {"python", kWantPython, "Python stacks"},
    {"ops", kWantOps, "framework operators"},
    {"modules", kWantModules, "module calls"},
    {"nvtx", kWantRanges, "NVTX ranges and marks"},
};

bool ToNumber(const std::string& text, double& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() && std::isfinite(value);
}

// --gpu, --no-gpu and so on; a first positive one does not switch the others off.
bool TakeSwitch(std::string_view name, uint64_t& wanted) {
  const bool off = name.substr(0, 3) == "no-";
  if (off) name.remove_prefix(3);
  for (const Switch& known : kSwitches) {
    if (name != known.name) continue;
    wanted = off ? wanted & ~known.bits : wanted | known.bits;
    return true;
  }
  return false;
}

bool TakeNumber(const std::string& flag, const std::string& text, double min, double max, double& to,
                std::string& why) {
  if (ToNumber(text, to) && to >= min && to <= max) return true;
  why = flag + " must be a number from " + std::to_string(static_cast<long long>(min)) + " to " +
        std::to_string(static_cast<long long>(max)) + ", not '" + text + "'";
  return false;
}

bool TakeValue(const std::string& flag, const std::string& value, LaunchOptions& o, std::string& why) {
  double number = 0;
  if (flag == "--out") {
    o.directory = value;
  } else if (flag == "--spill") {
    o.spill_directory = value;
  } else if (flag == "--capture-range") {
    if (!CheckCaptureRange(value, why)) return false;
    o.capture_range = value;
  } else if (flag == "--detail") {
    o.detail = value;
  } else if (flag == "--budget") {
    return ParseBudget(value, o.budget, why);
  } else if (flag == "--tag") {
    const size_t equals = value.find('=');
    if (equals == std::string::npos || equals == 0) {
      why = "a tag is key=value, not '" + value + "'";
      return false;
    }
    o.tags.emplace_back(value.substr(0, equals), value.substr(equals + 1));
  } else if (flag == "--delay") {
    return TakeNumber(flag, value, 0, 1e7, o.delay_s, why);
  } else if (flag == "--duration") {
    return TakeNumber(flag, value, 0, 1e7, o.duration_s, why);
  } else if (flag == "--buffer-mb") {
    if (!TakeNumber(flag, value, 1, 1 << 20, number, why)) return false;
    o.buffer_mb = static_cast<int64_t>(number);
  } else if (flag == "--counter-interval-us") {
    if (!TakeNumber(flag, value, 5, 1000, number, why)) return false;
    o.counter_interval_us = static_cast<int64_t>(number);
  } else if (flag == "--rate") {
    if (!TakeNumber(flag, value, 1, 10000, number, why)) return false;
    o.sample_rate_hz = static_cast<int>(number);
  } else {
    why = "unknown option '" + flag + "'; --help lists them";
    return false;
  }
  return true;
}

}  // namespace

bool CheckCaptureRange(const std::string& text, std::string& why) {
  if (text == "api") return true;
  if (text.rfind("nvtx:", 0) == 0 && text.size() > 5 && text.size() - 5 < sizeof(ControlBlock::capture_range))
    return true;
  why = "--capture-range must be nvtx:LABEL or api, not '" + text + "'";
  return false;
}

bool ApplyDetail(const std::string& name, LaunchOptions& o, std::string& why) {
  if (name == "light") {
    o.wanted &= ~static_cast<uint64_t>(kWantOps | kWantModules | kWantCounters | kWantCpu | kWantPython);
  } else if (name == "full") {
    o.wanted |= kWantAllApi | kWantAllShapes;
  } else if (name != kDefaultDetail) {
    why = "--detail must be light, standard or full, not '" + name + "'";
    return false;
  }
  o.detail = name;
  return true;
}

bool ParseBudget(const std::string& text, double& share, std::string& why) {
  std::string number = text;
  if (!number.empty() && number.back() == '%') number.pop_back();
  double pct = 0;
  if (!ToNumber(number, pct) || pct < 0.1 || pct > 100) {
    why = "--budget must be a percentage from 0.1% to 100%, not '" + text + "'";
    return false;
  }
  share = pct / 100;
  return true;
}

bool ParseCommandLine(const std::vector<std::string>& words, CommandLine& to, std::string& why) {
  size_t at = 0;
  for (; at < words.size(); ++at) {
    const std::string& word = words[at];
    if (word == "--") {
      ++at;
      break;
    }
    if (word.size() < 2 || word[0] != '-') break;  // the command begins
    if (word == "--help" || word == "-h") {
      to.help = true;
      return true;
    }
    if (word == "--version" || word == "-V") {
      to.version = true;
      return true;
    }
    if (word == "--system") {
      to.system = true;
      return true;
    }
    if (word == "--live") {
      to.live = true;
      continue;
    }
    if (word == "--quiet" || word == "-q") {
      to.quiet = true;
      continue;
    }
    if (word.rfind("--", 0) == 0 && TakeSwitch(std::string_view(word).substr(2), to.options.wanted)) continue;
    const size_t equals = word.find('=');
    const std::string flag = word.substr(0, equals);
    if (equals == std::string::npos && at + 1 >= words.size()) {
      why = flag + " needs a value";
      return false;
    }
    const std::string value = equals == std::string::npos ? words[++at] : word.substr(equals + 1);
    if (!TakeValue(flag, value, to.options, why)) return false;
  }
  to.options.command.assign(words.begin() + static_cast<std::ptrdiff_t>(std::min(at, words.size())),
                            words.end());
  if (!ApplyDetail(to.options.detail.empty() ? kDefaultDetail : to.options.detail, to.options, why))
    return false;
  if (!to.options.command.empty()) return true;
  why = "no command to record; usage: neurolens-capture [options] -- COMMAND...";
  return false;
}

std::string CommandLineHelp() {
  std::string out =
      "neurolens-capture [options] -- COMMAND...\n"
      "Records what COMMAND does on GPU and CPU into a folder that `neurolens import` reads, here or "
      "elsewhere.\n"
      "The exit status is the command's own; 125: the recording could not begin, 126 and 127 as in "
      "env(1).\n\n"
      "What to record (all by default; --no-NAME leaves one out):\n";
  for (const Switch& known : kSwitches) {
    std::string line = std::string("  --") + known.name;
    line.resize(24, ' ');
    out += line + known.help + "\n";
  }
  return out +
         "When:\n"
         "  --delay S               begin after S seconds\n"
         "  --duration S            stop recording after S seconds; the command continues\n"
         "  --capture-range WHAT    nvtx:LABEL: inside ranges of this name; api: between start and stop "
         "calls\n"
         "  --detail WHAT           light: the device, its calls and labels; standard; full: also every CUDA "
         "call "
         "and all\n"
         "                          shapes (default standard)\n"
         "  --budget PCT            pause to cost the command at most this much of its time, as 1%\n"
         "How:\n"
         "  --out DIR.nlcap         folder for the capture (default COMMAND-DATE-TIME.nlcap)\n"
         "  --spill DIR             write there while the command runs, move to --out at its end\n"
         "  --buffer-mb N           memory for buffers in each process (default 256)\n"
         "  --counter-interval-us N between two samples of hardware counters (default 100)\n"
         "  --rate HZ               samples per second of each thread (default 200)\n"
         "  --tag KEY=VALUE         kept with the run; may be given several times\n"
         "  --live                  show what is recorded while it runs\n"
         "  --quiet                 say nothing but errors\n"
         "  --system                describe this machine as JSON and exit\n";
}

}  // namespace nl::capture
