# The C++ in the README is examples/train_readme.cpp, word for word, so that what readers copy is what is tested.
file(READ ${SOURCE}/README.md readme)
file(READ ${SOURCE}/examples/train_readme.cpp program)
string(FIND "${readme}" "```cpp\n${program}```" place)
if(place EQUAL -1)
  message(FATAL_ERROR "README.md does not show examples/train_readme.cpp as it is")
endif()
