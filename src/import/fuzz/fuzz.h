// What every reader's target is: it gives its way in, and fuzz.cpp has libFuzzer's.
#pragma once

#include <string_view>

void read_all_of(std::string_view text);
