# gradwire_embed(TARGET FUNCTION FILES...): compiles text files into TARGET; the generated source defines
#   std::string_view gradwire::FUNCTION(std::string_view file)
# which returns the text of the file of that name and throws gradwire::Error if there is none. Declare it in a header.
function(gradwire_embed target function)
  set(output ${CMAKE_CURRENT_BINARY_DIR}/${function}.cpp)
  add_custom_command(OUTPUT ${output}
    COMMAND ${CMAKE_COMMAND} -D "OUTPUT=${output}" -D "FUNCTION=${function}" -D "FILES=${ARGN}"
            -P ${PROJECT_SOURCE_DIR}/cmake/embed.cmake
    DEPENDS ${ARGN} ${PROJECT_SOURCE_DIR}/cmake/embed.cmake VERBATIM)
  # Compilers must take 64 KiB of text; g++ and clang take any length.
  set_source_files_properties(${output} PROPERTIES COMPILE_OPTIONS -Wno-overlength-strings)
  target_sources(${target} PRIVATE ${output})
endfunction()
