# SPDX-License-Identifier: Apache-2.0
# nl_embed(<target> <symbol> <file>): compiles the bytes of <file> into <target> as
#
#   namespace nl::embedded { extern const std::string_view <symbol>; }
#
# which the using source declares itself. The source is generated at build time and again
# whenever <file> changes. A relative <file> is relative to the calling CMakeLists.txt. Use:
#
#   include(cmake/embed.cmake)
#   nl_embed(nl_model kRunSchema ${PROJECT_SOURCE_DIR}/schemas/run.schema.json)

if(CMAKE_SCRIPT_MODE_FILE)
  # cmake -DINPUT=... -DOUTPUT=... -DSYMBOL=... -P embed.cmake
  # A string of hex escapes compiles some ten times faster than an array of numbers.
  file(SIZE "${INPUT}" size)
  set(head "// Generated from ${SYMBOL}'s file by cmake/embed.cmake.\n")
  string(APPEND head "#include <string_view>\n")
  string(APPEND head "#pragma GCC diagnostic ignored \"-Woverlength-strings\"\n")
  string(APPEND head "namespace nl::embedded {\nextern const std::string_view ${SYMBOL};\n")
  string(APPEND head "constinit const std::string_view ${SYMBOL}(\n")
  file(WRITE "${OUTPUT}.part" "${head}\"\"\n")
  set(offset 0)
  while(offset LESS size)
    file(READ "${INPUT}" bytes OFFSET ${offset} LIMIT 4096 HEX)
    string(REGEX REPLACE "(..)" "\\\\x\\1" bytes "${bytes}")
    file(APPEND "${OUTPUT}.part" "\"${bytes}\"\n")
    math(EXPR offset "${offset} + 4096")
  endwhile()
  file(APPEND "${OUTPUT}.part" ", ${size});\n}  // namespace nl::embedded\n")
  file(RENAME "${OUTPUT}.part" "${OUTPUT}")
  return()
endif()

function(nl_embed target symbol file)
  get_filename_component(input "${file}" ABSOLUTE BASE_DIR "${CMAKE_CURRENT_SOURCE_DIR}")
  set(output "${CMAKE_CURRENT_BINARY_DIR}/embedded/${target}_${symbol}.cc")
  file(MAKE_DIRECTORY "${CMAKE_CURRENT_BINARY_DIR}/embedded")
  file(RELATIVE_PATH input_in_tree "${PROJECT_SOURCE_DIR}" "${input}")
  set_property(GLOBAL APPEND PROPERTY NL_INPUTS "${input_in_tree}")
  add_custom_command(
    OUTPUT "${output}"
    COMMAND "${CMAKE_COMMAND}" "-DINPUT=${input}" "-DOUTPUT=${output}" "-DSYMBOL=${symbol}" -P
            "${CMAKE_CURRENT_FUNCTION_LIST_FILE}"
    DEPENDS "${input}" "${CMAKE_CURRENT_FUNCTION_LIST_FILE}"
    COMMENT "Embedding ${file}"
    VERBATIM)
  set_source_files_properties("${output}" PROPERTIES SKIP_PRECOMPILE_HEADERS ON)
  target_sources(${target} PRIVATE "${output}")
endfunction()
