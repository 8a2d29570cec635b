// Pipelines of a small torch::nn::Sequential against one process, recomputation, and the order of what is executed.
#include "train/pipeline/pipeline.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "train/loop/gather_timeline.h"
#include "train/pipeline/bubble.h"
#include "train/pipeline/recompute.h"
#include "train/tensor/tensor_fixture.h"

namespace gradwire {
namespace {

namespace nn = torch::nn;

constexpr int kRows = 3;  // of a micro-batch

nn::Sequential make_layers(double dropout = 0) {
  torch::manual_seed(11);
  nn::Sequential model;
  for (int i = 0; i < 5; ++i) {
    model->push_back(nn::Linear(4, 4));
    model->push_back(nn::Tanh());
    if (dropout > 0) model->push_back(nn::Dropout(dropout));
  }
  model->to(torch::kFloat64);
  return model;
}

torch::Tensor squares(const torch::Tensor& output, const torch::Tensor& target) {
  return torch::mse_loss(output, target);
}

// Of all replicas: the same on every rank.
struct Samples {
  torch::Tensor inputs, targets;
  MicroBatches of(int replica, int micro_batches) const {
    MicroBatches mine;
    for (int i = 0; i < micro_batches; ++i) {
      mine.inputs.push_back(inputs[replica * micro_batches + i]);
      mine.targets.push_back(targets[replica * micro_batches + i]);
    }
    return mine;
  }
};

Samples make_pipeline_samples(int micro_batches) {
  torch::manual_seed(5);
  return {torch::randn({micro_batches, kRows, 4}, torch::kFloat64),
          torch::randn({micro_batches, kRows, 4}, torch::kFloat64)};
}

// What one process has after a step with all of them.
std::map<std::string, torch::Tensor> gradients_alone(const nn::Sequential& whole, const Samples& samples) {
  auto model = whole;
  squares(model->forward(samples.inputs.view({-1, 4})), samples.targets.view({-1, 4})).backward();
  auto gradients = gradients_by_name(*model);
  model->zero_grad();
  return gradients;
}

struct PipelineCase {
  Mesh mesh;
  PipelineSchedule schedule;
  int micro_batches = 4, virtual_stages = 1;
  bool recompute = false;
  const char* backend = "shm";
};

void check_case(const World& world, const PipelineCase& given) {
  MeshGroups groups(world, given.mesh, given.backend);
  auto model = make_layers();
  const auto samples = make_pipeline_samples(given.micro_batches * given.mesh.dp);
  const auto expected = gradients_alone(model, samples);
  Pipeline pipeline(groups, pieces_of(model),
                    {.schedule = given.schedule,
                     .micro_batches = given.micro_batches,
                     .virtual_stages = given.virtual_stages,
                     .recompute = given.recompute});
  for (int step = 0; step < 3; ++step) {  // the second with buckets of the observed order
    pipeline.zero_grad();
    pipeline.step(samples.of(groups.place().data, given.micro_batches), squares);
    for (const auto& [name, tensor] : pipeline.named_parameters())
      EXPECT_LT(difference(tensor.grad(), expected.at(name)), 1e-10)
          << name << " of rank " << world.rank << " in step " << step;
  }
  EXPECT_EQ(pipeline.executed(), stage_order(pipeline.graph().pipeline, groups.place().pipeline));
  groups.pipeline().run(barrier());
}

void run_case(const PipelineCase& given) {
  expect_all_ok(run_processes(given.mesh.ranks(),
                              [&](const World& world) {
                                torch::set_num_threads(1);
                                check_case(world, given);
                                const auto everybody = make_communicator(world, "shm");
                                everybody->run(barrier());
                              },
                              {.deadline = 100}));
}

TEST(Pipeline, gives_the_gradients_of_one_process_by_every_schedule) {
  for (const int stages : {1, 2, 3, 4}) {
    run_case({{.pp = stages}, PipelineSchedule::gpipe});
    run_case({{.pp = stages}, PipelineSchedule::one_f_one_b, 5});
  }
  run_case({{.pp = 2}, PipelineSchedule::interleaved, 4, 2});
  run_case({{.pp = 3}, PipelineSchedule::interleaved, 6, 3});
}

TEST(Pipeline, gives_them_with_replicas_fewer_micro_batches_than_stages_and_over_tcp) {
  run_case({{.dp = 2, .pp = 2}, PipelineSchedule::one_f_one_b});
  run_case({{.dp = 2, .pp = 2}, PipelineSchedule::interleaved, 2, 2});
  run_case({{.pp = 4}, PipelineSchedule::one_f_one_b, 1});
  run_case({{.dp = 2, .pp = 2}, PipelineSchedule::one_f_one_b, 3, 1, true, "tcp"});
}

TEST(Pipeline, bubble_of_the_recorded_order_is_the_formula) {
  const Mesh mesh{.pp = 3};
  for (const auto& shape :
       {PipelineShape{PipelineSchedule::gpipe, 3, 4}, PipelineShape{PipelineSchedule::one_f_one_b, 3, 5},
        PipelineShape{PipelineSchedule::interleaved, 3, 3, 2}})
    expect_all_ok(run_processes(3, [&](const World& world) {
      torch::set_num_threads(1);
      MeshGroups groups(world, mesh, "shm");
      Pipeline pipeline(groups, pieces_of(make_layers()),
                        {.schedule = shape.schedule,
                         .micro_batches = shape.micro_batches,
                         .virtual_stages = shape.virtual_stages});
      Recorder recorder(1 << 10);
      pipeline.set_trace(&recorder);
      const auto samples = make_pipeline_samples(shape.micro_batches);
      for (int step = 0; step < 2; ++step) {
        recorder.set_step(step);
        pipeline.step(samples.of(0, shape.micro_batches), squares);
      }
      const auto timeline = gather_timeline(groups.pipeline(), recorder, {}, "test");
      EXPECT_NEAR(idle_share(shape, executed_order(timeline, mesh, 1)), bubble_share(shape), 1e-12);
      int sends = 0, receives = 0;
      for (const Span& span : timeline.spans) {
        sends += span.kind == SpanKind::bucket && span.name.starts_with("send ") && span.step == 1;
        receives += span.kind == SpanKind::wait && span.name.starts_with("receive ") && span.step == 1;
      }
      const int messages = 2 * (shape.chunks() - 1) * shape.micro_batches;
      EXPECT_EQ(sends, messages);
      EXPECT_EQ(receives, messages);
      groups.pipeline().run(barrier());
    }));
}

TEST(Pipeline, evaluates_what_one_process_does_on_any_batch) {
  expect_all_ok(run_processes(2, [](const World& world) {
    torch::set_num_threads(1);
    MeshGroups groups(world, {.pp = 2}, "shm");
    auto model = make_layers();
    Pipeline pipeline(groups, pieces_of(model), {.micro_batches = 2});
    for (const int rows : {1, 7}) {
      const auto input = torch::full({rows, 4}, 0.3, torch::kFloat64);
      const auto output = pipeline.evaluate(input);
      ASSERT_EQ(output.defined(), pipeline.is_last());
      if (output.defined()) {
        EXPECT_TRUE(torch::equal(output, model->forward(input)));
      }
    }
    groups.pipeline().run(barrier());
  }));
}

TEST(Pipeline, keeps_a_module_of_two_stages_alike_and_adds_its_gradients) {
  expect_all_ok(run_processes(2, [](const World& world) {
    torch::set_num_threads(1);
    torch::manual_seed(1 + static_cast<std::uint64_t>(world.rank));  // begins different on purpose
    nn::Linear shared(4, 4);
    shared->to(torch::kFloat64);
    const PartForward use = [shared](const torch::Tensor& x) mutable {
      return torch::tanh(shared->forward(x));
    };
    MeshGroups groups(world, {.pp = 2}, "shm");
    Pipeline pipeline(groups,
                      {{"in", {{"shared", shared.ptr()}}, use}, {"out", {{"shared", shared.ptr()}}, use}},
                      {.micro_batches = 2});
    EXPECT_EQ(pipeline.is_repeated("shared.weight"), world.rank == 1);
    const auto samples = make_pipeline_samples(2);
    pipeline.step(samples.of(0, 2), squares);
    const auto got = shared->weight.grad().clone();
    shared->zero_grad();
    squares(use(use(samples.inputs.view({-1, 4}))), samples.targets.view({-1, 4})).backward();
    EXPECT_LT(difference(got, shared->weight.grad()), 1e-10);
    groups.pipeline().run(barrier());
  }));
}

// Running means are the first replica's at the begin of a step, and are left alone while backwards are due.
TEST(Pipeline, takes_models_with_buffers_on_replicas) {
  for (const int shard : {0, 3})
    expect_all_ok(run_processes(4, [&](const World& world) {
      torch::set_num_threads(1);
      MeshGroups groups(world, {.dp = 2, .pp = 2}, "shm");
      nn::Sequential model(nn::Linear(4, 4), nn::BatchNorm1d(4), nn::Linear(4, 4), nn::BatchNorm1d(4));
      Pipeline pipeline(
          groups, pieces_of(model),
          {.schedule = PipelineSchedule::gpipe, .micro_batches = 3, .replicas = {.shard = shard}});
      torch::manual_seed(world.rank);
      for (int step = 0; step < 2; ++step) {
        MicroBatches batches;
        for (int i = 0; i < 3; ++i) {
          batches.inputs.push_back(torch::randn({kRows, 4}));
          batches.targets.push_back(torch::randn({kRows, 4}));
        }
        pipeline.zero_grad();
        pipeline.step(batches, squares);
      }
      EXPECT_EQ(pipeline.named_buffers().back().tensor.item<std::int64_t>(), 6);
      groups.pipeline().run(barrier());
      groups.data().run(barrier());
    }));
}

TEST(Pipeline, cuts_by_cost_and_refuses_what_cant_be) {
  expect_all_ok(run_processes(2, [](const World& world) {
    torch::set_num_threads(1);
    MeshGroups groups(world, {.pp = 2}, "shm");
    const auto pieces = pieces_of(make_layers());
    std::vector<Seconds> costs(10, 1);
    costs[0] = 9;
    const Pipeline pipeline(groups, pieces, {.micro_batches = 2, .costs = costs});
    EXPECT_EQ(pipeline.cut(), (std::vector<int>{0, 1, 10}));
    EXPECT_NE(error_of([&] { Pipeline(groups, {pieces[0]}, {}); }), "no error");
    EXPECT_NE(error_of([&] { Pipeline(groups, pieces, {.costs = {1, 2}}); }), "no error");
    EXPECT_NE(error_of([&] { MeshGroups(world, {.pp = 3}, "shm"); }), "no error");
    groups.pipeline().run(barrier());
  }));
}

TEST(Pieces, are_timed_without_leaving_a_trace) {
  const auto pieces = pieces_of(make_layers(0.5));
  torch::manual_seed(2);
  const auto next = torch::rand({1});
  torch::manual_seed(2);
  const auto costs = measure_pieces(pieces, torch::ones({2, 4}, torch::kFloat64));
  EXPECT_EQ(costs.size(), pieces.size());
  for (const Seconds cost : costs) EXPECT_GT(cost, 0);
  EXPECT_TRUE(torch::equal(torch::rand({1}), next));
  for (const auto& piece : pieces)
    for (const auto& [name, module] : piece.modules)
      for (const auto& parameter : module->parameters()) EXPECT_FALSE(parameter.grad().defined());
}

TEST(Recompute, gives_the_same_gradients_with_the_same_dropout_and_keeps_less) {
  auto model = make_layers(0.5);
  const auto pieces = pieces_of(model);
  const auto input = torch::randn({8, 4}, torch::kFloat64);
  int calls = 0;
  const auto gradients = [&](bool again) {
    torch::manual_seed(3);
    auto x = input.clone().requires_grad_();
    const PartForward part = [&](const torch::Tensor& in) {
      ++calls;
      return model->forward(in);
    };
    const auto middle = again ? recompute(part, x, model->parameters()) : part(x);
    const auto after = torch::rand({1});  // what is drawn behind it is as without
    (middle.square().sum() * after.item<double>()).backward();
    auto all = gradients_by_name(*model);
    all["input"] = x.grad();
    all["next"] = torch::rand({1}, torch::kFloat64);
    model->zero_grad();
    return all;
  };
  const auto expected = gradients(false);
  calls = 0;
  const auto got = gradients(true);
  EXPECT_EQ(calls, 2);
  for (const auto& [name, tensor] : expected) EXPECT_TRUE(torch::equal(got.at(name), tensor)) << name;
}

TEST(Recompute, works_where_the_input_wants_no_gradient_and_inside_data_parallelism) {
  run_ddp(2, "shm", [](const World& world, Communicator& communicator) {
    auto model = make_layers();
    const auto samples = make_pipeline_samples(2);
    const auto expected = gradients_alone(model, samples);
    const auto chunk = std::make_shared<Chunk>(pieces_of(model), ChunkOptions{.recompute = true});
    DistributedDataParallel<Chunk> ddp(chunk, communicator);
    for (int step = 0; step < 3; ++step) {
      ddp.zero_grad();
      squares(ddp.forward(samples.inputs[world.rank]), samples.targets[world.rank]).backward();
      for (const auto& item : chunk->named_parameters())
        EXPECT_LT(difference(item.value().grad(), expected.at(item.key())), 1e-10) << item.key();
    }
  });
}

}  // namespace
}  // namespace gradwire
