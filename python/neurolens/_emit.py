# SPDX-License-Identifier: Apache-2.0
"""Where labels go: the capture library of `neurolens run`, another tool's NVTX injection (nsys, ncu), or nowhere.

`current` is the way out, or None. Chosen once, when the package is imported, from the environment alone."""
import os


def _bytes(text):
    # A NUL would end the label early; a label is text, whatever was passed.
    return str(text).encode("utf-8", "replace").replace(b"\0", b"?")


class Library:
    """libneurolens_capture.so, loaded into this process by `neurolens run`."""

    def __init__(self, path):
        import ctypes

        # PyDLL keeps the GIL: the calls take less time than giving it away.
        library = ctypes.PyDLL(path)
        library.nl_abi_version.restype = ctypes.c_int
        if library.nl_abi_version() != 1:
            raise OSError("another version of the capture library")
        # Called with bytes or None alone: without argtypes that is a fifth quicker.
        for function in ("nl_range_push_data", "nl_mark", "nl_range_pop", "nl_start", "nl_stop"):
            getattr(library, function).restype = None
        library.nl_on_switch.argtypes = [ctypes.c_void_p] * 2
        library.nl_on_switch.restype = None
        library.nl_budget.restype = ctypes.c_double
        library.nl_open_ranges.restype, library.nl_ask_again.restype = ctypes.c_int, None
        library.nl_add_cost.argtypes, library.nl_add_cost.restype = [ctypes.c_int64], None
        self._library, self._mark = library, library.nl_mark
        # A file is opened and a thread started: not while others may be doing so.
        library.nl_init.restype = ctypes.c_int
        if not library.nl_init():
            raise OSError("this process is not recorded")
        self._enabled = ctypes.c_int.in_dll(library, "nl_enabled")
        self.budget, self.add_cost = library.nl_budget, library.nl_add_cost
        self.open_ranges, self.ask_again = library.nl_open_ranges, library.nl_ask_again
        self.torch_probe_begin, self.torch_probe_end = library.nl_torch_probe_begin, library.nl_torch_probe_end
        self.torch_observe = library.nl_torch_observe
        self.start, self.stop = library.nl_start, library.nl_stop
        self.push_bytes, self.pop = library.nl_range_push_data, library.nl_range_pop

    def on(self):
        """Ranges are taken: recorded, or watched for the one that begins a recording."""
        return self._enabled.value != 0

    def recording(self):
        return self._enabled.value == 1

    def push(self, name, data):
        self.push_bytes(_bytes(name), None if data is None else _bytes(data))

    def on_switch(self, function):
        """Has `function()` called, on the main thread, after recording was switched on or off; None: no longer."""
        import ctypes

        if function is None:
            self._library.nl_on_switch(None, None)
            return

        def pending(_):
            function()
            return 0

        # Held for ever: it may be on its way when it is replaced.
        self._pending = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p)(pending)
        add = ctypes.cast(ctypes.pythonapi.Py_AddPendingCall, ctypes.c_void_p)
        self._library.nl_on_switch(add, ctypes.cast(self._pending, ctypes.c_void_p))

    def mark(self, name, data):
        self._mark(_bytes(name), None if data is None else _bytes(data))


class Nvtx:
    """The tool that NVTX_INJECTION64_PATH names (a path, or a name that the loader finds), reached as the NVTX headers reach it, without any
    NVTX library.

    The tool is handed tables of slots and puts its functions there, at once or later: NVTX 3 interface. Only those of module CORE are used, but
    every module that the headers have is handed out, with its number of slots: a tool may decline a program that lacks one."""

    MARK_A, PUSH_A, POP = 2, 9, 11
    CORE = 1
    SLOTS = {1: 16, 2: 9, 3: 15, 4: 7, 5: 16, 6: 7}  # CORE, CUDA, OPENCL, CUDART, CORE2, SYNC; the first of each is never used

    def __init__(self, path):
        import ctypes

        pointer = ctypes.sizeof(ctypes.c_void_p)
        self._slots = {module: (ctypes.c_void_p * count)() for module, count in self.SLOTS.items()}
        self._tables = {module: (ctypes.c_void_p * (len(slots) + 1))(None, *(ctypes.addressof(slots) + i * pointer for i in range(1, len(slots))))
                        for module, slots in self._slots.items()}

        module_table = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int, ctypes.POINTER(ctypes.c_void_p), ctypes.POINTER(ctypes.c_uint))

        class Callbacks(ctypes.Structure):
            _fields_ = [("struct_size", ctypes.c_size_t), ("get_module_function_table", module_table)]

        class Version(ctypes.Structure):
            _fields_ = [("struct_size", ctypes.c_size_t), ("version", ctypes.c_uint32), ("reserved", ctypes.c_uint32), ("set_version", ctypes.c_void_p)]

        def get_module(module, table, count):
            if module not in self._tables:
                return 0
            if table:
                table[0] = ctypes.addressof(self._tables[module])
            if count:
                count[0] = self.SLOTS[module]
            return 1

        set_version = ctypes.CFUNCTYPE(None, ctypes.c_uint32)(lambda version: None)
        self._callbacks = Callbacks(ctypes.sizeof(Callbacks), module_table(get_module))
        self._version = Version(ctypes.sizeof(Version), 3, 0, ctypes.cast(set_version, ctypes.c_void_p))

        def get_table(number):
            table = {1: self._callbacks, 3: self._version}.get(number)
            return None if table is None else ctypes.addressof(table)

        get_export_table = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_uint32)(get_table)
        # Held for as long as the tool may call back: for ever.
        self._kept = (set_version, get_export_table)
        tool = ctypes.CDLL(path)
        tool.InitializeInjectionNvtx2.restype = ctypes.c_int
        if not tool.InitializeInjectionNvtx2(get_export_table):
            raise OSError("the tool declined")
        text, none, mark = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_char_p), ctypes.PYFUNCTYPE(ctypes.c_int), ctypes.PYFUNCTYPE(None, ctypes.c_char_p)
        self._types = {self.PUSH_A: text, self.POP: none, self.MARK_A: mark}
        self._functions = {}  # by slot: address and what calls it

    def _call(self, slot, *arguments):
        address = self._slots[self.CORE][slot]
        if address is None:
            return
        known = self._functions.get(slot)
        if known is None or known[0] != address:
            known = self._functions[slot] = (address, self._types[slot](address))
        known[1](*arguments)

    def pop(self):
        self._call(self.POP)

    def on(self):
        return True

    recording = on

    def push(self, name, data):
        # The label alone: --nvtx-include of ncu and --nvtx-capture of nsys compare whole names, and ncu does not escape quotes in its pages.
        self._call(self.PUSH_A, _bytes(name))

    def push_bytes(self, name, data):
        self._call(self.PUSH_A, name)

    def on_switch(self, function):
        """What another tool records is its own affair."""

    def budget(self):
        return 0.0

    def add_cost(self, ns):
        """Nobody counts it."""

    def torch_probe_begin(self):
        """Operators reach another tool as NVTX ranges alone."""
        return False

    def open_ranges(self):
        return 0

    def ask_again(self):
        """It does not stop before its program does."""

    def mark(self, name, data):
        self._call(self.MARK_A, _bytes(name if data is None else f"{name} {data}"))

    def start(self):
        """What another tool records is its own affair."""

    def stop(self):
        """What another tool records is its own affair."""


def _choose():
    library, nvtx = os.environ.get("NEUROLENS_CAPTURE_LIBRARY"), os.environ.get("NVTX_INJECTION64_PATH")
    for kind, path in ((Library, library if os.environ.get("NEUROLENS_CAPTURE_DIR") else None), (Nvtx, nvtx)):
        if not path:
            continue
        try:
            return kind(path)
        except (OSError, AttributeError, ValueError):
            continue  # labels are never worth an exception
    return None


current = _choose()
