# What shells and man read of the program, made by the program itself, and `cpack`, which makes packages for Debian:
#   gradwire         the program, its modules, presets, manual pages, completions
#   gradwire-train   the ranks of `gradwire train`, which need libtorch
#   libgradwire-dev  headers, archives, what find_package(Gradwire) reads
if(NOT TARGET gradwire)
  return()
endif()

# --- completions and manual pages --------------------------------------------------------------------------------------
if(NOT CMAKE_CROSSCOMPILING)
  set(described ${PROJECT_BINARY_DIR}/describe)
  add_custom_command(OUTPUT ${described}/gradwire.bash COMMAND gradwire describe ${described} DEPENDS gradwire VERBATIM)
  add_custom_target(gradwire_described ALL DEPENDS ${described}/gradwire.bash)
  install(FILES ${described}/gradwire.bash DESTINATION share/bash-completion/completions RENAME gradwire COMPONENT program)
  # zsh looks in the first under /usr/local, and in the second under Debian's /usr.
  foreach(folder site-functions vendor-completions)
    install(FILES ${described}/_gradwire DESTINATION share/zsh/${folder} COMPONENT program)
  endforeach()
  install(FILES ${described}/gradwire.fish DESTINATION share/fish/vendor_completions.d COMPONENT program)
  install(DIRECTORY ${described}/man/ DESTINATION share/man/man1 COMPONENT program)
endif()

# --- packages ----------------------------------------------------------------------------------------------------------
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_VENDOR Gradwire)
set(CPACK_PACKAGE_CONTACT "The Gradwire developers <gradwire@invalid.invalid>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "does a faster link make distributed training faster?")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_COMPONENTS_ALL program development)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION science)

set(CPACK_DEBIAN_PROGRAM_PACKAGE_NAME gradwire)
set(CPACK_COMPONENT_PROGRAM_DESCRIPTION
  "Trains with DistributedDataParallel in C++, says where a step's time goes, and\npredicts the step on machines you do not have.")
# What it depends on is asked of the files when packages are made.
set(CPACK_PROJECT_CONFIG_FILE ${PROJECT_SOURCE_DIR}/cmake/debian_depends.cmake)
set(CPACK_GRADWIRE_BUILD ${PROJECT_BINARY_DIR})

set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_NAME libgradwire-dev)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SECTION libdevel)
set(CPACK_COMPONENT_DEVELOPMENT_DESCRIPTION "Headers and libraries to build programs that use Gradwire.")
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS
  "gradwire (= ${PROJECT_VERSION}), libfmt-dev, libsodium-dev, libyaml-cpp-dev, libexpat1-dev, zlib1g-dev, pkg-config")

if(TARGET gradwire-train)
  list(APPEND CPACK_COMPONENTS_ALL train)
  set(CPACK_DEBIAN_TRAIN_PACKAGE_NAME gradwire-train)
  set(CPACK_COMPONENT_TRAIN_DESCRIPTION "The ranks of `gradwire train`, which use libtorch.")
  set(CPACK_DEBIAN_TRAIN_PACKAGE_DEPENDS "gradwire (= ${PROJECT_VERSION})")
  set(CPACK_DEBIAN_TRAIN_PACKAGE_SHLIBDEPS ON)
endif()
include(CPack)

if(GRADWIRE_TESTS AND NOT GRADWIRE_SANITIZE)
  add_test(NAME "package: answers in a root that has nothing but the C++ runtime"
    COMMAND ${PROJECT_SOURCE_DIR}/tests/package/in_bare_root ${PROJECT_BINARY_DIR} ${CMAKE_CPACK_COMMAND})
  add_test(NAME "package: shells take the completions and man the pages"
    COMMAND ${PROJECT_SOURCE_DIR}/tests/package/check_described ${PROJECT_BINARY_DIR}/describe)
  set_tests_properties("package: answers in a root that has nothing but the C++ runtime"
    "package: shells take the completions and man the pages" PROPERTIES LABELS package TIMEOUT 300 SKIP_RETURN_CODE 77)
endif()
