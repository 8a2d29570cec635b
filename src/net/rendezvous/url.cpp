#include "net/rendezvous/url.h"

#include "base/error.h"
#include "base/text.h"

namespace gradwire {
namespace {

[[noreturn]] void reject(std::string_view url, const std::string& reason) {
  throw ConfigError(fmt::format(
      "'{}' is no rendezvous: {}; write env://, tcp://HOST:PORT?rank=0&size=2 or file:///PATH?rank=0&size=2",
      url, reason));
}

void read_parameter(std::string_view url, std::string_view parameter, RendezvousUrl& result) {
  const auto equals = parameter.find('=');
  const auto name = parameter.substr(0, equals);
  const auto text = equals == std::string_view::npos ? "" : parameter.substr(equals + 1);
  const auto value = find_integer<int>(text);
  if (name == "rank" && value && *value >= 0)
    result.rank = value;
  else if ((name == "size" || name == "world_size") && value && *value >= 1)
    result.size = value;
  else
    reject(url, fmt::format("'{}' is not understood", parameter));
}

}  // namespace

RendezvousUrl parse_rendezvous_url(std::string_view url) {
  const auto colon = url.find("://");
  if (colon == std::string_view::npos) reject(url, "it has no scheme");
  const auto question = url.find('?');
  RendezvousUrl result;
  result.scheme = url.substr(0, colon);
  result.place = url.substr(colon + 3, question == std::string_view::npos ? question : question - colon - 3);
  if (result.scheme != "env" && result.scheme != "tcp" && result.scheme != "file")
    reject(url, fmt::format("there is no scheme '{}'", result.scheme));
  if (result.place.empty() != (result.scheme == "env"))
    reject(url, result.place.empty() ? "it names no place" : "env:// takes no place");
  if (question != std::string_view::npos)
    for (const auto parameter : split(url.substr(question + 1), '&')) read_parameter(url, parameter, result);
  return result;
}

}  // namespace gradwire
