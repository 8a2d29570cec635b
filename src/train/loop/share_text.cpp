#include "train/loop/share_text.h"

#include <array>

#include "base/error.h"

namespace gradwire {

std::string share_text(Communicator& communicator, std::string text, Rank from) {
  std::array<std::int64_t, 1> size{static_cast<std::int64_t>(text.size())};
  communicator.run(broadcast(bytes_of(size), DType::i64, from));
  text.resize(static_cast<std::size_t>(size[0]));
  if (!text.empty()) communicator.run(broadcast(bytes_of(text), DType::u8, from));
  return text;
}

std::string share_result(Communicator& communicator, Rank from,
                         const std::function<std::string()>& function) {
  std::string result, error;
  if (communicator.rank() == from) {
    try {
      result = function();
    } catch (const ConfigError& caught) {
      error = caught.what();
    }
  }
  error = share_text(communicator, std::move(error), from);
  if (!error.empty()) throw ConfigError(error);
  return share_text(communicator, std::move(result), from);
}

}  // namespace gradwire
