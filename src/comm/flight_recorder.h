// The last calls of one communicator, always on: what, how many bytes, whether it ended, and when. A call costs a dozen
// stores and two readings of a coarse clock (milliseconds), no lock and no allocation.
//
// The memory is a file where a place for it is given, so that it needs no dumping: whatever becomes of the process, the
// file says what it was at, and it can be read while the process hangs. `gradwire analyze` reads it.
//
// Written by one thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>

#include "base/collective.h"

namespace gradwire {

// The layout of the file: a head, then kKept records, that of the communicator's n-th call in place n % kKept. `sequence` of a
// point-to-point call is that of the collective that comes next: only those are numbered alike on all ranks.
struct FlightHead {
  char magic[8] = {'G', 'W', 'F', 'L', 'I', 'G', 'H', 'T'};
  std::uint32_t version = 1;
  std::uint32_t records = 0;
  std::uint32_t rank = 0, ranks = 0;
  std::uint32_t group = 0;  // which of the process's communicators
  std::uint32_t record_bytes = 0;
  char backend[32] = {};
};
static_assert(sizeof(FlightHead) == 64);

enum class FlightState : std::uint8_t { unused, started, completed, failed };

struct FlightRecord {
  Signature call;
  std::int64_t begin_ns = 0, end_ns = 0;  // CLOCK_MONOTONIC_COARSE
  FlightState state = FlightState::unused;
  std::uint8_t unused[7] = {};
};
static_assert(sizeof(FlightRecord) == 48);

class FlightRecorder {
 public:
  static constexpr std::size_t kKept = 1024;

  FlightRecorder();  // in memory alone
  // In a file of `folder`, flight_rankR_N.bin for the process's N-th communicator there; in memory alone where that can't
  // be made: a recorder never stops a run.
  FlightRecorder(const std::filesystem::path& folder, Rank rank, int ranks, const std::string& backend);
  ~FlightRecorder();
  FlightRecorder(const FlightRecorder&) = delete;
  FlightRecorder& operator=(const FlightRecorder&) = delete;

  void begin(const Signature& call);
  void end(FlightState state);  // of the call that began last

  const std::filesystem::path& file() const { return file_; }  // empty: in memory alone
  FlightRecord record(std::uint64_t number) const;

 private:
  void map(int fd);

  std::filesystem::path file_;
  void* memory_ = nullptr;
  FlightRecord* records_ = nullptr;
  std::uint64_t begun_ = 0;
};

}  // namespace gradwire
