// Every built-in architecture, made small, on every backend of host memory: after a step on several ranks the
// gradients are those of one process with the whole batch. Dropout is off, because ranks draw their own, and
// batch norms are over all ranks.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>

#include "net/rendezvous/rendezvous.h"
#include "support/session.h"
#include "train/gradients_fixture.h"
#include "train/models/net.h"

namespace gradwire {
namespace {

constexpr std::int64_t kBatch = 12;  // divides evenly among 1, 2, 3 and 4 ranks

struct Samples {
  torch::Tensor input, target;
};

torch::Tensor share(const torch::Tensor& whole, Rank rank, int ranks) {
  const auto count = whole.size(0) / ranks;
  return whole.narrow(0, rank * count, count);
}

struct Architecture {
  std::string name;
  std::function<std::shared_ptr<Net>(Communicator* norm_over)> make;
  std::vector<std::int64_t> input;  // of a sample; one number: so many tokens
  std::int64_t classes;
};

std::vector<Architecture> architectures() {
  const TransformerShape shape{.layers = 2, .width = 16, .heads = 2, .context = 8, .vocabulary = 50};
  TransformerShape untied = shape;
  untied.tied = false;
  const auto resnet = [](int depth) {
    return [=](Communicator* norm_over) {
      return make_resnet({.depth = depth, .width = 4, .classes = 10, .norm_over = norm_over});
    };
  };
  return {{"mlp", [](Communicator*) { return make_mlp(8); }, {1, 1024}, 1024},
          {"convnet", [](Communicator*) { return make_convnet(4); }, {1, 28, 28}, 10},
          {"resnet18", resnet(18), {3, 32, 32}, 10},
          {"resnet50", resnet(50), {3, 32, 32}, 10},
          {"gpt", [=](Communicator*) { return make_gpt(shape); }, {8}, 50},
          {"gpt with an output layer", [=](Communicator*) { return make_gpt(untied); }, {8}, 50},
          {"bert", [=](Communicator*) { return make_bert(shape); }, {8}, 50}};
}

// The same on every rank.
Samples make_samples(const Architecture& architecture, torch::ScalarType type, std::uint64_t seed) {
  torch::manual_seed(seed);
  std::vector<std::int64_t> shape = architecture.input;
  shape.insert(shape.begin(), kBatch);
  if (architecture.input.size() == 1)
    return {torch::randint(0, architecture.classes, shape, torch::kLong),
            torch::randint(0, architecture.classes, shape, torch::kLong)};
  auto input = torch::randn(shape).to(type);
  if (architecture.name == "mlp") input = input.squeeze(1);
  return {input, torch::randint(0, architecture.classes, {kBatch}, torch::kLong)};
}

// A built-in model and a parameter that a forward may leave out.
struct WithSpare : torch::nn::Module {
  WithSpare(std::shared_ptr<Net> built, std::int64_t classes)
      : net(register_module("net", std::move(built))),
        spare(register_parameter("spare", torch::zeros({classes}))) {}
  torch::Tensor forward(const torch::Tensor& input, bool use_spare) {
    return use_spare ? net->forward(input) + spare : net->forward(input);
  }
  std::shared_ptr<Net> net;
  torch::Tensor spare;
};

std::shared_ptr<WithSpare> make(const Architecture& architecture, torch::ScalarType type,
                                Communicator* norm_over) {
  torch::manual_seed(42);
  auto model = std::make_shared<WithSpare>(architecture.make(norm_over), architecture.classes);
  model->to(type);
  for (const auto& module : model->modules())
    if (auto* dropout = module->as<torch::nn::Dropout>()) dropout->options.p(0);
  return model;
}

struct Setting {
  const char* name;
  Bytes bucket;   // one for each gradient, some, one for all
  int steps = 1;  // in the second the buckets are those of the observed order
  int micro_batches = 1;
  bool unused = false;  // rank 0 alone uses the spare parameter
  bool uneven = false;  // rank 0 alone has a batch
};
constexpr Setting kPlain{.name = "plain", .bucket = 1, .steps = 2};
constexpr Setting kAccumulated{
    .name = "accumulated, unused on some ranks", .bucket = 6000, .micro_batches = 2, .unused = true};
constexpr Setting kUneven{.name = "uneven", .bucket = Bytes{25} << 20, .uneven = true};

// What one process makes of the batches of all ranks.
void train_alone(WithSpare& model, const Setting& setting, const std::vector<Samples>& batches, int ranks) {
  for (const auto& [input, target] : batches) {
    const auto logits = model.net->forward(setting.uneven ? share(input, 0, ranks) : input);
    auto loss = torch::zeros({}, logits.options());
    for (Rank rank = 0; rank < (setting.uneven ? 1 : ranks); ++rank) {
      const auto own = setting.uneven ? logits : share(logits, rank, ranks);
      const bool spare = !setting.unused || rank == 0;
      loss = loss + loss_of(spare ? own + model.spare : own, share(target, rank, ranks));
    }
    (loss / ranks / setting.micro_batches).backward();
  }
}

void train_part(DistributedDataParallel<WithSpare>& ddp, const Setting& setting,
                const std::vector<Samples>& batches, const World& world) {
  const auto train = [&](const Samples& batch) {
    const auto logits =
        ddp.forward(share(batch.input, world.rank, world.size), !setting.unused || world.rank == 0);
    (loss_of(logits, share(batch.target, world.rank, world.size)) / setting.micro_batches).backward();
  };
  for (std::size_t i = 0; i + 1 < batches.size(); ++i) {
    const auto quiet = ddp.no_sync();
    train(batches[i]);
  }
  train(batches.back());
}

// Relative to the norm of all gradients together; infinite where only one side has a gradient.
double distance(const std::vector<torch::Tensor>& got, const std::vector<torch::Tensor>& expected) {
  double squares = 0, norm = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    if (got[i].defined() != expected[i].defined()) return INFINITY;
    if (!got[i].defined()) continue;
    squares += (got[i] - expected[i]).to(torch::kFloat64).square().sum().item<double>();
    norm += expected[i].to(torch::kFloat64).square().sum().item<double>();
  }
  return std::sqrt(squares / norm);
}

struct Ranks {
  const World& world;
  Communicator &communicator, &norms;  // of its own, because ranks' graphs differ where parameters are unused
};

std::vector<Samples> make_batches(const Architecture& architecture, torch::ScalarType type,
                                  const Setting& setting, int step) {
  std::vector<Samples> batches;
  for (int micro = 0; micro < setting.micro_batches; ++micro)
    batches.push_back(make_samples(architecture, type, static_cast<std::uint64_t>(10 * step + micro)));
  return batches;
}

std::vector<torch::Tensor> gradients_alone(const Architecture& architecture, torch::ScalarType type,
                                           const Setting& setting, int step, int ranks) {
  auto alone = make(architecture, type, nullptr);
  if (setting.uneven) alone->eval();
  train_alone(*alone, setting, make_batches(architecture, type, setting, step), ranks);
  return gradients_of(*alone);
}

// Of float32 relative to exact arithmetic. Batch norms in training make it tens to hundreds of times larger
// on its way through a resnet, so that two sums of one batch in different order differ by more than 1e-6.
double rounding_of_one_process(const Architecture& architecture, const Setting& setting, int ranks) {
  double worst = 0;
  for (int step = 0; step < setting.steps; ++step)
    worst = std::max(worst, distance(gradients_alone(architecture, torch::kFloat32, setting, step, ranks),
                                     gradients_alone(architecture, torch::kFloat64, setting, step, ranks)));
  return worst;
}

// The largest of the steps.
double distance_of(const Architecture& architecture, torch::ScalarType type, const Setting& setting,
                   const Ranks& ranks) {
  DistributedDataParallel ddp(make(architecture, type, &ranks.norms), ranks.communicator,
                              {.first_bucket_bytes = setting.bucket,
                               .bucket_bytes = setting.bucket,
                               .find_unused_parameters = setting.unused});
  if (setting.uneven) ddp->eval();  // a rank without input has nothing to normalize over
  double worst = 0;
  for (int step = 0; step < setting.steps; ++step) {
    ddp.zero_grad();
    auto join = ddp.join();
    if (!setting.uneven || ranks.world.rank == 0)
      train_part(ddp, setting, make_batches(architecture, type, setting, step), ranks.world);
    join.finish();
    if (setting.uneven && ranks.world.rank > 0) continue;  // it had no step, and has no gradients
    worst = std::max(worst, distance(gradients_of(*ddp.module()),
                                     gradients_alone(architecture, type, setting, step, ranks.world.size)));
  }
  return worst;
}

double allowed(const Architecture& architecture, torch::ScalarType type, const Setting& setting, int ranks) {
  const bool amplifies = architecture.name.starts_with("resnet") && !setting.uneven;
  if (type == torch::kFloat64 || !amplifies) return tolerance(type);
  return std::clamp(2 * rounding_of_one_process(architecture, setting, ranks), tolerance(type), 1e-3);
}

struct Choice {
  std::vector<Setting> settings;
  std::vector<torch::ScalarType> types;
  bool resnet50 = true;
};
const Choice kAll{{kPlain, kAccumulated, kUneven}, {torch::kFloat32, torch::kFloat64}};
// What a backend can spoil: the sums of buckets and the calls' order. Fifty layers show no more than
// eighteen.
const Choice kOfABackend{{kAccumulated, kUneven}, {torch::kFloat64}, false};

void expect_gradients_of_the_whole_batch(const Ranks& ranks, const Choice& choice) {
  for (const auto& architecture : architectures())
    for (const auto type : choice.types)
      for (const auto& setting : choice.settings) {
        if (architecture.name == "resnet50" && !choice.resnet50) continue;
        const double found = distance_of(architecture, type, setting, ranks);
        EXPECT_LT(found, allowed(architecture, type, setting, ranks.world.size))
            << architecture.name << " in " << torch::toString(type) << ", " << setting.name << ", rank "
            << ranks.world.rank;
      }
}

std::unique_ptr<Communicator> make_second(World world, const std::string& backend) {
  world.name = "norms";
  return make_communicator(world, backend);
}

class ModelsOnRanks : public testing::TestWithParam<int> {};

TEST_P(ModelsOnRanks, have_the_gradients_of_the_whole_batch) {
  run_ddp(GetParam(), "shm", [](const World& world, Communicator& communicator) {
    const auto norms = make_second(world, "shm");
    expect_gradients_of_the_whole_batch({world, communicator, *norms}, kAll);
    norms->run(barrier());
  });
}

INSTANTIATE_TEST_SUITE_P(UpToFour, ModelsOnRanks, testing::Values(1, 2, 3, 4));

class ModelsOnBackend : public testing::TestWithParam<std::tuple<std::string, int>> {};

TEST_P(ModelsOnBackend, have_the_gradients_of_the_whole_batch) {
  const auto& [backend, ranks] = GetParam();
  run_ddp(ranks, backend, [&](const World& world, Communicator& communicator) {
    const auto norms = make_second(world, backend);
    expect_gradients_of_the_whole_batch({world, communicator, *norms}, kOfABackend);
    norms->run(barrier());
  });
}

INSTANTIATE_TEST_SUITE_P(Backends, ModelsOnBackend,
                         testing::Combine(testing::Values("tcp", "gloo", "shm+tcp"), testing::Values(2, 3)));

class ModelsUnderMpi : public testing::TestWithParam<int> {};

// Plays two parts: started by itself it starts mpirun, started by mpirun it is a rank.
TEST_P(ModelsUnderMpi, have_the_gradients_of_the_whole_batch) {
  if (std::getenv("OMPI_COMM_WORLD_SIZE") != nullptr) {
    torch::set_num_threads(1);
    const auto world = join();
    const auto communicator = make_communicator(world, "mpi"), norms = make_second(world, "mpi");
    expect_gradients_of_the_whole_batch({world, *communicator, *norms}, kOfABackend);
    communicator->run(barrier());
    return leave(world);
  }
  const std::string self = std::filesystem::read_symlink("/proc/self/exe").string();
  Session mpirun({"mpirun.openmpi", "--oversubscribe", "-n", std::to_string(GetParam()), self,
                  "--gtest_filter=*ModelsUnderMpi.*/0"},
                 {{"OMPI_ALLOW_RUN_AS_ROOT", "1"}, {"OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1"}});
  EXPECT_EQ(mpirun.finish(), 0) << mpirun.text();
}

INSTANTIATE_TEST_SUITE_P(Ranks, ModelsUnderMpi, testing::Values(2, 3));

}  // namespace
}  // namespace gradwire
