// The communicators of a rank on a mesh (sched/mesh.h): with those that hold other parts of the same layers (tensor),
// with those that hold the same parts and learn from other data (data), with the other stages of its pipeline, and
// one-way channels to single ranks. All ranks of the world make one with the same mesh and backend, and call what makes
// communicators in one order. Belongs to one thread.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "comm/communicator.h"
#include "net/world.h"
#include "sched/mesh.h"

namespace gradwire {

class MeshGroups {
 public:
  // Throws ConfigError when the mesh is not one of the world's ranks.
  MeshGroups(const World& world, const Mesh& mesh, std::string backend = "auto");

  const Mesh& mesh() const { return mesh_; }
  const MeshPlace& place() const { return place_; }
  Communicator& tensor() { return *tensor_; }
  Communicator& data() { return *data_; }
  Communicator& pipeline() { return *pipeline_; }

  // Of these ranks, by their numbers in the world, this one among them; they alone call it. `name` is used once.
  std::unique_ptr<Communicator> among(const std::vector<Rank>& ranks, const std::string& name) const;

 private:
  const World world_;
  const Mesh mesh_;
  const std::string backend_;
  const MeshPlace place_;
  std::unique_ptr<Communicator> tensor_, data_, pipeline_;
};

// What links a dimension's groups use, for people: "shm" where each group is on one host, "tcp between hosts". One line a
// dimension that has more than one rank: "tp 2: ranks 0-1, 2-3 over shm, host memory of one host".
std::vector<std::string> describe_mesh(const Mesh& mesh, const std::string& backend,
                                       const std::vector<int>& host_of_rank);

}  // namespace gradwire
