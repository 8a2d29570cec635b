// Slots that nobody stated, as other boxes have them: a machine in which they are assumed may be this one.
#pragma once

#include <optional>
#include <string>

#include "topo/machine.h"

namespace gradwire {

// Two cards behind each PCIe switch instead of none; all lanes for each of two cards instead of half of a desktop's. Nothing where
// slots are stated, or none other are usual.
std::optional<Machine> in_other_slots(const Machine&);

// "slots are taken as x8 each, with x16", to be ended by what is so there. Of a machine that may be in others.
std::string other_slots_of(const Machine&);

}  // namespace gradwire
