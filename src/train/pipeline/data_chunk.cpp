#include "train/pipeline/data_chunk.h"

#include <utility>

#include "train/model_state.h"
#include "train/precision/master_weights.h"

namespace gradwire {
namespace {

bool wants_gradients(const Chunk& chunk) {
  for (const auto& parameter : chunk.parameters())
    if (parameter.requires_grad()) return true;
  return false;
}

Bytes bytes_of_all(const std::vector<torch::Tensor>& tensors) {
  Bytes bytes = 0;
  for (const auto& tensor : tensors) bytes += static_cast<Bytes>(tensor.nbytes());
  return bytes;
}

// Every rank has all of it.
class WholeChunk final : public DataChunk {
 public:
  WholeChunk(std::shared_ptr<Chunk> chunk, Communicator& ranks, const ReplicaOptions& options)
      : chunk_(std::move(chunk)), named_(tensors_of_model(*chunk_).parameters) {
    DdpOptions ddp = options.ddp;
    ddp.broadcast_buffers = false;  // by whoever knows when a step begins
    for (const auto& [name, tensor] : named_) model_.push_back(tensor);
    std::vector<torch::Tensor> values;
    if (options.precision) {
      TensorBroadcast(named_, ranks).from(0);
      for (const auto& tensor : model_) values.push_back(tensor.detach());
      computes_ = computes_in(options, torch::kFloat32);
      chunk_->to(*computes_);
    }
    if (wants_gradients(*chunk_)) ddp_ = std::make_unique<DistributedDataParallel<Chunk>>(chunk_, ranks, ddp);
    if (options.precision) masters_.emplace(model_, std::move(values), *options.precision);
  }

  torch::Tensor forward(const torch::Tensor& input, bool last) override {
    give_back();
    const auto x = computes_ && input.is_floating_point() ? input.to(*computes_) : input;
    if (!ddp_) return chunk_->forward(x);
    if (last) return ddp_->forward(x);
    const auto quiet = ddp_->no_sync();
    return ddp_->forward(x);
  }

  void before_backward(bool) override {}

  void after_step() override {
    if (!masters_) return;
    masters_->take_gradients();
    stale_ = true;
  }

  void changed() override { stale_ = true; }
  std::vector<torch::Tensor> parameters() const override {
    return masters_ ? masters_->parameters() : model_;
  }

  std::vector<ParameterPiece> pieces() const override {
    const auto learnt = parameters();
    std::vector<ParameterPiece> all;
    for (std::size_t i = 0; i < learnt.size(); ++i)
      all.push_back({.name = named_[i].name,
                     .shape = learnt[i].sizes().vec(),
                     .values = learnt[i].detach().view({-1}),
                     .unit = static_cast<int>(i)});
    return all;
  }

  ChunkMemory memory() const override {
    const Bytes bytes = bytes_of_all(model_);
    ChunkMemory memory{.parts = ddp_ ? static_cast<int>(ddp_->buckets().size()) : 0,
                       .sent = bytes,
                       .parameters = bytes,
                       .gradients = bytes};
    if (masters_) memory.parameters += 2 * bytes_of_all(masters_->parameters());
    return memory;
  }

  void zero_grad() override {
    if (ddp_) ddp_->zero_grad();
    if (masters_)
      for (const auto& master : masters_->parameters()) master.mutable_grad().reset();
  }

  void set_trace(Recorder* trace) override {
    if (ddp_) ddp_->set_trace(trace);
  }

  std::vector<std::string> gradient_order() const override {
    return ddp_ ? ddp_->gradient_order() : std::vector<std::string>();
  }
  void restore_gradient_order(const std::vector<std::string>& order) override {
    if (ddp_) ddp_->restore_gradient_order(order);
  }

 private:
  // When the model is next used: an optimizer has changed the copies since.
  void give_back() {
    if (masters_ && std::exchange(stale_, false)) masters_->give_back();
  }

  const std::shared_ptr<Chunk> chunk_;
  const std::vector<NamedTensor> named_;
  std::vector<torch::Tensor> model_;  // of named_
  std::optional<torch::ScalarType> computes_;
  std::unique_ptr<DistributedDataParallel<Chunk>> ddp_;  // null: nothing is learnt
  std::optional<MasterWeights> masters_;
  bool stale_ = false;  // the model is not yet what the copies are
};

ShardOptions shard_options(const ReplicaOptions& options, const ChunkUnits& units) {
  ShardOptions made;
  made.stage = options.shard;
  made.compute_type = options.precision;
  made.broadcast_buffers = false;
  made.device = options.ddp.device;
  made.trace = options.ddp.trace;
  made.policy.unit_of = [units](const std::string& name) { return units.at(name.substr(0, name.find('.'))); };
  return made;
}

// Every rank has a share.
class SharedChunk final : public DataChunk {
 public:
  SharedChunk(std::shared_ptr<Chunk> chunk, Communicator& ranks, const ShardOptions& options)
      : elements_(count(*chunk)), type_(options.compute_type), sharded_(std::move(chunk), ranks, options) {}

  torch::Tensor forward(const torch::Tensor& input, bool) override { return sharded_.forward(input); }

  // Sharded gradients are added up or sent by what holds when they are made.
  void before_backward(bool last) override {
    if (last)
      quiet_.reset();
    else if (!quiet_)
      quiet_.reset(new ShardedNoSync(sharded_.no_sync()));
  }

  void after_step() override {}
  void changed() override { sharded_.parameters_changed(); }
  std::vector<torch::Tensor> parameters() const override { return sharded_.parameters(); }
  std::vector<ParameterPiece> pieces() const override { return gradwire::pieces(sharded_.core()); }

  ChunkMemory memory() const override {
    const auto held = sharded_.memory();
    const auto type = type_ ? *type_ : parameters().front().scalar_type();
    return {.parts = static_cast<int>(sharded_.units().size()),
            .sent = static_cast<Bytes>(elements_) * torch::elementSize(type),
            .parameters = held.parameters,
            .gathered = held.gathered,
            .gradients = held.gradients};
  }

  void zero_grad() override { sharded_.zero_grad(); }
  void set_trace(Recorder* trace) override { sharded_.set_trace(trace); }
  std::vector<std::string> gradient_order() const override { return {}; }
  void restore_gradient_order(const std::vector<std::string>&) override {}

 private:
  static std::int64_t count(const Chunk& chunk) {
    std::int64_t elements = 0;
    for (const auto& parameter : chunk.parameters()) elements += parameter.numel();
    return elements;
  }

  const std::int64_t elements_;
  const std::optional<torch::ScalarType> type_;
  ShardedDataParallel<Chunk> sharded_;
  std::unique_ptr<ShardedNoSync> quiet_;
};

}  // namespace

std::unique_ptr<DataChunk> make_data_chunk(std::shared_ptr<Chunk> chunk, Communicator& ranks,
                                           const ReplicaOptions& options, const ChunkUnits& units) {
  if (options.shard == 0 || !wants_gradients(*chunk))
    return std::make_unique<WholeChunk>(std::move(chunk), ranks, options);
  return std::make_unique<SharedChunk>(std::move(chunk), ranks, shard_options(options, units));
}

ChunkUnits units_of_pieces(const std::vector<Piece>& pieces) {
  ChunkUnits units;
  for (const Piece& piece : pieces)
    for (const auto& [name, module] : piece.modules) {
      const auto [place, is_new] = units.try_emplace(name, piece.name);
      if (!is_new && place->second != piece.name) place->second = name + " (shared)";
    }
  return units;
}

torch::ScalarType computes_in(const ReplicaOptions& options, torch::ScalarType type) {
  return options.precision && can_compute(*options.precision, options.ddp.device) ? *options.precision : type;
}

}  // namespace gradwire
