// Slots that nobody stated, as other boxes have them: a machine in which they are assumed may be this one.
#pragma once

#include <optional>
#include <string>

#include "topo/machine.h"

namespace gradwire {

// Two cards behind each PCIe switch instead of none; all lanes for each of two cards instead of half of a desktop's. Nothing where
// slots are stated, or none other are usual.
std::optional<Machine> in_other_slots(const Machine&);

// How the slots of a machine that may be in others were taken, and what they may be instead.
struct OtherSlots {
  int lanes = 0, all_lanes = 0;  // of each card; 0: with no PCIe switch that two cards share, and with one
  std::string machine = {};      // whose slots; empty: those of all that are compared
};
OtherSlots other_slots_of(const Machine&);

}  // namespace gradwire
