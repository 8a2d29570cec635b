#include "train/loop/share_result.h"

#include <c10/util/Exception.h>

#include "base/error.h"
#include "comm/objects.h"

namespace gradwire {
namespace {

// What a function came to, as text: 'r' and its result, 'c' and a ConfigError, 'e' and anything else that is thrown.
std::string tried(const std::function<std::string()>& function) {
  try {
    return 'r' + function();
  } catch (const ConfigError& error) {
    return std::string("c") + error.what();
  } catch (const c10::Error& error) {  // without the frames it would print
    return std::string("e") + error.what_without_backtrace();
  } catch (const std::exception& error) {
    return std::string("e") + error.what();
  }
}

std::string result_of(std::string text) {
  const char kind = text.empty() ? 'e' : text[0];
  text.erase(0, 1);
  if (kind == 'c') throw ConfigError(text);
  if (kind == 'e') throw FileError(text);
  return text;
}

}  // namespace

std::string share_result(Communicator& communicator, Rank from,
                         const std::function<std::string()>& function) {
  const auto mine = communicator.rank() == from ? tried(function) : std::string();
  return result_of(broadcast_object(communicator, mine, from));
}

std::vector<std::string> share_results(Communicator& communicator,
                                       const std::function<std::string()>& function) {
  auto all = all_gather_objects(communicator, tried(function));
  for (auto& text : all) text = result_of(std::move(text));
  return all;
}

}  // namespace gradwire
