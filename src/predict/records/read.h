// Reads measured records, one JSON object a line. Unknown fields are ignored; a wrong type or a number that
// can't be is a ConfigError naming file, line, field and what would be right. So is an unknown value of a
// closed list (a GPU nobody knows here), unless `skipped` is given: then that record alone is left out, and
// noted there with its id.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "predict/records/record.h"

namespace gradwire {

class Fields;

std::vector<Record> read_records(const std::filesystem::path&, std::vector<std::string>* skipped = nullptr);
std::vector<Record> parse_records(std::string_view text, std::string_view where,
                                  std::vector<std::string>* skipped = nullptr);

// The fields of kind "parallel", and one that it shares with "training".
ParallelRecord read_parallel(const Fields&);
std::optional<int> find_gradient_bytes(const Fields&);

// The machine of a collective record, with the GPUs that took part.
Machine machine_of(const Record&);

}  // namespace gradwire
