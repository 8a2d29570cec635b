#include "comm/flight_recorder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <new>

#include "base/error.h"
#include "base/fd.h"
#include "base/held_signal.h"

namespace gradwire {
namespace {

constexpr std::size_t kMappedBytes = sizeof(FlightHead) + FlightRecorder::kKept * sizeof(FlightRecord);
constexpr std::uint32_t kMostGroups = 1000;

std::int64_t coarse_now() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
  return static_cast<std::int64_t>(now.tv_sec) * 1'000'000'000 + now.tv_nsec;
}

// The first number that no communicator of this rank has there: ranks make theirs in one order, so it names the group.
Fd create_numbered(const std::filesystem::path& folder, Rank rank, std::filesystem::path& file,
                   std::uint32_t& group) {
  for (group = 0; group < kMostGroups; ++group) {
    file = folder / fmt::format("flight_rank{}_{}.bin", rank, group);
    Fd fd(::open(file.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
    if (fd || errno != EEXIST) return fd;
  }
  return {};
}

// Room on the disk for all of it: writing to mapped memory that the disk has no room for would end the process.
bool reserve(int fd) {
  const HeldSignal too_long(SIGXFSZ);
  return ::posix_fallocate(fd, 0, static_cast<off_t>(kMappedBytes)) == 0;
}

}  // namespace

FlightRecorder::FlightRecorder() { map(-1); }

FlightRecorder::FlightRecorder(const std::filesystem::path& folder, Rank rank, int ranks,
                               const std::string& backend) {
  FlightHead head;
  const Fd fd = create_numbered(folder, rank, file_, head.group);
  if (!fd || !reserve(fd.get())) {
    if (fd) ::unlink(file_.c_str());
    file_.clear();
    map(-1);
    return;
  }
  head.records = kKept;
  head.record_bytes = sizeof(FlightRecord);
  head.rank = static_cast<std::uint32_t>(rank);
  head.ranks = static_cast<std::uint32_t>(ranks);
  std::copy_n(backend.data(), std::min(backend.size(), sizeof head.backend - 1), head.backend);
  map(fd.get());
  std::memcpy(memory_, &head, sizeof head);
}

void FlightRecorder::map(int fd) {
  memory_ = ::mmap(nullptr, kMappedBytes, PROT_READ | PROT_WRITE,
                   fd < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED, fd, 0);
  if (memory_ == MAP_FAILED) throw_system_error("mmap");
  records_ = reinterpret_cast<FlightRecord*>(static_cast<std::byte*>(memory_) + sizeof(FlightHead));
}

FlightRecorder::~FlightRecorder() { ::munmap(memory_, kMappedBytes); }

void FlightRecorder::begin(const Signature& call) {
  FlightRecord& record = records_[begun_++ % kKept];
  record.call = call;
  record.begin_ns = coarse_now();
  record.end_ns = 0;
  record.state = FlightState::started;
}

void FlightRecorder::end(FlightState state) {
  FlightRecord& record = records_[(begun_ - 1) % kKept];
  record.end_ns = coarse_now();
  record.state = state;
}

FlightRecord FlightRecorder::record(std::uint64_t number) const { return records_[number % kKept]; }

}  // namespace gradwire
