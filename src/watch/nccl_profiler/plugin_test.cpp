// The plugin driven as NCCL drives it: opened by its path, its tables found by name, events described byte by byte at the
// places where NCCL's documentation has them for each version, kernels' channels reported after their call was enqueued.
#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <thread>
#include <vector>

#include "base/files.h"
#include "base/nccl_records.h"

namespace gradwire {
namespace {

using testing::SizeIs;

// Where a version has the fields of a collective; words are pointers from version 2 on.
struct Offsets {
  int sequence, function, count, datatype, channels, algorithm, protocol, communicator;
};
constexpr Offsets kOffsets[] = {{40, 48, 72, 84, 104, 106, 107, 32}, {40, 48, 72, 88, 104, 112, 120, 32},
                                {40, 48, 72, 88, 96, 104, 112, 32},  {24, 32, 56, 72, 80, 88, 96, -1},
                                {24, 32, 56, 72, 80, 88, 96, -1},    {24, 32, 56, 72, 80, 88, 96, -1}};
constexpr int kParentAt = 8, kRankAt = 16, kChannelAt = 24, kTimeAt = 32;

class Event {
 public:
  Event(int version, std::uint64_t type, void* parent) {
    if (version < 5)
      put(0, static_cast<std::uint8_t>(type));
    else
      put(0, type);
    put(kParentAt, parent);
    put(kRankAt, 3);
  }
  template <typename T>
  void put(int at, T value) {
    std::memcpy(bytes_ + at, &value, sizeof value);
  }
  void* address() { return bytes_; }

 private:
  alignas(8) char bytes_[256] = {};
};

struct Table {
  const char* name;
  void* init;
  int (*start)(void* context, void** handle, void* event);
  int (*stop)(void* handle);
  int (*record_state)(void* handle, int state, void* arguments);
  int (*finalize)(void* context);
};

class Plugin : public testing::TestWithParam<int> {
 protected:
  void SetUp() override {
    ::setenv("GRADWIRE_NCCL_DIR", folder_.path().c_str(), 1);
    library_ = ::dlopen(GRADWIRE_NCCL_PROFILER, RTLD_NOW | RTLD_LOCAL);
    ASSERT_NE(library_, nullptr) << ::dlerror();
    const std::string symbol = "ncclProfiler_v" + std::to_string(version());
    table_ = static_cast<const Table*>(::dlsym(library_, symbol.c_str()));
    ASSERT_NE(table_, nullptr);
  }
  void TearDown() override {
    if (library_) ::dlclose(library_);
  }
  int version() const { return GetParam(); }

  int init(void** context, int* mask) {
    using Short = int (*)(void**, int*);
    using Named = int (*)(void**, int*, const char*, std::uint64_t, int, int, int, void*);
    using Identified = int (*)(void**, std::uint64_t, int*, const char*, int, int, int, void*);
    if (version() <= 3) return reinterpret_cast<Short>(table_->init)(context, mask);
    if (version() == 4)
      return reinterpret_cast<Named>(table_->init)(context, mask, "ddp", 0xabcd, 1, 8, 3, nullptr);
    return reinterpret_cast<Identified>(table_->init)(context, 0xabcd, mask, "ddp", 1, 8, 3, nullptr);
  }

  void* start_all_reduce(void* context, std::uint64_t sequence, std::uint64_t count) {
    const Offsets& at = kOffsets[version() - 1];
    Event event(version(), 2, nullptr);
    event.put(at.sequence, sequence);
    event.put(at.count, count);
    event.put(at.channels, std::uint8_t{2});
    if (at.communicator > 0) event.put(at.communicator, std::uint64_t{0xabcd});
    if (version() == 1) {
      event.put(at.function, std::uint8_t{4});
      event.put(at.datatype, std::uint8_t{7});
      event.put(at.algorithm, std::uint8_t{1});
      event.put(at.protocol, std::uint8_t{2});
    } else {
      event.put(at.function, "AllReduce");
      event.put(at.datatype, "ncclFloat32");
      event.put(at.algorithm, "RING");
      event.put(at.protocol, "SIMPLE");
    }
    void* handle = nullptr;
    EXPECT_EQ(table_->start(context, &handle, event.address()), 0);
    return handle;
  }

  // As NCCL's proxy thread does it: from `begin` to `end` of the GPU's timer.
  void run_channel(void* context, void* call, int channel, std::uint64_t begin, std::uint64_t end) {
    Event event(version(), 64, call);
    event.put(kChannelAt, static_cast<std::uint8_t>(channel));
    if (version() >= 4) event.put(kTimeAt, begin);
    void* handle = nullptr;
    EXPECT_EQ(table_->start(context, &handle, event.address()), 0);
    const int answer = version() >= 4 ? table_->record_state(handle, 22, &end) : 0;
    EXPECT_EQ(answer, 0);
    EXPECT_EQ(table_->stop(handle), 0);
  }

  std::vector<std::filesystem::path> files() {
    std::vector<std::filesystem::path> found;
    for (const auto& entry : std::filesystem::directory_iterator(folder_.path()))
      found.push_back(entry.path());
    return found;
  }
  NcclRecordsHead head() {
    NcclRecordsHead head;
    const std::string bytes = read_file(files().at(0));
    std::memcpy(&head, bytes.data(), sizeof head);
    return head;
  }
  std::vector<NcclRecord> records() {
    const std::string bytes = read_file(files().at(0));
    std::vector<NcclRecord> all;
    for (std::size_t at = kNcclRecordBytes; at + kNcclRecordBytes <= bytes.size(); at += kNcclRecordBytes) {
      NcclRecord record;
      std::memcpy(&record, bytes.data() + at, sizeof record);
      if (record.number != 0) all.push_back(record);
    }
    return all;
  }

  TempDir folder_;
  void* library_ = nullptr;
  const Table* table_ = nullptr;
};

INSTANTIATE_TEST_SUITE_P(Versions, Plugin, testing::Range(1, 7));

TEST_P(Plugin, records_what_a_collective_was_and_when_its_channels_ran) {
  void* context = nullptr;
  int mask = 0;
  ASSERT_EQ(init(&context, &mask), 0);
  EXPECT_STREQ(table_->name, "gradwire");
  EXPECT_EQ(mask & (2 | 64), 2 | 64);
  void* const call = start_all_reduce(context, 17, 6'553'600);
  EXPECT_EQ(table_->stop(call), 0);  // it is enqueued; its kernel begins later
  run_channel(context, call, 0, 5'000, 9'000);
  run_channel(context, call, 1, 4'000, 8'500);
  EXPECT_EQ(table_->finalize(context), 0);

  EXPECT_EQ(std::memcmp(head().magic, kNcclRecordsMagic, 8), 0);
  EXPECT_EQ(head().interface, static_cast<unsigned>(version()));
  EXPECT_EQ(head().rank, 3);
  EXPECT_EQ(head().ranks, version() >= 4 ? 8 : 0);
  EXPECT_EQ(head().communicator, 0xabcdu);
  ASSERT_THAT(records(), SizeIs(1));
  const NcclRecord record = records()[0];
  EXPECT_EQ(record.sequence, 17u);
  EXPECT_EQ(record.count, 6'553'600u);
  EXPECT_EQ(record.channels, 2);
  EXPECT_STREQ(record.collective, "AllReduce");
  EXPECT_STREQ(record.datatype, "ncclFloat32");
  EXPECT_STREQ(record.algorithm, "RING");
  EXPECT_STREQ(record.protocol, "SIMPLE");
  EXPECT_EQ(record.channels_ended, 2u);
  EXPECT_GE(record.enqueue_end_ns, record.enqueue_begin_ns);
  if (version() < 4) return;
  EXPECT_EQ(record.begin_ns, 4'000u);
  EXPECT_EQ(record.end_ns, 9'000u);
}

TEST_P(Plugin, records_whom_a_send_goes_to) {
  void* context = nullptr;
  int mask = 0;
  ASSERT_EQ(init(&context, &mask), 0);
  Event event(version(), 4, nullptr);
  const int words = version() <= 3 ? 40 : 24;  // behind the communicator's name and number where they are
  if (version() == 1)
    event.put(words, std::uint8_t{6});
  else
    event.put(words, "Send");
  event.put(words + 24, std::uint64_t{1000});
  event.put(words + 32, 5);
  void* handle = nullptr;
  table_->start(context, &handle, event.address());
  table_->stop(handle);
  ASSERT_THAT(records(), SizeIs(1));
  EXPECT_STREQ(records()[0].collective, "Send");
  EXPECT_EQ(records()[0].count, 1000u);
  EXPECT_EQ(records()[0].peer, 5);
}

TEST_P(Plugin, takes_nothing_amiss) {
  void* context = nullptr;
  int mask = 0;
  EXPECT_EQ(init(nullptr, &mask), 0);
  EXPECT_EQ(init(&context, nullptr), 0);
  EXPECT_EQ(init(&context, &mask), 0);
  void* handle = nullptr;
  Event channel(version(), 64, nullptr), unknown(version(), 128, nullptr), empty(version(), 2, nullptr);
  EXPECT_EQ(table_->start(nullptr, &handle, empty.address()), 0);
  EXPECT_EQ(table_->start(context, nullptr, empty.address()), 0);
  EXPECT_EQ(table_->start(context, &handle, nullptr), 0);
  EXPECT_EQ(table_->start(context, &handle, channel.address()), 0);  // of no call
  EXPECT_EQ(handle, nullptr);
  EXPECT_EQ(table_->start(context, &handle, unknown.address()), 0);
  EXPECT_EQ(handle, nullptr);
  EXPECT_EQ(table_->start(context, &handle, empty.address()), 0);  // words that are null
  EXPECT_EQ(table_->stop(handle), 0);
  EXPECT_EQ(table_->stop(nullptr), 0);
  EXPECT_EQ(table_->record_state(nullptr, 22, nullptr), 0);
  EXPECT_EQ(table_->record_state(handle, 22, nullptr), 0);
  EXPECT_EQ(table_->record_state(handle, 99, &mask), 0);
  EXPECT_EQ(table_->finalize(nullptr), 0);
  EXPECT_EQ(table_->finalize(context), 0);
}

TEST_P(Plugin, asks_for_no_event_where_it_can_not_write) {
  ::setenv("GRADWIRE_NCCL_DIR", "/no/such/folder", 1);
  void* context = nullptr;
  int mask = 77;
  EXPECT_EQ(init(&context, &mask), 0);
  EXPECT_EQ(context, nullptr);
  EXPECT_EQ(mask, 0);
}

TEST_P(Plugin, loses_no_call_of_many_threads) {
  constexpr int kThreads = 4, kCalls = 1000;
  void* context = nullptr;
  int mask = 0;
  ASSERT_EQ(init(&context, &mask), 0);
  std::vector<std::jthread> threads;
  for (int thread = 0; thread < kThreads; ++thread)
    threads.emplace_back([&, thread] {
      for (int i = 0; i < kCalls; ++i) {
        void* const call = start_all_reduce(context, static_cast<std::uint64_t>(thread * kCalls + i), 1);
        std::jthread proxy;
        if (i % 100 == 0) proxy = std::jthread([&] { run_channel(context, call, 1, 50, 70); });
        table_->stop(call);
        run_channel(context, call, 0, 60, 80);
      }
    });
  threads.clear();
  const auto all = records();
  std::vector<std::uint64_t> sequences;
  for (const NcclRecord& record : all) sequences.push_back(record.sequence);
  std::sort(sequences.begin(), sequences.end());
  ASSERT_THAT(sequences, SizeIs(kThreads * kCalls));
  for (std::size_t i = 0; i < sequences.size(); ++i) ASSERT_EQ(sequences[i], i);
  EXPECT_EQ(head().dropped, 0u);
}

TEST_P(Plugin, keeps_the_last_calls_and_never_a_place_that_is_in_use) {
  void* context = nullptr;
  int mask = 0;
  ASSERT_EQ(init(&context, &mask), 0);
  void* const stuck = start_all_reduce(context, 0, 1);
  for (std::uint64_t i = 1; i <= kNcclRecordsKept; ++i) table_->stop(start_all_reduce(context, i, 1));
  EXPECT_EQ(head().dropped, 1u);
  EXPECT_THAT(records(), SizeIs(kNcclRecordsKept));
  EXPECT_EQ(records()[0].sequence, 0u);
  EXPECT_EQ(records()[0].enqueue_end_ns, 0);
  table_->stop(stuck);
}

}  // namespace
}  // namespace gradwire
