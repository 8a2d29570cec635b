#include "comm/kernels/kernels.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <random>

#include "base/error.h"
#include "comm/kernels/reference.h"

namespace gradwire {

void PrintTo(DType dtype, std::ostream* out) { *out << name_of(dtype); }

namespace {

std::vector<Isa> isas_here() {
  std::vector<Isa> isas;
  for (const Isa isa : {Isa::scalar, Isa::avx2, Isa::avx512})
    if (runs_here(isa)) isas.push_back(isa);
  return isas;
}

// So that nobody takes a green line for more than it is.
void print_what_runs() {
  for (const Isa isa : {Isa::scalar, Isa::avx2, Isa::avx512})
    fmt::print("{} kernels: {}\n", name_of(isa),
               runs_here(isa)     ? "tested"
               : is_compiled(isa) ? "compiled, NOT run: this processor can't"
                                  : "not compiled for this architecture");
}

template <typename E>
std::vector<E> all_of(int count) {
  std::vector<E> values;
  for (int i = 0; i < count; ++i) values.push_back(static_cast<E>(i));
  return values;
}

// Bits at random hit every kind of number; but seldom zeros, infinities and their neighbours, so every fourth
// element is one with only its top bits set, which in all float formats is such a value.
Elements random_elements(DType dtype, std::size_t count, unsigned seed) {
  std::mt19937 random(seed);
  const std::size_t size = size_of(dtype);
  Elements elements(count * size);
  for (std::size_t i = 0; i < elements.size(); ++i) elements[i] = static_cast<std::byte>(random());
  constexpr std::uint8_t kTops[][2] = {{0, 0},       {0x80, 0}, {0x7f, 0x80}, {0xff, 0x80}, {0x7f, 0xf0},
                                       {0xff, 0xf0}, {0x7c, 0}, {0xfc, 0},    {0x7f, 0xc0}, {0, 1}};
  for (std::size_t i = 0; i < count; i += 4) {
    const auto& top = kTops[random() % std::size(kTops)];
    std::memset(elements.data() + i * size, 0, size);
    elements[(i + 1) * size - 1] = static_cast<std::byte>(top[0]);
    if (size > 1) elements[(i + 1) * size - 2] = static_cast<std::byte>(top[1]);
  }
  return elements;
}

std::string printed(DType dtype, const Elements& elements, std::size_t byte) {
  const std::size_t size = size_of(dtype), first = byte / size * size;
  std::string hex;
  for (std::size_t i = first + size; i-- > first;)
    hex += fmt::format("{:02x}", static_cast<int>(elements[i]));
  return hex;
}

std::string difference(DType dtype, const Elements& expected, const std::byte* got) {
  for (std::size_t i = 0; i < expected.size(); ++i)
    if (expected[i] != got[i])
      return fmt::format("element {}: {} instead of {}", i / size_of(dtype),
                         printed(dtype, Elements(got, got + expected.size()), i),
                         printed(dtype, expected, i));
  return "";
}

// Memory of its own for one stream, at an odd address, with bytes around it that must stay as they are.
class Guarded {
 public:
  Guarded(const Elements& content, std::size_t misalignment)
      : memory_(content.size() + 256, kGuard), size_(content.size()), offset_(64 + misalignment) {
    std::copy(content.begin(), content.end(), begin());
  }
  std::byte* begin() { return memory_.data() + offset_; }
  bool intact() const {
    for (std::size_t i = 0; i < memory_.size(); ++i)
      if ((i < offset_ || i >= offset_ + size_) && memory_[i] != kGuard) return false;
    return true;
  }

 private:
  static constexpr std::byte kGuard{0xa5};
  Elements memory_;
  std::size_t size_, offset_;
};

// How many streams, and whether the destinations are the first of the sources.
struct Shape {
  std::size_t sources, destinations;
  bool in_place;
};

struct Case {
  Isa isa;
  DType dtype;
  Reduction reduction;
  Shape shape;
  std::size_t count, misalignment;
};

std::string describe(const Case& c) {
  return fmt::format("{} {} {}: {} -> {}{}, {} elements, misaligned by {}", name_of(c.isa), name_of(c.dtype),
                     name_of(c.reduction), c.shape.sources, c.shape.destinations,
                     c.shape.in_place ? " in place" : "", c.count, c.misalignment);
}

void expect_right(const Case& c) {
  std::vector<Elements> contents;
  std::vector<Guarded> memory;
  std::vector<const std::byte*> sources;
  std::vector<std::byte*> destinations;
  memory.reserve(c.shape.sources + c.shape.destinations);
  for (std::size_t i = 0; i < c.shape.sources; ++i) {
    contents.push_back(random_elements(c.dtype, c.count, static_cast<unsigned>(c.count * 17 + i)));
    sources.push_back(memory.emplace_back(contents.back(), c.misalignment * (i + 1) % 61).begin());
  }
  for (std::size_t i = 0; i < c.shape.destinations; ++i)
    destinations.push_back(c.shape.in_place && i < c.shape.sources
                               ? memory[i].begin()
                               : memory.emplace_back(Elements(contents[0].size()), c.misalignment).begin());
  combine(c.isa, c.dtype, c.reduction, sources, destinations, contents[0].size());
  const Elements expected = reference_combine(c.dtype, c.reduction, contents);
  for (const std::byte* destination : destinations)
    ASSERT_EQ(difference(c.dtype, expected, destination), "") << describe(c);
  for (const Guarded& stream : memory) ASSERT_TRUE(stream.intact()) << describe(c);
}

constexpr Shape kShapes[] = {{2, 2, true},  {2, 1, true},  {1, 1, false}, {2, 2, false}, {3, 3, true},
                             {5, 2, false}, {4, 1, false}, {2, 3, true},  {8, 8, true}};

class Kernels : public testing::TestWithParam<DType> {
 protected:
  static void SetUpTestSuite() { print_what_runs(); }
};

TEST_P(Kernels, give_the_bits_of_the_plain_reference_for_every_reduction_size_and_shape) {
  for (const Isa isa : isas_here())
    for (const Reduction reduction : all_of<Reduction>(kReductions))
      for (const Shape shape : kShapes)
        for (const std::size_t count : {0, 1, 2, 3, 7, 15, 16, 31, 33, 63, 65, 127, 129, 255, 257, 1031})
          ASSERT_NO_FATAL_FAILURE(expect_right({isa, GetParam(), reduction, shape, count, count % 4}));
}

TEST_P(Kernels, work_at_any_alignment) {
  for (const Isa isa : isas_here())
    for (const Reduction reduction : all_of<Reduction>(kReductions))
      for (std::size_t misalignment = 0; misalignment < 64; ++misalignment)
        ASSERT_NO_FATAL_FAILURE(
            expect_right({isa, GetParam(), reduction, {2, 2, true}, 67 + misalignment, misalignment}));
}

TEST_P(Kernels, divide_as_the_reference_does) {
  for (const Isa isa : isas_here())
    for (const int divisor : {1, 2, 3, 7, 8, 100, 255, 256, 300, 65536, 1000003}) {
      const Elements data = random_elements(GetParam(), 1031, 7);
      Guarded memory(data, 1);
      divide(isa, GetParam(), divisor, {memory.begin(), data.size()});
      ASSERT_EQ(difference(GetParam(), reference_divide(GetParam(), divisor, data), memory.begin()), "")
          << name_of(isa) << " by " << divisor;
      ASSERT_TRUE(memory.intact());
    }
}

INSTANTIATE_TEST_SUITE_P(Types, Kernels, testing::ValuesIn(all_of<DType>(kDTypes)),
                         [](const auto& type) { return std::string(name_of(type.param)); });

Elements every_16_bit_value(std::uint16_t rotate) {
  Elements all(65536 * 2);
  for (std::uint32_t i = 0; i < 65536; ++i) {
    const auto value = static_cast<std::uint16_t>(i * 40503u + rotate);  // odd factor: each value once
    std::memcpy(all.data() + i * 2, &value, 2);
  }
  return all;
}

class Kernels16 : public Kernels {};

TEST_P(Kernels16, load_and_store_each_of_the_65536_values) {
  const Elements all = every_16_bit_value(0), expected = reference_combine(GetParam(), Reduction::sum, {all});
  for (const Isa isa : isas_here()) {
    Elements result(all.size());
    const std::byte* source = all.data();
    std::byte* destination = result.data();
    combine(isa, GetParam(), Reduction::sum, {&source, 1}, {&destination, 1}, all.size());
    EXPECT_EQ(difference(GetParam(), expected, result.data()), "") << name_of(isa);
  }
}

TEST_P(Kernels16, round_the_sum_and_product_of_each_value_with_others_to_nearest_even) {
  for (const Reduction reduction : all_of<Reduction>(kReductions))
    for (const int rotate : {1, 0x3c00, 0x0400, 0x1234, 0x8001}) {
      const std::vector<Elements> both = {every_16_bit_value(0),
                                          every_16_bit_value(static_cast<std::uint16_t>(rotate))};
      const Elements expected = reference_combine(GetParam(), reduction, both);
      for (const Isa isa : isas_here()) {
        Elements result(expected.size());
        const std::byte* sources[] = {both[0].data(), both[1].data()};
        std::byte* destination = result.data();
        combine(isa, GetParam(), reduction, sources, {&destination, 1}, result.size());
        ASSERT_EQ(difference(GetParam(), expected, result.data()), "") << name_of(isa) << name_of(reduction);
      }
    }
}

INSTANTIATE_TEST_SUITE_P(Types, Kernels16, testing::Values(DType::f16, DType::bf16),
                         [](const auto& type) { return std::string(name_of(type.param)); });

// The reference itself, against values from the standards' own tables.
TEST(KernelReference, knows_the_landmarks_of_the_16_bit_formats) {
  EXPECT_EQ(decode_half(0x3c00), 1.0f);
  EXPECT_EQ(decode_half(0x7bff), 65504.0f);
  EXPECT_EQ(decode_half(0x0001), 0x1p-24f);
  EXPECT_EQ(decode_half(0xfc00), -INFINITY);
  EXPECT_EQ(encode_half(65519.996f), 0x7bff);
  EXPECT_EQ(encode_half(65520.0f), 0x7c00);
  EXPECT_EQ(encode_half(0x1p-25f), 0x0000);  // a tie goes to even
  EXPECT_EQ(encode_half(0x1.8p-24f), 0x0002);
  EXPECT_EQ(encode_half(1 + 0x1p-11f), 0x3c00);
  EXPECT_EQ(encode_half(1 + 0x3p-11f), 0x3c02);
  EXPECT_EQ(decode_brain(0x3f80), 1.0f);
  EXPECT_EQ(decode_brain(0x0001), 0x1p-133f);
  EXPECT_EQ(encode_brain(1 + 0x1p-8f), 0x3f80);
  EXPECT_EQ(encode_brain(1 + 0x3p-8f), 0x3f82);
  EXPECT_EQ(encode_brain(3.4e38f), 0x7f80);
  for (std::uint32_t i = 0; i < 65536; ++i) {
    const auto bits = static_cast<std::uint16_t>(i);
    EXPECT_EQ(encode_half(decode_half(bits)), std::isnan(decode_half(bits)) ? 0x7e00 : bits);
    EXPECT_EQ(encode_brain(decode_brain(bits)), std::isnan(decode_brain(bits)) ? 0x7fc0 : bits);
  }
}

TEST(KernelChoice, is_lowered_by_the_environment_and_never_raised) {
  ASSERT_EQ(unsetenv("GRADWIRE_ISA"), 0);
  const Isa best = best_isa();
  EXPECT_TRUE(runs_here(best));
  setenv("GRADWIRE_ISA", "avx512", 1);
  EXPECT_EQ(best_isa(), best);
  setenv("GRADWIRE_ISA", "scalar", 1);
  EXPECT_EQ(best_isa(), Isa::scalar);
  setenv("GRADWIRE_ISA", "avx9", 1);
  EXPECT_THROW(best_isa(), ConfigError);
  unsetenv("GRADWIRE_ISA");
}

TEST(KernelChoice, refuses_parts_of_elements_and_no_sources) {
  std::byte memory[8] = {};
  std::byte* destination = memory;
  const std::byte* source = memory;
  EXPECT_THROW(combine(Isa::scalar, DType::f32, Reduction::sum, {&source, 1}, {&destination, 1}, 6), Error);
  EXPECT_THROW(combine(Isa::scalar, DType::f32, Reduction::sum, {}, {&destination, 1}, 4), Error);
  EXPECT_THROW(divide(Isa::scalar, DType::f32, 0, memory), Error);
}

}  // namespace
}  // namespace gradwire
