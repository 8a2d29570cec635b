// Bus bandwidth by size: the table that nccl-tests prints, or the lines of NCCL's inspector. Pure functions.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/collective.h"
#include "base/units.h"

namespace gradwire {

struct NcclTestRow {
  Bytes bytes = 0;
  double time_us = 0, busbw_gbps = 0;  // out of place
  int line = 0;
};

struct NcclTestTable {
  std::string file;
  int ranks = 0;    // lines "#  Rank  0 ..."; 0: not shown
  int hosts = 0;    // that those lines name; 0: not shown
  std::string gpu;  // as those lines name it
  // By the name of the test, else by whether it reduces: all-reduce is what people run. Absent: another, not said which.
  std::optional<Collective> collective;
  std::vector<NcclTestRow> rows;
  int wrong_line =
      0;  // the first that says that values came out wrong: a row, or the line below all; 0: none
  std::string wrong_words = {};  // what it says: "Out of bounds values", "#wrong 12 at 8 B"
  Bytes asked = 0;               // the largest size it was to come to: "maxBytes 134217728"; 0: not shown
};

// Rows of its table, whose heading was left out.
bool looks_like_nccl_rows(std::string_view text);
NcclTestTable parse_nccl_tests(std::string_view text, const std::string& name);

// The same of NCCL's inspector plugin: JSON lines, of which its all-reduces are taken. Lines that are none are left out.
NcclTestTable parse_inspector(std::string_view lines, const std::string& name);

}  // namespace gradwire
