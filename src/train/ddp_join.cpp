// Uneven inputs. While ranks join, every training forward begins with a roll call of those that have input; a
// rank that has none answers the calls of the others, and does in each round just what they do: buffers, then
// buckets.
#include "base/error.h"
#include "train/ddp_core.h"
#include "train/tensor_bytes.h"

namespace gradwire {

void DdpCore::begin_join(const JoinRule& options) {
  if (joining_)
    throw ConfigError("join(): this DistributedDataParallel is in a join already; finish() that one first");
  joining_ = true;
  join_options_ = options;
}

void DdpCore::end_join() {
  joining_ = false;
  source_ = 0;
  reducer_->set_scale(1);
}

std::vector<Rank> DdpCore::active_ranks(bool active) {
  const auto world = static_cast<std::int64_t>(communicator().size());
  auto mine = torch::full({1}, active ? 1 : 0, torch::TensorOptions().dtype(torch::kUInt8).device(device()));
  auto all = torch::zeros({world}, mine.options());
  communicator().run(all_gather(memory_of(mine), memory_of(all), DType::u8));
  all = all.to(torch::kCPU);
  std::vector<Rank> ranks;
  for (Rank rank = 0; rank < communicator().size(); ++rank)
    if (all[rank].item<int>() != 0) ranks.push_back(rank);
  if (ranks.empty()) return ranks;
  source_ = ranks.front();
  if (!join_options_.divide_by_all)
    reducer_->set_scale(static_cast<double>(world) / static_cast<double>(ranks.size()));
  return ranks;
}

void DdpCore::finish_join() {
  if (!joining_) throw ConfigError("join: finish() was called twice");
  while (!active_ranks(false).empty()) {
    reducer_->before_forward();
    if (options_.broadcast_buffers && !buffers_->empty()) sync_buffers(source_);
    reducer_->shadow_backward();
  }
  // The last rank to train has made optimizer steps that those before it have not.
  TensorBroadcast(model_.parameters, communicator()).from(source_);
  if (!buffers_->empty()) buffers_->from(source_);
  end_join();
}

}  // namespace gradwire
