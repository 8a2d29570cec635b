#include "predict/records/record.h"

#include <array>

namespace gradwire {
namespace {

template <std::size_t n>
std::string_view word_of(const std::array<std::string_view, n>& words, auto value) {
  return words.at(static_cast<std::size_t>(value));
}

}  // namespace

std::string_view to_string(RecordKind kind) {
  return word_of<3>({"collective", "training", "parallel"}, kind);
}

std::string_view to_string(Quality quality) { return word_of<3>({"ok", "weak", "odd"}, quality); }

std::string_view to_string(BenchTool tool) {
  return word_of<3>({"nccl-tests", "torch.distributed", "kernel-time"}, tool);
}

std::string_view to_string(LinkSetting link) {
  return word_of<6>({"default", "nvlink", "pcie", "no-p2p", "infiniband", "ethernet"}, link);
}

}  // namespace gradwire
