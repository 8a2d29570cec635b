#include "watch/nccl_profiler/call_log.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstring>

namespace gradwire::nccl_profiler {
namespace {

constexpr std::size_t kFileBytes = (1 + std::size_t{kNcclRecordsKept}) * kNcclRecordBytes;
constexpr int kMostLogs = 64;  // communicators of a process; 2 MB each
constexpr std::uintptr_t kWithin = kNcclRecordBytes - 1;

std::uint64_t host_now() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(now.tv_nsec);
}

template <std::size_t size>
void copy_word(char (&to)[size], const char* from) {
  std::size_t i = 0;
  for (; from != nullptr && from[i] != '\0' && i + 1 < size; ++i) to[i] = from[i];
  to[i] = '\0';
}

// A record lies at a multiple of its size. A call's handle is that address, a channel's one is so many bytes further.
NcclRecord* record_of(void* handle) {
  return reinterpret_cast<NcclRecord*>(reinterpret_cast<std::uintptr_t>(handle) & ~kWithin);
}
bool is_channel(void* handle) { return (reinterpret_cast<std::uintptr_t>(handle) & kWithin) != 0; }

void keep_least(std::uint64_t& kept, std::uint64_t value) {
  std::atomic_ref<std::uint64_t> least(kept);
  std::uint64_t seen = least.load(std::memory_order_relaxed);
  while ((seen == 0 || value < seen) && !least.compare_exchange_weak(seen, value)) {
  }
}

void keep_most(std::uint64_t& kept, std::uint64_t value) {
  std::atomic_ref<std::uint64_t> most(kept);
  std::uint64_t seen = most.load(std::memory_order_relaxed);
  while (value > seen && !most.compare_exchange_weak(seen, value)) {
  }
}

bool in_use(NcclRecord& record) {
  const auto begun = std::atomic_ref(record.channels_begun).load();
  return std::atomic_ref(record.number).load() != 0 &&
         (std::atomic_ref(record.enqueue_end_ns).load() == 0 ||
          begun != std::atomic_ref(record.channels_ended).load());
}

int create_file(const char* folder, int number) {
  char path[4096];
  const int length = std::snprintf(path, sizeof path, "%s/nccl_calls_%d_%d.bin", folder, ::getpid(), number);
  if (length < 0 || length >= static_cast<int>(sizeof path)) return -1;
  return ::open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
}

// With room on the disk for all of it: writing to mapped memory that the disk has no room for would end the process.
void* map_file(int file) {
  if (file < 0) return nullptr;
  const bool sized = ::posix_fallocate(file, 0, static_cast<off_t>(kFileBytes)) == 0;
  void* const memory =
      sized ? ::mmap(nullptr, kFileBytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0) : MAP_FAILED;
  ::close(file);
  return memory == MAP_FAILED ? nullptr : memory;
}

}  // namespace

CallLog* CallLog::open(const char* folder, const ReportedGroup& of) {
  static std::atomic<int> opened{0};
  const int number = opened.fetch_add(1);
  if (number >= kMostLogs) return nullptr;
  auto* const log = static_cast<CallLog*>(map_file(create_file(folder, number)));
  if (log == nullptr) return nullptr;
  NcclRecordsHead& head = log->head_;
  head.interface = of.interface;
  head.records = kNcclRecordsKept;
  head.record_bytes = kNcclRecordBytes;
  head.rank = of.rank;
  head.ranks = of.ranks;
  head.nodes = of.nodes;
  head.communicator = of.id;
  head.process = static_cast<std::uint32_t>(::getpid());
  ::gethostname(head.host, sizeof head.host - 1);
  copy_word(head.name, of.name);
  std::memcpy(head.magic, kNcclRecordsMagic, sizeof head.magic);
  return log;
}

void* CallLog::begin_call(const ReportedCall& call) {
  const auto number = std::atomic_ref(head_.begun).fetch_add(1) + 1;
  auto* const first = reinterpret_cast<char*>(this) + kNcclRecordBytes;
  auto& record = *reinterpret_cast<NcclRecord*>(first + (number - 1) % kNcclRecordsKept * kNcclRecordBytes);
  if (in_use(record)) {
    std::atomic_ref(head_.dropped).fetch_add(1);
    return nullptr;
  }
  if (call.rank >= 0 && std::atomic_ref(head_.rank).load() < 0) std::atomic_ref(head_.rank).store(call.rank);
  if (call.communicator != 0) std::atomic_ref(head_.communicator).store(call.communicator);
  record = {};
  record.sequence = call.sequence;
  record.count = call.count;
  record.peer = call.peer;
  record.channels = call.channels;
  copy_word(record.collective, call.collective);
  copy_word(record.datatype, call.datatype);
  copy_word(record.algorithm, call.algorithm);
  copy_word(record.protocol, call.protocol);
  record.enqueue_begin_ns = static_cast<std::int64_t>(host_now());
  std::atomic_ref(record.number).store(number);
  return &record;
}

void* CallLog::begin_channel(void* call, std::uint8_t channel, std::uint64_t gpu_time) {
  if (call == nullptr || is_channel(call)) return nullptr;
  NcclRecord& record = *record_of(call);
  if (gpu_time != 0) std::atomic_ref(record.gpu_clock).store(1);
  keep_least(record.begin_ns, gpu_time != 0 ? gpu_time : host_now());
  std::atomic_ref(record.channels_begun).fetch_add(1);
  return reinterpret_cast<char*>(&record) + 1 + channel % kWithin;
}

void CallLog::set_channel_end(void* handle, std::uint64_t gpu_time) {
  // Where the begin was of the host's clock the two can't be told apart by subtraction.
  if (handle != nullptr && is_channel(handle) && std::atomic_ref(record_of(handle)->gpu_clock).load() != 0)
    keep_most(record_of(handle)->end_ns, gpu_time);
}

void CallLog::end(void* handle) {
  if (handle == nullptr) return;
  NcclRecord& record = *record_of(handle);
  if (!is_channel(handle)) {
    std::atomic_ref(record.enqueue_end_ns).store(static_cast<std::int64_t>(host_now()));
    return;
  }
  if (std::atomic_ref(record.gpu_clock).load() == 0) keep_most(record.end_ns, host_now());
  std::atomic_ref(record.channels_ended).fetch_add(1);
}

}  // namespace gradwire::nccl_profiler
