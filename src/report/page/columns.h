// Spans as columns of numbers, small enough to stand in a page: each column is delta-coded (a value less the one before
// it), written little endian, deflated without a header, and spelt in base64. Pure.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "report/page/page_data.h"

namespace gradwire {

nlohmann::json columns_json(std::span<const DrawnSpan>);

// Raw deflate (RFC 1951). By zlib in the command; stored as it is where there is no zlib.
std::string deflate_raw(std::string_view bytes);

std::string base64(std::string_view bytes);

}  // namespace gradwire
