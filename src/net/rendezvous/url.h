// The URLs join() takes, as values.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/units.h"

namespace gradwire {

struct RendezvousUrl {
  std::string scheme;  // env, tcp or file
  std::string place;   // HOST:PORT or a path
  std::optional<Rank> rank;
  std::optional<int> size;
};

RendezvousUrl parse_rendezvous_url(std::string_view url);  // throws ConfigError

}  // namespace gradwire
