#include "base/error.h"
#include "train/data/dataset.h"

namespace gradwire {
namespace {

// A few samples of noise, over and over.
class Generated : public Dataset {
 public:
  Generated(torch::Tensor inputs, torch::Tensor targets)
      : inputs_(std::move(inputs)), targets_(std::move(targets)) {}
  std::int64_t size() const override { return 1 << 16; }
  Batch get(std::span<const std::int64_t> indices) override {
    const auto all = torch::tensor(at::ArrayRef<std::int64_t>(indices.data(), indices.size()));
    const auto chosen = all.remainder(inputs_.size(0));
    return {inputs_.index_select(0, chosen), targets_.index_select(0, chosen)};
  }

 private:
  const torch::Tensor inputs_, targets_;
};

std::vector<std::int64_t> sample_shape(const TrainableModel& model, std::int64_t resnet_side) {
  if (model.kind == ModelKind::mlp) return {1024};
  if (model.kind == ModelKind::convnet) return {1, 28, 28};
  return {3, resnet_side, resnet_side};
}

std::int64_t classes_of(const TrainableModel& model) {
  if (model.kind == ModelKind::mlp) return 1024;
  return model.kind == ModelKind::convnet ? 10 : 1000;
}

std::unique_ptr<Dataset> make_generated(const TrainableModel& model, const DataOptions& options) {
  constexpr std::int64_t kSamples = 64;
  auto random = at::detail::createCPUGenerator(options.seed);
  const auto whole = torch::TensorOptions().dtype(torch::kLong);
  if (takes_text(model)) {
    const auto tokens =
        torch::randint(0, model.shape.vocabulary, {kSamples, options.sequence}, random, whole);
    const auto targets =
        torch::randint(0, model.shape.vocabulary, {kSamples, options.sequence}, random, whole);
    return std::make_unique<Generated>(tokens, targets);
  }
  auto shape = sample_shape(model, options.image);
  shape.insert(shape.begin(), kSamples);
  const auto images = torch::randn(shape, random, torch::TensorOptions().dtype(torch::kFloat32));
  return std::make_unique<Generated>(images, torch::randint(0, classes_of(model), {kSamples}, random, whole));
}

Data make_images(const std::vector<std::int64_t>& shape) {
  constexpr std::int64_t kTrain = 4000, kTest = 500;  // a few thousand are painted in a fraction of a second
  const FaceSplit faces = split_families(find_faces());
  return {make_digits(faces.train, kTrain, shape), make_digits(faces.test, kTest, shape),
          fmt::format("printed digits in {} faces, tested on {} it has not seen", faces.train.size(),
                      faces.test.size())};
}

}  // namespace

Data make_data(const TrainableModel& model, const DataOptions& options) {
  if (!options.real) return {make_generated(model, options), nullptr, "generated noise"};
  if (!takes_text(model)) return make_images(sample_shape(model, 64));
  const TextOptions wanted{options.sequence, model.kind == ModelKind::bert, model.shape.vocabulary};
  const std::string text = options.text.empty() ? read_licences() : read_text(options.text);
  return {make_text(text, Part::train, wanted), make_text(text, Part::test, wanted),
          options.text.empty() ? "licence texts" : options.text};
}

}  // namespace gradwire
