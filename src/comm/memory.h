// A block of memory a communicator gave out, released with its last owner. A resource; moved, not copied.
#pragma once

#include <cstddef>
#include <cstring>
#include <memory>
#include <span>

namespace gradwire {

class Memory {
 public:
  Memory() = default;
  Memory(std::span<std::byte> bytes, std::shared_ptr<void> owner) : bytes_(bytes), owner_(std::move(owner)) {}
  std::span<std::byte> bytes() const { return bytes_; }
  template <typename T>
  std::span<T> as() const {
    return {reinterpret_cast<T*>(bytes_.data()), bytes_.size() / sizeof(T)};
  }

 private:
  std::span<std::byte> bytes_;
  std::shared_ptr<void> owner_;
};

// memcpy for a buffer that may be in place or empty.
inline void copy_bytes(std::byte* to, const std::byte* from, std::size_t bytes) {
  if (bytes != 0 && to != from) std::memcpy(to, from, bytes);
}

// Ordinary memory, page-aligned, resident, in large pages where the system gives them.
Memory allocate_private(std::size_t bytes);

}  // namespace gradwire
