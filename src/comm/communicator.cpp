#include "comm/communicator.h"

#include <sys/mman.h>

#include <algorithm>

#include "base/error.h"
#include "comm/memory.h"

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
  const bool same_part =
      call.in.data() >= call.out.data() && !call.in.empty() &&
      (!call.out_parts.empty() ||  // then the rank's own place is known where it is spelt out
       static_cast<std::size_t>(call.in.data() - call.out.data()) % call.in.size() == 0);
  if (overlap(call.in, call.out) && !(may_be_in_place && same_part))
    refuse(call, "in and out overlap; give two buffers, or exactly the same one where it works in place");
}

void check_root(const Call& call, int world) {
  if (call.root < 0 || call.root >= world)
    refuse(call, fmt::format("root {} is not a rank of 0..{}", call.root, world - 1));
}

void check_part(const Call& call, std::size_t bytes) {
  if (bytes % size_of(call.dtype) != 0)
    refuse(call, fmt::format("a part of {} bytes is not a whole number of {} elements", bytes,
                             name_of(call.dtype)));
}

// A part for each rank, and all of them together the buffer.
void check_parts(const Call& call, const std::vector<std::size_t>& parts, std::size_t bytes, int world) {
  if (parts.empty()) return;
  if (parts.size() != static_cast<std::size_t>(world))
    refuse(call, fmt::format("{} parts are given for {} ranks", parts.size(), world));
  std::size_t left = bytes;
  for (const std::size_t part : parts) {
    check_part(call, part);
    if (part > left) refuse(call, fmt::format("its parts have more than the {} bytes of the buffer", bytes));
    left -= part;
  }
  if (left != 0) refuse(call, fmt::format("its parts leave {} of {} bytes over", left, bytes));
}

void check_messages(const Call& call, int world) {
  for (const Message& message : call.messages) {
    if (message.peer < 0 || message.peer >= world)
      refuse(call, fmt::format("peer {} is not a rank of 0..{}", message.peer, world - 1));
    if (!message.out && !message.in)
      refuse(call, fmt::format("a message with rank {} neither sends nor receives", message.peer));
  }
}

// Where ranks have parts of their own sizes: only a rank itself knows whether its own is right.
bool check_uneven(const Call& call, int world) {
  check_parts(call, call.in_parts, call.in.size(), world);
  check_parts(call, call.out_parts, call.out.size(), world);
  switch (call.kind) {
    case Collective::all_to_all:
      if (call.in_parts.empty() != call.out_parts.empty())
        refuse(call, "with parts of different sizes both in's and out's are needed");
      return !call.in_parts.empty();
    case Collective::all_gather:
      return !call.out_parts.empty();
    case Collective::reduce_scatter:
      return !call.in_parts.empty();
    default:
      return false;
  }
}

void check_sizes(const Call& call, int world) {
  const std::size_t in = call.in.size(), out = call.out.size(), n = static_cast<std::size_t>(world);
  if (check_uneven(call, world)) return check_overlap(call, call.kind == Collective::all_gather);
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
    case Collective::gather:
    case Collective::scatter:
      return check_root(call, world);
    case Collective::send:
    case Collective::recv:
    case Collective::exchange:
      return check_messages(call, world);
    case Collective::barrier:
      return;
  }
  refuse(call, "no such collective");
}

std::size_t bytes_of_messages(const Call& call) {
  std::size_t bytes = 0;
  for (const Message& message : call.messages)
    bytes += (message.out ? message.out->size() : 0) + (message.in ? message.in->size() : 0);
  return bytes;
}

bool comes_from_root(Collective kind) { return kind == Collective::broadcast || kind == Collective::scatter; }

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

Call gather(std::span<const std::byte> in, std::span<std::byte> out, DType type, Rank root) {
  return {.kind = Collective::gather, .in = in, .out = out, .dtype = type, .root = root};
}

Call scatter(std::span<const std::byte> in, std::span<std::byte> out, DType type, Rank root) {
  return {.kind = Collective::scatter, .in = in, .out = out, .dtype = type, .root = root};
}

Call with_parts(Call call, Parts parts) {
  call.in_parts = std::move(parts.in);
  call.out_parts = std::move(parts.out);
  return call;
}

Call send(std::span<const std::byte> data, Rank to, std::uint32_t tag) {
  return {.kind = Collective::send, .tag = tag, .messages = {{.peer = to, .out = data, .tag = tag}}};
}

Call recv(std::span<std::byte> data, Rank from, std::uint32_t tag) {
  return {.kind = Collective::recv, .tag = tag, .messages = {{.peer = from, .in = data, .tag = tag}}};
}

Call exchange(std::vector<Message> messages) {
  return {.kind = Collective::exchange, .messages = std::move(messages)};
}

Signature check_call(const Call& call, int world, std::uint64_t sequence) {
  check_sizes(call, world);
  const std::size_t bytes = is_point_to_point(call.kind) ? bytes_of_messages(call)
                            : comes_from_root(call.kind) ? call.out.size()
                                                         : call.in.size();
  if (bytes % size_of(call.dtype) != 0)
    refuse(call, fmt::format("not a whole number of {} elements", name_of(call.dtype)));
  return {.sequence = sequence,
          .bytes = bytes,
          .tag = call.tag,
          .root = static_cast<std::uint16_t>(call.root),
          .kind = call.kind,
          .type_and_reduction = Signature::pack(call.dtype, call.reduction)};
}

Memory allocate_private(std::size_t bytes) {
  constexpr std::size_t kLargePage = 2 << 20;
  const std::size_t size = std::max<std::size_t>(bytes, 1);
  void* place = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (place == MAP_FAILED) throw_system_error(fmt::format("no room for {} bytes", bytes));
  if (size >= kLargePage) ::madvise(place, size, MADV_HUGEPAGE);
  ::madvise(place, size, MADV_POPULATE_WRITE);  // older kernels fault the pages on first touch instead
  return {{static_cast<std::byte*>(place), bytes},
          std::shared_ptr<void>(place, [size](void* p) { ::munmap(p, size); })};
}

}  // namespace gradwire
