// An answer in words. Pure functions.
#pragma once

#include <string>

#include "predict/compare/compare.h"

namespace gradwire {

// The same computing on the better machine's wires and on the worse one's.
struct Rewired {
  const Contender& on_better;
  const Contender& on_worse;
};

// Collectives take the same way and the same time: then they err alike too.
bool same_way(const Contender&, const Contender&);

// Why, in one clause: the factors where there are several, then what each way does with the gradients.
std::string reason_of(const Answer&, const Contender& better, const Rewired&);

// Yes, no, it does not matter; or that it can't be told, where the range says so.
std::string sentence_of(const Workload&, const Answer&);

}  // namespace gradwire
