# SPDX-License-Identifier: Apache-2.0
# nl_unity(<target>): where CMAKE_UNITY_BUILD is on (the presets with sanitizers), compiles the sources of <target> by
# CMAKE_UNITY_BUILD_BATCH_SIZE at a time, neighbours by path and of one layer: with sanitizers the headers are most of
# the work. Generated sources stay alone, and so do those with flags of their own. Call it when all sources are there.
function(nl_unity target)
  if(NOT CMAKE_UNITY_BUILD)
    return()
  endif()
  set_target_properties(${target} PROPERTIES UNITY_BUILD_MODE GROUP)
  get_target_property(all ${target} SOURCES)
  list(SORT all)
  foreach(layer ${NL_LAYERS})
    set(sources ${all})
    list(FILTER sources INCLUDE REGEX "^${CMAKE_CURRENT_SOURCE_DIR}/${layer}/")
    set(place 0)
    foreach(source ${sources})
      math(EXPR batch "${place} / ${CMAKE_UNITY_BUILD_BATCH_SIZE}")
      set_source_files_properties(${source} PROPERTIES UNITY_GROUP ${layer}_${batch})
      math(EXPR place "${place} + 1")
    endforeach()
  endforeach()
endfunction()
