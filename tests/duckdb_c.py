# SPDX-License-Identifier: Apache-2.0
"""A few lines over the C interface of the DuckDB that the program loads: for tests that write Parquet files of their own."""
import ctypes
import pathlib

LIBRARY = pathlib.Path(__file__).resolve().parents[1] / ".deps/duckdb/lib/libduckdb.so"


class Result(ctypes.Structure):
    _fields_ = [("counts", ctypes.c_uint64 * 3), ("pointers", ctypes.c_void_p * 3), ("room", ctypes.c_void_p * 4)]


class DuckDB:
    """One database in memory. Thread rule: one thread."""

    def __init__(self):
        self.api = ctypes.CDLL(str(LIBRARY))
        self.api.duckdb_result_error.restype = ctypes.c_char_p
        self.api.duckdb_value_varchar.restype = ctypes.c_void_p
        for name in ("duckdb_row_count", "duckdb_column_count"):
            getattr(self.api, name).restype = ctypes.c_uint64
        database, self.connection = ctypes.c_void_p(), ctypes.c_void_p()
        assert self.api.duckdb_open(None, ctypes.byref(database)) == 0
        assert self.api.duckdb_connect(database, ctypes.byref(self.connection)) == 0
        self.rows("SET threads = 1")

    def rows(self, sql):
        """Rows of texts (None for null); a RuntimeError says what is wrong with the statement."""
        result = Result()
        if self.api.duckdb_query(self.connection, sql.encode(), ctypes.byref(result)):
            message = (self.api.duckdb_result_error(ctypes.byref(result)) or b"").decode()
            self.api.duckdb_destroy_result(ctypes.byref(result))
            raise RuntimeError(message)
        out = []
        for row in range(self.api.duckdb_row_count(ctypes.byref(result))):
            out.append([self.cell(result, column, row) for column in range(self.api.duckdb_column_count(ctypes.byref(result)))])
        self.api.duckdb_destroy_result(ctypes.byref(result))
        return out

    def cell(self, result, column, row):
        text = self.api.duckdb_value_varchar(ctypes.byref(result), ctypes.c_uint64(column), ctypes.c_uint64(row))
        if not text:
            return None
        value = ctypes.string_at(text).decode("utf-8", "replace")
        self.api.duckdb_free(ctypes.c_void_p(text))
        return value
