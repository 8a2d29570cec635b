// A file descriptor that is closed once, by its owner.
#pragma once

#include <unistd.h>

#include <utility>

namespace gradwire {

class Fd {
 public:
  Fd() = default;
  explicit Fd(int fd) : fd_(fd) {}
  Fd(Fd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Fd& operator=(Fd&& other) noexcept {
    if (this != &other) reset(std::exchange(other.fd_, -1));
    return *this;
  }
  ~Fd() { reset(); }

  int get() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }
  int release() { return std::exchange(fd_, -1); }
  void reset(int fd = -1) {
    if (fd_ >= 0) ::close(fd_);
    fd_ = fd;
  }

 private:
  int fd_ = -1;
};

// Opens those of 0, 1 and 2 that this program was started without: else the next file or socket would be one of them, and what is
// printed would go there. To standard output writing fails, as it should; what goes to standard error is lost.
void fill_standard_descriptors();

}  // namespace gradwire
