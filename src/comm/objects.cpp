#include "comm/objects.h"

#include <numeric>

#include "base/error.h"

namespace gradwire {
namespace {

using Lengths = std::vector<std::size_t>;
static_assert(sizeof(std::size_t) == 8, "lengths travel as 64 bits");

std::span<const std::byte> bytes_in(std::string_view text) { return std::as_bytes(std::span(text)); }

std::size_t total(const Lengths& lengths) {
  return std::accumulate(lengths.begin(), lengths.end(), std::size_t{0});
}

std::vector<std::string> cut_text(const std::string& text, const Lengths& lengths) {
  std::vector<std::string> parts;
  for (std::size_t at = 0; const std::size_t length : lengths) {
    parts.push_back(text.substr(at, length));
    at += length;
  }
  return parts;
}

}  // namespace

std::vector<std::string> all_gather_objects(Communicator& communicator, std::string_view mine) {
  Lengths lengths(static_cast<std::size_t>(communicator.size()));
  const std::size_t length = mine.size();
  communicator.run(all_gather(std::as_bytes(std::span(&length, 1)), bytes_of(lengths), DType::i64));
  std::string text(total(lengths), '\0');
  communicator.run(with_parts(all_gather(bytes_in(mine), bytes_of(text), DType::u8), {.out = lengths}));
  return cut_text(text, lengths);
}

std::vector<std::string> gather_objects(Communicator& communicator, std::string_view mine, Rank root) {
  const bool here = communicator.rank() == root;
  Lengths lengths(here ? static_cast<std::size_t>(communicator.size()) : 0);
  const std::size_t length = mine.size();
  communicator.run(gather(std::as_bytes(std::span(&length, 1)), bytes_of(lengths), DType::i64, root));
  std::string text(total(lengths), '\0');
  communicator.run(with_parts(gather(bytes_in(mine), bytes_of(text), DType::u8, root), {.out = lengths}));
  return cut_text(text, lengths);
}

std::string broadcast_object(Communicator& communicator, std::string_view of_root, Rank root) {
  std::size_t length = of_root.size();
  communicator.run(broadcast(std::as_writable_bytes(std::span(&length, 1)), DType::i64, root));
  std::string text = communicator.rank() == root ? std::string(of_root) : std::string(length, '\0');
  communicator.run(broadcast(bytes_of(text), DType::u8, root));
  return text;
}

std::string scatter_objects(Communicator& communicator, const std::vector<std::string>& all, Rank root) {
  const bool here = communicator.rank() == root;
  if (here && all.size() != static_cast<std::size_t>(communicator.size()))
    throw ConfigError(fmt::format("{} objects are given for {} ranks", all.size(), communicator.size()));
  Lengths lengths;
  std::string together;
  for (std::size_t rank = 0; here && rank < all.size(); ++rank) {
    lengths.push_back(all[rank].size());
    together += all[rank];
  }
  std::size_t length = 0;
  communicator.run(scatter(std::as_bytes(std::span(lengths)), std::as_writable_bytes(std::span(&length, 1)),
                           DType::i64, root));
  std::string mine(length, '\0');
  communicator.run(with_parts(scatter(bytes_in(together), bytes_of(mine), DType::u8, root), {.in = lengths}));
  return mine;
}

}  // namespace gradwire
