#include "comm/nccl/engine.h"

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

// Several calls fused, so that none waits for another. An error inside the group is kept and the group is ended all the
// same.
template <typename Fill>
ncclResult_t fused(const Fill& fill) {
  ncclResult_t first = ncclGroupStart();
  fill([&first](ncclResult_t result) {
    if (first == ncclSuccess && result != ncclInProgress) first = result;
  });
  const ncclResult_t last = ncclGroupEnd();
  return first == ncclSuccess ? last : first;
}

ncclResult_t enqueue_messages(const Call& call, ncclComm_t communicator, cudaStream_t stream) {
  return fused([&](const auto& note) {
    for (const Message& message : call.messages) {
      if (message.out && !message.out->empty())
        note(ncclSend(message.out->data(), message.out->size(), ncclUint8, message.peer, communicator,
                      stream));
      if (message.in && !message.in->empty())
        note(ncclRecv(message.in->data(), message.in->size(), ncclUint8, message.peer, communicator, stream));
    }
  });
}

// Parts of different sizes are as many reductions, each to the rank whose part it is.
ncclResult_t enqueue_reductions(const Call& call, ncclComm_t communicator, cudaStream_t stream) {
  return fused([&](const auto& note) {
    for (const Message& part : call.messages)
      note(ncclReduce(part.out->data(), call.out.data(), part.out->size() / size_of(call.dtype),
                      nccl_type(call.dtype), nccl_reduction(call.reduction), part.peer, communicator,
                      stream));
  });
}

}  // namespace

ncclResult_t enqueue(const Call& call, ncclComm_t communicator, cudaStream_t stream) {
  if (!call.messages.empty())
    return call.kind == Collective::reduce_scatter ? enqueue_reductions(call, communicator, stream)
                                                   : enqueue_messages(call, communicator, stream);
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
    default:
      break;
  }
  throw Error("a collective that NCCL does not have");
}

}  // namespace gradwire
