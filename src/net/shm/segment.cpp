#include "net/shm/segment.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/error.h"
#include "base/secret.h"
#include "base/text.h"

namespace gradwire {
namespace {

constexpr std::size_t kPage = 4096;
constexpr std::size_t kBoundary = std::size_t{2} << 20;
constexpr std::size_t kColourPages = 5;  // odd: 512 colours are 512 different places
constexpr char kFileName[] = "gradwire";
constexpr std::string_view kLink = "/memfd:gradwire (deleted)";

std::size_t whole_pages(std::size_t bytes) { return (bytes + kPage - 1) / kPage * kPage; }

std::array<std::uint64_t, 2> make_token() {
  const Nonce random = make_nonce();
  std::array<std::uint64_t, 2> token;
  std::memcpy(token.data(), random.data(), sizeof token);
  return token;
}

// Nobody may change the file's size any more: a mapping never ends in a bus error.
Fd create_file(std::size_t bytes) {
  Fd file(memfd_create(kFileName, MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!file) throw_system_error("memfd_create");
  if (fchmod(file.get(), 0600) != 0) throw_system_error("fchmod of shared memory");
  if (ftruncate(file.get(), static_cast<off_t>(bytes)) != 0)
    throw_system_error(fmt::format("making {} bytes of shared memory", bytes));
  if (fcntl(file.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0)
    throw_system_error("sealing shared memory");
  return file;
}

[[noreturn]] void throw_unreachable(const SegmentName& name, const std::string& why) {
  throw TransportError(fmt::format(
      "shared memory of process {} cannot be opened: {}. Ranks that share memory must be alive, of one "
      "user and in one pid namespace (containers: --pid=host); otherwise use the tcp backend, or give "
      "each container its own GRADWIRE_HOST",
      name.pid, why));
}

// The process number may belong to somebody else by now, so look at what it is before opening it.
Fd open_file(const SegmentName& name) {
  const std::string path = fmt::format("/proc/{}/fd/{}", name.pid, name.fd);
  char link[64];
  const ssize_t length = readlink(path.c_str(), link, sizeof link);
  if (length < 0) throw_unreachable(name, std::strerror(errno));
  if (std::string_view(link, static_cast<std::size_t>(length)) != kLink)
    throw_unreachable(name, "that process is not the rank that made it");
  Fd file(open(path.c_str(), O_RDWR | O_CLOEXEC));
  if (!file) throw_unreachable(name, std::strerror(errno));
  struct stat status {};
  if (fstat(file.get(), &status) != 0) throw_system_error("fstat of shared memory");
  if (static_cast<std::size_t>(status.st_size) != kPage + whole_pages(name.bytes))
    throw_unreachable(name, "its size is not what its owner said");
  return file;
}

// Makes every page present and writable without changing a byte: others may be using them already.
void populate(std::span<std::byte> memory) {
  if (madvise(memory.data(), memory.size(), MADV_POPULATE_WRITE) == 0) return;
  if (errno != EINVAL) throw_system_error(fmt::format("filling {} bytes of shared memory", memory.size()));
  for (std::size_t at = 0; at < memory.size(); at += kPage)  // Linux before 5.14
    std::atomic_ref(reinterpret_cast<unsigned char&>(memory[at])).fetch_or(0, std::memory_order_relaxed);
}

}  // namespace

std::string SegmentName::text() const {
  return fmt::format("{} {} {} {} {} {}", pid, fd, bytes, token[0], token[1], present);
}

SegmentName SegmentName::parse(std::string_view text) {
  const auto parts = split(text, ' ');
  const auto number = [&]<typename T>(std::size_t index, T& value) {
    const auto found = index < parts.size() ? find_integer<T>(parts[index]) : std::nullopt;
    if (!found || parts.size() != 6)
      throw ConfigError(fmt::format("not the name of a segment: \"{}\"", text));
    value = *found;
  };
  SegmentName name;
  number(0, name.pid);
  number(1, name.fd);
  number(2, name.bytes);
  number(3, name.token[0]);
  number(4, name.token[1]);
  number(5, name.present);
  return name;
}

Segment Segment::create(std::size_t bytes, int colour, std::size_t present) {
  Segment segment;
  segment.file_ = create_file(kPage + whole_pages(bytes));
  segment.name_ = {getpid(), segment.file_.get(), bytes, make_token(), std::min(present, bytes)};
  segment.map(colour);
  std::memcpy(segment.bytes_.data() - kPage, segment.name_.token.data(), sizeof segment.name_.token);
  return segment;
}

Segment Segment::open(const SegmentName& name, int colour) {
  Segment segment;
  segment.file_ = open_file(name);
  segment.name_ = name;
  segment.map(colour);
  if (std::memcmp(segment.bytes_.data() - kPage, name.token.data(), sizeof name.token) != 0)
    throw_unreachable(name, "that process is not the rank that made it");
  segment.file_.reset();  // the mapping is enough; only the owner's descriptor is opened by others
  return segment;
}

// Reserves address space with room for the colour, then lays the file over the right part of it.
void Segment::map(int colour) {
  const std::size_t length = kPage + whole_pages(name_.bytes);
  const std::size_t reserve = length + 2 * kBoundary;
  void* const start = mmap(nullptr, reserve, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (start == MAP_FAILED) throw_system_error(fmt::format("reserving {} bytes of address space", reserve));
  reserved_ = {static_cast<std::byte*>(start), reserve};
  const auto address = reinterpret_cast<std::uintptr_t>(start);
  const std::size_t to_boundary = (kBoundary - address % kBoundary) % kBoundary;
  const std::size_t step = static_cast<std::size_t>(colour) % kColours * kColourPages % kColours * kPage;
  void* const place = reserved_.data() + to_boundary + step;
  if (mmap(place, length, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file_.get(), 0) == MAP_FAILED)
    throw_system_error(fmt::format("mapping {} bytes of shared memory", length));
  populate({static_cast<std::byte*>(place), kPage + whole_pages(std::min(name_.present, name_.bytes))});
  bytes_ = {static_cast<std::byte*>(place) + kPage, name_.bytes};
}

Segment::~Segment() {
  if (!reserved_.empty()) munmap(reserved_.data(), reserved_.size());
}

void Segment::swap(Segment& other) noexcept {
  std::swap(file_, other.file_);
  std::swap(name_, other.name_);
  std::swap(reserved_, other.reserved_);
  std::swap(bytes_, other.bytes_);
}

}  // namespace gradwire
