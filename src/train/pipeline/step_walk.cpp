#include "train/pipeline/step_walk.h"

#include <algorithm>

#include "base/error.h"
#include "train/tensor_bytes.h"

namespace gradwire {
namespace {

using Place = std::pair<int, int>;  // chunk, micro-batch

// A message that was started; its memory stays until it has ended.
struct OnItsWay {
  torch::Tensor tensor;
  std::unique_ptr<Work> work;
};

class StepWalk {
 public:
  StepWalk(const WalkPlan& plan, const MicroBatches& batches, const MicroBatchLoss& loss)
      : plan_(plan),
        batches_(batches),
        loss_(loss),
        tasks_(plan.graph->ranks[static_cast<std::size_t>(plan.rank)]),
        last_chunk_(plan.graph->pipeline.chunks() - 1),
        micro_batches_(plan.graph->pipeline.micro_batches) {
    for (const Task& task : tasks_)
      if (task.kind == TaskKind::backward) completes_[task.chunk] = task.micro_batch;
  }

  WalkResult walk() {
    for (std::size_t index = 0; index < tasks_.size(); ++index) {
      for (const int before : tasks_[index].after) finish(before);
      do_task(index);
    }
    for (auto& [index, message] : messages_) finish(index);
    return std::move(result_);
  }

 private:
  void do_task(std::size_t index) {
    const Task& task = tasks_[index];
    const int at = static_cast<int>(index);
    if (task.kind == TaskKind::forward) return forward(task);
    if (task.kind == TaskKind::backward) return backward(task);
    if (task.kind == TaskKind::recv) return receive(at);
    if (task.kind == TaskKind::send) return send_on(at);
  }

  std::string label(const char* what, const Task& task) const {
    const bool several = plan_.graph->pipeline.virtual_stages > 1;
    return several ? fmt::format("{} chunk {} micro-batch {}", what, task.chunk, task.micro_batch)
                   : fmt::format("{} micro-batch {}", what, task.micro_batch);
  }
  const char* name(const char* what, const Task& task) { return plan_.names->of(label(what, task)); }
  static StagePart part(const Task& task) { return {task.chunk, task.micro_batch}; }

  // The same on all ranks that hold a part of that replica.
  std::optional<std::uint64_t> seed_of(const Task& task) const {
    if (!batches_.seed) return std::nullopt;
    const int replica = place_of(plan_.graph->mesh, plan_.rank).data;
    const auto number = static_cast<std::uint64_t>(replica) * static_cast<std::uint64_t>(micro_batches_) +
                        static_cast<std::uint64_t>(task.micro_batch);
    return *batches_.seed + 0xd1342543de82ef95ULL * number;  // odd, so no two are alike
  }

  bool is_last(const Task& task) const { return completes_.at(task.chunk) == task.micro_batch; }

  void forward(const Task& task) {
    const Place place{task.chunk, task.micro_batch};
    torch::Tensor input = task.chunk == 0 ? given(batches_.inputs, task.micro_batch, "inputs")
                                          : received_.at({task.chunk - 1, task.micro_batch});
    if (task.chunk > 0) input.requires_grad_(input.is_floating_point());
    const Timed timed(plan_.trace, SpanKind::forward, name("forward", task), part(task));
    auto output = plan_.forward({task.chunk, input, is_last(task), seed_of(task)});
    if (task.chunk == last_chunk_) {
      output = loss_(output, given(batches_.targets, task.micro_batch, "targets")) / micro_batches_;
      result_.loss += output.item<double>();
    }
    inputs_[place] = std::move(input);
    outputs_[place] = std::move(output);
    result_.executed.push_back({true, task.chunk, task.micro_batch});
  }

  void backward(const Task& task) {
    const Place place{task.chunk, task.micro_batch};
    const Timed timed(plan_.trace, SpanKind::backward, name("backward", task), part(task));
    const auto output = take(outputs_, place);
    plan_.before_backward(task.chunk, is_last(task));
    if (output.requires_grad()) {
      if (task.chunk == last_chunk_)
        torch::autograd::backward({output});
      else
        torch::autograd::backward({output}, {take(gradients_, place)});
    }
    const auto input = take(inputs_, place);
    received_.erase({task.chunk - 1, task.micro_batch});
    if (task.chunk > 0) made_[{task.chunk - 1, task.micro_batch}] = input.grad();
    result_.executed.push_back({false, task.chunk, task.micro_batch});
  }

  void receive(int index) {
    const Task& task = tasks_[static_cast<std::size_t>(index)];
    auto tensor = (*plan_.shapes)[static_cast<std::size_t>(task.chunk)].make(plan_.device);
    auto work = channel(task).start(recv(memory_of(tensor), 0, tag(task)));
    messages_[index] = {tensor, std::move(work)};
  }

  void send_on(int index) {
    const Task& task = tasks_[static_cast<std::size_t>(index)];
    const Place place{task.chunk, task.micro_batch};
    auto tensor = task.data == TaskData::activation ? outputs_.at(place).detach() : take(made_, place);
    const TensorShape& shape = (*plan_.shapes)[static_cast<std::size_t>(task.chunk)];
    if (!tensor.defined()) tensor = shape.make(plan_.device).zero_();  // a gradient that nothing depends on
    if (tensor.sizes().vec() != shape.sizes)
      throw ConfigError(
          fmt::format("chunk {} gave a tensor of another shape for micro-batch {} than in the "
                      "first step: micro-batches must be of one shape",
                      task.chunk, task.micro_batch));
    tensor = tensor.contiguous();
    auto work = channel(task).start(send(memory_of(tensor), 1, tag(task)));
    messages_[index] = {tensor, std::move(work)};
  }

  // Waits for a message; anything else a task comes after has been done by this thread.
  void finish(int index) {
    const auto found = messages_.find(index);
    if (found == messages_.end() || !found->second.work) return;
    const Task& task = tasks_[static_cast<std::size_t>(index)];
    const bool comes = task.kind == TaskKind::recv;
    auto work = std::move(found->second.work);
    {
      const Timed timed(
          comes ? plan_.trace : nullptr, SpanKind::wait,
          name(task.data == TaskData::activation ? "receive activation" : "receive gradient", task),
          part(task));
      work->wait();
    }
    record(task, *work);
    auto tensor = std::exchange(found->second.tensor, {});
    if (comes)
      (task.data == TaskData::activation ? received_ : gradients_)[{task.chunk, task.micro_batch}] = tensor;
  }

  // What was sent, on the lane of communication.
  void record(const Task& task, const Work& work) {
    const auto times = plan_.trace != nullptr && task.kind == TaskKind::send ? work.times() : std::nullopt;
    if (!times) return;
    const Seconds begin = on_steady_clock(times->begin), end = on_steady_clock(times->end);
    const char* what = task.data == TaskData::activation ? "send activation" : "send gradient";
    if (plan_.graph->pipeline.virtual_stages > 1)
      what = plan_.names->of(fmt::format("{} chunk {}", what, task.chunk));
    plan_.trace->add_collective(what, task.micro_batch, task.bytes, {begin, begin, end});
  }

  Communicator& channel(const Task& task) { return *plan_.channels->at(task.group); }
  static std::uint32_t tag(const Task& task) {
    return static_cast<std::uint32_t>(task.micro_batch) << 8 | static_cast<std::uint32_t>(task.chunk & 0xff);
  }

  torch::Tensor given(const std::vector<torch::Tensor>& tensors, int micro_batch, const char* what) const {
    if (tensors.size() != static_cast<std::size_t>(micro_batches_))
      throw ConfigError(
          fmt::format("{} {} for a step of {} micro-batches", tensors.size(), what, micro_batches_));
    return tensors[static_cast<std::size_t>(micro_batch)];
  }

  static torch::Tensor take(std::map<Place, torch::Tensor>& from, const Place& place) {
    auto node = from.extract(place);
    check(!node.empty(), "a task needs what was made before");
    return std::move(node.mapped());
  }

  const WalkPlan& plan_;
  const MicroBatches& batches_;
  const MicroBatchLoss& loss_;
  const std::vector<Task>& tasks_;
  const int last_chunk_, micro_batches_;
  std::map<int, int> completes_;  // by chunk: the micro-batch whose backward is its last
  // By chunk and micro-batch. received_: outputs of the chunk before; gradients_: of a chunk's output, from the next;
  // made_: of a chunk's output, by the next one here.
  std::map<Place, torch::Tensor> inputs_, outputs_, received_, gradients_, made_;
  std::map<int, OnItsWay> messages_;  // by task
  WalkResult result_;
};

}  // namespace

Bytes TensorShape::bytes() const {
  std::int64_t count = 1;
  for (const auto size : sizes) count *= size;
  return static_cast<Bytes>(count) * torch::elementSize(type);
}

ShapeNumbers numbers_of(const torch::Tensor& tensor) {
  constexpr std::size_t kMostDimensions = std::tuple_size_v<ShapeNumbers> - 2;
  const auto sizes = tensor.sizes();
  if (sizes.size() > kMostDimensions)
    throw ConfigError(fmt::format("a pipeline sends tensors of up to {} dimensions between stages, not {}",
                                  kMostDimensions, sizes.size()));
  ShapeNumbers numbers{static_cast<std::int64_t>(tensor.scalar_type()),
                       static_cast<std::int64_t>(sizes.size())};
  std::copy(sizes.begin(), sizes.end(), numbers.begin() + 2);
  return numbers;
}

TensorShape shape_from(const ShapeNumbers& numbers) {
  return {{numbers.begin() + 2, numbers.begin() + 2 + numbers[1]},
          static_cast<torch::ScalarType>(numbers[0])};
}

WalkResult walk_step(const WalkPlan& plan, const MicroBatches& batches, const MicroBatchLoss& loss) {
  return StepWalk(plan, batches, loss).walk();
}

}  // namespace gradwire
