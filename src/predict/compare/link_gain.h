// What a link gains, and where that lies. Whatever is not known for sure (how long computing takes, how far the collectives of
// either machine are off, whether host memory hides them, slots that nobody stated) is a doubt, and a step is solved for the world
// that each doubt describes. So an end of the range is a gain that a machine can have: a link that only adds never costs.
#pragma once

#include <optional>
#include <string>

#include "predict/compare/compare.h"

namespace gradwire {

// Slots that nobody stated, as other boxes have them: two contenders, and what is said of them.
struct OtherSlots {
  Contender better, worse;
  std::string words;
};

// The node in those slots; nothing where they are stated.
std::optional<NodeSpec> in_other_slots(const Machine&);
std::string other_slots_words(const Machine&);  // "slots are taken as x8 each, with x16", and then a gain

std::optional<OtherSlots> other_slots(const Contender& better, const Contender& worse, const StepOptions&);

// The same computing on the wires of both; `other` are these wires in other slots.
struct LinkQuestion {
  const Workload& workload;
  const Contender &better, &worse;
  const std::optional<OtherSlots>& other;
  const StepOptions& options;
  const StepModel& model;
};

// With the range that holds eight of ten.
Effect link_gain(const LinkQuestion&);

// In those other slots.
double gain_in_other_slots(const LinkQuestion&);

}  // namespace gradwire
