// Correct algorithms are proved beside their code; here, broken ones must be rejected by the name of the
// fault.
#include "sched/verify.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "base/error.h"
#include "sched/algorithms.h"
#include "sched/proof.h"

namespace gradwire {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

std::string fault_of(Collective kind, const std::vector<Part>& parts, Rank root = 0) {
  try {
    verify(kind, parts, root);
  } catch (const Error& fault) {
    return fault.what();
  }
  return "none";
}

std::vector<Part> ring(int world, int cut = 1) {
  return parts_of(world, [&](Rank me) { return ring_all_reduce(me, world, cut); });
}

// Two ranks that each run a program of their own on two chunks of everything.
std::vector<Part> pair_of(Program first, Program second) {
  const Shape shape{{2, 0, 2}};
  return {{.rank = 0, .shape = shape, .program = std::move(first)},
          {.rank = 1, .shape = shape, .program = std::move(second)}};
}

std::size_t find(const Program& program, Op op, int which = 0) {
  for (std::size_t i = 0; i < program.size(); ++i)
    if (program[i].op == op && which-- == 0) return i;
  throw std::logic_error("no such step");
}

TEST(Verify, accepts_a_correct_program) { EXPECT_EQ(fault_of(Collective::all_reduce, ring(4, 3)), "none"); }

TEST(Verify, names_whose_data_is_missing) {
  auto parts = ring(3);
  parts[1].program.erase(parts[1].program.begin() + find(parts[1].program, Op::reduce));
  const std::string fault = fault_of(Collective::all_reduce, parts);
  EXPECT_THAT(fault, StartsWith("wrong chunk: "));
  const auto idle = parts_of(3, [](Rank me) { return Part{.rank = me, .shape = {{1, 0, 0}}}; });
  EXPECT_EQ(fault_of(Collective::all_reduce, idle),
            "wrong chunk: rank 0's out chunk 0 misses the data of rank 1, 2");
}

TEST(Verify, names_whose_data_is_added_twice) {
  auto parts = parts_of(2, [](Rank me) { return exchange_all_reduce(me, 2); });
  parts[0].program.push_back(parts[0].program.back());
  EXPECT_EQ(fault_of(Collective::all_reduce, parts),
            "wrong chunk: rank 0, step 3 (add scratch chunk 1 to out chunk 0) adds twice the data of rank 1");
}

TEST(Verify, rejects_sums_of_different_chunks) {
  auto parts = ring(4);
  for (Step& step : parts[2].program)
    if (step.op == Op::send && step.src.first == 1) step.src = out(0);
  EXPECT_THAT(fault_of(Collective::all_reduce, parts), StartsWith("wrong chunk: "));
  EXPECT_THAT(fault_of(Collective::all_reduce, pair_of({Step::reduce(out(0), out(1))}, {})),
              HasSubstr("mixes chunks 0 and 1"));
}

TEST(Verify, rejects_data_in_the_wrong_place) {
  auto parts = parts_of(3, [](Rank me) { return direct_all_gather(me, 3); });
  for (Step& step : parts[0].program)
    if (step.op == Op::recv) step.dst.first = 3 - step.dst.first;  // swaps the places of ranks 1 and 2
  EXPECT_EQ(fault_of(Collective::all_gather, parts),
            "wrong chunk: rank 0's out chunk 1 does not hold the data of rank 1 alone");
}

TEST(Verify, rejects_reading_what_nobody_has_written) {
  EXPECT_THAT(fault_of(Collective::all_reduce, pair_of({Step::reduce(out(0), scratch(1, 0))}, {})),
              HasSubstr("reads what nobody has written"));
  const auto idle = parts_of(2, [](Rank me) { return Part{.rank = me, .shape = {{1, 0, 0}}}; });
  EXPECT_EQ(fault_of(Collective::broadcast, idle, 1), "wrong chunk: rank 0's out chunk 0 holds nothing");
}

TEST(Verify, rejects_scratch_read_in_other_pieces_than_written) {
  EXPECT_THAT(
      fault_of(Collective::all_reduce,
               pair_of({Step::copy(scratch(0, 0, 2), out(0, 2)), Step::copy(out(1), scratch(1, 1))}, {})),
      HasSubstr("reads other pieces of scratch than were written"));
}

TEST(Verify, rejects_scratch_that_stands_for_another_chunk) {
  EXPECT_THAT(fault_of(Collective::all_reduce, pair_of({Step::copy(scratch(0, 0), out(1))}, {})),
              HasSubstr("is given chunk 1"));
}

TEST(Verify, rejects_writing_the_input) {
  auto parts = parts_of(2, [](Rank me) { return direct_all_to_all(me, 2); });
  parts[1].program.push_back(Step::copy(in(0), in(1)));
  EXPECT_THAT(fault_of(Collective::all_to_all, parts), HasSubstr("writes the input"));
}

TEST(Verify, rejects_a_reduce_that_changes_another_rank_than_the_root) {
  const auto parts = parts_of(2, [](Rank me) { return ring_all_reduce(me, 2); });
  EXPECT_EQ(fault_of(Collective::reduce, parts, 0),
            "wrong chunk: rank 1's out chunk 0 does not hold the data of rank 1 alone");
}

TEST(Verify, rejects_results_whose_bits_may_differ) {
  const auto parts = parts_of(2, [](Rank me) {
    return Part{.rank = me,
                .shape = {{1, 0, 1}},
                .program = {Step::send(1 - me, out(0)), Step::recv(1 - me, scratch(0, 0)),
                            Step::reduce(out(0), scratch(0, 0), true)}};
  });
  EXPECT_EQ(fault_of(Collective::all_reduce, parts),
            "different sums: ranks 0 and 1 add up chunk 0 in different orders");
}

TEST(Verify, rejects_a_wrong_mark_of_the_last_reduction) {
  auto parts = ring(3);
  parts[0].program[find(parts[0].program, Op::reduce)].last = true;
  EXPECT_THAT(fault_of(Collective::all_reduce, parts), HasSubstr("is marked last too early"));
  parts = ring(3);
  parts[0].program[find(parts[0].program, Op::reduce, 1)].last = false;
  EXPECT_THAT(fault_of(Collective::all_reduce, parts), HasSubstr("completes the sum but is not marked last"));
}

TEST(Verify, names_a_lost_message) {
  auto parts = ring(3);
  parts[2].program.push_back(Step::send(0, out(1)));
  EXPECT_EQ(fault_of(Collective::all_reduce, parts),
            "lost message: rank 2, step 10 (send out chunk 1 to rank 0) is never received");
}

TEST(Verify, names_a_message_waited_for_in_vain) {
  auto parts = ring(3);
  parts[2].program.push_back(Step::recv(1, out(1)));
  EXPECT_EQ(
      fault_of(Collective::all_reduce, parts),
      "stuck: rank 2, step 10 (receive out chunk 1 from rank 1) waits for a message that is never sent");
}

TEST(Verify, names_who_waits_for_whom_in_a_deadlock) {
  // Both want to overwrite the chunk they are sending, so neither can receive before the other has.
  const auto parts = parts_of(2, [](Rank me) {
    return Part{.rank = me,
                .shape = {{1, 0, 0}},
                .program = {Step::send(1 - me, out(0)), Step::recv(1 - me, out(0))}};
  });
  EXPECT_EQ(fault_of(Collective::all_reduce, parts),
            "stuck: these wait for each other: rank 0, step 0 (send out chunk 0 to rank 1); "
            "rank 1, step 0 (send out chunk 0 to rank 0)");
}

TEST(Verify, rejects_messages_of_different_length) {
  const auto parts = pair_of({Step::send(1, out(0, 2))}, {Step::recv(0, scratch(0, 0))});
  EXPECT_EQ(fault_of(Collective::all_reduce, parts),
            "wrong chunk: rank 1, step 0 (receive scratch chunk 0 from rank 0) is given 2 chunks");
}

TEST(Verify, rejects_malformed_programs) {
  EXPECT_THAT(fault_of(Collective::all_reduce, pair_of({Step::send(2, out(0))}, {})),
              HasSubstr("names a peer there isn't"));
  EXPECT_THAT(fault_of(Collective::all_reduce, pair_of({Step::send(1, out(2))}, {})),
              HasSubstr("names a chunk there isn't"));
  auto parts = ring(2);
  parts[1].shape.chunks[kOut] = 3;
  EXPECT_EQ(fault_of(Collective::all_reduce, parts),
            "malformed: ranks 0 and 1 divide their buffers differently");
  EXPECT_THAT(fault_of(Collective::all_gather, ring(2)),
              StartsWith("malformed: rank 0 has 0 chunks in and 2 out"));
  std::swap(parts[0], parts[1]);
  EXPECT_EQ(fault_of(Collective::all_reduce, parts), "malformed: part 0 is that of rank 1");
}

}  // namespace
}  // namespace gradwire
