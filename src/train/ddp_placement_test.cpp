// Where things are and whose they are: devices, backends that fit them, buffers.
#include <gmock/gmock.h>

#include "train/ddp_fixture.h"

namespace gradwire {
namespace {

using testing::HasSubstr;

TEST(DdpPlacement, of_a_model_on_another_device_is_refused_or_mended) {
  run_ddp(1, "shm", [](const World&, Communicator& communicator) {
    struct Elsewhere : torch::nn::Module {
      Elsewhere() { register_parameter("weight", torch::empty({2}, torch::kMeta)); }
      torch::Tensor forward(const torch::Tensor& x) { return x; }
    };
    const auto said =
        error_of([&] { DistributedDataParallel ddp(std::make_shared<Elsewhere>(), communicator); });
    EXPECT_THAT(said, HasSubstr("parameter weight is on meta and belongs on cpu: write "
                                "model->to(torch::Device(\"cpu\"))"));
    DistributedDataParallel ddp(make_model(), communicator, {.move_to_device = true});
    EXPECT_THAT(
        error_of([&] { ddp.forward(make_batch().input.to(torch::kMeta)); }),
        HasSubstr(
            "input 0 of forward is on meta and belongs on cpu: write input.to(torch::Device(\"cpu\"))"));
    EXPECT_THAT(error_of([&] {
                  DistributedDataParallel(make_model(), communicator, {.device = torch::Device("cuda:0")});
                }),
                HasSubstr("CUDA"));
  });
}

// What the wrapper sees of NCCL before it moves anything: its name and that it takes GPU memory.
class NamedNccl final : public Communicator {
 public:
  explicit NamedNccl(Communicator& communicator) : communicator_(communicator) {}
  Rank rank() const override { return communicator_.rank(); }
  int size() const override { return communicator_.size(); }
  std::string name() const override { return "nccl"; }
  Carrier carrier() const override { return Carrier::gpus; }
  std::unique_ptr<Work> start(const Call& call) override { return communicator_.start(call); }
  void run(const Call& call) override { communicator_.run(call); }
  Memory allocate(std::size_t bytes) override { return communicator_.allocate(bytes); }
  void abort() override { communicator_.abort(); }

 private:
  Communicator& communicator_;
};

TEST(DdpPlacement, refuses_nccl_for_a_model_on_the_cpu) {
  run_ddp(1, "shm", [](const World&, Communicator& communicator) {
    NamedNccl nccl(communicator);
    EXPECT_THAT(error_of([&] { DistributedDataParallel ddp(make_model(), nccl); }),
                HasSubstr("the model is on cpu and the backend nccl moves GPU memory: write "
                          "make_communicator(world, \"auto\")"));
  });
}

struct WithBuffer : torch::nn::Module {
  explicit WithBuffer(const torch::Tensor& values)
      : fc(register_module("fc", torch::nn::Linear(6, 3))), buffer(register_buffer("mean", values)) {}
  torch::Tensor forward(const torch::Tensor& x) { return fc(x); }
  torch::nn::Linear fc;
  torch::Tensor buffer;
};

TEST(DdpPlacement, names_a_buffer_that_is_elsewhere) {
  run_ddp(1, "shm", [](const World&, Communicator& communicator) {
    const auto model = std::make_shared<WithBuffer>(torch::empty({2}, torch::kMeta));
    EXPECT_THAT(error_of([&] { DistributedDataParallel ddp(model, communicator); }),
                HasSubstr("buffer mean is on meta and belongs on cpu: write model->to("));
  });
}

TEST(DdpBuffers, are_rank_0s_in_training_and_each_ranks_own_otherwise) {
  run_ddp(2, "shm", [](const World& world, Communicator& communicator) {
    struct Counting : torch::nn::Module {
      Counting()
          : fc(register_module("fc", torch::nn::Linear(6, 3))),
            seen(register_buffer("seen", torch::zeros({2}))) {}
      torch::Tensor forward(const torch::Tensor& x) { return fc(x) + seen.sum(); }
      torch::nn::Linear fc;
      torch::Tensor seen;
    };
    DistributedDataParallel ddp(std::make_shared<Counting>(), communicator);
    ddp->seen.fill_(10 + world.rank);
    {
      const torch::NoGradGuard no_grad;
      ddp.forward(make_batch().input);
      EXPECT_EQ(ddp->seen[0].item<int>(), 10 + world.rank);
    }
    ddp.forward(make_batch().input).sum().backward();
    EXPECT_EQ(ddp->seen[1].item<int>(), 10);
  });
}

TEST(DdpBuffers, that_differ_between_ranks_are_refused_on_every_rank) {
  run_ddp(2, "shm", [](const World& world, Communicator& communicator) {
    const auto model = std::make_shared<WithBuffer>(torch::zeros({2 + world.rank}));
    EXPECT_THAT(error_of([&] { DistributedDataParallel ddp(model, communicator); }),
                HasSubstr("rank 1 has buffer mean: Float[3] where rank 0 has buffer mean: Float[2]"));
  });
}

TEST(DdpBuffers, stay_each_ranks_own_when_told_so) {
  run_ddp(2, "shm", [](const World& world, Communicator& communicator) {
    DistributedDataParallel ddp(std::make_shared<WithBuffer>(torch::full({2}, 5.0 + world.rank)),
                                communicator, {.broadcast_buffers = false});
    EXPECT_EQ(ddp->buffer[0].item<int>(), 5) << "rank 0's to begin with";
    ddp->buffer.fill_(10 + world.rank);
    ddp.forward(make_batch().input).sum().backward();
    EXPECT_EQ(ddp->buffer[0].item<int>(), 10 + world.rank);
  });
}

}  // namespace
}  // namespace gradwire
