#include "base/error.h"
#include "train/data/dataset.h"

namespace gradwire {
namespace {

constexpr std::int64_t kClasses = 10;

class Digits : public Dataset {
 public:
  // Copy by copy over all faces, so that any few hundred in a row have every face and every digit.
  Digits(std::span<const FontFace> faces, int copies, std::vector<std::int64_t> shape)
      : shape_(std::move(shape)), side_(shape_.size() == 1 ? 32 : shape_[1]) {
    std::vector<torch::Tensor> of_faces;
    for (std::size_t i = 0; i < faces.size(); ++i) {
      auto pixels = paint_digits(faces[i], {.side = static_cast<int>(side_), .copies = copies, .seed = i});
      of_faces.push_back(
          torch::from_blob(pixels.data(), {copies, kClasses, side_, side_}, torch::kUInt8).clone());
    }
    images_ = torch::stack(of_faces, 1).flatten(0, 2);
  }

  std::int64_t size() const override { return images_.size(0); }

  Batch get(std::span<const std::int64_t> indices) override {
    const auto chosen = torch::tensor(at::ArrayRef<std::int64_t>(indices.data(), indices.size()));
    return {in_shape(images_.index_select(0, chosen)), chosen.remainder(kClasses)};
  }

 private:
  // Ink at 1 and paper at -0.5, so that inputs are centred.
  torch::Tensor in_shape(const torch::Tensor& images) const {
    const auto values = images.to(torch::kFloat32) * (1.5 / 255) - 0.5;
    return shape_.size() == 1 ? values.flatten(1)
                              : values.unsqueeze(1).expand({-1, shape_[0], -1, -1}).contiguous();
  }

  const std::vector<std::int64_t> shape_;
  const std::int64_t side_;
  torch::Tensor images_;
};

}  // namespace

std::unique_ptr<Dataset> make_digits(std::span<const FontFace> faces, std::int64_t count,
                                     std::vector<std::int64_t> shape) {
  const bool image = shape.size() == 3 && shape[0] > 0 && shape[1] > 0 && shape[1] == shape[2];
  if (!image && shape != std::vector<std::int64_t>{1024})
    throw ConfigError("digits come as {1024} or {channels, side, side}");
  if (faces.empty()) throw ConfigError("digits need a font to be painted from");
  const auto once = kClasses * static_cast<std::int64_t>(faces.size());
  return std::make_unique<Digits>(faces, static_cast<int>(std::max<std::int64_t>(1, count / once)),
                                  std::move(shape));
}

}  // namespace gradwire
