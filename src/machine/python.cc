// SPDX-License-Identifier: Apache-2.0
#include "machine/python.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <set>
#include <utility>

#include "base/ascii.h"

namespace nl::machine {

namespace {

constexpr size_t kMetadataBytes = 256 << 10;  // the fields come before the description

// Names as PEP 503 writes them. What a model on GPUs runs on.
const std::set<std::string>& Tracked() {
  static const std::set<std::string> names = {
      "torch", "triton", "jax",   "jaxlib",     "onnxruntime", "onnxruntime-gpu", "tensorrt",  "transformers",
      "vllm",  "sglang", "numpy", "flash-attn", "tensorflow",  "deepspeed",       "accelerate"};
  return names;
}

std::string Normalised(std::string_view name) {
  std::string out;
  for (const char c : name) {
    const bool is_separator = c == '-' || c == '_' || c == '.';
    if (is_separator && !out.empty() && out.back() == '-') continue;
    out += is_separator ? '-' : ToLower(c);
  }
  return out;
}

bool IsCudaPackage(const std::string& name) {
  return name.compare(0, 7, "nvidia-") == 0 || name == "cuda-toolkit";
}

// "nvidia_nccl_cu12-2.21.5.dist-info": name and version. Debian has NAME-VERSION.egg-info.
std::optional<std::pair<std::string, std::string>> PackageOf(const std::string& entry) {
  for (const std::string_view ending : {".dist-info", ".egg-info"}) {
    if (entry.size() <= ending.size() ||
        entry.compare(entry.size() - ending.size(), ending.size(), ending) != 0)
      continue;
    const std::string stem = entry.substr(0, entry.size() - ending.size());
    const size_t dash = stem.find('-');
    if (dash == std::string::npos) return std::nullopt;
    const size_t end = stem.find('-', dash + 1);  // NAME-VERSION-py3.11.egg-info
    return std::pair(Normalised(stem.substr(0, dash)),
                     stem.substr(dash + 1, end == std::string::npos ? end : end - dash - 1));
  }
  return std::nullopt;
}

// Whether a requirement with this marker holds here: true, false, or nothing where that is not known.
std::optional<bool> MarkerHolds(std::string marker, const PythonEnvironment& env,
                                const std::string& architecture) {
  marker.erase(std::remove_if(marker.begin(), marker.end(), [](char c) { return c == '(' || c == ')'; }),
               marker.end());
  if (marker.find(" or ") != std::string::npos) return std::nullopt;
  std::string_view rest = marker;
  while (!rest.empty()) {
    const size_t at = std::min(rest.find(" and "), rest.size());
    const std::string clause(rest.substr(0, at));
    rest.remove_prefix(std::min(at + 5, rest.size()));
    if (clause.find("extra") != std::string::npos) return false;
    const size_t from = clause.find_first_of("\"'"), to = clause.find_last_of("\"'");
    const size_t sign = clause.find_first_of("=<>!");
    if (from == std::string::npos || to <= from || sign == std::string::npos || sign > from)
      return std::nullopt;
    const std::string wanted = clause.substr(from + 1, to - from - 1);
    const std::string variable =
        clause.substr(clause.find_first_not_of(' '),
                      clause.find_last_not_of(' ', sign - 1) - clause.find_first_not_of(' ') + 1);
    const std::string op = clause.substr(sign, clause.find_last_not_of(" \"'", from) - sign + 1);
    std::string value;
    if (variable == "platform_system") value = "Linux";
    if (variable == "sys_platform") value = "linux";
    if (variable == "platform_machine") value = architecture;
    if (variable == "python_version" || variable == "python_full_version") {
      if (!env.python) return std::nullopt;
      if (!VersionFits(*env.python, op + wanted)) return false;
      continue;
    }
    if (value.empty() || (op != "==" && op != "!=")) return std::nullopt;
    if ((value == wanted) != (op == "==")) return false;
  }
  return true;
}

// "Requires-Dist: triton==3.2.0; platform_system == "Linux" and platform_machine == "x86_64""
void TakeRequirement(std::string_view line, const std::string& package, PythonEnvironment& env,
                     const std::string& architecture) {
  const size_t semicolon = line.find(';');
  std::string_view what = line.substr(0, semicolon);
  const size_t end = what.find_first_of(" [(<>=!~@");
  const std::string name = Normalised(what.substr(0, end));
  if (Tracked().count(name) == 0 && !IsCudaPackage(name)) return;
  const size_t from = what.find_first_of("<>=!~");
  if (from == std::string_view::npos || what.find('@') != std::string_view::npos) return;
  std::string specifier(what.substr(from));
  specifier.erase(std::remove_if(specifier.begin(), specifier.end(),
                                 [](char c) { return c == '(' || c == ')' || c == ' '; }),
                  specifier.end());
  if (semicolon != std::string_view::npos &&
      MarkerHolds(std::string(line.substr(semicolon + 1)), env, architecture) != true)
    return;
  env.requirements.push_back({package, name, specifier});
}

void TakeRequirements(const RootFiles& files, const std::string& folder, const std::string& package,
                      PythonEnvironment& env, const std::string& architecture) {
  const std::string text = files.Text(folder + "/METADATA", kMetadataBytes).value_or("");
  std::string_view rest = text;
  while (!rest.empty()) {
    const size_t end = std::min(rest.find('\n'), rest.size());
    const std::string_view line = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    if (line.empty() || line == "\r") return;  // the description
    constexpr std::string_view kField = "Requires-Dist: ";
    if (line.compare(0, kField.size(), kField) == 0)
      TakeRequirement(line.substr(kField.size()), package, env, architecture);
  }
}

// cuda: Optional[str] = '12.4'  or  cuda = None
std::optional<std::string> PythonText(const std::string& text, const std::string& name) {
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    const std::string line = text.substr(at, end - at);
    at = end + 1;
    const bool is_it = line.compare(0, name.size(), name) == 0 && line.size() > name.size() &&
                       (line[name.size()] == ' ' || line[name.size()] == ':');
    const size_t equals = is_it ? line.find('=') : std::string::npos;
    if (equals == std::string::npos) continue;
    const size_t from = line.find_first_of("'\"", equals);
    if (from == std::string::npos) return std::nullopt;
    return line.substr(from + 1, line.find_first_of("'\"", from + 1) - from - 1);
  }
  return std::nullopt;
}

void ReadTorch(const RootFiles& files, const std::string& site, PythonEnvironment& env) {
  const auto text = files.Text(site + "/torch/version.py", 16384);
  if (!text) {
    env.unread["torch_cuda"] = env.unread["torch_hip"] = "torch/version.py cannot be read";
    return;
  }
  env.torch_cuda = PythonText(*text, "cuda");
  env.torch_hip = PythonText(*text, "hip");
}

void ReadSite(const RootFiles& files, const std::string& site, const std::string& architecture,
              PythonEnvironment& env) {
  for (const std::string& entry : files.Names(site)) {
    const auto package = PackageOf(entry);
    if (!package) continue;
    const auto& [name, version] = *package;
    if (IsCudaPackage(name)) env.cuda_packages.emplace(name, version);
    // The first folder wins, as it does for Python.
    if (Tracked().count(name) == 0 || !env.packages.emplace(name, version).second) continue;
    TakeRequirements(files, site + "/" + entry, name, env, architecture);
    if (name == "torch") ReadTorch(files, site, env);
  }
}

std::string Variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

std::string Parent(const std::string& path) { return path.substr(0, path.rfind('/')); }

// "3.12" of lib/python3.12 under a prefix; the one that bin/python3 leads to where there are several.
std::optional<std::string> MinorVersion(const RootFiles& files, const std::string& prefix) {
  const auto in_name = [](const std::string& name) -> std::optional<std::string> {
    const size_t at = name.rfind("python3.");
    if (at == std::string::npos) return std::nullopt;
    const std::string version = name.substr(at + 6);
    return version.find_first_not_of("0123456789.") == std::string::npos ? std::optional(version)
                                                                         : std::nullopt;
  };
  for (const char* start : {"/bin/python3", "/bin/python"}) {
    std::string at = prefix + start;
    for (int i = 0; i < 6; ++i) {
      const auto target = files.LinkTarget(at);
      if (!target) break;
      if (const auto version = in_name(*target)) return version;
      at = target->compare(0, 1, "/") == 0 ? *target : Parent(at) + "/" + *target;
    }
  }
  std::optional<std::string> only;
  for (const std::string& name : files.Names(prefix + "/lib")) {
    const auto version = name.compare(0, 8, "python3.") == 0 ? in_name(name) : std::nullopt;
    if (version && files.IsFolder(prefix + "/lib/" + name)) only = version;
  }
  return only;
}

// Folders that Python imports from, in its order.
std::vector<std::string> SitesOf(const RootFiles& files, const PythonEnvironment& env,
                                 const std::string& minor, bool with_user) {
  std::vector<std::string> out;
  const std::string home = Variable("HOME");
  if (with_user && !home.empty()) out.push_back(home + "/.local/lib/python" + minor + "/site-packages");
  if (env.path == "/usr") {  // Debian's own places
    out.push_back("/usr/local/lib/python" + minor + "/dist-packages");
    out.push_back("/usr/lib/python3/dist-packages");
  }
  out.push_back(env.path + "/lib64/python" + minor + "/site-packages");
  out.push_back(env.path + "/lib/python" + minor + "/site-packages");
  out.erase(std::remove_if(out.begin(), out.end(),
                           [&](const std::string& folder) { return !files.IsFolder(folder); }),
            out.end());
  return out;
}

// pyenv's folder of shims: the environment that PYENV_VERSION or its `version` file names.
std::string BehindShims(const RootFiles& files, const std::string& prefix) {
  std::string name = Variable("PYENV_VERSION");
  if (name.empty()) name = files.Text(prefix + "/version", 256).value_or("");
  name = name.substr(0, name.find_first_of(":\n"));
  const std::string folder = prefix + "/versions/" + name;
  return !name.empty() && files.IsFolder(folder) ? folder : "";
}

class EnvironmentList {
 public:
  explicit EnvironmentList(const RootFiles& files) : files_(files) {
    architecture_ = files.Text("/proc/sys/kernel/arch")
                        .value_or(
#if defined(__aarch64__)
                            "aarch64"
#else
                            "x86_64"
#endif
                        );
  }

  void Add(std::string prefix, std::optional<EnvironmentKind> kind) {
    while (prefix.size() > 1 && prefix.back() == '/') prefix.pop_back();
    if (prefix.empty() || prefix[0] != '/') return;
    if (prefix == "/bin" || prefix == "/") prefix = "/usr";  // /bin is a link to /usr/bin
    if (!seen_.insert(prefix).second) return;
    PythonEnvironment env;
    env.path = prefix;
    const auto config = files_.Text(prefix + "/pyvenv.cfg", 4096);
    const bool is_conda = files_.IsFolder(prefix + "/conda-meta");
    env.kind = config     ? EnvironmentKind::kVenv
               : is_conda ? EnvironmentKind::kConda
                          : kind.value_or(EnvironmentKind::kSystem);
    const auto minor = MinorVersion(files_, prefix);
    if (config) {
      env.python = ValueOf(*config, "version", '=');
      if (!env.python) env.python = ValueOf(*config, "version_info", '=');
    }
    if (!env.python) env.python = minor;
    if (!minor && !env.python) env.unread["python"] = "neither bin/python3 nor lib/ shows the version";
    if (minor) Sites(env, *minor, config);
    if (env.packages.count("torch") == 0)
      env.unread["torch_cuda"] = env.unread["torch_hip"] = "torch is not installed";
    out_.push_back(std::move(env));
  }

  std::vector<PythonEnvironment> Take() {
    if (!out_.empty()) out_[0].is_active = true;
    return std::move(out_);
  }

 private:
  void Sites(PythonEnvironment& env, const std::string& minor, const std::optional<std::string>& config) {
    const bool shares = config && ValueOf(*config, "include-system-site-packages", '=') == "true";
    for (const std::string& site : SitesOf(files_, env, minor, !config))
      ReadSite(files_, site, architecture_, env);
    if (!shares) return;
    PythonEnvironment base;
    base.path = Parent(ValueOf(*config, "home", '=').value_or("/usr/bin"));
    for (const std::string& site : SitesOf(files_, base, minor, true))
      ReadSite(files_, site, architecture_, env);
  }

  const RootFiles& files_;
  std::string architecture_;
  std::set<std::string> seen_;
  std::vector<PythonEnvironment> out_;
};

}  // namespace

std::vector<PythonEnvironment> ReadPython(const RootFiles& files) {
  EnvironmentList list(files);
  std::string path = Variable("PATH");
  const auto has_python = [&](const std::string& folder) {
    return files.Exists(folder + "/python3") || files.Exists(folder + "/python") ||
           files.LinkTarget(folder + "/python3") || files.LinkTarget(folder + "/python");
  };
  if (const std::string venv = Variable("VIRTUAL_ENV"); has_python(venv + "/bin"))
    list.Add(venv, EnvironmentKind::kVenv);
  if (const std::string conda = Variable("CONDA_PREFIX"); has_python(conda + "/bin"))
    list.Add(conda, EnvironmentKind::kConda);
  std::string_view rest = path;
  while (!rest.empty()) {
    const size_t colon = std::min(rest.find(':'), rest.size());
    std::string folder(rest.substr(0, colon));
    rest.remove_prefix(std::min(colon + 1, rest.size()));
    while (folder.size() > 1 && folder.back() == '/') folder.pop_back();
    if (folder.empty() || folder[0] != '/' || !has_python(folder)) continue;
    const std::string name = folder.substr(folder.rfind('/') + 1);
    if (name == "shims")
      list.Add(BehindShims(files, Parent(folder)), EnvironmentKind::kPyenv);
    else if (name == "bin")
      list.Add(folder == "/bin" ? "/usr" : Parent(folder), std::nullopt);
  }
  return list.Take();
}

}  // namespace nl::machine
