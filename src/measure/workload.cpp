#include "measure/workload.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

namespace gradwire {
namespace {

// 0..6 for sums; 1 or 2 for products, which then stay exact.
int pattern(Rank rank, std::uint64_t index, Reduction reduction) {
  std::uint64_t mixed =
      (index + 1) * 0x9E3779B97F4A7C15u + static_cast<std::uint64_t>(rank) * 0xBF58476D1CE4E5B9u;
  mixed ^= mixed >> 31;
  return reduction == Reduction::product ? 1 + static_cast<int>(mixed % 16 == 0)
                                         : static_cast<int>(mixed % 7);
}

// Whole numbers up to 2048 and their quotients, in the formats that C++ has no type for.
std::uint16_t to_half(float value) {
  if (value == 0) return 0;
  const int exponent = std::ilogb(value);
  const auto mantissa = static_cast<int>(std::nearbyint(std::ldexp(value, 10 - exponent)));
  return static_cast<std::uint16_t>(((exponent + 15) << 10) + (mantissa - 1024));
}

float from_half(std::uint16_t bits) {
  const int exponent = bits >> 10 & 31, mantissa = bits & 1023;
  const float magnitude = exponent == 0    ? std::ldexp(static_cast<float>(mantissa), -24)
                          : exponent == 31 ? std::numeric_limits<float>::quiet_NaN()
                                           : std::ldexp(static_cast<float>(mantissa + 1024), exponent - 25);
  return bits >> 15 ? -magnitude : magnitude;
}

std::uint16_t to_brain(float value) {
  return static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(value) >> 16);
}
float from_brain(std::uint16_t bits) { return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16); }

template <typename T>
void put(std::byte* place, T value) {
  std::memcpy(place, &value, sizeof value);
}

template <typename T>
T get(const std::byte* place) {
  T value;
  std::memcpy(&value, place, sizeof value);
  return value;
}

void store(DType dtype, std::byte* place, int value) {
  switch (dtype) {
    case DType::f32:
      return put(place, static_cast<float>(value));
    case DType::f64:
      return put(place, static_cast<double>(value));
    case DType::f16:
      return put(place, to_half(static_cast<float>(value)));
    case DType::bf16:
      return put(place, to_brain(static_cast<float>(value)));
    case DType::i8:
      return put(place, static_cast<std::int8_t>(value));
    case DType::u8:
      return put(place, static_cast<std::uint8_t>(value));
    case DType::i32:
      return put(place, value);
    case DType::i64:
      return put(place, static_cast<std::int64_t>(value));
  }
}

double load(DType dtype, const std::byte* place) {
  switch (dtype) {
    case DType::f32:
      return get<float>(place);
    case DType::f64:
      return get<double>(place);
    case DType::f16:
      return from_half(get<std::uint16_t>(place));
    case DType::bf16:
      return from_brain(get<std::uint16_t>(place));
    case DType::i8:
      return get<std::int8_t>(place);
    case DType::u8:
      return get<std::uint8_t>(place);
    case DType::i32:
      return get<std::int32_t>(place);
    case DType::i64:
      return static_cast<double>(get<std::int64_t>(place));
  }
  return 0;
}

bool is_integer(DType dtype) {
  return dtype != DType::f32 && dtype != DType::f64 && dtype != DType::f16 && dtype != DType::bf16;
}

// How far a correctly rounded average may be from the exact one.
double tolerance(DType dtype, Reduction reduction, double value) {
  if (reduction != Reduction::avg || is_integer(dtype)) return 0;
  const double epsilon = dtype == DType::bf16  ? 1.0 / 128
                         : dtype == DType::f16 ? 1.0 / 1024
                         : dtype == DType::f32 ? 1e-6
                                               : 1e-14;
  return epsilon * std::abs(value);
}

Memory allocate(Communicator& communicator, Bytes bytes, bool from_communicator) {
  return from_communicator ? communicator.allocate(bytes) : allocate_private(bytes);
}

}  // namespace

CheckedBuffers::CheckedBuffers(Communicator& communicator, const SampleRequest& request,
                               bool from_communicator)
    : request_(request), rank_(communicator.rank()), ranks_(communicator.size()) {
  const Bytes bytes = request.bytes, part = bytes / static_cast<Bytes>(ranks_);
  const bool to_parts =
      request.collective == Collective::reduce_scatter || request.collective == Collective::scatter;
  out_ = allocate(communicator, to_parts ? part : bytes, from_communicator);
  switch (request.collective) {
    case Collective::all_reduce:
      call_ = all_reduce(out_.bytes(), request.dtype, request.reduction);
      break;
    case Collective::reduce:
      call_ = reduce(out_.bytes(), request.dtype, request.reduction, 0);
      break;
    case Collective::broadcast:
      call_ = broadcast(out_.bytes(), request.dtype, 0);
      break;
    case Collective::barrier:
      call_ = barrier();
      break;
    case Collective::reduce_scatter:
      in_ = allocate(communicator, bytes, from_communicator);
      call_ = reduce_scatter(in_.bytes(), out_.bytes(), request.dtype, request.reduction);
      break;
    case Collective::all_gather:
      in_ = allocate(communicator, part, from_communicator);
      call_ = all_gather(in_.bytes(), out_.bytes(), request.dtype);
      break;
    case Collective::all_to_all:
      in_ = allocate(communicator, bytes, from_communicator);
      call_ = all_to_all(in_.bytes(), out_.bytes(), request.dtype);
      break;
    case Collective::gather:
      in_ = allocate(communicator, part, from_communicator);
      call_ = gather(in_.bytes(), out_.bytes(), request.dtype, 0);
      break;
    case Collective::scatter:
      in_ = allocate(communicator, bytes, from_communicator);
      call_ = scatter(in_.bytes(), out_.bytes(), request.dtype, 0);
      break;
    case Collective::send:
    case Collective::recv:
    case Collective::exchange:
      in_ = allocate(communicator, bytes, from_communicator);
      call_ = messages_between(request.collective == Collective::exchange);
      break;
  }
}

// Round the ranks, as nccl-tests' sendrecv, or from rank 0 to rank 1 alone.
Call CheckedBuffers::messages_between(bool all) const {
  const Message next{.peer = (rank_ + 1) % ranks_, .out = in_.bytes()};
  const Message before{.peer = (rank_ + ranks_ - 1) % ranks_, .in = out_.bytes()};
  if (all) return exchange({next, before});
  if (ranks_ == 1 || rank_ > 1) return exchange({});
  return exchange({rank_ == 0 ? next : before});
}

// Whether the call gives this rank something.
bool CheckedBuffers::receives() const {
  switch (request_.collective) {
    case Collective::barrier:
      return false;
    case Collective::reduce:
    case Collective::gather:
      return rank_ == 0;
    case Collective::send:
    case Collective::recv:
      return rank_ == 1;
    default:
      return true;
  }
}

void CheckedBuffers::fill() {
  const std::size_t size = size_of(request_.dtype);
  const auto input = in_.bytes().empty() ? out_.bytes() : in_.bytes();
  for (std::size_t i = 0; i < input.size() / size; ++i)
    store(request_.dtype, input.data() + i * size, pattern(rank_, i, request_.reduction));
}

std::uint64_t CheckedBuffers::count_wrong() const {
  const std::size_t size = size_of(request_.dtype);
  if (!receives()) return 0;
  std::uint64_t wrong = 0;
  for (std::size_t i = 0; i < out_.bytes().size() / size; ++i) {
    const double value = load(request_.dtype, out_.bytes().data() + i * size), right = expected(i);
    wrong += !(std::abs(value - right) <= tolerance(request_.dtype, request_.reduction, right));
  }
  return wrong;
}

double CheckedBuffers::expected(std::uint64_t index) const {
  const std::uint64_t part = request_.bytes / size_of(request_.dtype) / static_cast<std::uint64_t>(ranks_);
  switch (request_.collective) {
    case Collective::broadcast:
    case Collective::send:
    case Collective::recv:
      return pattern(0, index, request_.reduction);
    case Collective::exchange:
      return pattern((rank_ + ranks_ - 1) % ranks_, index, request_.reduction);
    case Collective::scatter:
      return pattern(0, static_cast<std::uint64_t>(rank_) * part + index, request_.reduction);
    case Collective::gather:
    case Collective::all_gather:
      return pattern(static_cast<Rank>(index / part), index % part, request_.reduction);
    case Collective::all_to_all:
      return pattern(static_cast<Rank>(index / part), static_cast<std::uint64_t>(rank_) * part + index % part,
                     request_.reduction);
    case Collective::reduce_scatter:
      return combined(static_cast<std::uint64_t>(rank_) * part + index);
    default:
      return combined(index);
  }
}

double CheckedBuffers::combined(std::uint64_t index) const {
  double total = pattern(0, index, request_.reduction);
  for (Rank rank = 1; rank < ranks_; ++rank) {
    const double value = pattern(rank, index, request_.reduction);
    switch (request_.reduction) {
      case Reduction::min:
        total = std::min(total, value);
        break;
      case Reduction::max:
        total = std::max(total, value);
        break;
      case Reduction::product:
        total *= value;
        break;
      default:
        total += value;
    }
  }
  if (request_.reduction != Reduction::avg) return total;
  return is_integer(request_.dtype) ? std::trunc(total / ranks_) : total / ranks_;
}

}  // namespace gradwire
