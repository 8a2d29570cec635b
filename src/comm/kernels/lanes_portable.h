// The widths of the variant that runs everywhere: 16 bytes, which every 64-bit processor has.
#pragma once

#include "comm/kernels/lanes.h"

namespace gradwire {
namespace {

constexpr int kLaneBytes = 16;

}  // namespace
}  // namespace gradwire
