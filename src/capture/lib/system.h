// SPDX-License-Identifier: Apache-2.0
#pragma once
// The few things of the system that the library needs in place of the standard library's,
// which may throw: a lock, a wait with a limit, a thread's number, a library's function.
// Thread rule: all safe from any thread.

#include <dlfcn.h>
#include <pthread.h>
#include <atomic>
#include <cstdint>

namespace nl::capture {

class Mutex {
 public:
  void Lock() { pthread_mutex_lock(&mutex_); }
  void Unlock() { pthread_mutex_unlock(&mutex_); }

 private:
  pthread_mutex_t mutex_ = PTHREAD_MUTEX_INITIALIZER;
};

class Locked {
 public:
  explicit Locked(Mutex& mutex) : mutex_(mutex) { mutex_.Lock(); }
  ~Locked() { mutex_.Unlock(); }
  Locked(const Locked&) = delete;
  Locked& operator=(const Locked&) = delete;

 private:
  Mutex& mutex_;
};

// Sleeps while `word` is `value`, at most that long.
void WaitWhile(std::atomic<uint32_t>& word, uint32_t value, int timeout_ms);
void WakeAll(std::atomic<uint32_t>& word);
uint32_t CurrentTid();
int64_t ThreadCpuNs();  // of the calling thread

// The function of that name in a library that dlopen gave; false, and `to` null: it has none.
template <class Function>
bool TakeSymbol(void* library, const char* name, Function& to) {
  to = reinterpret_cast<Function>(dlsym(library, name));
  return to != nullptr;
}

}  // namespace nl::capture
