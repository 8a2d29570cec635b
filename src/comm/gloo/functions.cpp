#include "comm/gloo/functions.h"

#include <gloo/allgather.h>
#include <gloo/allreduce.h>
#include <gloo/alltoall.h>
#include <gloo/barrier.h>
#include <gloo/broadcast.h>
#include <gloo/reduce.h>

#include <cstring>

namespace gradwire {
namespace {

using Byte = std::uint8_t;

// Gloo takes what it only reads as non-const.
Byte* pointer(std::span<const std::byte> bytes) {
  return const_cast<Byte*>(reinterpret_cast<const Byte*>(bytes.data()));
}

// Calls use(T*, count) with a type of the element's size.
template <typename Use>
void with_elements(DType dtype, std::span<const std::byte> bytes, const Use& use) {
  const std::size_t count = bytes.size() / size_of(dtype);
  void* memory = pointer(bytes);
  switch (size_of(dtype)) {
    case 1:
      return use(static_cast<std::uint8_t*>(memory), count);
    case 2:
      return use(static_cast<std::uint16_t*>(memory), count);
    case 4:
      return use(static_cast<std::uint32_t*>(memory), count);
    default:
      return use(static_cast<std::uint64_t*>(memory), count);
  }
}

// Gloo counts in bytes here, so that it takes any type; but it must not cut one, hence elements of that
// size.
auto reduction_of(Isa isa, const Call& call) {
  return [isa, dtype = call.dtype, how = combined_by(call)](void* to, const void* a, const void* b,
                                                            std::size_t count) {
    const std::byte* sources[] = {static_cast<const std::byte*>(a), static_cast<const std::byte*>(b)};
    std::byte* destination = static_cast<std::byte*>(to);
    combine(isa, dtype, how, sources, {&destination, 1}, count * size_of(dtype));
  };
}

}  // namespace

Reduction combined_by(const Call& call) {
  return call.reduction == Reduction::avg ? Reduction::sum : call.reduction;
}

void copy_in(const Call& call) {
  if (call.in.data() != call.out.data()) std::memcpy(call.out.data(), call.in.data(), call.in.size());
}

void GlooFunctions::average(const Call& call) const {
  if (call.reduction == Reduction::avg) divide(isa_, call.dtype, context_->size, call.out);
}

void GlooFunctions::all_reduce(const Call& call) {
  copy_in(call);
  gloo::AllreduceOptions options(context_);
  options.setAlgorithm(algorithm_ == GlooAlgorithm::bcube ? gloo::AllreduceOptions::Algorithm::BCUBE
                                                          : gloo::AllreduceOptions::Algorithm::RING);
  with_elements(call.dtype, call.out, [&](auto* data, std::size_t count) { options.setOutput(data, count); });
  options.setReduceFunction(reduction_of(isa_, call));
  gloo::allreduce(options);
  average(call);
}

// Reduces `in` to the root's out. Gloo uses everybody's output on the way, ours is only written on the
// root.
void GlooFunctions::reduce(const Call& call, std::span<const std::byte> in, Rank root) {
  if (root != context_->rank && scratch_.size() < in.size()) scratch_.resize(in.size());
  const std::span<std::byte> out = root == context_->rank ? call.out : std::span(scratch_).first(in.size());
  gloo::ReduceOptions options(context_);
  if (in.data() != out.data())
    with_elements(call.dtype, in, [&](auto* data, std::size_t count) { options.setInput(data, count); });
  with_elements(call.dtype, out, [&](auto* data, std::size_t count) { options.setOutput(data, count); });
  options.setRoot(root);
  options.setReduceFunction(reduction_of(isa_, call));
  gloo::reduce(options);
}

// Gloo's only reduce_scatter is an older class that reorders; a reduce of every part moves as few bytes.
void GlooFunctions::reduce_scatter(const Call& call) {
  for (Rank root = 0; root < context_->size; ++root)
    reduce(call, call.in.subspan(static_cast<std::size_t>(root) * call.out.size(), call.out.size()), root);
  average(call);
}

void GlooFunctions::all_gather(const Call& call) {
  const std::byte* own = call.out.data() + static_cast<std::size_t>(context_->rank) * call.in.size();
  gloo::AllgatherOptions options(context_);
  if (call.in.data() != own) options.setInput(pointer(call.in), call.in.size());
  options.setOutput(pointer(call.out), call.out.size());
  gloo::allgather(options);
}

void GlooFunctions::broadcast(const Call& call) {
  gloo::BroadcastOptions options(context_);
  options.setOutput(pointer(call.out), call.out.size());
  options.setRoot(call.root);
  gloo::broadcast(options);
}

void GlooFunctions::all_to_all(const Call& call) {
  gloo::AlltoallOptions options(context_);
  options.setInput(pointer(call.in), call.in.size());
  options.setOutput(pointer(call.out), call.out.size());
  gloo::alltoall(options);
}

void GlooFunctions::barrier() {
  gloo::BarrierOptions options(context_);
  gloo::barrier(options);
}

void GlooFunctions::run(const Call& call) {
  switch (call.kind) {
    case Collective::all_reduce:
      return all_reduce(call);
    case Collective::reduce_scatter:
      return reduce_scatter(call);
    case Collective::all_gather:
      return all_gather(call);
    case Collective::broadcast:
      return broadcast(call);
    case Collective::reduce:
      reduce(call, call.in, call.root);
      if (call.root == context_->rank) average(call);
      return;
    case Collective::all_to_all:
      return all_to_all(call);
    default:
      return barrier();
  }
}

}  // namespace gradwire
