# `cmake --install` gives the program, the libraries with their headers, and what find_package(Gradwire) reads.
include(CMakePackageConfigHelpers)

# All of it under one name: target_link_libraries(mine gradwire::gradwire) and #include <gradwire.h>.
add_library(gradwire_all INTERFACE)
add_library(gradwire::gradwire ALIAS gradwire_all)
target_sources(gradwire_all INTERFACE FILE_SET HEADERS BASE_DIRS ${PROJECT_SOURCE_DIR}/src
  FILES ${PROJECT_SOURCE_DIR}/src/gradwire.h $<$<BOOL:${GRADWIRE_HAS_TORCH}>:${PROJECT_SOURCE_DIR}/src/gradwire_train.h>)
target_link_libraries(gradwire_all INTERFACE gradwire::comm gradwire::launch)
set_target_properties(gradwire_all PROPERTIES EXPORT_NAME gradwire)
# <gradwire_train.h> gives programs that train all of <gradwire.h> too, so linking with gradwire::train is enough.
if(TARGET gradwire_train)
  target_link_libraries(gradwire_train INTERFACE gradwire_all gradwire_train_parallel)
endif()
install(TARGETS gradwire_all EXPORT GradwireTargets FILE_SET HEADERS DESTINATION include/gradwire)

install(EXPORT GradwireTargets NAMESPACE gradwire:: DESTINATION lib/cmake/Gradwire)
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/GradwireConfig.cmake.in
  ${PROJECT_BINARY_DIR}/GradwireConfig.cmake INSTALL_DESTINATION lib/cmake/Gradwire)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/GradwireConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/GradwireConfig.cmake ${PROJECT_BINARY_DIR}/GradwireConfigVersion.cmake
  ${PROJECT_SOURCE_DIR}/cmake/GradwireLibraries.cmake DESTINATION lib/cmake/Gradwire)
