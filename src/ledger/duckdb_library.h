// SPDX-License-Identifier: Apache-2.0
#pragma once
// DuckDB's C API, loaded when first needed. Linking it would add 8 ms to the start
// of every command; most commands never touch SQL or Parquet.
// Call through the table: `api->query(connection, sql, &result)`.
// Thread rule: LoadDuckDb may be called from any thread; the table is constant and
// lives as long as the process.

#include <string>

#include <duckdb.h>

#include "base/result.h"

// Every function we use; the name without its duckdb_ prefix.
// clang-format off
#define NL_DUCKDB_FUNCTIONS(X) \
  X(library_version) X(open_ext) X(close) X(connect) X(disconnect) X(interrupt) X(create_config) \
  X(set_config) X(destroy_config) X(free) X(query) X(destroy_result) X(result_error) X(column_count) \
  X(column_name) X(column_type) X(column_logical_type) X(fetch_chunk) X(extract_statements) \
  X(extract_statements_error) X(destroy_extracted) X(prepare_extracted_statement) X(prepare_error) \
  X(nparams) X(prepared_statement_type) X(destroy_prepare) X(execute_prepared_streaming) \
  X(create_data_chunk) X(destroy_data_chunk) X(data_chunk_reset) X(data_chunk_get_size) \
  X(data_chunk_set_size) X(data_chunk_get_column_count) X(data_chunk_get_vector) X(vector_size) \
  X(vector_get_column_type) X(vector_get_data) X(vector_get_validity) \
  X(vector_ensure_validity_writable) X(vector_assign_string_element_len) X(list_vector_get_child) \
  X(struct_vector_get_child) X(array_vector_get_child) X(validity_row_is_valid) \
  X(validity_set_row_validity) X(string_t_length) X(string_t_data) X(create_logical_type) \
  X(destroy_logical_type) X(get_type_id) X(decimal_width) X(decimal_scale) X(decimal_internal_type) \
  X(list_type_child_type) X(array_type_child_type) X(array_type_array_size) X(struct_type_child_count) \
  X(struct_type_child_name) X(struct_type_child_type) X(map_type_key_type) X(map_type_value_type) \
  X(enum_internal_type) X(enum_dictionary_value) X(appender_create) X(append_data_chunk) \
  X(appender_flush) X(appender_close) X(appender_destroy) X(appender_error)
// clang-format on

namespace nl {

struct DuckDbApi {
#define NL_DUCKDB_MEMBER(name) decltype(&duckdb_##name) name = nullptr;
  NL_DUCKDB_FUNCTIONS(NL_DUCKDB_MEMBER)
#undef NL_DUCKDB_MEMBER
  std::string version;  // "1.4.4"
  std::string path;     // the library that was loaded
};

// Looks in: $NEUROLENS_DUCKDB, `configured_path`, where packages have it relative to this
// executable, the path known at build time (not in packages), the system's library path. A path that is named
// explicitly and does not load is an error, not a reason to look further.
// The first success is kept for the process.
Result<const DuckDbApi*> LoadDuckDb(const std::string& configured_path = "");

}  // namespace nl
