// Everything `gradwire validate` found, before it is printed.
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "predict/records/record.h"
#include "predict/validation/summary.h"

namespace gradwire {

struct Validation {
  std::vector<ValidationPoint> points;     // each predicted without its platform
  std::vector<ValidationPoint> own_sweep;  // collectives again, with the other rows of their own sweep given
  std::vector<ValidationPoint>
      by_group;  // collectives again, leaving out their group instead of their platform
  std::vector<ValidationPoint> by_kind, by_generation;  // again, leaving out whole kinds of machines, of GPUs
  std::vector<std::string> unread = {};                 // what reading says of lines that hold no record
  std::vector<Skipped> skipped;                         // what could not be predicted, and why
  std::map<std::string, Doubt> doubts;  // what speaks against records that do not count, by id
};

// `thorough` adds own_sweep, by_group, by_kind and by_generation, which take some seconds.
Validation validate(std::span<const Record>, bool thorough);

}  // namespace gradwire
