# The libraries that every program of Gradwire needs, which are small: linked as archives where the system has them, so
# that the programs run on machines without these libraries. Also read by those who use an installed Gradwire; for them it
# is the shared libraries, as they are used to, unless they set GRADWIRE_STATIC.
#   gradwire_library(NAME PACKAGE): the target GradwireLibrary::NAME is libNAME of that package of pkg-config.
find_package(Threads REQUIRED)
find_package(fmt REQUIRED)
find_package(PkgConfig REQUIRED)

function(gradwire_library name package)
  if(TARGET GradwireLibrary::${name})
    return()
  endif()
  pkg_check_modules(GRADWIRE_${name} REQUIRED IMPORTED_TARGET ${package})
  find_library(GRADWIRE_${name}_ARCHIVE lib${name}.a HINTS ${GRADWIRE_${name}_LIBDIR})
  mark_as_advanced(GRADWIRE_${name}_ARCHIVE)
  add_library(GradwireLibrary::${name} INTERFACE IMPORTED GLOBAL)
  if(GRADWIRE_STATIC AND GRADWIRE_${name}_ARCHIVE)
    target_include_directories(GradwireLibrary::${name} INTERFACE ${GRADWIRE_${name}_INCLUDE_DIRS})
    target_link_libraries(GradwireLibrary::${name} INTERFACE ${GRADWIRE_${name}_ARCHIVE})
  else()
    set_target_properties(PkgConfig::GRADWIRE_${name} PROPERTIES IMPORTED_GLOBAL ON)
    target_link_libraries(GradwireLibrary::${name} INTERFACE PkgConfig::GRADWIRE_${name})
  endif()
endfunction()

# fmt has no archive in Debian: the project's own build makes one, because its headers alone take five seconds a file.
if(NOT TARGET GradwireLibrary::fmt)
  add_library(GradwireLibrary::fmt INTERFACE IMPORTED GLOBAL)
  if(GRADWIRE_STATIC AND EXISTS ${CMAKE_CURRENT_LIST_DIR}/fmt.cpp)
    add_library(gradwire_fmt STATIC ${CMAKE_CURRENT_LIST_DIR}/fmt.cpp)
    target_compile_features(gradwire_fmt PUBLIC cxx_std_20)
    set_target_properties(gradwire_fmt PROPERTIES POSITION_INDEPENDENT_CODE ON)
    target_include_directories(gradwire_fmt SYSTEM PUBLIC
      $<TARGET_PROPERTY:fmt::fmt,INTERFACE_INCLUDE_DIRECTORIES>)
    target_link_libraries(GradwireLibrary::fmt INTERFACE gradwire_fmt)
  else()
    target_link_libraries(GradwireLibrary::fmt INTERFACE fmt::fmt)
  endif()
endif()

gradwire_library(sodium libsodium)
gradwire_library(yaml-cpp yaml-cpp)
gradwire_library(expat expat)
gradwire_library(z zlib)
