#include "comm/communicator.h"

#include "base/error.h"

namespace gradwire {
namespace {

[[noreturn]] void refuse(const Call& call, const std::string& why) {
  throw ConfigError(fmt::format("{} with {} bytes in and {} bytes out: {}", name_of(call.kind),
                                call.in.size(), call.out.size(), why));
}

bool overlap(std::span<const std::byte> a, std::span<const std::byte> b) {
  return a.data() < b.data() + b.size() && b.data() < a.data() + a.size();
}

// In place is allowed where both begin at one address, or where `in` is this rank's own part of `out`.
void check_overlap(const Call& call, bool may_be_in_place) {
  const bool same_part = call.in.data() >= call.out.data() && !call.in.empty() &&
                         static_cast<std::size_t>(call.in.data() - call.out.data()) % call.in.size() == 0;
  if (overlap(call.in, call.out) && !(may_be_in_place && same_part))
    refuse(call, "in and out overlap; give two buffers, or exactly the same one where it works in place");
}

void check_root(const Call& call, int world) {
  if (call.root < 0 || call.root >= world)
    refuse(call, fmt::format("root {} is not a rank of 0..{}", call.root, world - 1));
}

void check_sizes(const Call& call, int world) {
  const std::size_t in = call.in.size(), out = call.out.size(), n = static_cast<std::size_t>(world);
  switch (call.kind) {
    case Collective::all_reduce:
      if (in != out) refuse(call, "in and out must have the same size");
      return check_overlap(call, true);
    case Collective::reduce:
      check_root(call, world);
      if (in != out) refuse(call, "in and out must have the same size");
      return check_overlap(call, true);
    case Collective::reduce_scatter:
      if (in != n * out) refuse(call, fmt::format("in must be {} times out, a part for each rank", n));
      return check_overlap(call, n == 1);
    case Collective::all_gather:
      if (out != n * in) refuse(call, fmt::format("out must be {} times in, a part from each rank", n));
      return check_overlap(call, true);
    case Collective::broadcast:
      return check_root(call, world);
    case Collective::all_to_all:
      if (in != out || in % (n * size_of(call.dtype)) != 0)
        refuse(call, fmt::format("in and out must have the same size, a multiple of {} parts", n));
      return check_overlap(call, n == 1);
    case Collective::barrier:
      return;
  }
  refuse(call, "no such collective");
}

}  // namespace

Call all_reduce(std::span<std::byte> data, DType type, Reduction reduction) {
  return {.kind = Collective::all_reduce, .in = data, .out = data, .dtype = type, .reduction = reduction};
}

Call reduce_scatter(std::span<const std::byte> in, std::span<std::byte> out, DType type,
                    Reduction reduction) {
  return {.kind = Collective::reduce_scatter, .in = in, .out = out, .dtype = type, .reduction = reduction};
}

Call all_gather(std::span<const std::byte> in, std::span<std::byte> out, DType type) {
  return {.kind = Collective::all_gather, .in = in, .out = out, .dtype = type};
}

Call broadcast(std::span<std::byte> data, DType type, Rank root) {
  return {.kind = Collective::broadcast, .in = {}, .out = data, .dtype = type, .root = root};
}

Call reduce(std::span<std::byte> data, DType type, Reduction reduction, Rank root) {
  return {.kind = Collective::reduce,
          .in = data,
          .out = data,
          .dtype = type,
          .reduction = reduction,
          .root = root};
}

Call all_to_all(std::span<const std::byte> in, std::span<std::byte> out, DType type) {
  return {.kind = Collective::all_to_all, .in = in, .out = out, .dtype = type};
}

Call barrier() { return {}; }

Signature check_call(const Call& call, int world, std::uint64_t sequence) {
  check_sizes(call, world);
  const std::size_t bytes = call.kind == Collective::broadcast ? call.out.size() : call.in.size();
  if (bytes % size_of(call.dtype) != 0)
    refuse(call, fmt::format("not a whole number of {} elements", name_of(call.dtype)));
  return {.sequence = sequence,
          .bytes = bytes,
          .tag = call.tag,
          .root = static_cast<std::uint16_t>(call.root),
          .kind = call.kind,
          .type_and_reduction = Signature::pack(call.dtype, call.reduction)};
}

}  // namespace gradwire
