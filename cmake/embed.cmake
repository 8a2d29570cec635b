# Run by gradwire_embed(): writes OUTPUT, a C++ file with the text of each of FILES, cut into pieces: some compilers refuse
# a raw string of over 16 KiB in one piece.
set(cases "")
foreach(file IN LISTS FILES)
  get_filename_component(name ${file} NAME)
  file(READ ${file} text)
  string(LENGTH "${text}" length)
  set(pieces "")
  set(begin 0)
  while(begin LESS length)
    string(SUBSTRING "${text}" ${begin} 8000 piece)
    string(APPEND pieces "R\"embedded(${piece})embedded\"\n")
    math(EXPR begin "${begin} + 8000")
  endwhile()
  string(APPEND cases "  if (file == \"${name}\")\n    return ${pieces};\n")
endforeach()
file(WRITE ${OUTPUT} "#include <string>\n#include <string_view>\n\n#include \"base/error.h\"\n\n"
  "namespace gradwire {\nstd::string_view ${FUNCTION}(std::string_view file);\n\n"
  "std::string_view ${FUNCTION}(std::string_view file) {\n${cases}"
  "  throw Error(\"there is no built-in file \" + std::string(file));\n}\n\n}  // namespace gradwire\n")
