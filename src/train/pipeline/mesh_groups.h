// The communicators of a rank on a mesh (sched/mesh.h): with those that hold other parts of the same layers (tensor),
// with those that hold the same parts and learn from other data (data), with the other stages of its pipeline, and
// one-way channels to single ranks. All ranks of the world make one with the same mesh and backend, and call what makes
// communicators in one order. Belongs to one thread.
#pragma once

#include <torch/torch.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "comm/communicator.h"
#include "net/world.h"
#include "sched/mesh.h"
#include "train/rehearsal.h"

namespace gradwire {

// Makes the communicator of a part of the world. `group` is its name, and no other's.
using MakeGroup = std::function<std::unique_ptr<Communicator>(const World& part, const std::string& group)>;

struct MeshWires {
  MakeGroup tensors;  // of communicators that move tensors, which lie on `device`
  MakeGroup numbers;  // of those that move a few numbers in host memory
  torch::Device device = torch::kCPU;
};

// As make_communicator() takes the backend. GPUs have nccl for tensors, and what reaches all ranks for numbers.
MeshWires mesh_wires(const std::string& backend, torch::Device device = torch::kCPU);

// The same, able to be quiet. The rehearsal is borrowed.
MeshWires rehearsed(MeshWires wires, Rehearsal& rehearsal);

class MeshGroups {
 public:
  // Throws ConfigError when the mesh is not one of the world's ranks.
  MeshGroups(const World& world, const Mesh& mesh, const std::string& backend = "auto");
  MeshGroups(const World& world, const Mesh& mesh, MeshWires wires);

  const Mesh& mesh() const { return mesh_; }
  const MeshPlace& place() const { return place_; }
  torch::Device device() const { return wires_.device; }
  Communicator& tensor() { return *tensor_; }
  // As it was made: whoever keeps the order of a GPU's streams himself, as DistributedDataParallel does, takes this one.
  Communicator& data() { return *data_; }
  Communicator& pipeline() { return *pipeline_; }  // of numbers; a rank's number in it is its stage

  // Of these ranks, by their numbers in the world, this one among them; they alone call it. `name` is used once. The first
  // moves tensors, in the order of the calling thread's stream where they are a GPU's; the second host memory.
  std::unique_ptr<Communicator> among(const std::vector<Rank>& ranks, const std::string& name) const;
  std::unique_ptr<Communicator> numbers_among(const std::vector<Rank>& ranks, const std::string& name) const;

 private:
  std::unique_ptr<Communicator> made(const MakeGroup& make, const std::vector<Rank>& ranks,
                                     const std::string& name) const;

  const World world_;
  const Mesh mesh_;
  const MeshWires wires_;
  const MeshPlace place_;
  std::unique_ptr<Communicator> tensor_, data_, pipeline_;
};

// What links a dimension's groups use, for people: "shm" where each group is on one host, "tcp between hosts". One line a
// dimension that has more than one rank: "tp 2: ranks 0-1, 2-3 over shm, host memory of one host".
std::vector<std::string> describe_mesh(const Mesh& mesh, const std::string& backend,
                                       const std::vector<int>& host_of_rank);

}  // namespace gradwire
