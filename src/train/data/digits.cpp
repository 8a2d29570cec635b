#include "base/error.h"
#include "base/text.h"
#include "train/data/dataset.h"

namespace gradwire {
namespace {

// A line for each digit: which it is, then 8 x 8 pixels from 0 to G (16).
constexpr std::string_view kDigits =
#include "train/data/digits.inc"
    ;
constexpr int kSide = 8, kPixels = kSide * kSide, kDarkest = 16;

int value_of(char mark) { return mark <= '9' ? mark - '0' : mark - 'A' + 10; }

class Digits : public Dataset {
 public:
  Digits(Part part, std::vector<std::int64_t> shape) : shape_(std::move(shape)) {
    std::vector<float> pixels;
    std::vector<std::int64_t> classes;
    const auto lines = split(kDigits, '\n');
    for (std::size_t i = 0; i < lines.size(); ++i) {
      const bool test = i % 5 == 4;
      if (lines[i].size() != 1 + kPixels || test != (part == Part::test)) continue;
      classes.push_back(value_of(lines[i][0]));
      for (const char mark : lines[i].substr(1))
        pixels.push_back(static_cast<float>(value_of(mark)) / kDarkest);
    }
    const auto count = static_cast<std::int64_t>(classes.size());
    images_ = torch::tensor(pixels).view({count, 1, kSide, kSide});
    classes_ = torch::tensor(classes);
  }

  std::int64_t size() const override { return classes_.size(0); }

  Batch get(std::span<const std::int64_t> indices) override {
    const auto chosen = torch::tensor(at::ArrayRef<std::int64_t>(indices.data(), indices.size()));
    return {enlarge(images_.index_select(0, chosen)), classes_.index_select(0, chosen)};
  }

 private:
  // To the size a model wants, with ink at 1 and paper near -0.5, so that inputs are centred.
  torch::Tensor enlarge(const torch::Tensor& images) const {
    namespace f = torch::nn::functional;
    const bool flat = shape_.size() == 1;
    const std::int64_t side = flat ? 32 : shape_[1];
    const auto large = f::interpolate(images, f::InterpolateFuncOptions()
                                                  .size(std::vector<std::int64_t>{side, side})
                                                  .mode(torch::kBilinear)
                                                  .align_corners(false)) *
                           1.5 -
                       0.5;
    return flat ? large.flatten(1) : large.expand({-1, shape_[0], -1, -1}).contiguous();
  }

  const std::vector<std::int64_t> shape_;
  torch::Tensor images_, classes_;
};

}  // namespace

std::unique_ptr<Dataset> make_digits(Part part, std::vector<std::int64_t> shape) {
  if (shape.size() != 3 && shape != std::vector<std::int64_t>{1024})
    throw ConfigError("digits come as {1024} or {channels, side, side}");
  return std::make_unique<Digits>(part, std::move(shape));
}

}  // namespace gradwire
