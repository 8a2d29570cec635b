#include "predict/records/record.h"

namespace gradwire {

std::string_view to_string(RecordKind kind) {
  return kind == RecordKind::collective ? "collective"
         : kind == RecordKind::training ? "training"
                                        : "parallel";
}

std::string_view to_string(Quality quality) {
  switch (quality) {
    case Quality::ok:
      return "ok";
    case Quality::weak:
      return "weak";
    case Quality::odd:
      return "odd";
  }
  return "";
}

std::string_view to_string(BenchTool tool) {
  switch (tool) {
    case BenchTool::nccl_tests:
      return "nccl-tests";
    case BenchTool::torch_distributed:
      return "torch.distributed";
    case BenchTool::kernel_time:
      return "kernel-time";
  }
  return "";
}

std::string_view to_string(LinkSetting link) {
  switch (link) {
    case LinkSetting::normal:
      return "default";
    case LinkSetting::nvlink:
      return "nvlink";
    case LinkSetting::pcie:
      return "pcie";
    case LinkSetting::no_p2p:
      return "no-p2p";
    case LinkSetting::infiniband:
      return "infiniband";
    case LinkSetting::ethernet:
      return "ethernet";
  }
  return "";
}

}  // namespace gradwire
