# SPDX-License-Identifier: Apache-2.0
# nl_unity(<target>): compiles the sources of <target> several at a time: neighbours by path, of one of the NL_NEIGHBOURHOODS, in
# units of about the same size, up to NL_UNITY_BYTES of text. The headers are most of the work of a small source: the whole program
# compiles in a third of the time. NL_UNITY_BYTES=0 (preset dev) compiles every source alone, for an editor. Sources with flags of
# their own stay alone. Call it when all sources are there.
# A neighbourhood is a list of folders; "=BYTES" behind them is a limit of its own.
# A unit of 440 kB takes 7 % less than two of 220 kB, and up to 2.2 GB of memory instead of 1.2.
set(bytes 220000)
if(NL_MEMORY_PER_JOB_MB GREATER 3000)
  set(bytes 440000)
endif()
set(NL_UNITY_BYTES ${bytes} CACHE STRING "Text of one unit in bytes; 0 compiles every source alone")
# Folders of src/ whose names are kept apart (scripts/check units reads this list). Operations are in small units so that an edit of one
# compiles in seconds.
set(NL_NEIGHBOURHOODS
  "base model ledger import timeline" "analyze" "bench queue deep remote report cli" "ops=120000" "serve" "testing"
  "machine capture/control capture/format capture/launcher capture/sample" "capture/lib" "capture/peaks")

function(nl_unity target)
  if(NL_UNITY_BYTES EQUAL 0)
    return()
  endif()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
  get_target_property(all ${target} SOURCES)
  list(FILTER all INCLUDE REGEX "^${PROJECT_SOURCE_DIR}/src/.*\\.cc$")
  list(SORT all)
  foreach(neighbourhood ${NL_NEIGHBOURHOODS})
    string(REGEX MATCH "^(([^ =]+)[^=]*)=?([0-9]*)$" matched "${neighbourhood}")
    string(REPLACE " " "|" folders "${CMAKE_MATCH_1}")
    string(MAKE_C_IDENTIFIER ${CMAKE_MATCH_2} name)
    set(most ${NL_UNITY_BYTES})
    if(CMAKE_MATCH_3 AND CMAKE_MATCH_3 LESS most)
      set(most ${CMAKE_MATCH_3})
    endif()
    set(sources ${all})
    list(FILTER sources INCLUDE REGEX "^${PROJECT_SOURCE_DIR}/src/(${folders})(/|\\.cc$|_test\\.cc$)")
    set(sum 0)
    foreach(source ${sources})
      file(SIZE ${source} size)
      math(EXPR sum "${sum} + ${size}")
    endforeach()
    math(EXPR each "${sum} / (${sum} / ${most} + 1) + 1")
    set(before 0)
    foreach(source ${sources})
      math(EXPR unit "${before} / ${each}")
      set_source_files_properties(${source} PROPERTIES UNITY_GROUP ${name}_${unit})
      file(SIZE ${source} size)
      math(EXPR before "${before} + ${size}")
    endforeach()
  endforeach()
endfunction()

# nl_generated(<target> <source>...): generated sources, compiled as one unit.
function(nl_generated target)
  target_sources(${target} PRIVATE ${ARGN})
  set_source_files_properties(${ARGN} PROPERTIES UNITY_GROUP generated)
endfunction()
