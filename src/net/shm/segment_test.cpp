#include "net/shm/segment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <set>
#include <vector>

#include "base/error.h"
#include "base/files.h"

namespace gradwire {
namespace {

using testing::HasSubstr;
using testing::Not;

std::uintptr_t address(const Segment& segment) {
  return reinterpret_cast<std::uintptr_t>(segment.bytes().data());
}

// Runs `work` in a child process and returns its exit code.
template <typename Work>
int in_child(Work work) {
  const pid_t child = fork();
  if (child == 0) _exit(work());
  int status = -1;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(Segment, is_zeroed_and_page_aligned) {
  const Segment segment = Segment::create(10000, 0);
  EXPECT_EQ(segment.bytes().size(), 10000u);
  EXPECT_EQ(address(segment) % 4096, 0u);
  EXPECT_TRUE(std::ranges::all_of(segment.bytes(), [](std::byte b) { return b == std::byte{0}; }));
}

TEST(Segment, shows_the_same_memory_to_everyone_who_opens_it) {
  const Segment mine = Segment::create(100, 0);
  const Segment theirs = Segment::open(mine.name(), 1);
  EXPECT_NE(mine.bytes().data(), theirs.bytes().data());
  theirs.bytes()[99] = std::byte{7};
  EXPECT_EQ(mine.bytes()[99], std::byte{7});
}

TEST(Segment, is_opened_by_another_process) {
  const Segment mine = Segment::create(8192, 0);
  const SegmentName name = SegmentName::parse(mine.name().text());
  EXPECT_EQ(in_child([&] {
              const Segment theirs = Segment::open(name, 3);
              theirs.bytes()[8191] = std::byte{42};
              return 0;
            }),
            0);
  EXPECT_EQ(mine.bytes()[8191], std::byte{42});
}

TEST(Segment, survives_being_moved_and_empty) {
  Segment first = Segment::create(0, 0);
  EXPECT_TRUE(first.bytes().empty());
  Segment second = std::move(first);
  first = Segment::create(1, 0);
  second = std::move(first);
  EXPECT_EQ(second.bytes().size(), 1u);
}

TEST(Segment, of_another_colour_never_lies_a_multiple_of_2_MiB_away) {
  std::vector<Segment> segments;
  std::set<std::uintptr_t> places;
  for (int colour = 0; colour < Segment::kColours; ++colour) {
    segments.push_back(Segment::create(1, colour));
    places.insert(address(segments.back()) % (2 << 20));
  }
  EXPECT_EQ(places.size(), static_cast<std::size_t>(Segment::kColours));
}

TEST(Segment, has_all_its_pages_present_on_both_sides) {
  const Segment mine = Segment::create(1 << 20, 0);
  const Segment theirs = Segment::open(mine.name(), 1);
  for (const Segment* segment : {&mine, &theirs}) {
    std::vector<unsigned char> present((1 << 20) / 4096);
    ASSERT_EQ(mincore(segment->bytes().data(), 1 << 20, present.data()), 0);
    EXPECT_TRUE(std::ranges::all_of(present, [](unsigned char page) { return (page & 1) != 0; }));
  }
}

TEST(Segment, has_no_name_and_is_its_users_alone) {
  const Segment mine = Segment::create(1, 0);
  struct stat status {};
  ASSERT_EQ(fstat(mine.name().fd, &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600u);
  EXPECT_EQ(status.st_nlink, 0u);
  EXPECT_NE(ftruncate(mine.name().fd, 0), 0) << "a peer could make this rank die of a bus error";
}

TEST(Segment, is_refused_when_the_process_number_was_used_again) {
  const Segment mine = Segment::create(1, 0);
  SegmentName stale = mine.name();
  stale.token[1] ^= 1;
  EXPECT_THROW(Segment::open(stale, 0), TransportError);
  stale = mine.name();
  stale.fd = 0;
  EXPECT_THROW(Segment::open(stale, 0), TransportError);
  stale = mine.name();
  stale.bytes = 1 << 20;
  EXPECT_THROW(Segment::open(stale, 0), TransportError);
}

TEST(Segment, that_cannot_be_reached_says_what_to_do) {
  SegmentName gone{.pid = 0x7fffffff, .fd = 3, .bytes = 1};
  try {
    Segment::open(gone, 0);
    FAIL();
  } catch (const TransportError& error) {
    EXPECT_THAT(error.what(), HasSubstr("process 2147483647"));
    EXPECT_THAT(error.what(), HasSubstr("--pid=host"));
    EXPECT_THAT(error.what(), HasSubstr("GRADWIRE_HOST"));
  }
}

TEST(Segment, name_is_refused_when_it_is_not_one) {
  for (const char* text : {"", "1 2 3 4 5", "1 2 3 4 5 x", "1 2 3 4 5 6 7", "1 2 3 4 5 6 "})
    EXPECT_THROW(SegmentName::parse(text), ConfigError) << text;
}

TEST(Segment, leaves_no_descriptor_and_no_mapping_behind) {
  const auto descriptors = [] {
    return std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {});
  };
  const auto before = descriptors();
  for (int round = 0; round < 200; ++round) {
    const Segment mine = Segment::create(1 << 16, round);
    const Segment theirs = Segment::open(mine.name(), round + 1);
  }
  EXPECT_EQ(descriptors(), before);
  EXPECT_THAT(read_file("/proc/self/maps"), Not(HasSubstr("memfd:gradwire")));
}

}  // namespace
}  // namespace gradwire
