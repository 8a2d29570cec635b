// Which kernels communicate, and which collective a name means. Names are those of NCCL 2.4 to 2.30, RCCL,
// and of the libraries that all-reduce without it (vLLM, TensorRT-LLM, PyTorch's symmetric memory, DeepEP).
#pragma once

#include <string>
#include <string_view>

namespace gradwire {

bool is_communication_kernel(std::string_view name);

// "all_reduce" of "ncclDevKernel_AllReduce_Sum_f32_RING_LL(...)", "allreduce", "nccl:all_reduce",
// "c10d::allreduce_"; empty when the name does not say.
std::string_view collective_of(std::string_view name);

// The span that the operator of a backend covers on the processor: "gloo:all_reduce", "nccl:broadcast".
bool is_backend_span(std::string_view name);
// The same of a backend whose work is the processor's also where tensors are on a GPU: the span is the collective.
bool is_host_backend_span(std::string_view name);

// Bytes of an element of PyTorch's type: "Float", "float", "c10::BFloat16"; 0 if unknown.
int bytes_of_type(std::string_view name);

// Data on the bus over data given, as nccl-tests counts it; 1 for what it does not know.
double bus_factor(std::string_view collective, int ranks);

}  // namespace gradwire
