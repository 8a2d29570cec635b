#include "train/pipeline/pipeline.h"

#include <algorithm>
#include <set>

#include "base/error.h"
#include "sched/step_verify.h"
#include "train/model_state.h"
#include "train/pipeline/balance.h"
#include "train/tensor/moves.h"
#include "train/tensor_bytes.h"

namespace gradwire {
namespace {

PipelineShape shape_of(const Mesh& mesh, const PipelineOptions& options) {
  PipelineShape shape{options.schedule, mesh.pp, options.micro_batches, options.virtual_stages};
  check_pipeline(shape);
  if (mesh.pp == 1 && shape.virtual_stages > 1)
    throw ConfigError("several chunks a stage need a pipeline of two stages or more");
  return shape;
}

std::vector<int> cut_pieces(std::size_t pieces, const PipelineOptions& options, int chunks) {
  std::vector<double> costs(options.costs.begin(), options.costs.end());
  if (costs.empty()) costs.assign(pieces, 1);
  if (costs.size() != pieces)
    throw ConfigError(fmt::format("{} costs for {} pieces of a model", costs.size(), pieces));
  return balanced_cut(costs, chunks);
}

constexpr int kMostProven = 64;  // ranks up to which every graph is proved before it is used

}  // namespace

Pipeline::Pipeline(MeshGroups& groups, std::vector<Piece> pieces, const PipelineOptions& options)
    : groups_(groups),
      options_(options),
      pipeline_(shape_of(groups.mesh(), options)),
      cut_(cut_pieces(pieces.size(), options, pipeline_.chunks())),
      graph_(make_graph()) {
  for (int chunk = 0; chunk < pipeline_.chunks(); ++chunk) {
    if (!is_mine(chunk)) continue;
    const int first = cut_[static_cast<std::size_t>(chunk)], end = cut_[static_cast<std::size_t>(chunk) + 1];
    chunks_.push_back(
        std::make_shared<Chunk>(std::vector<Piece>(pieces.begin() + first, pieces.begin() + end),
                                ChunkOptions{.recompute = options.recompute, .first = first}));
    chunks_.back()->to(groups.device());
  }
  share_modules(pieces);
  const auto units = units_of_pieces(pieces);
  pieces.clear();  // what this rank doesn't hold goes before memory for the rest is taken
  for (const auto& chunk : chunks_)
    held_.push_back(make_data_chunk(chunk, groups.data(), options.replicas, units));
  buffers_ = std::make_unique<TensorBroadcast>(named_buffers(), groups.data());
  make_channels();
}

Pipeline::~Pipeline() = default;

// What several stages hold is in one order on all, whole or in equal shares, and begins alike: the first one's values are taken.
void Pipeline::share_modules(const std::vector<Piece>& pieces) {
  std::map<std::string, std::set<int>> chunks_with;
  std::map<std::string, std::shared_ptr<torch::nn::Module>> modules;
  for (int chunk = 0; chunk < pipeline_.chunks(); ++chunk)
    for (int i = cut_[static_cast<std::size_t>(chunk)]; i < cut_[static_cast<std::size_t>(chunk) + 1]; ++i)
      for (const auto& [name, module] : pieces[static_cast<std::size_t>(i)].modules) {
        chunks_with[name].insert(chunk);
        modules[name] = module;
      }
  for (const auto& [name, chunks] : chunks_with) {
    std::set<int> stages;
    for (const int chunk : chunks) stages.insert(pipeline_.stage_of(chunk));
    if (chunks.size() > stages.size())
      throw ConfigError(
          fmt::format("module {} is in two chunks of one stage: cut the model elsewhere", name));
    if (stages.size() > 1 && stages.contains(groups_.place().pipeline))
      share_module(name, *modules[name], {stages.begin(), stages.end()});
  }
}

void Pipeline::share_module(const std::string& name, torch::nn::Module& module,
                            const std::vector<int>& stages) {
  std::vector<Rank> ranks;
  for (const int stage : stages) {
    MeshPlace place = groups_.place();
    place.pipeline = stage;
    ranks.push_back(rank_at(groups_.mesh(), place));
  }
  shared_.push_back({name, groups_.among(ranks, "shared-" + name)});
  for (const auto& item : module.named_parameters()) {
    const auto type = dtype_of(item.value().scalar_type(), "parameter " + name + "." + item.key());
    shared_.back().communicator->run(broadcast(memory_of(item.value()), type, 0));
  }
}

StepGraph Pipeline::make_graph() const {
  StepPlan plan;
  plan.mesh = groups_.mesh();
  plan.schedule = pipeline_.schedule;
  plan.virtual_stages = pipeline_.virtual_stages;
  plan.micro_batches = pipeline_.micro_batches;
  plan.recompute = options_.recompute;
  plan.shard = plan.mesh.dp > 1 ? options_.replicas.shard : 0;
  plan.by_unit = false;
  std::vector<ChunkCut> cut(static_cast<std::size_t>(pipeline_.chunks()), ChunkCut{.units = {1}});
  for (std::size_t i = 0; i < shapes_.size(); ++i) cut[i].output = shapes_[i].bytes();
  auto graph = make_step_graph(plan, cut);
  if (plan.mesh.ranks() <= kMostProven) verify(graph);
  return graph;
}

// Both ends make them in the order of the groups, so nobody waits for one who waits for him.
void Pipeline::make_channels() {
  std::set<int> groups;
  for (const Task& task : graph_.ranks[static_cast<std::size_t>(me())])
    if (task.kind == TaskKind::send || task.kind == TaskKind::recv) groups.insert(task.group);
  for (const int group : groups)
    channels_[group] =
        groups_.among(graph_.groups[static_cast<std::size_t>(group)], fmt::format("pipe{}", group));
}

// Once, by a forward without gradients: each chunk tells the others what it gives.
void Pipeline::agree_on_shapes(const torch::Tensor& input) {
  const torch::NoGradGuard no_grad;
  train(false);
  for (int chunk = 0; chunk < pipeline_.chunks(); ++chunk) {
    ShapeNumbers numbers{};
    if (is_mine(chunk)) {
      const auto given = chunk == 0 ? input : shapes_.back().make(groups_.device()).zero_();
      numbers = numbers_of(held(chunk).forward(given, false));
    }
    groups_.pipeline().run(broadcast(bytes_of(numbers), DType::i64, pipeline_.stage_of(chunk)));
    shapes_.push_back(shape_from(numbers));
  }
  train(true);
  graph_ = make_graph();
}

torch::Tensor Pipeline::run_chunk(const ChunkForward& call) {
  chunks_[static_cast<std::size_t>(local(call.chunk))]->draw_from(call.seed);
  return held(call.chunk).forward(call.input, call.last);
}

double Pipeline::step(const MicroBatches& batches, const MicroBatchLoss& loss) {
  if (shapes_.empty()) {
    if (is_first() && batches.inputs.empty()) throw ConfigError("a step without micro-batches");
    agree_on_shapes(is_first() ? batches.inputs.front() : torch::Tensor());
  }
  sync_buffers();
  const WalkPlan plan{.rank = me(),
                      .graph = &graph_,
                      .shapes = &shapes_,
                      .channels = &channels_,
                      .forward = [this](const ChunkForward& call) { return run_chunk(call); },
                      .before_backward = [this](int chunk, bool last) { held(chunk).before_backward(last); },
                      .device = groups_.device(),
                      .names = &names_,
                      .trace = trace_};
  auto result = walk_step(plan, batches, loss);
  executed_ = std::move(result.executed);
  for (auto& chunk : held_) chunk->after_step();
  add_shared_gradients();
  return result.loss;
}

// While no backward is due: it would find that what its forward used was changed.
void Pipeline::sync_buffers() {
  if (buffers_->empty() || !options_.replicas.ddp.broadcast_buffers) return;
  const Timed timed(trace_, SpanKind::wait, "buffers");
  buffers_->from(0);
}

void Pipeline::add_shared_gradients() {
  if (shared_.empty()) return;
  const Timed timed(trace_, SpanKind::wait, "shared gradients");
  const auto learnt = parameters();
  const auto all = pieces();
  for (const auto& module : shared_)
    for (const auto& piece : all) {
      if (!module.has(piece.name)) continue;
      auto gradient = gradient_of(piece, learnt);
      if (!gradient.defined()) continue;  // frozen, on all stages alike
      all_reduce(*module.communicator, gradient, Reduction::sum);
    }
}

int Pipeline::channel_of(TaskKind kind, int chunk) const {
  for (const Task& task : graph_.ranks[static_cast<std::size_t>(me())])
    if (task.kind == kind && task.data == TaskData::activation && task.chunk == chunk) return task.group;
  throw Error("bug in gradwire: a pipeline without a channel between its stages");
}

torch::Tensor Pipeline::evaluate(const torch::Tensor& input) {
  const torch::NoGradGuard no_grad;
  torch::Tensor x = input;
  const int last = pipeline_.chunks() - 1;
  for (int chunk = 0; chunk <= last; ++chunk) {
    if (!is_mine(chunk)) continue;
    ShapeNumbers numbers{};
    if (chunk > 0 && groups_.mesh().pp > 1) {
      groups_.pipeline().run(recv(bytes_of(numbers), pipeline_.stage_of(chunk - 1)));
      x = shape_from(numbers).make(groups_.device());
      channels_.at(channel_of(TaskKind::recv, chunk - 1))->run(recv(memory_of(x), 0));
    }
    x = held(chunk).forward(x, false).contiguous();
    if (chunk == last) return x;
    if (groups_.mesh().pp == 1) continue;
    numbers = numbers_of(x);
    groups_.pipeline().run(send(bytes_of(numbers), pipeline_.stage_of(chunk + 1)));
    channels_.at(channel_of(TaskKind::send, chunk))->run(send(memory_of(x), 1));
  }
  return {};
}

std::vector<NamedTensor> Pipeline::named_parameters() const {
  std::vector<NamedTensor> all;
  for (const auto& chunk : chunks_)
    for (auto& named : tensors_of_model(*chunk).parameters) all.push_back(std::move(named));
  return all;
}

std::vector<NamedTensor> Pipeline::named_buffers() const {
  std::vector<NamedTensor> all;
  for (const auto& chunk : chunks_)
    for (auto& named : tensors_of_model(*chunk).buffers) all.push_back(std::move(named));
  return all;
}

std::vector<torch::Tensor> Pipeline::parameters() const {
  std::vector<torch::Tensor> all;
  for (const auto& chunk : held_)
    for (auto& parameter : chunk->parameters()) all.push_back(std::move(parameter));
  return all;
}

std::vector<ParameterPiece> Pipeline::pieces() const {
  std::vector<ParameterPiece> all;
  int before = 0;  // parameters of the chunks before
  for (std::size_t i = 0; i < held_.size(); ++i) {
    const auto cuts = cuts_of(*chunks_[i]);
    for (auto& piece : held_[i]->pieces()) {
      if (piece.unit >= 0) piece.unit += before;
      piece.part = {cuts.at(piece.name), groups_.mesh().tp, groups_.place().tensor};
      all.push_back(std::move(piece));
    }
    before += static_cast<int>(held_[i]->parameters().size());
  }
  return all;
}

std::vector<std::string> Pipeline::gradient_order() const {
  return pipeline_.chunks() == 1 ? held_.front()->gradient_order() : std::vector<std::string>();
}

void Pipeline::restore_gradient_order(const std::vector<std::string>& order) {
  if (pipeline_.chunks() == 1) held_.front()->restore_gradient_order(order);
}

void Pipeline::parameters_changed() {
  for (auto& chunk : held_) chunk->changed();
}

bool Pipeline::is_repeated(const std::string& parameter) const {
  return std::any_of(shared_.begin(), shared_.end(), [&](const SharedModule& module) {
    return module.communicator->rank() > 0 && module.has(parameter);
  });
}

ChunkMemory Pipeline::memory() const {
  ChunkMemory sum;
  for (const auto& chunk : held_) {
    const auto memory = chunk->memory();
    sum.parts += memory.parts;
    sum.sent += memory.sent;
    sum.parameters += memory.parameters;
    sum.gathered += memory.gathered;
    sum.gradients += memory.gradients;
  }
  return sum;
}

void Pipeline::zero_grad() {
  for (auto& chunk : held_) chunk->zero_grad();
}

void Pipeline::train(bool on) {
  for (auto& chunk : chunks_) chunk->train(on);
}

void Pipeline::set_trace(Recorder* trace) {
  trace_ = trace;
  for (auto& chunk : held_) chunk->set_trace(trace);
}

}  // namespace gradwire
