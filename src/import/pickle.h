// Python's pickle read by a reader that can build lists, dicts, texts, numbers, and nothing else: what would
// call a function or make an object is refused, so a hostile file can do no more than be refused. Tuples become
// lists. A pure function.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string_view>

namespace gradwire {

nlohmann::json parse_pickle(std::string_view bytes);  // throws ConfigError saying what is wrong

}  // namespace gradwire
