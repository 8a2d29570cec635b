#include "train/process_group.h"

#include "base/error.h"

namespace gradwire {
namespace {

// Of a tensor that may be undefined on ranks that have none to give.
std::span<std::byte> bytes_of_tensor(const torch::Tensor& tensor, const char* what) {
  if (!tensor.defined()) return {};
  if (!tensor.is_contiguous())
    throw ConfigError(fmt::format("the tensor to {} is not contiguous: write tensor.contiguous()", what));
  return memory_of(tensor);
}

// The element type, for ranks to compare, where it is one of ours; bytes for others.
DType moved_type(const torch::Tensor& tensor) {
  if (!tensor.defined()) return DType::u8;
  switch (tensor.scalar_type()) {
    case torch::kFloat32:
    case torch::kFloat64:
    case torch::kFloat16:
    case torch::kBFloat16:
    case torch::kInt8:
    case torch::kInt32:
    case torch::kInt64:
      return dtype_of(tensor.scalar_type(), "a tensor");
    default:
      return DType::u8;
  }
}

DType reduced_type(const torch::Tensor& tensor) {
  return dtype_of(tensor.scalar_type(), "a tensor to reduce");
}

// Rows as bytes.
std::vector<std::size_t> parts_of(const torch::Tensor& tensor, const Rows& rows) {
  std::vector<std::size_t> parts;
  if (!tensor.defined()) return parts;
  if (tensor.dim() == 0 && !rows.empty()) throw ConfigError("a tensor with rows has a dimension at least");
  std::size_t row = tensor.element_size();
  for (std::int64_t dimension = 1; dimension < tensor.dim(); ++dimension)
    row *= static_cast<std::size_t>(tensor.size(dimension));
  for (const std::int64_t count : rows) {
    if (count < 0) throw ConfigError(fmt::format("a part of {} rows", count));
    parts.push_back(static_cast<std::size_t>(count) * row);
  }
  return parts;
}

}  // namespace

Call all_reduce(const torch::Tensor& tensor, Reduction reduction) {
  return all_reduce(bytes_of_tensor(tensor, "all_reduce"), reduced_type(tensor), reduction);
}

Call reduce(const torch::Tensor& tensor, Rank root, Reduction reduction) {
  return reduce(bytes_of_tensor(tensor, "reduce"), reduced_type(tensor), reduction, root);
}

Call broadcast(const torch::Tensor& tensor, Rank root) {
  return broadcast(bytes_of_tensor(tensor, "broadcast"), moved_type(tensor), root);
}

Call all_gather(const torch::Tensor& in, const torch::Tensor& out, const Rows& rows) {
  const Call call =
      all_gather(bytes_of_tensor(in, "all_gather"), bytes_of_tensor(out, "gather into"), moved_type(in));
  return with_parts(call, {.out = parts_of(out, rows)});
}

Call reduce_scatter(const torch::Tensor& in, const torch::Tensor& out, Reduction reduction,
                    const Rows& rows) {
  const Call call = reduce_scatter(bytes_of_tensor(in, "reduce_scatter"), bytes_of_tensor(out, "reduce into"),
                                   reduced_type(in), reduction);
  return with_parts(call, {.in = parts_of(in, rows)});
}

Call all_to_all(const torch::Tensor& in, const torch::Tensor& out, const Rows& in_rows,
                const Rows& out_rows) {
  const Call call =
      all_to_all(bytes_of_tensor(in, "all_to_all"), bytes_of_tensor(out, "receive into"), moved_type(in));
  return with_parts(call, {.in = parts_of(in, in_rows), .out = parts_of(out, out_rows)});
}

Call gather(const torch::Tensor& in, const torch::Tensor& out, Rank root, const Rows& rows) {
  const Call call =
      gather(bytes_of_tensor(in, "gather"), bytes_of_tensor(out, "gather into"), moved_type(in), root);
  return with_parts(call, {.out = parts_of(out, rows)});
}

Call scatter(const torch::Tensor& in, const torch::Tensor& out, Rank root, const Rows& rows) {
  const Call call =
      scatter(bytes_of_tensor(in, "scatter"), bytes_of_tensor(out, "scatter into"), moved_type(out), root);
  return with_parts(call, {.in = parts_of(in, rows)});
}

Call send(const torch::Tensor& tensor, Rank to, std::uint32_t tag) {
  return send(bytes_of_tensor(tensor, "send"), to, tag);
}

Call recv(const torch::Tensor& tensor, Rank from, std::uint32_t tag) {
  return recv(bytes_of_tensor(tensor, "receive into"), from, tag);
}

Message message_to(Rank peer, const torch::Tensor& tensor, std::uint32_t tag) {
  return {.peer = peer, .out = bytes_of_tensor(tensor, "send"), .tag = tag};
}

Message message_from(Rank peer, const torch::Tensor& tensor, std::uint32_t tag) {
  return {.peer = peer, .in = bytes_of_tensor(tensor, "receive into"), .tag = tag};
}

}  // namespace gradwire
