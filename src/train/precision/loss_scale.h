// The factor that keeps small float16 gradients from becoming zero: losses are multiplied by it, gradients divided,
// and a step whose gradients overflowed is left out. It falls after each of those and grows after many good steps,
// with PyTorch's GradScaler's numbers. A value without torch.
#pragma once

namespace gradwire {

struct LossScaleOptions {
  double initial = 65536, growth = 2, backoff = 0.5;
  int growth_interval = 2000;  // good steps in a row before it grows
};

class LossScale {
 public:
  // Throws ConfigError unless initial > 0, growth > 1, 0 < backoff < 1 and the interval is at least 1.
  explicit LossScale(const LossScaleOptions& options = {});

  double value() const { return value_; }
  int good_steps() const { return good_steps_; }  // in a row, since it last changed
  int skipped() const { return skipped_; }        // steps left out in all

  void update(bool overflowed);  // after each step, whether or not it was left out
  void restore(double value, int good_steps);

 private:
  LossScaleOptions options_;
  double value_;
  int good_steps_ = 0, skipped_ = 0;
};

}  // namespace gradwire
