# How every target of the project is built, and the three functions the folders call.
include(GoogleTest)

find_program(CCACHE ccache)
if(CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CCACHE})
endif()

# Most of a file's time is headers: the files of a target are compiled as one. Names that are local to a file must
# therefore differ within a folder. A developer's build takes each file by itself, so that a change compiles one.
set(CMAKE_UNITY_BUILD ${GRADWIRE_UNITY})
set(CMAKE_UNITY_BUILD_BATCH_SIZE 0)

add_library(gradwire_flags INTERFACE)
target_compile_options(gradwire_flags INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wno-sign-conversion -Werror
  $<$<CXX_COMPILER_ID:Clang>:-Wthread-safety>
  # g++ 12 takes assignments of literals to std::string for overlapping copies (GCC bug 105651).
  $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict>
  # It warns of types local to a file that a class holds, unless that file is the one it was called with.
  $<$<AND:$<CXX_COMPILER_ID:GNU>,$<BOOL:${GRADWIRE_UNITY}>>:-Wno-subobject-linkage>
  # And clang of names that are local to another file.
  $<$<AND:$<CXX_COMPILER_ID:Clang>,$<BOOL:${GRADWIRE_UNITY}>>:-Wno-shadow>)
if(GRADWIRE_SANITIZE)
  target_compile_options(gradwire_flags INTERFACE -fsanitize=${GRADWIRE_SANITIZE} -fno-omit-frame-pointer
    -fno-sanitize-recover=all
    # What is opened at run time (NVML, NCCL's plugins) has pointers of types that either side calls its own.
    $<$<CXX_COMPILER_ID:Clang>:-fno-sanitize=function>)
  target_link_options(gradwire_flags INTERFACE -fsanitize=${GRADWIRE_SANITIZE})
endif()

# gradwire_layer(NAME SOURCES ... HEADERS ... USES layers-and-libraries ... [INTERNAL] [BRIEF])
# One folder of src/ as the library gradwire::NAME. Its headers are installed, and each must compile alone. INTERNAL: it is
# not installed, because it reaches users as a module. BRIEF: what it does takes moments, so that compiling it may be quick.
function(gradwire_layer name)
  cmake_parse_arguments(arg "INTERNAL;BRIEF" "" "SOURCES;HEADERS;USES;PRIVATE" ${ARGN})
  add_library(gradwire_${name} STATIC ${arg_SOURCES})
  add_library(gradwire::${name} ALIAS gradwire_${name})
  target_sources(gradwire_${name} PUBLIC FILE_SET HEADERS BASE_DIRS ${PROJECT_SOURCE_DIR}/src FILES ${arg_HEADERS})
  set_target_properties(gradwire_${name} PROPERTIES
    EXPORT_NAME ${name} POSITION_INDEPENDENT_CODE ON VERIFY_INTERFACE_HEADER_SETS ON)
  target_compile_features(gradwire_${name} PUBLIC cxx_std_20)
  target_link_libraries(gradwire_${name} PUBLIC ${arg_USES} PRIVATE $<BUILD_INTERFACE:gradwire_flags> ${arg_PRIVATE})
  if(arg_BRIEF)
    target_compile_options(gradwire_${name} PRIVATE $<$<CONFIG:Release>:-O1>)
  endif()
  if(NOT arg_INTERNAL)
    install(TARGETS gradwire_${name} EXPORT GradwireTargets ARCHIVE FILE_SET HEADERS DESTINATION include/gradwire)
  endif()
endfunction()

# gradwire_module(NAME SOURCES ... USES ...)
# A part that needs a library not everybody has, as lib/gradwire/libgradwire-NAME.so: see base/module.h. It shows nothing
# but its entry and keeps to its own copy of what it uses of Gradwire. No program waits for it; the target gradwire_modules
# is all of them.
add_custom_target(gradwire_modules ALL)
function(gradwire_module name)
  cmake_parse_arguments(arg "" "" "SOURCES;USES" ${ARGN})
  set(target gradwire_module_${name})
  add_dependencies(gradwire_modules ${target})
  add_library(${target} MODULE ${arg_SOURCES} ${PROJECT_SOURCE_DIR}/src/base/module_version.cpp)
  target_compile_definitions(${target} PRIVATE GRADWIRE_VERSION="${PROJECT_VERSION}")
  target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR}/src)
  target_link_libraries(${target} PRIVATE ${arg_USES} gradwire_flags)
  target_link_options(${target} PRIVATE -Wl,--version-script=${PROJECT_SOURCE_DIR}/cmake/module.map)
  set_target_properties(${target} PROPERTIES OUTPUT_NAME gradwire-${name} UNITY_BUILD OFF
    LINK_DEPENDS ${PROJECT_SOURCE_DIR}/cmake/module.map
    LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lib/gradwire INSTALL_RPATH_USE_LINK_PATH ON)
  install(TARGETS ${target} LIBRARY DESTINATION lib/gradwire COMPONENT program)
endfunction()

# gradwire_test(NAME SOURCES ... USES ... [LABELS ...] [TIMEOUT s] [BUSY] [TOGETHER] [PARTS n])
# A GoogleTest program; each of its tests is a test of ctest, or, where they share what takes long, all of them are one:
# TOGETHER. Where it is loading that takes long (libtorch: a second), n tests of ctest load it and fork each test of theirs: PARTS.
# The label `fast` is for those that end in milliseconds.
# What is tested is optimized, the tests are not, unless loops of their own are what they take their time for: BUSY.
function(gradwire_test name)
  if(NOT GRADWIRE_TESTS)
    return()
  endif()
  cmake_parse_arguments(arg "BUSY;TOGETHER" "TIMEOUT;PARTS" "SOURCES;USES;LABELS" ${ARGN})
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 120)
  endif()
  if(NOT arg_LABELS)
    set(arg_LABELS fast)
  endif()
  if(GRADWIRE_SANITIZE AND "train" IN_LIST arg_LABELS)
    math(EXPR arg_TIMEOUT "${arg_TIMEOUT} * 5") # what takes seconds of libtorch takes minutes there
  endif()
  add_executable(${name} ${arg_SOURCES})
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/tests) # "support/...", which needs no linking
  if(NOT arg_BUSY)
    target_compile_options(${name} PRIVATE -O0)
  endif()
  target_link_libraries(${name} PRIVATE ${arg_USES} gradwire_flags GTest::gtest GTest::gmock
    $<IF:$<BOOL:${arg_PARTS}>,gradwire_forked_main,GTest::gtest_main>)
  if(arg_PARTS)
    foreach(part RANGE 1 ${arg_PARTS})
      math(EXPR index "${part} - 1")
      set(test "${name}: part ${part} of ${arg_PARTS}")
      add_test(NAME ${test} COMMAND ${name})
      set_tests_properties(${test} PROPERTIES LABELS "${arg_LABELS}" TIMEOUT 3600 # each test in it has the limit
        ENVIRONMENT "GTEST_TOTAL_SHARDS=${arg_PARTS};GTEST_SHARD_INDEX=${index};GRADWIRE_TEST_SECONDS=${arg_TIMEOUT}")
    endforeach()
  elseif(arg_TOGETHER)
    add_test(NAME "${name}: all of it" COMMAND ${name})
    set_tests_properties("${name}: all of it" PROPERTIES LABELS "${arg_LABELS}" TIMEOUT ${arg_TIMEOUT})
  else()
    list(JOIN arg_LABELS - label) # one word: of a list CMake 3.25 takes the first, and loses the rest and the time limit
    gtest_discover_tests(${name} TEST_PREFIX "${name}: " DISCOVERY_TIMEOUT 60
      PROPERTIES LABELS ${label} TIMEOUT ${arg_TIMEOUT})
  endif()
  add_dependencies(${name} gradwire_modules)
  foreach(label fast train)
    if(label IN_LIST arg_LABELS)
      add_dependencies(${label}_tests ${name})
    endif()
  endforeach()
endfunction()
# What has these labels. `train`: DistributedDataParallel and all that trains.
add_custom_target(fast_tests)
add_custom_target(train_tests)

# gradwire_benchmark(NAME SOURCES ... USES ...): a Google Benchmark program, built with the tests, run by hand.
function(gradwire_benchmark name)
  if(NOT GRADWIRE_TESTS)
    return()
  endif()
  cmake_parse_arguments(arg "" "" "SOURCES;USES" ${ARGN})
  add_executable(${name} ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE ${arg_USES} gradwire_flags benchmark::benchmark)
endfunction()
