// The reductions of one instruction set: compiled once for each, with its flags, with GRADWIRE_LANES naming
// the header of its widths and GRADWIRE_VARIANT the table it defines (see variant.h).
//
// One loop does everything: a step takes the same 128 bytes or so of every source, combines them in registers
// and stores the total to every destination. So memory is passed over once, lines are used whole even where
// sources are spaced to collide in a cache, and a destination may be a source.
#include "comm/kernels/variant.h"

#include "comm/kernels/formats.h"

namespace gradwire {
namespace {

// Pointers to the streams of a job. With a number known at compile time they are kept here, where the
// compiler sees that no store changes them; 0 stands for any number.
template <typename Pointer, std::size_t kCount>
struct Streams {
  Pointer at[kCount];
  Streams(const Pointer* from, std::size_t) {
    for (std::size_t i = 0; i < kCount; ++i) at[i] = from[i];
  }
  static constexpr std::size_t size() { return kCount; }
};

template <typename Pointer>
struct Streams<Pointer, 0> {
  const Pointer* at;
  std::size_t count;
  Streams(const Pointer* from, std::size_t n) : at(from), count(n) {}
  std::size_t size() const { return count; }
};

template <std::size_t kSources, std::size_t kDestinations>
struct View {
  Streams<const std::byte*, kSources> sources;
  Streams<std::byte*, kDestinations> destinations;
  std::size_t bytes;
  explicit View(const CombineJob& job)
      : sources(job.sources, job.source_count),
        destinations(job.destinations, job.destination_count),
        bytes(job.bytes) {}
};

// Goes on from byte `at` to `end` as long as whole steps of kUnroll vectors are left; returns where it
// stopped.
template <typename Format, typename Operation, int kUnroll, typename View, typename Finish>
std::size_t pass(const View& view, std::size_t at, std::size_t end, Finish finish) {
  using Stored = typename Format::Stored;
  constexpr std::size_t kBytes = sizeof(Stored), kStep = kUnroll * kBytes;
  for (; end - at >= kStep; at += kStep) {
    typename Format::Value total[kUnroll];
    const std::byte* first = view.sources.at[0] + at;
    for (int i = 0; i < kUnroll; ++i) total[i] = Format::unpack(load_lanes<Stored>(first + i * kBytes));
    for (std::size_t s = 1; s < view.sources.size(); ++s) {
      const std::byte* source = view.sources.at[s] + at;
      for (int i = 0; i < kUnroll; ++i)
        total[i] = apply<Operation>(total[i], Format::unpack(load_lanes<Stored>(source + i * kBytes)));
    }
    Stored packed[kUnroll];
    for (int i = 0; i < kUnroll; ++i) packed[i] = Format::pack(finished(finish, total[i]));
    for (std::size_t d = 0; d < view.destinations.size(); ++d) {
      std::byte* destination = view.destinations.at[d] + at;
      for (int i = 0; i < kUnroll; ++i) store_lanes(packed[i], destination + i * kBytes);
    }
  }
  return at;
}

// How many bytes until the first source is aligned for whole vectors, where that is worth their time: memory
// from malloc begins 16 bytes into a page, and every second vector would straddle two lines of the cache.
template <typename View>
std::size_t unaligned_bytes(const View& view) {
  if (view.bytes < 4096) return 0;
  return -reinterpret_cast<std::uintptr_t>(view.sources.at[0]) % kLaneBytes;
}

template <typename Kind, typename Operation, typename View, typename Finish>
void run(const View& view, Finish finish) {
  using Wide = typename Kind::template Format<Kind::kLanes>;
  using Single = typename Kind::template Format<1>;
  std::size_t at = pass<Single, Operation, 1>(view, 0, unaligned_bytes(view), finish);
  at = pass<Wide, Operation, 4>(view, at, view.bytes, finish);
  at = pass<Wide, Operation, 1>(view, at, view.bytes, finish);
  pass<Single, Operation, 1>(view, at, view.bytes, finish);
}

// The shapes worth code of their own: dst = dst + src, and both ranks of two getting the sum.
template <typename Kind, typename Operation, typename Finish>
void run_shaped(const CombineJob& job, Finish finish) {
  if (job.source_count == 2 && job.destination_count == 2)
    run<Kind, Operation>(View<2, 2>(job), finish);
  else if (job.source_count == 2 && job.destination_count == 1)
    run<Kind, Operation>(View<2, 1>(job), finish);
  else
    run<Kind, Operation>(View<0, 0>(job), finish);
}

template <typename T>
struct IntegerKind {
  template <int Count>
  using Format = IntegerFormat<T, Count>;
  static constexpr int kLanes = kLaneBytes / sizeof(T);
};

template <typename T>
struct FloatKind {
  using Compute = T;
  template <int Count>
  using Format = FloatFormat<T, Count>;
  static constexpr int kLanes = kLaneBytes / sizeof(T);
};

struct HalfKind {
  using Compute = float;
  template <int Count>
  using Format = HalfFormat<Count>;
  static constexpr int kLanes = kLaneBytes / sizeof(float);
};

struct BrainKind {
  using Compute = float;
  template <int Count>
  using Format = BrainFormat<Count>;
  static constexpr int kLanes = kLaneBytes / 2;
};

template <typename Kind, typename Operation>
void combine_with(const CombineJob& job) {
  run_shaped<Kind, Operation>(job, Keep{});
}

// Multiplying by the reciprocal of a power of two rounds as dividing does, and is several times faster.
template <typename Kind>
void average(const CombineJob& job, std::size_t divisor) {
  using T = typename Kind::Compute;
  if ((divisor & (divisor - 1)) == 0)
    run_shaped<Kind, Sum>(job, Multiply<T>{1 / static_cast<T>(divisor)});
  else
    run_shaped<Kind, Sum>(job, Divide<T>{static_cast<T>(divisor)});
}

template <typename Kind>
void average_floats(const CombineJob& job) {
  average<Kind>(job, job.source_count);
}

template <typename Kind>
void divide_floats(std::byte* data, std::size_t bytes, int divisor) {
  average<Kind>(CombineJob{&data, 1, &data, 1, bytes}, static_cast<std::size_t>(divisor));
}

template <typename T>
using Wrapping = IntegerKind<std::make_unsigned_t<T>>;

template <typename T>
void average_integers(const CombineJob& job) {
  run_shaped<Wrapping<T>, Sum>(job, DivideInteger<T>{static_cast<std::int64_t>(job.source_count)});
}

template <typename T>
void divide_integers(std::byte* data, std::size_t bytes, int divisor) {
  run<Wrapping<T>, Sum>(View<1, 1>(CombineJob{&data, 1, &data, 1, bytes}), DivideInteger<T>{divisor});
}

template <typename Kind>
constexpr void fill_floats(KernelVariant& variant, DType dtype) {
  auto& row = variant.combine[static_cast<int>(dtype)];
  row[static_cast<int>(Reduction::sum)] = combine_with<Kind, Sum>;
  row[static_cast<int>(Reduction::avg)] = average_floats<Kind>;
  row[static_cast<int>(Reduction::min)] = combine_with<Kind, Extreme<true>>;
  row[static_cast<int>(Reduction::max)] = combine_with<Kind, Extreme<false>>;
  row[static_cast<int>(Reduction::product)] = combine_with<Kind, Product>;
  variant.divide[static_cast<int>(dtype)] = divide_floats<Kind>;
}

template <typename T>
constexpr void fill_integers(KernelVariant& variant, DType dtype) {
  auto& row = variant.combine[static_cast<int>(dtype)];
  row[static_cast<int>(Reduction::sum)] = combine_with<Wrapping<T>, Sum>;
  row[static_cast<int>(Reduction::avg)] = average_integers<T>;
  row[static_cast<int>(Reduction::min)] = combine_with<IntegerKind<T>, Extreme<true>>;
  row[static_cast<int>(Reduction::max)] = combine_with<IntegerKind<T>, Extreme<false>>;
  row[static_cast<int>(Reduction::product)] = combine_with<Wrapping<T>, Product>;
  variant.divide[static_cast<int>(dtype)] = divide_integers<T>;
}

constexpr KernelVariant all_kernels() {
  KernelVariant variant{};
  fill_floats<FloatKind<float>>(variant, DType::f32);
  fill_floats<FloatKind<double>>(variant, DType::f64);
  fill_floats<HalfKind>(variant, DType::f16);
  fill_floats<BrainKind>(variant, DType::bf16);
  fill_integers<std::int8_t>(variant, DType::i8);
  fill_integers<std::uint8_t>(variant, DType::u8);
  fill_integers<std::int32_t>(variant, DType::i32);
  fill_integers<std::int64_t>(variant, DType::i64);
  return variant;
}

}  // namespace

constinit const KernelVariant GRADWIRE_VARIANT = all_kernels();

}  // namespace gradwire
