#include "import/nccl_records.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "base/error.h"
#include "base/nccl_records.h"
#include "import/file_kind.h"

namespace gradwire {
namespace {

using testing::IsEmpty;
using testing::SizeIs;

NcclRecordsHead head_of_two() {
  NcclRecordsHead head;
  std::memcpy(head.magic, kNcclRecordsMagic, sizeof head.magic);
  head.interface = 5;
  head.records = 8;
  head.record_bytes = kNcclRecordBytes;
  head.rank = 1;
  head.ranks = 2;
  head.communicator = 0xabc;
  return head;
}

NcclRecord all_reduce_record(std::uint64_t number) {
  NcclRecord record;
  record.number = record.sequence = number;
  record.count = 1 << 20;
  record.begin_ns = 1'000'000;
  record.end_ns = 1'500'000;
  record.channels_begun = record.channels_ended = 4;
  record.channels = 4;
  record.gpu_clock = 1;
  std::strcpy(record.collective, "AllReduce");
  std::strcpy(record.datatype, "ncclFloat32");
  std::strcpy(record.algorithm, "RING");
  std::strcpy(record.protocol, "LL128");
  return record;
}

std::string nccl_file(const NcclRecordsHead& head, const std::vector<NcclRecord>& records) {
  std::string bytes((1 + head.records) * std::size_t{kNcclRecordBytes}, '\0');
  std::memcpy(bytes.data(), &head, sizeof head);
  for (std::size_t i = 0; i < records.size(); ++i)
    std::memcpy(bytes.data() + (1 + i) * kNcclRecordBytes, &records[i], sizeof records[i]);
  return bytes;
}

TEST(NcclRecords, are_read_oldest_first_with_bytes_and_time) {
  const auto bytes = nccl_file(head_of_two(), {all_reduce_record(9), all_reduce_record(3)});
  EXPECT_EQ(kind_of(bytes), FileKind::nccl_records);
  const auto read = parse_nccl_records(bytes, "calls.bin");
  EXPECT_EQ(read.rank, 1);
  EXPECT_EQ(read.ranks, 2);
  ASSERT_THAT(read.calls, SizeIs(2));
  EXPECT_EQ(read.calls[0].number, 3u);
  EXPECT_EQ(read.calls[0].collective.kind, Collective::all_reduce);
  EXPECT_EQ(read.calls[0].bytes, Bytes{4 << 20});
  EXPECT_EQ(read.calls[0].time_ns, 500'000);
  EXPECT_EQ(read.calls[0].protocol, "LL128");
}

TEST(NcclRecords, count_all_parts_of_a_gather_and_elements_of_any_width) {
  NcclRecord gather = all_reduce_record(1), narrow = all_reduce_record(2), odd = all_reduce_record(3);
  std::strcpy(gather.collective, "AllGather");
  std::strcpy(narrow.datatype, "ncclFloat8e4m3");
  std::strcpy(odd.datatype, "ncclUnheardOf");
  const auto read = parse_nccl_records(nccl_file(head_of_two(), {gather, narrow, odd}), "calls.bin");
  EXPECT_EQ(read.calls[0].bytes, Bytes{8 << 20});
  EXPECT_EQ(read.calls[1].bytes, Bytes{1 << 20});
  EXPECT_EQ(read.calls[2].bytes, Bytes{0});
}

TEST(NcclRecords, have_no_time_where_the_kernel_has_not_ended_or_clocks_were_mixed) {
  NcclRecord running = all_reduce_record(1), mixed = all_reduce_record(2), queued = all_reduce_record(3);
  running.channels_ended = 3;
  mixed.end_ns = std::uint64_t{1} << 62;
  queued.channels_begun = queued.channels_ended = 0;
  for (const NcclCall& call :
       parse_nccl_records(nccl_file(head_of_two(), {running, mixed, queued}), "calls.bin").calls)
    EXPECT_FALSE(call.time_ns) << call.number;
}

TEST(NcclRecords, that_are_cut_or_absurd_give_less_or_are_refused) {
  const auto whole = nccl_file(head_of_two(), {all_reduce_record(1), all_reduce_record(2)});
  for (std::size_t size = 0; size < sizeof(NcclRecordsHead); ++size)
    EXPECT_THROW(parse_nccl_records(whole.substr(0, size), "cut"), ConfigError);
  EXPECT_THAT(parse_nccl_records(whole.substr(0, 2 * kNcclRecordBytes + 5), "cut").calls, SizeIs(1));
  NcclRecordsHead absurd = head_of_two();
  absurd.record_bytes = 0;
  EXPECT_THROW(parse_nccl_records(nccl_file(absurd, {}), "absurd"), ConfigError);
  NcclRecordsHead many = head_of_two();
  std::string claims = whole;
  many.records = 0x7fffffff;
  std::memcpy(claims.data(), &many, sizeof many);
  EXPECT_THROW(parse_nccl_records(claims, "many"), ConfigError);
}

}  // namespace
}  // namespace gradwire
