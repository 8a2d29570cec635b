#include "import/byte_source.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <system_error>
#include <vector>

#include "base/error.h"
#include "base/units.h"

namespace gradwire {
namespace {

// Traces pack 10 to 100 times; gzip itself reaches 1030. Small ones may do what they like.
constexpr std::uint64_t kMostExpansion = 400, kHarmlessBytes = std::uint64_t{64} << 20;
constexpr std::size_t kPackedBlock = 1 << 18;

[[noreturn]] void throw_unreadable(const std::string& name) {
  throw ConfigError(fmt::format("can't read {}: {}", name, std::generic_category().message(errno)));
}

}  // namespace

struct ByteSource::Inflater {
  Inflater() : block(kPackedBlock) {
    check(inflateInit2(&stream, 15 + 16) == Z_OK, "zlib could not be set up");
  }
  ~Inflater() { inflateEnd(&stream); }
  z_stream stream{};
  std::vector<char> block;
  bool ended = false;
};

ByteSource::ByteSource(const std::filesystem::path& path)
    : name_(path.string()), fd_(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {
  if (fd_ < 0) throw_unreadable(name_);
  struct stat status {};
  const bool known = ::fstat(fd_, &status) == 0;
  if (!known || !S_ISREG(status.st_mode)) {
    ::close(fd_);
    // Files are read twice: once to tell what they are.
    throw ConfigError(fmt::format(
        "can't read {}: it is {}", name_,
        known && S_ISDIR(status.st_mode) ? "a directory" : "a pipe or a device; save it to a file first"));
  }
  begin();
}

ByteSource::ByteSource(std::string_view memory) : name_("memory"), memory_(memory) { begin(); }

ByteSource::~ByteSource() {
  if (fd_ >= 0) ::close(fd_);
}

void ByteSource::begin() {
  head_.resize(2);
  head_.resize(read_packed(head_));
  if (head_ == "\x1f\x8b") inflater_ = std::make_unique<Inflater>();
}

std::size_t ByteSource::read_packed(std::span<char> into) {
  std::size_t got = 0;
  if (fd_ < 0) {
    got = memory_.copy(into.data(), into.size());
    memory_.remove_prefix(got);
    return got;
  }
  while (got < into.size()) {
    const auto count = ::read(fd_, into.data() + got, into.size() - got);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) throw_unreadable(name_);
    if (count == 0) break;
    got += static_cast<std::size_t>(count);
  }
  return got;
}

std::size_t ByteSource::read(std::span<char> into) {
  std::size_t got = 0;
  if (inflater_) {
    got = inflate(into);
  } else {
    got = head_.copy(into.data(), into.size());
    head_.erase(0, got);
    if (got < into.size()) got += read_packed(into.subspan(got));
  }
  given_ += got;
  return got;
}

bool ByteSource::refill() {
  z_stream& stream = inflater_->stream;
  std::vector<char>& block = inflater_->block;
  std::size_t got = head_.copy(block.data(), block.size());
  head_.clear();
  got += read_packed(std::span(block).subspan(got));
  stream.next_in = reinterpret_cast<Bytef*>(block.data());
  stream.avail_in = static_cast<uInt>(got);
  taken_ += got;
  return got > 0;
}

bool ByteSource::is_bomb() const { return given_ > kHarmlessBytes && given_ / kMostExpansion > taken_; }

std::size_t ByteSource::inflate(std::span<char> into) {
  z_stream& stream = inflater_->stream;
  if (inflater_->ended || !damage_.empty()) return 0;
  stream.next_out = reinterpret_cast<Bytef*>(into.data());
  stream.avail_out = static_cast<uInt>(into.size());
  while (stream.avail_out > 0) {
    if (is_bomb()) {
      damage_ = fmt::format("{} of gzip unpack to more than {}: that is no trace or log",
                            format_bytes(taken_), format_bytes(given_));
      break;
    }
    if (stream.avail_in == 0 && !refill()) {
      damage_ = "the gzip data ends early: the file is cut off";
      break;
    }
    const int status = ::inflate(&stream, Z_NO_FLUSH);
    if (status == Z_STREAM_END) {  // files of several parts go on with the next
      if (stream.avail_in == 0 && !refill()) {
        inflater_->ended = true;
        break;
      }
      inflateReset(&stream);
    } else if (status != Z_OK && status != Z_BUF_ERROR) {
      damage_ = "the gzip data is damaged";
      break;
    }
  }
  return into.size() - stream.avail_out;
}

std::string head_of(const std::filesystem::path& path, std::size_t bytes) {
  ByteSource source(path);
  std::string head(bytes, '\0');
  head.resize(source.read(head));
  return head;
}

std::string read_unpacked(const std::filesystem::path& path, std::size_t most) {
  ByteSource source(path);
  std::string text, block(1 << 16, '\0');
  while (const std::size_t got = source.read(block)) {
    if (text.size() + got > most)
      throw ConfigError(
          fmt::format("{}: over {}: too large for what it seems to be", path.string(), format_bytes(most)));
    text.append(block, 0, got);
  }
  return text;
}

}  // namespace gradwire
