#include "train/loop/share_text.h"

#include <array>

#include "base/error.h"

namespace gradwire {
namespace {

// What a function came to, as text: 'r' and its result, 'c' and a ConfigError, 'e' and another Error.
std::string tried(const std::function<std::string()>& function) {
  try {
    return 'r' + function();
  } catch (const ConfigError& error) {
    return std::string("c") + error.what();
  } catch (const Error& error) {
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

std::string share_text(Communicator& communicator, std::string text, Rank from) {
  std::array<std::int64_t, 1> size{static_cast<std::int64_t>(text.size())};
  communicator.run(broadcast(bytes_of(size), DType::i64, from));
  text.resize(static_cast<std::size_t>(size[0]));
  if (!text.empty()) communicator.run(broadcast(bytes_of(text), DType::u8, from));
  return text;
}

std::string share_result(Communicator& communicator, Rank from,
                         const std::function<std::string()>& function) {
  const auto mine = communicator.rank() == from ? tried(function) : std::string();
  return result_of(share_text(communicator, mine, from));
}

std::vector<std::string> share_results(Communicator& communicator,
                                       const std::function<std::string()>& function) {
  const auto mine = tried(function);
  std::vector<std::string> all;
  for (Rank rank = 0; rank < communicator.size(); ++rank) all.push_back(share_text(communicator, mine, rank));
  for (auto& text : all) text = result_of(std::move(text));
  return all;
}

}  // namespace gradwire
