// The calls of a communicator on tensors, as users of c10d know them: each function gives the Call that run() and start() take, so that
// tags, timeouts and waiting are the same as for bytes.
//
//   communicator->run(gradwire::all_reduce(loss, Reduction::avg));
//   auto work = communicator->start(gradwire::send(activations, next));
//
// Tensors are contiguous (ConfigError says what to write) and live where the communicator moves memory: the CPU, or the GPU of nccl.
// Reductions take the types of dtype_of(); everything else moves bytes and takes any type. A Call holds no tensor: keep them until
// it is done.
#pragma once

#include <vector>

#include "train/tensor_bytes.h"

namespace gradwire {

Call all_reduce(const torch::Tensor& tensor, Reduction = Reduction::sum);
Call reduce(const torch::Tensor& tensor, Rank root, Reduction = Reduction::sum);
Call broadcast(const torch::Tensor& tensor, Rank root);

// Rank r's part is the r-th of as many equal ones, or `rows[r]` rows (along the first dimension) where rows are given.
using Rows = std::vector<std::int64_t>;
Call all_gather(const torch::Tensor& in, const torch::Tensor& out, const Rows& rows = {});
Call reduce_scatter(const torch::Tensor& in, const torch::Tensor& out, Reduction = Reduction::sum,
                    const Rows& rows = {});
Call all_to_all(const torch::Tensor& in, const torch::Tensor& out, const Rows& in_rows = {},
                const Rows& out_rows = {});
Call gather(const torch::Tensor& in, const torch::Tensor& out, Rank root,
            const Rows& rows = {});  // out: the root's
Call scatter(const torch::Tensor& in, const torch::Tensor& out, Rank root,
             const Rows& rows = {});  // in: the root's

// Other than c10d's, tags are compared and not matched: messages meet in the order in which they are sent, and a tag that
// differs is a Mismatch.
Call send(const torch::Tensor& tensor, Rank to, std::uint32_t tag = 0);
Call recv(const torch::Tensor& tensor, Rank from, std::uint32_t tag = 0);
// For exchange().
Message message_to(Rank peer, const torch::Tensor& tensor, std::uint32_t tag = 0);
Message message_from(Rank peer, const torch::Tensor& tensor, std::uint32_t tag = 0);

}  // namespace gradwire
