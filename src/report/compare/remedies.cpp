#include <fmt/format.h>

#include "report/compare/compare.h"

// What else would help, and where the answer turns, in words.
namespace gradwire {
namespace {

constexpr Bytes kMebi = Bytes{1} << 20;

std::string reckoned(const Remedy& remedy) {
  return remedy.options.anchor ? "; reckoned from the step you measured" : "";
}

std::string compression_note(Compression compression) {
  return compression == Compression::powersgd ? "lossy: rank-1 gradients"
                                              : "gradients rounded to fp16 on the wire";
}

std::string precision_note(Precision precision) {
  return precision == Precision::tf32 ? "matrix products rounded to TF32" : "computing; gradients as before";
}

}  // namespace

// A flag is named with what must be written instead of what was given.
std::string to_words(const Remedy& remedy) {
  const auto& options = remedy.options;
  switch (remedy.change) {
    case Change::accumulate:
      return fmt::format("--accumulate {}", options.accumulate);
    case Change::batch:
      return fmt::format("--batch {}", options.batch);
    case Change::bucket:
      return fmt::format("--bucket-mb {}", options.buckets.rest / kMebi);
    case Change::compression:
      return fmt::format("--compress {}", name_of(options.compression));
    case Change::precision:
      return fmt::format("--precision {}", name_of(options.precision));
    case Change::overlap:
      return "without --no-overlap";
    case Change::backend:
      return "--backend " + to_string(options.backend);
    case Change::one_node:
      return "one node alone";
    case Change::all_in_one_node:
      return fmt::format("all {} GPUs in one node", remedy.count);
    case Change::one_switch:
      return "GPUs on one PCIe switch";
    case Change::one_socket:
      return "GPUs on ports of one socket";
    case Change::bridges:
      break;
  }
  return remedy.count == 1 ? "an NVLink bridge" : "NVLink bridges on pairs";
}

std::string note_of(const Remedy& remedy) {
  switch (remedy.change) {
    case Change::accumulate:
      return "4 times the samples between updates";
    case Change::batch:
      return "if it fits the GPU's memory" + reckoned(remedy);
    case Change::bucket:
      return "same result";
    case Change::compression:
      return compression_note(remedy.options.compression);
    case Change::precision:
      return precision_note(remedy.options.precision) + reckoned(remedy);
    case Change::overlap:
      return "all-reduce under backward";
    case Change::backend:
      return remedy.options.backend == Backend::nccl ? "made for GPUs" : "joins gradients in host memory";
    case Change::one_node:
      return fmt::format("leaves {} idle", counted_gpus(remedy.count));
    case Change::all_in_one_node:
      return "instead of the network";
    case Change::one_switch:
    case Change::one_socket:
      return "if the board has the slots";
    case Change::bridges:
      break;
  }
  return "the cards have the connector";
}

std::string to_words(const Turn& turn) {
  const auto* way = turn.down ? "down to" : "from";
  return fmt::format("{} {} {}", way, turn.of == Change::batch ? "batch" : "accumulation", turn.value);
}

}  // namespace gradwire
