// SPDX-License-Identifier: Apache-2.0
#include "capture/launcher/system_probe.h"

#include <system_error>
#include <thread>
#include <utility>

#include "machine/system.h"

namespace nl::capture {

void SystemProbe::Start() {
  auto shared = std::make_shared<Shared>();
  try {
    std::thread([shared] {
      std::string json = machine::SystemJson(machine::ReadSystem());
      const std::lock_guard lock(shared->mutex);
      shared->json = std::move(json);
      shared->done.notify_all();
    }).detach();
  } catch (const std::system_error&) {
    return;  // no thread to be had: the capture lacks this one fact
  }
  shared_ = std::move(shared);
}

std::optional<std::string> SystemProbe::Take(std::chrono::milliseconds wait) {
  if (shared_ == nullptr) return std::nullopt;
  std::unique_lock lock(shared_->mutex);
  if (!shared_->done.wait_for(lock, wait, [this] { return shared_->json.has_value(); })) return std::nullopt;
  std::optional<std::string> out = std::move(shared_->json);
  lock.unlock();
  shared_.reset();
  return out;
}

}  // namespace nl::capture
