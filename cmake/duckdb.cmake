# SPDX-License-Identifier: Apache-2.0
# DuckDB 1.4: the header for the build, the library for run time. The program never links it: loading costs 8 ms of
# start-up that most commands need not pay, so it is opened with dlopen when a command wants SQL or Parquet.
# Gives: target duckdb_headers (INTERFACE), variable NL_DUCKDB_LIBRARY (absolute path of libduckdb.so).
# scripts/fetch_duckdb.sh holds the search order; set both NL_DUCKDB_* cache variables to go around it.
set(NL_DUCKDB_LIBRARY "" CACHE FILEPATH "libduckdb.so of DuckDB 1.4")
set(NL_DUCKDB_INCLUDE_DIR "" CACHE PATH "folder of duckdb.h")

if(NOT EXISTS "${NL_DUCKDB_LIBRARY}" OR NOT EXISTS "${NL_DUCKDB_INCLUDE_DIR}/duckdb.h")
  set(nl_duckdb_which --locate)
  if(NL_PACKAGE)
    set(nl_duckdb_which --pinned ${NL_PACKAGE_ARCH})
  endif()
  execute_process(
    COMMAND bash "${CMAKE_CURRENT_LIST_DIR}/../scripts/fetch_duckdb.sh" ${nl_duckdb_which}
    OUTPUT_VARIABLE nl_duckdb_found
    ERROR_VARIABLE nl_duckdb_error
    RESULT_VARIABLE nl_duckdb_status
    OUTPUT_STRIP_TRAILING_WHITESPACE)
  if(NOT nl_duckdb_status EQUAL 0)
    message(FATAL_ERROR "DuckDB 1.4 is not here: run scripts/fetch_duckdb.sh, or set DUCKDB_ROOT. ${nl_duckdb_error}")
  endif()
  string(REPLACE "\n" ";" nl_duckdb_found "${nl_duckdb_found}")
  list(GET nl_duckdb_found 0 nl_duckdb_library)
  list(GET nl_duckdb_found 1 nl_duckdb_include)
  set(NL_DUCKDB_LIBRARY "${nl_duckdb_library}" CACHE FILEPATH "libduckdb.so of DuckDB 1.4" FORCE)
  set(NL_DUCKDB_INCLUDE_DIR "${nl_duckdb_include}" CACHE PATH "folder of duckdb.h" FORCE)
endif()
message(STATUS "DuckDB: ${NL_DUCKDB_LIBRARY}")

add_library(duckdb_headers INTERFACE)
target_include_directories(duckdb_headers SYSTEM INTERFACE "${NL_DUCKDB_INCLUDE_DIR}")
