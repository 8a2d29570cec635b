#include "comm/nccl/enqueue.h"

#include "base/error.h"

namespace gradwire {
namespace {

ncclDataType_t nccl_type(DType type) {
  switch (type) {
    case DType::f32:
      return ncclFloat32;
    case DType::f64:
      return ncclFloat64;
    case DType::f16:
      return ncclFloat16;
    case DType::bf16:
      return ncclBfloat16;
    case DType::i8:
      return ncclInt8;
    case DType::u8:
      return ncclUint8;
    case DType::i32:
      return ncclInt32;
    case DType::i64:
      return ncclInt64;
  }
  throw Error("a type that NCCL does not have");
}

ncclRedOp_t nccl_reduction(Reduction reduction) {
  switch (reduction) {
    case Reduction::sum:
      return ncclSum;
    case Reduction::avg:
      return ncclAvg;
    case Reduction::min:
      return ncclMin;
    case Reduction::max:
      return ncclMax;
    case Reduction::product:
      return ncclProd;
  }
  throw Error("a reduction that NCCL does not have");
}

// A send and a receive for every rank, fused so that none waits for another. An error inside the group is
// kept and the group is ended all the same.
ncclResult_t enqueue_all_to_all(const Call& call, ncclComm_t communicator, int world, cudaStream_t stream) {
  const std::size_t part = call.in.size() / static_cast<std::size_t>(world);
  const std::size_t count = part / size_of(call.dtype);
  const ncclDataType_t type = nccl_type(call.dtype);
  ncclResult_t first = ncclGroupStart();
  const auto note = [&first](ncclResult_t result) {
    if (first == ncclSuccess && result != ncclInProgress) first = result;
  };
  for (int peer = 0; peer < world; ++peer) {
    const std::size_t offset = static_cast<std::size_t>(peer) * part;
    note(ncclSend(call.in.data() + offset, count, type, peer, communicator, stream));
    note(ncclRecv(call.out.data() + offset, count, type, peer, communicator, stream));
  }
  const ncclResult_t last = ncclGroupEnd();
  return first == ncclSuccess ? last : first;
}

}  // namespace

ncclResult_t enqueue(const Call& call, ncclComm_t communicator, int world, cudaStream_t stream) {
  const void* const in = call.in.data();
  void* const out = call.out.data();
  const ncclDataType_t type = nccl_type(call.dtype);
  const ncclRedOp_t reduction = nccl_reduction(call.reduction);
  const std::size_t ins = call.in.size() / size_of(call.dtype), outs = call.out.size() / size_of(call.dtype);
  switch (call.kind) {
    case Collective::all_reduce:
      return ncclAllReduce(in, out, ins, type, reduction, communicator, stream);
    case Collective::reduce_scatter:
      return ncclReduceScatter(in, out, outs, type, reduction, communicator, stream);
    case Collective::all_gather:
      return ncclAllGather(in, out, ins, type, communicator, stream);
    case Collective::broadcast:
      return ncclBroadcast(out, out, outs, type, call.root, communicator, stream);
    case Collective::reduce:
      return ncclReduce(in, out, ins, type, reduction, call.root, communicator, stream);
    case Collective::all_to_all:
      return enqueue_all_to_all(call, communicator, world, stream);
    case Collective::barrier:
      break;
  }
  throw Error("a collective that NCCL does not have");
}

}  // namespace gradwire
