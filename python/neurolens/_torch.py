# SPDX-License-Identifier: Apache-2.0
"""What PyTorch is asked for: a range per module call, LLM stages, a range per operator.

Both parts can be switched off and on while the program runs, and cost nothing while off. torch is handed in, never
imported."""
import threading
import time
import weakref

# By PyTorch's NVTX profiler shapes cost several times the rest of an operator's range: the first forwards have them, and some after.
SHAPES_FIRST, SHAPES_EVERY = 8, 8
# What is taken of operators, as the capture library counts it. TURNS: with shapes, and nothing, in turns by their number; FULL: also functions of the
# backward pass; PAUSED: nothing, and turns if nobody asks for a long time.
OFF, NAMES, SHAPES, TURNS, FULL, PAUSED = range(6)


class _Local(threading.local):
    names = None  # of the modules below the one whose call is the outermost on this thread; BARE: nobody's


BARE = object()


class _Root:
    """A module that was called from outside any other, and the labels of those in it."""

    def __init__(self, module):
        self.names = {id(m): _entry(m, path) for path, m in module.named_modules()}
        kind = type(module).__name__
        self.is_llm = kind.endswith(("ForCausalLM", "LMHeadModel")) or hasattr(module, "lm_head")
        # A program that labels the stages itself says so, such as neurolens.models: its warm-up is not a stage.
        self.is_llm = self.is_llm and not getattr(module, "neurolens_labels_stages", False)


def _entry(module, path):
    """(whose it is, name, data): a number of a module that is gone may be another's."""
    kind = type(module).__name__
    name = f"nn.Module: {path or kind}".encode("utf-8", "replace").replace(b"\0", b"?")
    return weakref.ref(module), name, f'{{"class": "{kind}"}}'.encode("utf-8", "replace") if path else None


def _llm_stage(args, kwargs):
    """("LLM@prefill", data, tokens) or ("LLM@decode_step", ...) by the new tokens of a language model's forward; else None."""
    for value in (kwargs.get("input_ids"), *args[:1]):
        shape = getattr(value, "shape", None)
        if shape is None or len(shape) != 2 or getattr(value, "is_floating_point", lambda: True)():
            continue
        batch, tokens = int(shape[0]), int(shape[1])
        stage = "LLM@decode_step" if tokens == 1 else "LLM@prefill"
        return stage, f'{{"batch": {batch}, "tokens": {tokens}}}', batch * tokens
    return None


class ModuleRanges:
    """One range per nn.Module call, named by its path in the module that was called first.

    In place of nn.Module.__call__ rather than by hooks: with any hook torch takes a way through its calls that is longer
    than all we do. Given back before torch.compile looks at it."""

    def __init__(self, torch, emitter, ops=None, inner=True, spender=None):
        """`ops`: OpRanges to tell of forwards. `inner`: also calls inside others. `spender`: which forwards have either; else those that `ops` observes."""
        self._class = torch.nn.Module
        self._call = self._class.__call__
        self._emitter = emitter
        self._ops, self._inner, self._spender = ops, inner, spender
        self._local = _Local()
        self._roots = weakref.WeakKeyDictionary()
        self._labelled = self._make()
        self._given_up = False

    def set(self, on):
        if self._given_up:
            return
        if on and self._class.__call__ is self._call:
            self._class.__call__ = self._labelled
        elif not on and self._class.__call__ is self._labelled:
            self._class.__call__ = self._call

    def remove(self):
        """For good."""
        self.set(False)
        self._given_up = True
        if self._ops is not None:
            self._ops.rest()  # nothing is heard of forwards any more

    def _root(self, module):
        root = self._roots.get(module)
        if root is None:
            root = self._roots[module] = _Root(module)
        return root

    def _make(self):
        call, local, outermost = self._call, self._local, self._outermost
        push, pop = self._emitter.push_bytes, self._emitter.pop

        def __call__(self, *args, **kwargs):
            names = local.names
            if names is None:
                return outermost(self, args, kwargs)
            if names is BARE:
                return call(self, *args, **kwargs)
            entry = names.get(id(self))
            if entry is None or entry[0]() is not self:
                entry = names[id(self)] = _entry(self, "")
            push(entry[1], entry[2])
            try:
                return call(self, *args, **kwargs)
            finally:
                pop()

        return __call__

    def _outermost(self, module, args, kwargs):
        emitter, opened, key = self._emitter, 0, None
        if not emitter.on():
            return self._call(module, *args, **kwargs)
        detailed, begun_ns = True, time.perf_counter_ns()
        try:
            root = self._root(module)
            stage = _llm_stage(args, kwargs) if root.is_llm else None
            kind = (id(root), stage and (stage[0], stage[2].bit_length()))
            if self._spender is not None:
                key, detailed = kind, self._spender.choose(kind)
            elif self._ops is not None and self._ops.turns is not None:
                detailed = self._ops.turns.choose(kind)
            if self._ops is not None:
                self._ops.forward(detailed)
            if stage is not None:
                emitter.push(*stage[:2])
                opened = 1
            _, name, data = root.names[id(module)]
            emitter.push_bytes(name, data)
            opened += 1
            self._local.names = root.names if detailed and self._inner else BARE
        except Exception:  # a module unlike those we know: its program runs unlabelled
            pass
        try:
            return self._call(module, *args, **kwargs)
        finally:
            self._local.names = None
            for _ in range(opened):
                emitter.pop()
            if key is not None:
                if self._ops is not None:
                    self._ops.forward(False)
                self._spender.took(key, detailed, time.perf_counter_ns() - begun_ns)


class Spender:
    """Which forwards are looked into, so that operators and module calls cost a share of the forwards' time.

    What they cost is measured: forwards alike with and without, the median of the last few of each. The first ones, in which
    libraries load, say nothing. Some of either are always made, so that it notices when the cost changes."""

    WARM_UP, LEAST, KEPT, BARE_EVERY = 2, 3, 15, 16

    def __init__(self, share, report):
        self._share, self._report = share, report
        self._kinds = {}

    def choose(self, key):
        """True: the forward that begins now is looked into."""
        kind = self._kinds.setdefault(key, _ForwardKind())
        kind.since += 1
        if kind.warm_up < self.WARM_UP:
            return False
        fewest = min(kind.detailed, kind.bare, key=len)
        if len(fewest) < self.LEAST:
            return fewest is kind.detailed
        every = kind.price_ns() / (self._share * kind.bare_ns())
        if kind.since < every or (every <= 1 and kind.since_bare >= self.BARE_EVERY):
            return False
        return True

    def took(self, key, detailed, ns):
        kind = self._kinds[key]
        if kind.warm_up < self.WARM_UP:
            kind.warm_up += 1
            return
        times = kind.detailed if detailed else kind.bare
        times.append(ns)
        if len(times) > self.KEPT:
            del times[0]
        kind.since_bare = kind.since_bare + 1 if detailed else 0
        if detailed:
            kind.since = 0
            if len(kind.bare) >= self.LEAST:
                self._report(kind.price_ns())


class ForwardTurns:
    """Which forwards are looked into: the first of each kind, and then some that follow each other out of every EVERY.

    What follows a forward until the next one belongs to it: the backward pass, the optimizer. A number that is prime, so that a step of several forwards
    (micro-batches) is not met at the same place each time."""

    FIRST, BLOCK, EVERY = 12, 4, 61
    MOST_KINDS = 256  # more than that are of one kind: a program may make models without end

    def __init__(self):
        self._kinds = {}  # [forwards, forwards since one was looked into]
        self._left = 0  # of the block

    def choose(self, kind):
        """True: the forward that begins now is looked into."""
        if kind not in self._kinds and len(self._kinds) >= self.MOST_KINDS:
            kind = None
        count = self._kinds.setdefault(kind, [0, self.EVERY])
        count[0] += 1
        count[1] += 1
        if self._left > 0:
            self._left -= 1
        elif count[0] <= self.FIRST:
            pass
        elif count[1] > self.EVERY - self.BLOCK:
            self._left = self.BLOCK - 1
        else:
            return False
        count[1] = 0
        return True

    def begin(self):
        """Recording begins: the next forward of each kind is looked into."""
        self._left = 0
        for count in self._kinds.values():
            count[1] = self.EVERY


class _ForwardKind:
    def __init__(self):
        self.detailed, self.bare = [], []  # nanoseconds of the last few
        self.since = self.since_bare = 0  # forwards since the last of either
        self.warm_up = 0  # forwards of it

    def bare_ns(self):
        return sorted(self.bare)[len(self.bare) // 2]

    def price_ns(self):
        if not self.detailed or not self.bare:
            return 0
        return max(0, sorted(self.detailed)[len(self.detailed) // 2] - self.bare_ns())


class OpRanges:
    """One range per operator, with shapes, in some forwards and what follows them; by PyTorch's NVTX profiler in all, with shapes in some."""

    def __init__(self, torch, emitter, thrifty=False, full=False):
        """`thrifty`: only in the forwards that are looked into, and only to their end. `full`: all there is, in every forward."""
        observer = _observer(torch, emitter)
        self._source = observer or _NvtxProfiler(torch, emitter)
        self._thrifty, self._full = thrifty, full
        self._forwards = 0
        self.turns = ForwardTurns() if observer and not thrifty and not full else None  # what decides on forwards; None: somebody else, or nobody

    def set(self, on):
        self._source.wanted = on
        self._forwards = 0
        if on and self.turns is not None:
            self.turns.begin()
        if on or not self._source.must_wait():
            self._source.run(self._at_rest() if on else OFF)

    def end(self):
        self._source.wanted = False
        self._source.run(OFF)

    def forward(self, detailed):
        """Another call from outside into a model begins; with a budget, also that it ended (not detailed)."""
        if self._thrifty:
            self._source.run(SHAPES if detailed and self._source.wanted else OFF)
            return
        if self.turns is not None:
            if self._source.wanted:
                self._source.run(SHAPES if detailed else PAUSED)
            return
        self._forwards += 1
        if self._source.wanted:
            shapes = self._forwards <= SHAPES_FIRST or self._forwards % SHAPES_EVERY == 0
            self._source.run(FULL if self._full else SHAPES if shapes else NAMES)

    def rest(self):
        """Of forwards nothing is heard any more."""
        if self._source.wanted:
            self._source.run(self._at_rest())

    def _at_rest(self):
        """Before the first forward, and for programs that have none."""
        return OFF if self._thrifty else FULL if self._full else TURNS


def _observer(torch, emitter):
    """An _Observer, if a few operators show that the library understands this PyTorch."""
    try:
        version = [int(part) for part in torch.__version__.split(".")[:2]]
    except (AttributeError, ValueError):
        return None
    if not [1, 13] <= version < [3, 0] or not emitter.torch_probe_begin():
        return None
    try:
        with torch.enable_grad():
            x = torch.ones(2, 3, device="cpu", requires_grad=True)
            for _ in range(4):
                x.mul(x)
    finally:
        usable = emitter.torch_probe_end()
    return _Observer(emitter) if usable else None


class _Observer:
    """The capture library's own, on all threads, beside any profiler of the program."""

    def __init__(self, emitter):
        self._observe = emitter.torch_observe
        self.wanted = False

    def must_wait(self):
        return False

    def run(self, detail):
        self._observe(detail)


class _NvtxProfiler:
    """PyTorch's own NVTX profiler, on the thread that imported torch: for another tool, or a PyTorch the library does not know.

    torch.autograd.profiler.emit_nvtx without its torch.cuda.synchronize(), which would make a context in programs that
    use no GPU, or fork before they do. One profiler at a time may run on a thread: the program's own goes first."""

    LATEST_S = 1.0  # after which it stops inside a range too

    def __init__(self, torch, emitter):
        if not torch.backends.cuda.is_built():
            raise RuntimeError("this PyTorch has no NVTX profiler")
        self._emitter = emitter
        self._stop_asked = None  # when
        self._profiler = profiler = torch.autograd.profiler
        self._thread = threading.get_ident()
        self._enable, self._disable = profiler._enable_profiler, profiler._disable_profiler
        self._configs = [self._config(shapes) for shapes in (False, True)]
        self._running = OFF
        self._asked = OFF
        self.wanted = False
        self._give_way()

    def _config(self, shapes):
        p = self._profiler
        common = (p.ProfilerState.NVTX, shapes, False, False, False, False, p._ExperimentalConfig())
        try:
            return p.ProfilerConfig(*common)
        except TypeError:  # a build that also asks for the name of a trace
            return p.ProfilerConfig(*common, "")

    def must_wait(self):
        """torch complains on stderr of each range that is open when its profiler stops, at the end of that range."""
        now = time.monotonic()
        if self._running == OFF:
            return False
        if self._stop_asked is None:
            self._stop_asked = now
        if self._emitter.open_ranges() == 0 or now - self._stop_asked >= self.LATEST_S:
            return False
        self._emitter.ask_again()
        return True

    def run(self, detail):
        self._asked = detail
        if detail != OFF:
            self._stop_asked = None
        self._run(detail)

    def _run(self, detail):
        detail = SHAPES if detail in (TURNS, FULL) else detail
        if detail == self._running or threading.get_ident() != self._thread:
            return
        if self._running != OFF:
            self._running = OFF
            self._disable()
        if detail != OFF:
            self._enable(self._configs[detail == SHAPES], set())
            self._running = detail

    def _give_way(self):
        """The program's own profilers start and stop through these two names."""

        def enable(*args, **kwargs):
            self._run(OFF)
            return self._enable(*args, **kwargs)

        def disable(*args, **kwargs):
            try:
                return self._disable(*args, **kwargs)
            finally:
                if self.wanted:
                    self._run(self._asked)

        self._profiler._enable_profiler, self._profiler._disable_profiler = enable, disable
