#include "trace/rehearsal.h"

#include <gtest/gtest.h>

#include "trace/recorder.h"

namespace gradwire {
namespace {

TEST(Rehearsal, calls_are_read_as_they_were_written) {
  for (const auto& call : {RehearsedCall{Collective::all_reduce, true, "tp-0-1"},
                           RehearsedCall{Collective::reduce_scatter, false, "world"},
                           RehearsedCall{Collective::all_gather, false, "dp-0-1", true},
                           RehearsedCall{Collective::all_gather, true, "dp-0-1", true},
                           RehearsedCall{Collective::recv, true, "pipe3-1-0"}}) {
    Recorder recorder(4);
    const std::string name = name_of(call);
    recorder.add_collective(name.c_str(), 12, 64, {1, 2, 2});
    const auto spans = recorder.spans(0);
    EXPECT_EQ(find_rehearsed(spans.at(0).name), call) << spans.at(0).name;
    EXPECT_TRUE(is_rehearsal({"test", 1, spans}));
  }
}

TEST(Rehearsal, what_a_run_records_is_none) {
  for (const char* name :
       {"bucket 3", "gather 0", "send activation 4", "rehearsed", "rehearsed dance among us 1"})
    EXPECT_FALSE(find_rehearsed(name)) << name;
}

}  // namespace
}  // namespace gradwire
