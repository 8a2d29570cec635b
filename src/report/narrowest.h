// What holds a collective up, in words.
#pragma once

#include <string>
#include <string_view>

#include "predict/nccl/narrowest.h"

namespace gradwire {

// "PCIe slot of GPU0, both ways: crossed 2 times by every byte"; "network: 4 x 100 Gbit/s EFA, 47.2 GB/s"; empty when nothing is
// known of it.
std::string to_words(const Narrowest&);

std::string_view to_words(ResourceClass);  // "a GPU's PCIe slot, both ways"

}  // namespace gradwire
