#include "train/tensor/moves.h"

#include "base/error.h"
#include "train/tensor_bytes.h"

namespace gradwire {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

enum class Move : std::int64_t { nothing, sum, gather, scatter, part };

constexpr const char* kElement = "a tensor between the ranks of a tensor-parallel group";

torch::Tensor summed(TensorGroup& group, const torch::Tensor& input) {
  auto sum = input.contiguous().clone();
  group.run(all_reduce(memory_of(sum), dtype_of(sum.scalar_type(), kElement)), "tensor all-reduce");
  return sum;
}

// Ranks' parts one after another in memory, then beside each other along the rows.
torch::Tensor gathered(TensorGroup& group, const torch::Tensor& input) {
  const auto mine = input.contiguous();
  auto shape = mine.sizes().vec();
  shape.insert(shape.begin(), group.size());
  auto all = torch::empty(shape, mine.options());
  group.run(all_gather(memory_of(mine), memory_of(all), dtype_of(mine.scalar_type(), kElement)),
            "tensor all-gather");
  return torch::cat(all.unbind(0), -2);
}

void check_rows(const TensorGroup& group, const torch::Tensor& input) {
  if (input.dim() < 2 || input.size(-2) % group.size() != 0)
    throw ConfigError(fmt::format(
        "a sequence of {} can't be divided among {} ranks: sequence parallelism needs one that can",
        input.dim() < 2 ? 0 : input.size(-2), group.size()));
}

torch::Tensor scattered(TensorGroup& group, const torch::Tensor& input) {
  check_rows(group, input);
  const auto parts = torch::stack(input.chunk(group.size(), -2)).contiguous();
  auto mine = torch::empty_like(parts[0], torch::MemoryFormat::Contiguous);
  group.run(reduce_scatter(memory_of(parts), memory_of(mine), dtype_of(mine.scalar_type(), kElement)),
            "tensor reduce-scatter");
  return mine;
}

torch::Tensor own_part(TensorGroup& group, const torch::Tensor& input) {
  check_rows(group, input);
  const Share share = share_of(input.size(-2), group.size(), group.rank());
  return input.narrow(-2, share.begin, share.count).contiguous();
}

torch::Tensor make_move(TensorGroup& group, const torch::Tensor& input, Move how) {
  switch (how) {
    case Move::nothing:
      return input;
    case Move::sum:
      return summed(group, input);
    case Move::gather:
      return gathered(group, input);
    case Move::scatter:
      return scattered(group, input);
    case Move::part:
      return own_part(group, input);
  }
  throw Error("bug in gradwire: a move of no kind");
}

TensorGroup& group_of(AutogradContext* context) {
  return *reinterpret_cast<TensorGroup*>(context->saved_data["group"].toInt());
}

class Moved : public torch::autograd::Function<Moved> {
 public:
  static torch::Tensor forward(AutogradContext* context, const torch::Tensor& input, std::int64_t group,
                               std::int64_t forth, std::int64_t back) {
    context->saved_data["group"] = group;
    context->saved_data["back"] = back;
    auto output = make_move(group_of(context), input, static_cast<Move>(forth));
    return output.is_same(input) ? input.view_as(input) : output;
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    const auto back = static_cast<Move>(context->saved_data["back"].toInt());
    variable_list result(4);
    result[0] = make_move(group_of(context), gradients[0], back);
    return result;
  }
};

torch::Tensor apply_move(TensorGroup& group, const torch::Tensor& input, Move forth, Move back) {
  if (group.size() == 1) return input;
  return Moved::apply(input, reinterpret_cast<std::int64_t>(&group), static_cast<std::int64_t>(forth),
                      static_cast<std::int64_t>(back));
}

// Gradients of all in one message.
class JoinedGradients : public torch::autograd::Function<JoinedGradients> {
 public:
  static variable_list forward(AutogradContext* context, std::int64_t group, at::TensorList parameters) {
    context->saved_data["group"] = group;
    variable_list views;
    for (const auto& parameter : parameters) views.push_back(parameter.view_as(parameter));
    return views;
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    variable_list flat, result(1);
    for (const auto& gradient : gradients) flat.push_back(gradient.reshape(-1));
    const auto sum = summed(group_of(context), torch::cat(flat));
    std::int64_t at = 0;
    for (const auto& gradient : gradients) {
      result.push_back(sum.narrow(0, at, gradient.numel()).view(gradient.sizes()));
      at += gradient.numel();
    }
    return result;
  }
};

}  // namespace

torch::Tensor enter_split(TensorGroup& group, const torch::Tensor& input) {
  return apply_move(group, input, Move::nothing, Move::sum);
}
torch::Tensor leave_split(TensorGroup& group, const torch::Tensor& input) {
  return apply_move(group, input, Move::sum, Move::nothing);
}
torch::Tensor gather_rows(TensorGroup& group, const torch::Tensor& input) {
  return apply_move(group, input, Move::gather, Move::scatter);
}
torch::Tensor scatter_sums(TensorGroup& group, const torch::Tensor& input) {
  return apply_move(group, input, Move::scatter, Move::gather);
}
torch::Tensor own_rows(TensorGroup& group, const torch::Tensor& input) {
  return apply_move(group, input, Move::part, Move::gather);
}
torch::Tensor all_rows(TensorGroup& group, const torch::Tensor& input) {
  return apply_move(group, input, Move::gather, Move::part);
}

std::vector<torch::Tensor> join_gradients(TensorGroup& group, const std::vector<torch::Tensor>& parameters) {
  if (group.size() == 1) return parameters;
  return JoinedGradients::apply(reinterpret_cast<std::int64_t>(&group), at::TensorList(parameters));
}

// Shares may differ by one: each is sent with room for the largest.
torch::Tensor whole_of(TensorGroup& group, const torch::Tensor& own, const TensorCut& cut) {
  if (cut.whole() || group.size() == 1) return own.clone();
  const auto length = torch::tensor({own.size(cut.dim)}, torch::kLong).to(own.device());
  auto lengths = torch::empty({group.size()}, length.options());
  group.run(all_gather(memory_of(length), memory_of(lengths), DType::i64), "tensor all-gather");
  auto shape = own.sizes().vec();
  shape[static_cast<std::size_t>(cut.dim)] = lengths.max().item<std::int64_t>();
  const auto mine = torch::zeros(shape, own.options());
  mine.narrow(cut.dim, 0, own.size(cut.dim)).copy_(own);
  shape.insert(shape.begin(), group.size());
  auto all = torch::empty(shape, own.options());
  group.run(all_gather(memory_of(mine), memory_of(all), dtype_of(own.scalar_type(), kElement)),
            "tensor all-gather");
  std::vector<torch::Tensor> parts;
  for (int rank = 0; rank < group.size(); ++rank)
    parts.push_back(all[rank].narrow(cut.dim, 0, lengths[rank].item<std::int64_t>()));
  return joined_parts(parts, cut);
}

std::map<std::string, TensorCut> cuts_of(torch::nn::Module& model) {
  std::map<std::string, TensorCut> cuts;
  for (const auto& item : model.named_modules()) {
    const auto* split = dynamic_cast<const SplitModule*>(item.value().get());
    const std::string prefix = item.key().empty() ? "" : item.key() + ".";
    for (const auto& parameter : item.value()->named_parameters(/*recurse=*/false))
      cuts[prefix + parameter.key()] = split == nullptr ? TensorCut{} : split->cut_of(parameter.key());
  }
  return cuts;
}

}  // namespace gradwire
