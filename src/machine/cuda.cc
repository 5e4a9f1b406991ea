// SPDX-License-Identifier: Apache-2.0
#include "machine/cuda.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <set>

namespace nl::machine {

namespace {

// The first "version" after "cuda" in version.json: {"cuda": {"name": "CUDA SDK", "version": "12.4.1"}, ...}.
std::optional<std::string> VersionInJson(const std::string& text) {
  const size_t cuda = text.find("\"cuda\"");
  const size_t key = cuda == std::string::npos ? cuda : text.find("\"version\"", cuda);
  const size_t colon = key == std::string::npos ? key : text.find(':', key);
  const size_t from = colon == std::string::npos ? colon : text.find('"', colon);
  if (from == std::string::npos) return std::nullopt;
  return text.substr(from + 1, text.find('"', from + 1) - from - 1);
}

std::optional<std::string> ToolkitVersion(const RootFiles& files, const std::string& folder) {
  if (const auto json = files.Text(folder + "/version.json"))
    if (auto version = VersionInJson(*json)) return version;
  // Before CUDA 11.1: "CUDA Version 10.2.89".
  if (const auto text = files.Text(folder + "/version.txt"))
    if (const size_t at = text->find_first_of("0123456789"); at != std::string::npos)
      return text->substr(at, text->find_first_not_of("0123456789.", at) - at);
  const std::string name = folder.substr(folder.rfind('/') + 1);
  const bool is_named = name.compare(0, 5, "cuda-") == 0 && std::isdigit(static_cast<unsigned char>(name[5]));
  return is_named ? std::optional(name.substr(5)) : std::nullopt;
}

bool IsToolkit(const RootFiles& files, const std::string& folder) {
  return files.Exists(folder + "/version.json") || files.Exists(folder + "/version.txt") ||
         files.Exists(folder + "/bin/nvcc");
}

std::vector<CudaToolkit> Toolkits(const RootFiles& files) {
  std::vector<CudaToolkit> out;
  // /usr/local/cuda -> /etc/alternatives/cuda -> /usr/local/cuda-12.4
  std::string standard = "/usr/local/cuda";
  for (int i = 0; i < 4; ++i) {
    const auto target = files.LinkTarget(standard);
    if (!target) break;
    standard = target->compare(0, 1, "/") == 0 ? *target : "/usr/local/" + *target;
  }
  while (standard.size() > 1 && standard.back() == '/') standard.pop_back();
  std::set<std::string> folders;
  for (const std::string& name : files.Names("/usr/local"))
    if (name.compare(0, 5, "cuda-") == 0) folders.insert("/usr/local/" + name);
  folders.insert({standard, "/opt/cuda"});
  if (const char* home = std::getenv("CUDA_HOME");
      home != nullptr && home[0] == '/' && std::string(home) != "/usr/local/cuda")
    folders.insert(home);
  for (const std::string& folder : folders) {
    const bool is_alias = files.LinkTarget(folder).has_value();  // cuda-12 -> cuda-12.4
    if (!is_alias && IsToolkit(files, folder))
      out.push_back({folder, ToolkitVersion(files, folder), folder == standard});
  }
  return out;
}

// "libcudnn.so.9.8.0" -> "9.8.0"; only names with the whole version.
std::optional<std::string> WholeVersion(const std::string& file, const std::string& stem) {
  if (file.compare(0, stem.size(), stem) != 0) return std::nullopt;
  const std::string version = file.substr(stem.size());
  const bool whole = std::count(version.begin(), version.end(), '.') >= 2 &&
                     version.find_first_not_of("0123456789.") == std::string::npos;
  return whole ? std::optional(version) : std::nullopt;
}

std::vector<Library> Libraries(const RootFiles& files, const std::vector<CudaToolkit>& toolkits) {
  std::vector<std::string> folders = {"/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib64",
                                      "/usr/local/lib"};
  for (const CudaToolkit& toolkit : toolkits) folders.push_back(toolkit.path + "/lib64");
  std::vector<Library> out;
  for (const std::string& folder : folders) {
    for (const std::string& file : files.Names(folder)) {
      if (file.compare(0, 8, "libcudnn") != 0 && file.compare(0, 7, "libnccl") != 0) continue;
      for (const char* name : {"cudnn", "nccl"}) {
        if (const auto version = WholeVersion(file, std::string("lib") + name + ".so."))
          out.push_back({name, *version, folder + "/" + file});
      }
    }
  }
  return out;
}

int64_t NvidiaGpusOnPci(const RootFiles& files) {
  int64_t count = 0;
  for (const std::string& device : files.Names("/sys/bus/pci/devices")) {
    const std::string folder = "/sys/bus/pci/devices/" + device;
    const std::string kind = files.Text(folder + "/class", 32).value_or("");
    const bool is_display = kind.compare(0, 6, "0x0300") == 0 || kind.compare(0, 6, "0x0302") == 0;
    if (is_display && files.Text(folder + "/vendor", 32) == "0x10de") ++count;
  }
  return count;
}

}  // namespace

std::string DriverVersion(const std::string& text) {
  // The first word of digits and two dots or one: "580.95.05", "470.57".
  for (size_t at = 0; at < text.size();) {
    const size_t from = text.find_first_of("0123456789", at);
    if (from == std::string::npos) return "";
    size_t end = from;
    while (end < text.size() &&
           (std::isdigit(static_cast<unsigned char>(text[end])) != 0 || text[end] == '.'))
      ++end;
    const std::string word = text.substr(from, end - from);
    const bool alone = from == 0 || std::isspace(static_cast<unsigned char>(text[from - 1])) != 0;
    if (alone && word.find('.') != std::string::npos && word.size() >= 5) return word;
    at = end;
  }
  return "";
}

bool CountersForAdminsOnly(const std::string& parameters) {
  const size_t at = parameters.find("RmProfilingAdminOnly:");
  return at == std::string::npos || std::atoi(parameters.c_str() + at + 21) != 0;
}

CudaStack ReadCuda(const RootFiles& files) {
  CudaStack out;
  if (const std::string driver = DriverVersion(files.Text(kDriverVersionFile).value_or("")); !driver.empty())
    out.driver = driver;
  else
    out.unread["driver"] = "no NVIDIA driver is loaded";
  if (const auto parameters = files.Text(kDriverParametersFile); parameters && !parameters->empty())
    out.counters_for_admins_only = CountersForAdminsOnly(*parameters);
  else
    out.unread["counters_for_admins_only"] = std::string(kDriverParametersFile) + " cannot be read";
  out.toolkits = Toolkits(files);
  out.libraries = Libraries(files, out.toolkits);
  out.gpus_on_pci = NvidiaGpusOnPci(files);
  out.unread["driver_cuda"] = "NVML was not asked";
  return out;
}

}  // namespace nl::machine
