// Training on several nodes, where the network decides how fast it goes. The backend is a word: what is there
// and fast is measured with `gradwire bench`, not guessed. On each node, with its own number:
//
//   gradwire run -n 2 --nnodes 2 --node-rank 0 --master node0:29500 -- train_several_nodes auto
//
//   auto       shared memory inside a node, TCP between nodes; a good beginning without GPUs
//   shm+gloo   the same with Gloo between nodes
//   tcp, gloo  the network everywhere
//   nccl       GPUs: NVLink or PCIe inside a node, InfiniBand or Ethernet between
#include <gradwire_train.h>

#include <cstdio>
#include <string>

int main(int argc, char** argv) {
  const std::string backend = argc > 1 ? argv[1] : "auto";
  const gradwire::World world = gradwire::join();  // what gradwire run, torchrun, mpirun or Slurm set
  const torch::Device device =
      backend == "nccl" ? torch::Device(torch::kCUDA, static_cast<torch::DeviceIndex>(world.local_rank))
                        : torch::Device(torch::kCPU);
  const auto communicator = gradwire::make_communicator(world, backend);

  torch::nn::Sequential model(torch::nn::Linear(64, 512), torch::nn::ReLU(), torch::nn::Linear(512, 64));
  gradwire::DistributedDataParallel ddp(model, *communicator, {.device = device, .move_to_device = true});
  torch::optim::Adam optimizer(ddp.parameters(), torch::optim::AdamOptions(1e-2));

  gradwire::Recorder recorder;  // to see where the time of a step goes
  ddp.set_trace(&recorder);
  gradwire::seed_rank(1, world.rank);
  for (int step = 0; step < 30; ++step) {
    recorder.set_step(step);
    const auto input = torch::randn({32, 64}, device);
    torch::Tensor loss;
    {
      const gradwire::Timed timed(&recorder, gradwire::SpanKind::forward);
      loss = torch::mse_loss(ddp.forward(input), -input);
    }
    {
      const gradwire::Timed timed(&recorder, gradwire::SpanKind::backward);
      loss.backward();
    }
    const gradwire::Timed timed(&recorder, gradwire::SpanKind::optimizer);
    optimizer.step();
    ddp.zero_grad();
  }
  const auto step = gradwire::breakdown({"this rank", world.size, recorder.spans(world.rank)});
  std::printf("rank %d of %d over %s: all steps done, %.0f %% of a step waits for the network\n", world.rank,
              world.size, communicator->name().c_str(), 100 * step.comm_exposed / step.step());
  gradwire::leave(world);
}
