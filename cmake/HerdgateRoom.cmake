# SPDX-License-Identifier: Apache-2.0
# One target per room. A room's headers are reachable only through its target: each room publishes an
# include folder that holds nothing but a link to itself, so `#include "storage/table/table.h"` compiles
# only in a target that links hgi_table. A wrong include is a compile error, not a review comment.

set(HGI_WARNINGS -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Wstrict-prototypes -Werror)
if(CMAKE_C_COMPILER_ID MATCHES Clang)
  list(APPEND HGI_WARNINGS -Wthread-safety -Wthread-safety-beta)
endif()
set(HGI_HARDENING -fstack-protector-strong -fvisibility=hidden)

function(hgi_target_defaults target)
  target_compile_options(${target} PRIVATE ${HGI_WARNINGS} ${HGI_HARDENING})
  target_compile_definitions(${target} PRIVATE _GNU_SOURCE)
endfunction()

# hgi_room(NAME table PATH storage/table SOURCES a.c b.c DEPENDS hgi_base)
function(hgi_room)
  cmake_parse_arguments(R "" "NAME;PATH" "SOURCES;DEPENDS" ${ARGN})
  set(target hgi_${R_NAME})
  list(TRANSFORM R_SOURCES PREPEND ${PROJECT_SOURCE_DIR}/${R_PATH}/)
  add_library(${target} STATIC ${R_SOURCES})
  set(door ${PROJECT_BINARY_DIR}/rooms/${R_NAME})
  get_filename_component(parent ${door}/${R_PATH} DIRECTORY)
  file(MAKE_DIRECTORY ${parent})
  file(CREATE_LINK ${PROJECT_SOURCE_DIR}/${R_PATH} ${door}/${R_PATH} SYMBOLIC)
  target_include_directories(${target} PUBLIC ${door})
  target_link_libraries(${target} PUBLIC ${R_DEPENDS})
  set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE ON)
  hgi_target_defaults(${target})
endfunction()

# hgi_test(NAME storage.table SOURCES tests/storage/test_table.c DEPENDS hgi_table [LABELS unit] [TIMEOUT 60])
# One check suite = one binary = one ctest test.
function(hgi_test)
  cmake_parse_arguments(T "" "NAME;TIMEOUT" "SOURCES;DEPENDS;LABELS" ${ARGN})
  string(REPLACE "." "_" target "test_${T_NAME}")
  add_executable(${target} ${T_SOURCES})
  target_link_libraries(${target} PRIVATE ${T_DEPENDS} hgi_testlib)
  target_compile_options(${target} PRIVATE ${HGI_WARNINGS} -Wno-gnu-zero-variadic-macro-arguments)
  target_compile_definitions(${target} PRIVATE _GNU_SOURCE HGI_BUILD_DIR="${PROJECT_BINARY_DIR}"
                             HGI_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
  add_test(NAME ${T_NAME} COMMAND ${target})
  if(NOT T_TIMEOUT)
    set(T_TIMEOUT 120)
  endif()
  if(NOT T_LABELS)
    set(T_LABELS unit)
  endif()
  set_tests_properties(${T_NAME} PROPERTIES TIMEOUT ${T_TIMEOUT} LABELS "${T_LABELS}"
                       ENVIRONMENT "${HGI_TEST_ENVIRONMENT}")
  # These load the machine or count what is open on it.
  if("e2e" IN_LIST T_LABELS OR "churn" IN_LIST T_LABELS)
    set_tests_properties(${T_NAME} PROPERTIES RUN_SERIAL ON)
  endif()
endfunction()
