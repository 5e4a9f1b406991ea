# SPDX-License-Identifier: Apache-2.0
"""What `neurolens.bench` measures of a GPU through torch: time on the device, the streams that are used, the kernels that run.

Nothing here imports torch: a benchmark that does not use it has no device.
"""
import sys
import time

SETTLE_NS = 60_000  # an idle device answers a synchronisation in less
SETTLE_SHARE = 0.05  # of a run; the end of a large kernel is seen a little late


def find():
    """The device of this process, or None where torch has not used one."""
    torch = sys.modules.get("torch")
    if torch is None or not torch.cuda.is_available() or not torch.cuda.is_initialized():
        return None
    return Device(torch)


class Device:
    def __init__(self, torch):
        self.torch = torch
        self.flush_buffer = None

    def name(self):
        return self.torch.cuda.get_device_name()

    def timed(self, work, streams, cold):
        """One run of `work`: (wall ns until the device is idle, device ns of the declared streams, ns it was busy after them)."""
        cuda = self.torch.cuda
        if cold:
            self.flush_cache()
        start, end = cuda.Event(enable_timing=True), cuda.Event(enable_timing=True)
        current = cuda.current_stream()
        cuda.synchronize()
        begin = time.perf_counter_ns()
        start.record(current)
        for stream in streams:
            stream.wait_event(start)
        work()
        for stream in streams:
            current.wait_stream(stream)
        end.record(current)
        end.synchronize()
        declared_end = time.perf_counter_ns()
        cuda.synchronize()  # every stream, declared or not
        finish = time.perf_counter_ns()
        return finish - begin, int(start.elapsed_time(end) * 1e6), finish - declared_end

    def flush_cache(self):
        """Writes twice the last-level cache, so that the next run finds nothing in it."""
        if self.flush_buffer is None:
            bytes_of_l2 = getattr(self.torch.cuda.get_device_properties(0), "L2_cache_size", 0) or 64 << 20
            self.flush_buffer = self.torch.empty(2 * bytes_of_l2, dtype=self.torch.uint8, device="cuda")
        self.flush_buffer.zero_()

    def audit(self, work, streams, runs):
        """Kernels of each run and the streams they ran on, seen by CUPTI through torch.profiler."""
        declared = set()
        for stream in [self.torch.cuda.current_stream(), *streams]:
            with self.torch.cuda.stream(stream):
                marker = self.torch.zeros(8, device="cuda")
                declared |= {key[0] for key in self._kernels(lambda marker=marker: marker.add_(1))}
        counts, used = [], {}
        for _ in range(runs):
            seen = self._kernels(work)
            counts.append(sum(seen.values()))
            for (stream, name), _count in seen.items():
                used.setdefault(stream, name)
        undeclared = sorted(name for stream, name in used.items() if stream not in declared)
        return {"device": True, "kernels": counts, "undeclared": undeclared}

    def _kernels(self, work):
        """{(stream, name): count} of what one call runs on the device, copies included."""
        from torch.profiler import ProfilerActivity, profile
        self.torch.cuda.synchronize()
        with profile(activities=[ProfilerActivity.CUDA], acc_events=True) as profiler:
            work()
            self.torch.cuda.synchronize()
        out = {}
        for event in profiler.events():
            if "CUDA" in str(event.device_type):
                key = (event.device_resource_id, event.name)
                out[key] = out.get(key, 0) + 1
        return out

    def peak_bytes(self):
        return self.torch.cuda.max_memory_allocated()

    def reset(self):
        """Between benchmarks: what the last one kept does not help the next."""
        self.torch.cuda.synchronize()
        self.torch.cuda.empty_cache()
        self.torch.cuda.reset_peak_memory_stats()


def outlasts(wall_ns, after_ns):
    """The device worked on for longer than a synchronisation takes, after the declared streams had ended."""
    return after_ns > SETTLE_NS + SETTLE_SHARE * wall_ns


def busy_after(walls_ns, afters_ns):
    """How long the device typically worked on after the declared streams had ended, or 0. A single late run is one in which the host was interrupted."""
    if not afters_ns:
        return 0
    middle = len(afters_ns) // 2
    wall, after = sorted(walls_ns)[middle], sorted(afters_ns)[middle]
    return after if outlasts(wall, after) else 0
