#include "train/model_state.h"

#include <cstring>

#include "base/error.h"
#include "base/text.h"
#include "train/tensor_bytes.h"

namespace gradwire {
namespace {

constexpr std::size_t kLargeBytes = std::size_t{1} << 20;

std::string describe(const char* what, const NamedTensor& named) {
  const auto& [name, tensor] = named;
  std::vector<std::string> sizes, strides;
  for (const auto size : tensor.sizes()) sizes.push_back(fmt::format("{}", size));
  for (const auto stride : tensor.strides()) strides.push_back(fmt::format("{}", stride));
  return fmt::format("{} {}: {}[{}]{}{}", what, name, c10::toString(tensor.scalar_type()), join(sizes, ", "),
                     tensor.is_contiguous() ? "" : fmt::format(" with strides {}", join(strides, ", ")),
                     tensor.requires_grad() || *what == 'b' ? "" : ", frozen");
}

std::vector<std::string> describe(const ModelTensors& model) {
  std::vector<std::string> lines;
  for (const auto& parameter : model.parameters) lines.push_back(describe("parameter", parameter));
  for (const auto& buffer : model.buffers) lines.push_back(describe("buffer", buffer));
  return lines;
}

// Bytes between ranks, on whatever memory the communicator takes.
std::string broadcast_text(std::string text, Communicator& communicator, torch::Device device, Rank root) {
  auto length = torch::tensor(static_cast<std::int64_t>(text.size())).to(device);
  communicator.run(broadcast(memory_of(length), DType::i64, root));
  auto bytes = torch::empty({length.item<std::int64_t>()}, torch::kUInt8);
  if (communicator.rank() == root) std::memcpy(bytes.data_ptr(), text.data(), text.size());
  bytes = bytes.to(device);
  if (bytes.numel() != 0) communicator.run(broadcast(memory_of(bytes), DType::u8, root));
  bytes = bytes.to(torch::kCPU);
  return {static_cast<const char*>(bytes.data_ptr()), static_cast<std::size_t>(bytes.numel())};
}

std::string difference(const std::vector<std::string>& mine, const std::vector<std::string>& theirs,
                       Rank rank) {
  for (std::size_t i = 0; i < std::max(mine.size(), theirs.size()); ++i) {
    const std::string here = i < mine.size() ? mine[i] : "nothing more";
    const std::string there = i < theirs.size() ? theirs[i] : "nothing more";
    if (here != there)
      return fmt::format(
          "the ranks' models differ: rank {} has {} where rank 0 has {}; every rank must build the "
          "same model",
          rank, here, there);
  }
  return {};
}

}  // namespace

void agree_on_model(const ModelTensors& model, Communicator& communicator, torch::Device device) {
  const auto mine = describe(model);
  const std::string text = broadcast_text(join(mine, "\n"), communicator, device, 0);
  std::vector<std::string> theirs;
  if (!text.empty())
    for (const auto line : split(text, '\n')) theirs.emplace_back(line);
  const std::string wrong = difference(mine, theirs, communicator.rank());
  // The first rank that differs tells all.
  auto first =
      torch::tensor(wrong.empty() ? communicator.size() : communicator.rank(), torch::kInt32).to(device);
  all_reduce(communicator, first, Reduction::min);
  if (const Rank rank = first.item<int>(); rank < communicator.size())
    throw ConfigError(broadcast_text(wrong, communicator, device, rank));
}

TensorBroadcast::TensorBroadcast(std::vector<NamedTensor> tensors, Communicator& communicator)
    : tensors_(std::move(tensors)), communicator_(communicator) {
  std::size_t bytes = 0;
  for (const auto& [name, tensor] : tensors_) {
    const bool large = is_dense(tensor) && static_cast<std::size_t>(tensor.nbytes()) >= kLargeBytes;
    (large ? large_ : small_).push_back(tensor);
    if (!large) bytes += padded_bytes(tensor);
  }
  if (bytes == 0) return;
  packed_ = std::make_shared<Memory>(communicator.allocate(bytes));
  std::size_t offset = 0;
  for (const auto& tensor : small_) {
    const auto place = packed_->bytes().subspan(offset, static_cast<std::size_t>(tensor.nbytes()));
    places_.push_back(tensor_in(packed_, place, tensor));
    offset += padded_bytes(tensor);
  }
}

void TensorBroadcast::from(Rank root) {
  const torch::NoGradGuard no_grad;
  for (const auto& tensor : large_) communicator_.run(broadcast(memory_of(tensor), DType::u8, root));
  if (packed_) send_packed(root);
}

void TensorBroadcast::send_packed(Rank root) {
  const bool sends = communicator_.rank() == root;
  for (std::size_t i = 0; i < small_.size() && sends; ++i) places_[i].copy_(small_[i]);
  communicator_.run(broadcast(packed_->bytes(), DType::u8, root));
  for (std::size_t i = 0; i < small_.size() && !sends; ++i) small_[i].copy_(places_[i]);
}

}  // namespace gradwire
