// The bytes of a file, or of memory, as they come; gzip is unpacked on the way, told by its first two bytes.
// Owns the file and the state of the inflater; one thread. Input is hostile: what is damaged or cut off ends
// the bytes early and is said by damage(), and gzip that unpacks to absurd sizes is refused.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace gradwire {

class ByteSource {
 public:
  explicit ByteSource(const std::filesystem::path& path);  // throws ConfigError for all but regular files
  explicit ByteSource(std::string_view memory);            // borrowed
  ~ByteSource();
  ByteSource(const ByteSource&) = delete;
  ByteSource& operator=(const ByteSource&) = delete;

  // At least one byte unless it is the end, where it is 0. Throws ConfigError when the file can't be read.
  std::size_t read(std::span<char> into);

  std::uint64_t given() const { return given_; }         // bytes so far, unpacked
  const std::string& damage() const { return damage_; }  // why it ended early; empty: it did not

 private:
  struct Inflater;
  void begin();
  std::size_t read_packed(std::span<char> into);
  std::size_t inflate(std::span<char> into);
  bool refill();
  bool is_bomb() const;

  std::string name_;
  int fd_ = -1;
  std::string_view memory_;
  std::string head_;  // read to tell gzip, not yet given
  std::unique_ptr<Inflater> inflater_;
  std::uint64_t given_ = 0, taken_ = 0;
  std::string damage_;
};

// The first bytes, unpacked: enough to tell what a file is.
std::string head_of(const std::filesystem::path& path, std::size_t bytes);

// All bytes, unpacked, of something that should be small. Throws ConfigError beyond `most`.
std::string read_unpacked(const std::filesystem::path& path, std::size_t most);

}  // namespace gradwire
