// How a model is trained, in the values that real training and the predictor share: in which precision, by which optimizer,
// what gradients travel as and when. The order of a pipeline is in pipeline.h.
#pragma once

#include <cstdint>

#include "base/names.h"

namespace gradwire {

// What matrix products are computed in. fp16 and bf16 are mixed precision: what is learnt stays in fp32. Training has neither
// tf32 nor the narrow ones, the predictor no fp64, and narrow ones of models that are split alone.
enum class Precision : std::uint8_t { fp32, tf32, fp16, bf16, fp64, fp8, mxfp8, nvfp4 };
template <>
inline constexpr std::array<std::string_view, 8> kNamesOf<Precision> = {"fp32", "tf32", "fp16",  "bf16",
                                                                        "fp64", "fp8",  "mxfp8", "nvfp4"};
template <>
inline constexpr std::array<std::pair<std::string_view, Precision>, 7> kOtherNamesOf<Precision> = {
    {{"float32", Precision::fp32},
     {"float16", Precision::fp16},
     {"half", Precision::fp16},
     {"amp-fp16", Precision::fp16},
     {"bfloat16", Precision::bf16},
     {"float64", Precision::fp64},
     {"double", Precision::fp64}}};

constexpr bool is_mixed(Precision precision) {
  return precision == Precision::fp16 || precision == Precision::bf16;
}

// What travels instead of the gradient: DistributedDataParallel's communication hooks.
enum class Compression : std::uint8_t { none, fp16, bf16, powersgd };
template <>
inline constexpr std::array<std::string_view, 4> kNamesOf<Compression> = {"none", "fp16", "bf16", "powersgd"};

constexpr bool is_half(Compression compression) {
  return compression == Compression::fp16 || compression == Compression::bf16;
}

// models_own: what the model is usually trained by. other: one that a record names and nothing more is known of.
enum class OptimizerKind : std::uint8_t { models_own, sgd, adam, adamw, lamb, other };
template <>
inline constexpr std::array<std::string_view, 6> kNamesOf<OptimizerKind> = {"",      "sgd",  "adam",
                                                                            "adamw", "lamb", "other"};

// When a bucket is reduced: while backward goes on, in the communicator's own thread, or all together when it
// has ended, in the thread that called it. `automatic` is during backward, and after it for a single rank,
// which has nobody to wait for; docs/ddp.md says what the difference is.
enum class Overlap : std::uint8_t { automatic, during_backward, after_backward };
template <>
inline constexpr std::array<std::string_view, 3> kNamesOf<Overlap> = {"auto", "during", "after"};

// Of a model that is split (sched/mesh.h): which activations are computed again in backward, by which way a sequence is cut,
// and which weights learn.
enum class Recompute : std::uint8_t { none, selective, full };
template <>
inline constexpr std::array<std::string_view, 3> kNamesOf<Recompute> = {"none", "selective", "full"};

enum class ContextKind : std::uint8_t { ring, ulysses };
template <>
inline constexpr std::array<std::string_view, 2> kNamesOf<ContextKind> = {"ring", "ulysses"};

enum class Tuning : std::uint8_t { full, lora, qlora };
template <>
inline constexpr std::array<std::string_view, 3> kNamesOf<Tuning> = {"full", "lora", "qlora"};

// What lives in host memory.
enum class Offload : std::uint8_t {
  none,
  optimizer,
  parameters,
  optimizer_and_parameters,
  optimizer_and_other
};
template <>
inline constexpr std::array<std::string_view, 5> kNamesOf<Offload> = {
    "none", "optimizer", "parameters", "optimizer+parameters", "optimizer+other"};

}  // namespace gradwire
