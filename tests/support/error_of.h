// What a call refuses, in words: the text of the ConfigError it throws, or nothing when it throws none.
#pragma once

#include <string>

#include "base/error.h"

namespace gradwire {

template <typename Call>
std::string error_of(Call&& call) {
  try {
    call();
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "";
}

}  // namespace gradwire
