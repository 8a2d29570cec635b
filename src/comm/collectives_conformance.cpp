#include "comm/collectives_conformance.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/error.h"
#include "comm/conformance_case.h"

namespace gradwire {
namespace {

constexpr std::byte kGuard{0xa5};
constexpr std::size_t kGuardBytes = 64;

template <typename E>
std::vector<E> all_unless_given(const std::vector<E>& given, int count) {
  std::vector<E> values = given;
  for (int i = 0; given.empty() && i < count; ++i) values.push_back(static_cast<E>(i));
  return values;
}

Elements part_of(const Elements& whole, std::size_t index, std::size_t parts) {
  const std::size_t size = whole.size() / parts;
  return Elements(whole.begin() + static_cast<std::ptrdiff_t>(index * size),
                  whole.begin() + static_cast<std::ptrdiff_t>((index + 1) * size));
}

// Memory of one call: guard, bytes, guard.
class Region {
 public:
  Region(std::byte* at, std::size_t bytes, std::size_t misalignment)
      : bytes_(at + kGuardBytes + misalignment, bytes) {
    std::memset(bytes_.data() - kGuardBytes, static_cast<int>(kGuard), bytes + 2 * kGuardBytes);
  }
  std::span<std::byte> bytes() const { return bytes_; }
  void fill(const Elements& content, std::size_t offset = 0) const {
    std::copy(content.begin(), content.end(), bytes_.begin() + static_cast<std::ptrdiff_t>(offset));
  }
  bool guards_intact() const {
    const auto intact = [](std::byte byte) { return byte == kGuard; };
    return std::all_of(bytes_.data() - kGuardBytes, bytes_.data(), intact) &&
           std::all_of(bytes_.data() + bytes_.size(), bytes_.data() + bytes_.size() + kGuardBytes, intact);
  }

 private:
  std::span<std::byte> bytes_;
};

using Case = ConformanceCase;

class Suite {
 public:
  Suite(Collectives& collectives, const ConformanceOptions& options)
      : collectives_(collectives),
        options_(options),
        kinds_(all_unless_given(options.kinds, kCollectives)),
        dtypes_(all_unless_given(options.dtypes, kDTypes)),
        reductions_(all_unless_given(options.reductions, kReductions)),
        ranks_(static_cast<std::size_t>(collectives.size())),
        me_(static_cast<std::size_t>(collectives.rank())),
        sequence_(options.first_sequence),
        region_bytes_(largest_region()),
        backend_memory_(collectives.allocate(2 * region_bytes_)),
        ordinary_memory_(2 * region_bytes_) {}

  std::vector<std::string> run() {
    for (const Collective kind : kinds_) {
      if (kind == Collective::barrier)
        run_case({.kind = kind});
      else if (!is_point_to_point(kind))
        run_kind(kind);
    }
    for (auto& text : check_messages(collectives_, options_, sequence_)) wrong_.push_back(std::move(text));
    return std::move(wrong_);
  }

 private:
  std::size_t largest_region() const {
    std::size_t count = options_.large_count * size_of(DType::f32);
    for (const std::size_t each : options_.counts) count = std::max(count, each * sizeof(double));
    return (count * ranks_ + 4 * kGuardBytes + 63) / 64 * 64;
  }

  void run_kind(Collective kind) {
    const bool rooted = has_root(kind);
    for (const DType dtype : dtypes_)
      for (const Reduction reduction : reduces(kind) ? reductions_ : std::vector{Reduction::sum})
        for (const std::size_t count : options_.counts)
          run_variants({.kind = kind, .dtype = dtype, .reduction = reduction, .count = count});
    for (int root = 0; rooted && root < collectives_.size(); ++root)
      run_case({.kind = kind, .dtype = DType::f32, .count = 100, .root = root});
    if (options_.large_count > 0) run_variants({.kind = kind, .count = options_.large_count});
    if (kind == Collective::all_reduce && options_.same_bits_everywhere) run_random();
  }

  // Two of the eight combinations of memory for every call: in turn, so that all calls together see all.
  void run_variants(Case c) {
    for (int i = 0; i < 2; ++i) {
      const unsigned variant = variant_++;
      c.in_place = (variant & 1) != 0 && in_parts(c.kind) == 1;
      c.from_backend = (variant & 2) != 0;
      c.misalignment = (variant & 4) != 0 ? 1 + variant % 5 : 0;
      run_case(c);
    }
    variant_ += 3;
  }

  void run_random() {
    for (const DType dtype : dtypes_)
      if (is_float(dtype))
        run_same_bits({.kind = Collective::all_reduce,
                       .dtype = dtype,
                       .count = 1003,
                       .in_place = true,
                       .random = true});
  }

  void start(const Call& call) {
    const Signature signature = check_call(call, collectives_.size(), sequence_++);
    run_call(collectives_, spell_out(call, collectives_.rank(), collectives_.size()), signature, scratch_);
  }

  // How many parts the input and the output have.
  std::size_t in_parts(Collective kind) const {
    const bool several =
        kind == Collective::reduce_scatter || kind == Collective::all_to_all || kind == Collective::scatter;
    return several ? ranks_ : 1;
  }
  std::size_t out_parts(Collective kind) const {
    const bool several =
        kind == Collective::all_gather || kind == Collective::all_to_all || kind == Collective::gather;
    return several ? ranks_ : 1;
  }

  Elements contribution(const Case& c, std::size_t rank) const {
    return pattern(c, static_cast<Rank>(rank), c.count * in_parts(c.kind));
  }

  // What must be in the output of this rank; `before` is what was there.
  Elements expected(const Case& c, const Elements& before) const {
    if (c.kind == Collective::broadcast) return contribution(c, static_cast<std::size_t>(c.root));
    const bool to_root = c.kind == Collective::reduce || c.kind == Collective::gather;
    if (to_root && me_ != static_cast<std::size_t>(c.root)) return before;
    if (c.kind == Collective::scatter)
      return part_of(contribution(c, static_cast<std::size_t>(c.root)), me_, ranks_);
    std::vector<Elements> parts;
    for (std::size_t rank = 0; rank < ranks_; ++rank) {
      const Elements whole = contribution(c, rank);
      parts.push_back(in_parts(c.kind) > 1 ? part_of(whole, me_, ranks_) : whole);
    }
    if (reduces(c.kind)) return reference_combine(c.dtype, c.reduction, parts);
    Elements all;
    for (const Elements& part : parts) all.insert(all.end(), part.begin(), part.end());
    return all;
  }

  void run_case(const Case& c) {
    std::byte* memory = c.from_backend ? backend_memory_.bytes().data() : ordinary_memory_.data();
    const std::size_t part = c.count * size_of(c.dtype);
    const Region out(memory, part * out_parts(c.kind), c.misalignment);
    const Region in(memory + region_bytes_, part * in_parts(c.kind), c.misalignment);
    const Elements mine = contribution(c, me_);
    const std::size_t own_offset = out_parts(c.kind) > 1 ? me_ * part : 0;
    in.fill(mine);
    if (c.in_place) out.fill(mine, own_offset);
    if (c.kind == Collective::broadcast && me_ == static_cast<std::size_t>(c.root)) out.fill(mine);
    const Elements before(out.bytes().begin(), out.bytes().end());

    Call call{.kind = c.kind,
              .in = in.bytes(),
              .out = out.bytes(),
              .dtype = c.dtype,
              .reduction = c.reduction,
              .root = c.root};
    if (c.in_place) call.in = out.bytes().subspan(own_offset, mine.size());
    if (c.kind == Collective::broadcast || c.kind == Collective::barrier) call.in = {};
    start(call);

    compare(c, expected(c, before), out);
    if (!std::equal(mine.begin(), mine.end(), in.bytes().begin())) complain(c, "changed its input");
    if (!out.guards_intact() || !in.guards_intact()) complain(c, "wrote beside its buffers");
  }

  void compare(const Case& c, const Elements& wanted, const Region& got) {
    const std::size_t size = size_of(c.dtype);
    for (std::size_t i = 0; i < wanted.size(); ++i)
      if (wanted[i] != got.bytes()[i])
        return complain(c, fmt::format("element {} of {}: byte {} is {:#04x} instead of {:#04x}", i / size,
                                       wanted.size() / size, i % size, static_cast<int>(got.bytes()[i]),
                                       static_cast<int>(wanted[i])));
  }

  // Rounded sums: as rank 0 has them, bit for bit, and close to the sum in rank order.
  void run_same_bits(const Case& c) {
    const Elements mine = contribution(c, me_);
    const Region result(ordinary_memory_.data(), mine.size(), 0),
        first(ordinary_memory_.data() + region_bytes_, mine.size(), 0);
    result.fill(mine);
    start(all_reduce(result.bytes(), c.dtype));
    first.fill(Elements(result.bytes().begin(), result.bytes().end()));
    start(broadcast(first.bytes(), c.dtype, 0));
    if (std::memcmp(first.bytes().data(), result.bytes().data(), mine.size()) != 0)
      complain(c, "this rank's sum has other bits than rank 0's");
    const Elements wanted = expected(c, mine);
    const double furthest = distance(c.dtype, wanted, result.bytes());
    const double digits[] = {24, 53, 11, 8};
    if (furthest > static_cast<double>(ranks_ * ranks_) * std::exp2(-digits[static_cast<int>(c.dtype)]))
      complain(c, fmt::format("a rounded sum is off by {}", furthest));
  }

  static double value_of(DType dtype, const std::byte* at) {
    if (dtype == DType::f64) return *reinterpret_cast<const double*>(at);
    if (dtype == DType::f32) return static_cast<double>(*reinterpret_cast<const float*>(at));
    std::uint16_t half = 0;
    std::memcpy(&half, at, sizeof half);
    return static_cast<double>(dtype == DType::f16 ? decode_half(half) : decode_brain(half));
  }

  static double distance(DType dtype, const Elements& a, std::span<const std::byte> b) {
    double furthest = 0;
    for (std::size_t i = 0; i < a.size(); i += size_of(dtype))
      furthest = std::max(furthest, std::abs(value_of(dtype, a.data() + i) - value_of(dtype, b.data() + i)));
    return furthest;
  }

  void complain(const Case& c, const std::string& what) {
    constexpr std::size_t kEnough = 20;
    if (wrong_.size() < kEnough)
      wrong_.push_back(fmt::format("rank {} of {}: {}: {}", me_, ranks_, gradwire::describe(c), what));
  }

  Collectives& collectives_;
  const ConformanceOptions options_;
  const std::vector<Collective> kinds_;
  const std::vector<DType> dtypes_;
  const std::vector<Reduction> reductions_;
  const std::size_t ranks_, me_;
  std::uint64_t sequence_;
  unsigned variant_ = 0;
  std::size_t region_bytes_;
  Memory backend_memory_;
  Elements ordinary_memory_;
  Memory scratch_;
  std::vector<std::string> wrong_;
};

}  // namespace

std::vector<std::string> check_collectives(Collectives& collectives, const ConformanceOptions& options) {
  return Suite(collectives, options).run();
}

}  // namespace gradwire
