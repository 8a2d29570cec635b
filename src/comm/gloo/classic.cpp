#include "comm/gloo/classic.h"

#include <gloo/allreduce_bcube.h>
#include <gloo/allreduce_halving_doubling.h>
#include <gloo/allreduce_ring.h>
#include <gloo/allreduce_ring_chunked.h>

#include <cstdint>
#include <utility>

#include "base/error.h"

namespace gradwire {
namespace {

// Gloo moves unsigned integers of the element's size; what they mean is known to the reduction alone. It
// wants a plain function, so type, reduction and instruction set are template parameters.
template <std::size_t kBytes>
struct WordOf;
template <>
struct WordOf<1> {
  using type = std::uint8_t;
};
template <>
struct WordOf<2> {
  using type = std::uint16_t;
};
template <>
struct WordOf<4> {
  using type = std::uint32_t;
};
template <>
struct WordOf<8> {
  using type = std::uint64_t;
};
template <DType kDType>
using Word = typename WordOf<size_of(kDType)>::type;

template <DType kDType, Reduction kReduction, Isa kIsa>
void reduce_into(Word<kDType>* to, const Word<kDType>* from, std::size_t count) {
  const std::byte* sources[] = {reinterpret_cast<std::byte*>(to), reinterpret_cast<const std::byte*>(from)};
  std::byte* destination = reinterpret_cast<std::byte*>(to);
  combine(kIsa, kDType, kReduction, sources, {&destination, 1}, count * sizeof(*to));
}

template <DType kDType>
using Function = void (*)(Word<kDType>*, const Word<kDType>*, std::size_t);

template <DType kDType, Reduction kReduction>
Function<kDType> for_isa(Isa isa) {
  constexpr Function<kDType> kByIsa[kIsas] = {reduce_into<kDType, kReduction, Isa::scalar>,
                                              reduce_into<kDType, kReduction, Isa::avx2>,
                                              reduce_into<kDType, kReduction, Isa::avx512>};
  return kByIsa[static_cast<int>(isa)];
}

template <DType kDType>
Function<kDType> function_for(Reduction reduction, Isa isa) {
  switch (reduction) {
    case Reduction::min:
      return for_isa<kDType, Reduction::min>(isa);
    case Reduction::max:
      return for_isa<kDType, Reduction::max>(isa);
    case Reduction::product:
      return for_isa<kDType, Reduction::product>(isa);
    default:
      return for_isa<kDType, Reduction::sum>(isa);
  }
}

struct Made {
  std::shared_ptr<void> function;
  std::unique_ptr<gloo::Algorithm> algorithm;
};

template <DType kDType>
Made make(const std::shared_ptr<gloo::Context>& context, GlooAlgorithm algorithm,
          const ClassicAllReduce::Key& key, Isa isa) {
  using T = Word<kDType>;
  const auto function =
      std::make_shared<gloo::ReductionFunction<T>>(gloo::CUSTOM, function_for<kDType>(key.reduction, isa));
  const std::vector<T*> memory = {reinterpret_cast<T*>(key.memory)};
  const int count = static_cast<int>(key.bytes / sizeof(T));
  const auto made = [&](auto&& object) { return Made{function, std::move(object)}; };
  switch (algorithm) {
    case GlooAlgorithm::ring_chunked:
      return made(std::make_unique<gloo::AllreduceRingChunked<T>>(context, memory, count, function.get()));
    case GlooAlgorithm::classic_ring:
      return made(std::make_unique<gloo::AllreduceRing<T>>(context, memory, count, function.get()));
    case GlooAlgorithm::classic_bcube:
      return made(std::make_unique<gloo::AllreduceBcube<T>>(context, memory, count, function.get()));
    default:
      return made(
          std::make_unique<gloo::AllreduceHalvingDoubling<T>>(context, memory, count, function.get()));
  }
}

Made make_for(const std::shared_ptr<gloo::Context>& context, GlooAlgorithm algorithm,
              const ClassicAllReduce::Key& key, Isa isa) {
  switch (key.dtype) {
    case DType::f32:
      return make<DType::f32>(context, algorithm, key, isa);
    case DType::f64:
      return make<DType::f64>(context, algorithm, key, isa);
    case DType::f16:
      return make<DType::f16>(context, algorithm, key, isa);
    case DType::bf16:
      return make<DType::bf16>(context, algorithm, key, isa);
    case DType::i8:
      return make<DType::i8>(context, algorithm, key, isa);
    case DType::u8:
      return make<DType::u8>(context, algorithm, key, isa);
    case DType::i32:
      return make<DType::i32>(context, algorithm, key, isa);
    default:
      return make<DType::i64>(context, algorithm, key, isa);
  }
}

}  // namespace

void ClassicAllReduce::prepare(const Key& key) {
  prepared_.reset();
  Made made = make_for(context_, algorithm_, key, isa_);
  function_ = std::move(made.function);
  prepared_ = std::move(made.algorithm);
  key_ = key;
}

void ClassicAllReduce::run() { prepared_->run(); }

}  // namespace gradwire
