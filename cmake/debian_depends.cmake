# Read by cpack: what the package gradwire depends on, as dpkg-shlibdeps finds it out. The program needs what it is
# linked with; what only a module is linked with is recommended or suggested.
function(shared_library_packages file result)
  set(${result} "" PARENT_SCOPE)
  find_program(SHLIBDEPS dpkg-shlibdeps)
  if(NOT SHLIBDEPS OR NOT EXISTS ${file})
    return()
  endif()
  set(folder ${CPACK_GRADWIRE_BUILD}/debian_depends)
  file(WRITE ${folder}/debian/control "Source: gradwire\n\nPackage: gradwire\nArchitecture: any\n")
  execute_process(COMMAND ${SHLIBDEPS} -O --ignore-missing-info ${file} WORKING_DIRECTORY ${folder}
    OUTPUT_VARIABLE line ERROR_QUIET OUTPUT_STRIP_TRAILING_WHITESPACE)
  string(REGEX REPLACE "^shlibs:Depends=" "" line "${line}")
  string(REPLACE ", " ";" packages "${line}")
  set(${result} "${packages}" PARENT_SCOPE)
endfunction()

# module_packages(RESULT MODULES...): those of the modules that the program does not need anyway.
function(module_packages result)
  set(all "")
  foreach(module ${ARGN})
    shared_library_packages(${CPACK_GRADWIRE_BUILD}/lib/gradwire/libgradwire-${module}.so packages)
    list(FILTER packages EXCLUDE REGEX "^lib(c6|stdc\\+\\+6|gcc-s1)( |$)")
    list(APPEND all ${packages})
  endforeach()
  list(REMOVE_DUPLICATES all)
  set(${result} "${all}" PARENT_SCOPE)
endfunction()

shared_library_packages(${CPACK_GRADWIRE_BUILD}/gradwire depends)
if(NOT depends)
  set(depends libc6 libstdc++6 libgcc-s1)
endif()
list(JOIN depends ", " CPACK_DEBIAN_PROGRAM_PACKAGE_DEPENDS)

# hwloc shows this machine and simdjson reads traces, and both are small; a backend is for those who run ranks with it.
module_packages(recommends hwloc simdjson)
list(JOIN recommends ", " CPACK_DEBIAN_PROGRAM_PACKAGE_RECOMMENDS)
module_packages(suggests gloo mpi mpich nccl)
list(APPEND suggests gradwire-train openmpi-bin mpich)
list(JOIN suggests ", " CPACK_DEBIAN_PROGRAM_PACKAGE_SUGGESTS)
