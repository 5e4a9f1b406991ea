# SPDX-License-Identifier: Apache-2.0
"""Hostile bundles: the members of a good one changed, with a manifest and hashes that are true of what is in it.

Tables get ids and rows out of range, extreme times, other types, fewer or more rows and columns, or are gone; documents get other members.
"""
import hashlib
import json
import pathlib
import tempfile
import zipfile

import mutate
from duckdb_c import DuckDB


def read(path):
    """Members by name, without the manifest; and the manifest."""
    with zipfile.ZipFile(path) as bundle:
        members = {name: bundle.read(name) for name in bundle.namelist()}
    return members, json.loads(members.pop("manifest.json"))


def write(path, members, manifest):
    manifest = {**manifest, "files": [{"name": n, "bytes": len(d), "sha256": hashlib.sha256(d).hexdigest()} for n, d in members.items()]}
    with zipfile.ZipFile(path, "w") as bundle:
        bundle.writestr("manifest.json", json.dumps(manifest))
        for name, data in members.items():
            bundle.writestr(name, data)


def entry_of(members):
    """Makes the sizes that the catalog entry names those of the members: a store compares them."""
    try:
        entry = json.loads(members["catalog_entry.json"])
        entry["files"] = [{**one, "bytes": len(members[one["name"]])} for one in entry["files"] if one["name"] in members]
        members["catalog_entry.json"] = json.dumps(entry, indent=2).encode()
    except (KeyError, TypeError, ValueError):
        pass  # it is gone, or was changed into something else


def value_for(kind, random):
    """An SQL expression for a cell of a column of this type."""
    chance = random.random()
    if chance < 0.15:
        return "NULL"
    if kind in ("BIGINT", "INTEGER", "SMALLINT", "TINYINT", "UBIGINT", "UINTEGER", "USMALLINT", "UTINYINT"):
        return str(random.choice(mutate.INTEGERS))
    if kind in ("DOUBLE", "FLOAT"):
        return "'" + random.choice(("nan", "inf", "-inf", "1e308", "-1", "0", "1e-320")) + "'::DOUBLE"
    if kind == "BOOLEAN":
        return random.choice(("true", "false"))
    text = random.choice(mutate.TEXTS).replace("\0", "\x02").replace("'", "''")
    return f"'{text}'"


class Tables:
    """Changes Parquet files. Thread rule: one thread."""

    def __init__(self):
        self.database = DuckDB()

    def changed(self, data, random):
        with tempfile.TemporaryDirectory() as folder:
            old, new = pathlib.Path(folder) / "old.parquet", pathlib.Path(folder) / "new.parquet"
            old.write_bytes(data)
            try:
                columns = self.database.rows(f"SELECT column_name, column_type FROM (DESCRIBE SELECT * FROM read_parquet('{old}'))")
                self.database.rows(f"COPY ({self.select(old, columns, random)}) TO '{new}' (FORMAT parquet)")
            except RuntimeError:
                return None
            return new.read_bytes()

    def select(self, path, columns, random):
        source = f"(SELECT *, row_number() OVER () AS nth FROM read_parquet('{path}'))"
        some = "true" if random.random() < 0.3 else f"nth = {random.choice((1, 1, 2, 3, 10))}"
        name, kind = random.choice(columns)
        what = random.randrange(12)
        if what < 7:
            value = value_for(kind, random)
            if what == 6:  # all of a column's values far outside of the others
                value = f'"{name}" + {random.choice((1, -1, 1000, 2**31, 2**61))}' if kind == "BIGINT" else value
            cast = f"TRY_CAST(CASE WHEN {some} THEN {value} ELSE \"{name}\" END AS {kind})"
            return f'SELECT * EXCLUDE (nth) REPLACE ({cast} AS "{name}") FROM {source} ORDER BY nth'
        if what == 7:
            return f"SELECT * EXCLUDE (nth) FROM {source} WHERE NOT ({some}) ORDER BY nth"
        if what == 8:
            return f"SELECT * EXCLUDE (nth) FROM (FROM {source} UNION ALL FROM {source}) ORDER BY nth"
        if what == 9:
            return f'SELECT * EXCLUDE (nth, "{name}") FROM {source} ORDER BY nth'
        if what == 10:
            other = random.choice(("VARCHAR", "DOUBLE", "BIGINT", "BLOB", "DATE", "BIGINT[]"))
            return f'SELECT * EXCLUDE (nth) REPLACE (TRY_CAST("{name}" AS {other}) AS "{name}") FROM {source} ORDER BY nth'
        return f"SELECT * EXCLUDE (nth) FROM {source} ORDER BY hash(nth + {random.randrange(1000)})"

    def bundle(self, members, random):
        """Members of another bundle."""
        members = dict(members)
        before = {name: hashlib.sha256(data).hexdigest() for name, data in members.items()}
        tables = [name for name in members if name.endswith(".parquet")]
        for _ in range(random.choice((1, 1, 1, 2, 4))):
            self.change_one(members, [t for t in tables if t in members], random)
        for name in members:  # documents that name hashes of files name the new ones
            if name.endswith(".json"):
                for other, old in before.items():
                    if other in members:
                        members[name] = members[name].replace(old.encode(), hashlib.sha256(members[other]).hexdigest().encode())
        if random.random() < 0.8:
            entry_of(members)
        return members

    def change_one(self, members, tables, random):
        what = random.randrange(20)
        if what < 4 or not tables:
            name = random.choice(["run.json", "run.json", "catalog_entry.json"])
            if name in members:
                members[name] = mutate.change_json(members[name], random) or members[name]
            return
        name = random.choice(tables)
        if what == 4:
            del members[name]
        elif what == 5:
            members[name] = members[random.choice(tables)]
        elif what == 6:
            members[name] = random.choice(mutate.ANY)(members[name], random)
        elif what == 7:
            members[random.choice(("op.parquet", "stray.parquet", "files/x.txt", "files/attached/1/kernel.parquet"))] = members[name]
        else:
            members[name] = self.changed(members[name], random) or members[name]
