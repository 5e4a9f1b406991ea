# SPDX-License-Identifier: Apache-2.0
"""XSpace files (.xplane.pb) written and read with a few lines of protobuf, independent of the program.

encode(space) makes the bytes of a description:
  {"planes": [{"name": "/device:GPU:0", "stats": {...}, "lines": [{"id": 7, "name": "Stream #7", "timestamp_ns": 100,
    "events": [{"name": "k", "offset_ps": 0, "duration_ps": 5000, "stats": {...}}]}]}], "errors": [], "warnings": [], "hostnames": []}
A stat is a number (int64), a float (double), a text (str), {"ref": text}, {"uint": n} or {"bytes": text}. Names get their numbers
in order of appearance; an event may say "metadata_id" or "occurrences" instead, have a "display" name, "facts" (stats of its name)
or be {"hex": "..."}; a plane may have {"fields": "hex"} appended.

read(data) walks a file back into planes of lines of events, for checks.

    tests/xspace.py DESCRIPTION.json OUT.xplane.pb
"""
import json
import struct
import sys

from protobuf_text import message, number, varint


class Names:
    def __init__(self):
        self.ids = {}

    def __getitem__(self, text):
        return self.ids.setdefault(text, len(self.ids) + 1)


def stat(name, value, names):
    out = number(1, name if isinstance(name, int) else names[name])
    if isinstance(value, float):
        return out + varint(2 << 3 | 1) + struct.pack("<d", value)
    if isinstance(value, int):
        return out + number(4, value)
    if isinstance(value, str):
        return out + message(5, value.encode("utf-8", "surrogateescape"))
    ((kind, content),) = value.items()
    if kind == "ref":
        return out + number(7, content if isinstance(content, int) else names[content])
    return out + (number(3, content) if kind == "uint" else message(6, content.encode()))


def stats(field, values, names):
    return b"".join(message(field, stat(int(k[1:]) if k[:1] == "#" else k, v, names)) for k, v in (values or {}).items())


def encode_event(event, events, names, displays):
    if "hex" in event:
        return bytes.fromhex(event["hex"])
    out = number(1, event["metadata_id"] if "metadata_id" in event else events[event["name"]])
    if "display" in event or "facts" in event:
        displays[event["name"]] = event
    if "occurrences" in event:
        out += number(5, event["occurrences"])
    elif "offset_ps" in event:
        out += number(2, event["offset_ps"])
    if "duration_ps" in event:
        out += number(3, event["duration_ps"])
    return out + stats(4, event.get("stats"), names)


def encode_plane(plane):
    events, names, displays = Names(), Names(), {}
    out = message(2, plane["name"].encode())
    for line in plane.get("lines", []):
        data = number(1, line.get("id", 0)) + message(2, line.get("name", "").encode())
        data += number(3, line["timestamp_ns"]) if "timestamp_ns" in line else b""
        data += b"".join(message(4, encode_event(e, events, names, displays)) for e in line["events"])
        data += message(11, line["display_name"].encode()) if "display_name" in line else b""
        out += message(3, data)
    for name, i in events.ids.items():
        more = displays.get(name, {})
        data = number(1, i) + message(2, name.encode("utf-8", "surrogateescape"))
        data += message(4, more["display"].encode()) if "display" in more else b""
        out += message(4, number(1, i) + message(2, data + stats(5, more.get("facts"), names)))
    own = stats(6, plane.get("stats"), names)
    for name, i in names.ids.items():
        out += message(5, number(1, i) + message(2, number(1, i) + message(2, name.encode("utf-8", "surrogateescape"))))
    return out + own + bytes.fromhex(plane.get("fields", ""))


def encode(space):
    out = b"".join(message(1, encode_plane(p)) for p in space.get("planes", []))
    for field, key in ((2, "errors"), (3, "warnings"), (4, "hostnames")):
        out += b"".join(message(field, text.encode()) for text in space.get(key, []))
    return out + bytes.fromhex(space.get("fields", ""))


def fields(data):
    """(number, value) of each field; a value is an int, 8 or 4 raw bytes, or a message's bytes."""
    at, end = 0, len(data)

    def take():
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    while at < end:
        tag = take()
        kind = tag & 7
        if kind == 0:
            yield tag >> 3, take()
            continue
        size = 8 if kind == 1 else 4 if kind == 5 else take()
        yield tag >> 3, data[at:at + size]
        at += size


def signed(n):
    return n - (1 << 64) if n >> 63 else n


def read_stat(data, names):
    key = value = None
    for field, v in fields(data):
        if field == 1:
            key = names.get(v)
        elif field == 2:
            value = struct.unpack("<d", v)[0]
        elif field in (3, 4):
            value = signed(v)
        elif field in (5, 6):
            value = v.decode("utf-8", "replace") if field == 5 else v
        elif field == 7:
            value = names.get(v)
    return key, value


def read_names(data):
    """Number and text of one entry of a metadata map."""
    key, text, display = 0, "", ""
    for field, v in fields(data):
        if field == 1:
            key = v
        elif field == 2:
            for inner, w in fields(v):
                text = w.decode("utf-8", "replace") if inner == 2 else text
                display = w.decode("utf-8", "replace") if inner == 4 else display
    return key, text, display


def read(data):
    planes = []
    for number_, plane in fields(data):
        if number_ != 1:
            continue
        parts = list(fields(plane))
        stat_names = {k: t for k, t, _ in (read_names(v) for f, v in parts if f == 5)}
        events = {k: d or t for k, t, d in (read_names(v) for f, v in parts if f == 4)}
        out = {"name": "", "lines": [], "stats": {}}
        for field, v in parts:
            if field == 2:
                out["name"] = v.decode()
            elif field == 6:
                out["stats"].update([read_stat(v, stat_names)])
            elif field == 3:
                line = {"id": 0, "name": "", "timestamp_ns": 0, "events": []}
                for inner, w in fields(v):
                    if inner in (1, 3):
                        line["id" if inner == 1 else "timestamp_ns"] = signed(w)
                    elif inner == 2:
                        line["name"] = w.decode()
                    elif inner == 4:
                        event = {"name": None, "offset_ps": 0, "duration_ps": 0, "stats": {}}
                        for f, x in fields(w):
                            if f == 1:
                                event["name"] = events.get(x)
                            elif f in (2, 3):
                                event["offset_ps" if f == 2 else "duration_ps"] = signed(x)
                            elif f == 4:
                                event["stats"].update([read_stat(x, stat_names)])
                        line["events"].append(event)
                out["lines"].append(line)
        planes.append(out)
    return planes


if __name__ == "__main__":
    with open(sys.argv[1], encoding="utf-8") as description, open(sys.argv[2], "wb") as made:
        made.write(encode(json.load(description)))
