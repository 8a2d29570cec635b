// One NCCL operation of the stand-in as data, and how it is carried out: an exchange of messages with every
// other rank, then the reduction, in rank order and so with the same bits everywhere. All ranks send each
// other at least a header, so that of ranks that are not in the same operation at least one finds out.
#pragma once

#include <optional>
#include <vector>

#include "mesh.h"
#include "nccl.h"

namespace standin {

enum class Kind { all_reduce, reduce, reduce_scatter, all_gather, broadcast, group, finalize };

// A half of a point-to-point message.
struct Point {
  bool outgoing = false;
  void* buffer = nullptr;
  std::size_t count = 0;
  ncclDataType_t datatype = ncclInt8;
  int peer = 0;
};

struct Operation {
  Kind kind = Kind::finalize;
  const void* send = nullptr;
  void* receive = nullptr;
  std::size_t count = 0;
  ncclDataType_t datatype = ncclInt8;
  ncclRedOp_t reduction = ncclSum;
  int root = 0;
  std::vector<Point> points;  // of a group of sends and receives
  cudaStream_t stream = nullptr;
};

// Zero for what is not one of the types Gradwire uses.
std::size_t size_of(ncclDataType_t);

std::optional<Trouble> carry_out(const Operation&, std::uint64_t sequence, int rank, int size, Mesh&);

}  // namespace standin
