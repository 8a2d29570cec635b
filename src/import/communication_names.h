// Which kernels communicate, and which collective a name means. Names are those of NCCL 2.4 to 2.30, RCCL,
// and of the libraries that all-reduce without it (vLLM, TensorRT-LLM, PyTorch's symmetric memory, DeepEP).
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/collective.h"

namespace gradwire {

bool is_communication_kernel(std::string_view name);

// all_reduce of "ncclDevKernel_AllReduce_Sum_f32_RING_LL(...)", "allreduce", "nccl:all_reduce", "c10d::allreduce_";
// exchange of messages whichever way. Absent when the name does not say.
std::optional<Collective> collective_of(std::string_view name);

// What was called, as somebody's file says it.
struct SaidCollective {
  std::optional<Collective> kind;  // absent: none of ours
  std::string word;                // for people: of ours its name, "send_recv" for messages; else theirs

  SaidCollective() = default;
  SaidCollective(Collective);
  explicit SaidCollective(std::string_view said);
};

// The span that the operator of a backend covers on the processor: "gloo:all_reduce", "nccl:broadcast".
bool is_backend_span(std::string_view name);
// The same of a backend whose work is the processor's also where tensors are on a GPU: the span is the collective.
bool is_host_backend_span(std::string_view name);

// Bytes of an element of PyTorch's type: "Float", "float", "c10::BFloat16"; 0 if unknown.
int bytes_of_type(std::string_view name);
bool is_whole_type(std::string_view name);  // "Long", "int", "bool": neither gradients nor statistics

}  // namespace gradwire
