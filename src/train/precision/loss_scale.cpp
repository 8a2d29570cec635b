#include "train/precision/loss_scale.h"

#include <limits>

#include "base/error.h"

namespace gradwire {

LossScale::LossScale(const LossScaleOptions& options) : options_(options), value_(options.initial) {
  if (!(options.initial > 0) || !(options.growth > 1) || !(options.backoff > 0) || !(options.backoff < 1) ||
      options.growth_interval < 1)
    throw ConfigError(
        fmt::format("a loss scale of {} that grows by {} after {} steps and falls by {}: it begins above 0, "
                    "grows by more than 1 and falls by a factor between 0 and 1",
                    options.initial, options.growth, options.growth_interval, options.backoff));
}

void LossScale::update(bool overflowed) {
  if (overflowed) {
    value_ *= options_.backoff;
    good_steps_ = 0;
    ++skipped_;
    return;
  }
  if (++good_steps_ < options_.growth_interval) return;
  good_steps_ = 0;
  // Losses are multiplied in float32: beyond its range nothing would be left of them.
  if (value_ * options_.growth <= static_cast<double>(std::numeric_limits<float>::max()))
    value_ *= options_.growth;
}

void LossScale::restore(double value, int good_steps) {
  if (!(value > 0) || good_steps < 0)
    throw ConfigError(fmt::format("a loss scale of {} after {} good steps", value, good_steps));
  value_ = value;
  good_steps_ = good_steps;
}

}  // namespace gradwire
