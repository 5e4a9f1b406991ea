// SPDX-License-Identifier: Apache-2.0
#include "ops/measured_peaks.h"

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <filesystem>

#include <fmt/format.h>

#include "base/file_ops.h"
#include "ops/settings.h"

namespace nl {

namespace {

constexpr int64_t kMaxPeakDocumentBytes = 1 << 20;

std::string PeaksFolder(const OpContext& context) {
  return context.settings == nullptr ? "" : context.settings->Get("store") + "/peaks";
}

// Ids and versions come from drivers and from documents of other machines: only what a file name may hold.
std::string FileWord(const std::string& text) {
  std::string out;
  for (const char c : text.substr(0, 80)) {
    const bool plain = std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '.';
    out += plain ? c : '-';
  }
  return out.empty() || out[0] == '.' ? "x" + out : out;
}

std::string PeaksFile(const OpContext& context, const MeasuredPeaks& device) {
  return fmt::format("{}/{}_{}.json", PeaksFolder(context), FileWord(device.id),
                     FileWord(device.driver_version));
}

}  // namespace

StoredPeaks ReadStoredPeaks(const OpContext& context) {
  StoredPeaks out;
  const std::string folder = PeaksFolder(context);
  if (folder.empty()) return out;
  std::error_code ec;
  std::vector<std::string> paths;
  for (std::filesystem::directory_iterator it(folder, ec), end; !ec && it != end; it.increment(ec)) {
    if (it->path().extension() == ".json") paths.push_back(it->path().string());
  }
  std::sort(paths.begin(), paths.end());
  for (const std::string& path : paths) {
    Result<std::string> text = ReadWholeFile(path, kMaxPeakDocumentBytes);
    Result<PeakDocument> document =
        text.ok() ? ReadPeakDocument(*text, path) : Result<PeakDocument>(std::move(text).error());
    if (!document.ok()) {
      out.problems.push_back(std::move(document).error());
      continue;
    }
    for (MeasuredPeaks& device : document->devices) out.devices.push_back(std::move(device));
  }
  std::stable_sort(out.devices.begin(), out.devices.end(),
                   [](const MeasuredPeaks& a, const MeasuredPeaks& b) { return a.unix_ns > b.unix_ns; });
  return out;
}

Status StorePeaks(const OpContext& context, const MeasuredPeaks& device) {
  if (context.settings == nullptr) return InvalidInput("the store path is empty");
  NL_TRY(MakeDirectories(PeaksFolder(context)));
  return WriteFileAtomically(PeaksFile(context, device), WritePeakDocument(device));
}

Status ForgetPeaks(const OpContext& context, const MeasuredPeaks& device) {
  const std::string path = PeaksFile(context, device);
  std::error_code ec;
  std::filesystem::remove(path, ec);
  return ec ? Status(IoError(fmt::format("cannot remove {}", path), ec.value())) : Status();
}

}  // namespace nl
