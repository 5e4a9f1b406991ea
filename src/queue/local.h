// SPDX-License-Identifier: Apache-2.0
#pragma once
// The local engine: runs the entries of a queue on this machine, one after the other, each when no other work
// is on the GPUs. What a runner that died left running is ended first, found by its mark and by a lock that
// every attempt inherits (queue/running.lock); so an entry never runs twice at the same time.
// Thread rule: one thread.

#include "queue/gpu_watch.h"
#include "queue/session.h"

namespace nl::queue {

// Until the queue is empty (or for ever, with SessionOptions::stay), or keep_going says no: then the entry
// that runs is ended and queued again. An error is about the queue itself, such as a full disk.
Status RunLocal(Session& session, GpuWatch& gpus);

// Only ends what a local runner that died left, and decides what becomes of its entry.
Status RecoverLocal(Session& session);

}  // namespace nl::queue
