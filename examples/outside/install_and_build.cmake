# Run by the tests: installs BUILD, configures SOURCE against it, builds and runs; with MODULE also by that backend, which
# is a module of the installation.
get_filename_component(name ${SOURCE} NAME)
set(place ${BUILD}/${name})
file(REMOVE_RECURSE ${place})
function(run)
  execute_process(COMMAND ${ARGN} COMMAND_ERROR_IS_FATAL ANY)
endfunction()
run(${CMAKE_COMMAND} --install ${BUILD} --prefix ${place}/prefix)
run(${CMAKE_COMMAND} -S ${SOURCE} -B ${place}/build -G Ninja -DCMAKE_BUILD_TYPE=Release
  -DCMAKE_CXX_COMPILER=${COMPILER} -DCMAKE_PREFIX_PATH=${place}/prefix)
run(${CMAKE_COMMAND} --build ${place}/build)
run(${place}/build/outside)
if(MODULE)
  run(${place}/build/outside ${MODULE})
endif()
