// Reads measured records, one JSON object a line. Unknown fields are ignored; an unknown value of a closed
// list, a wrong type or a number that can't be is a ConfigError naming file, line, field and what would be
// right.
#pragma once

#include <filesystem>
#include <string_view>
#include <vector>

#include "predict/records/record.h"

namespace gradwire {

std::vector<Record> read_records(const std::filesystem::path&);
std::vector<Record> parse_records(std::string_view text, std::string_view where);

// The machine of a collective record, with the GPUs that took part.
Machine machine_of(const Record&);

}  // namespace gradwire
