#include "predict/parallel/errors.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace gradwire {
namespace {

double weight_of(std::span<const CountedError> errors) {
  double sum = 0;
  for (const auto& one : errors) sum += one.weight;
  return sum;
}

double off(double predicted, double measured) { return predicted / measured - 1; }

}  // namespace

double mean_of(std::span<const CountedError> errors) {
  double sum = 0;
  for (const auto& one : errors) sum += one.weight * std::abs(one.error);
  return errors.empty() ? 0 : sum / weight_of(errors);
}

double quantile_of(std::vector<CountedError> errors, double share) {
  constexpr double kDust = 1e-9;  // of summing weights
  if (errors.empty()) return 0;
  for (auto& one : errors) one.error = std::abs(one.error);
  std::ranges::sort(errors, {}, &CountedError::error);
  double left = share * weight_of(errors);
  std::size_t at = 0;
  while (at + 1 < errors.size() && (left -= errors[at].weight) > kDust) ++at;
  const bool between = at + 1 < errors.size() && left > -kDust;
  return between ? (errors[at].error + errors[at + 1].error) / 2 : errors[at].error;
}

namespace {

// Errors of predictions, and of what needs no physics, by what they are of.
class ErrorBook {
 public:
  void add(const ErrorPart& part, double error, double floor, double weight = 1) {
    auto& sums = sums_[part];
    sums.errors.push_back({error, weight});
    sums.floors.push_back({floor, weight});
  }

  std::vector<ErrorLine> lines() const {
    std::vector<ErrorLine> lines;
    for (const auto& [part, one] : sums_)
      lines.push_back({part, static_cast<int>(std::lround(weight_of(one.errors))), mean_of(one.errors),
                       quantile_of(one.errors, 0.5), mean_of(one.floors)});
    return lines;
  }

 private:
  struct Sums {
    std::vector<CountedError> errors, floors;
  };
  std::map<ErrorPart, Sums> sums_;
};

void add_steps(ErrorBook& book, const ParallelPoint& point) {
  const auto& run = *point.run;
  const auto step = [&](GivenRun given) { return ErrorPart{.given = given, .moe = run.moe}; };
  const double alone = off(point.alone, run.measured), floor = off(point.alone_floor, run.measured);
  book.add(step(GivenRun::nothing), alone, floor);
  if (point.given)
    book.add(step(GivenRun::nearest), off(*point.given, run.measured), off(*point.given_floor, run.measured));
  for (const auto& other : point.others)
    book.add(step(GivenRun::any_other), off(other.step, run.measured), off(other.floor, run.measured),
             1.0 / double(point.others.size()));
  book.add({.of = ErrorsOf::strategy, .name = run.strategy}, alone, floor);
  book.add({.of = ErrorsOf::source, .name = run.group}, alone, floor);
}

}  // namespace

std::vector<ErrorLine> summarize(const ParallelValidation& result) {
  ErrorBook book;
  for (const auto& point : result.points)
    if (point.run->quality == Quality::ok) add_steps(book, point);
  for (const auto& ratio : result.ratios) {
    const double error = off(ratio.predicted, ratio.measured), floor = off(1, ratio.measured);
    book.add({.of = ErrorsOf::ratio}, error, floor);
    book.add({.of = ErrorsOf::ratio, .name = std::string(name_of(ratio.what))}, error, floor);
    if (is_choice_of_plan(ratio.what)) book.add({.of = ErrorsOf::plan_ratio}, error, floor);
  }
  return book.lines();
}

}  // namespace gradwire
