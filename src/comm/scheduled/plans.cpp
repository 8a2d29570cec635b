#include "comm/scheduled/plans.h"

#include <algorithm>

namespace gradwire {
namespace {

bool has_root(Collective kind) { return kind == Collective::broadcast || kind == Collective::reduce; }

}  // namespace

const Plan& Plans::get(const Problem& problem, const Choice& choice) {
  const Rank root = has_root(problem.kind) ? problem.root : 0;
  const auto found = std::ranges::find_if(kept_, [&](const Kept& kept) {
    return kept.kind == problem.kind && kept.choice == choice && kept.root == root;
  });
  if (found != kept_.end()) {
    kept_.splice(kept_.begin(), kept_, found);
  } else {
    kept_.push_front({problem.kind, choice, root, make_plan(make_part(choice, problem, me_))});
    if (kept_.size() > most_) kept_.pop_back();
  }
  return kept_.front().plan;
}

}  // namespace gradwire
