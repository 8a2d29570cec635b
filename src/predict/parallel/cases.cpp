#include "predict/parallel/cases.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "base/error.h"
#include "predict/parallel/memory.h"

namespace gradwire {
namespace {

bool says(const std::optional<std::string>& text, std::string_view word) {
  return text && text->find(word) != std::string::npos;
}

// A rack of one NVLink domain counts as a node: any pair of it is joined at full rate.
Machine machine_of_case(const Record& record) {
  const auto& parallel = *record.parallel;
  auto node = node_with_links(record, parallel.gpus_per_node, parallel.link);
  int nodes = parallel.nodes;
  const int domain = parallel.nvlink_domain.value_or(0);
  if (domain > node.gpus && nodes > 1) {
    const int joined = std::min(domain / node.gpus, nodes);
    if (nodes % joined == 0) {
      node.gpus *= joined;
      nodes /= joined;
    }
  }
  if (nodes == 1) {
    node.network.reset();
    return build_machine(node, 1);
  }
  if (!node.network) node.network.emplace();  // nothing stated: what is usual for the GPU
  return build_machine(node, nodes, node.network);
}

void set_schedule(const ParallelRecord& record, ParallelLayout& layout, std::vector<Unstated>& unstated) {
  layout.schedule = record.schedule.value_or(StageSchedule::one_f_one_b);
  layout.virtual_stages = record.virtual_stages.value_or(1);
  if (layout.virtual_stages > 1) layout.schedule = StageSchedule::interleaved;
  if (layout.schedule == StageSchedule::interleaved && !record.virtual_stages) {
    layout.virtual_stages = 2;
    unstated.push_back(Unstated::chunks);
  }
  if (record.pp > 1 && !record.schedule) unstated.push_back(Unstated::schedule);
}

// What runs join, where nobody says: gradients as wide as the products' inputs, but for 8-bit ones.
int gradient_width(const ParallelRecord& record, Precision precision) {
  return record.gradient_bytes.value_or(number_bytes(precision));
}

void set_memory(const ParallelRecord& record, ParallelLayout& layout) {
  const auto offloads = [&](std::initializer_list<Offload> any) {
    return std::ranges::find(any, record.offload) != any.end();
  };
  layout.offload_optimizer =
      offloads({Offload::optimizer, Offload::optimizer_and_parameters, Offload::optimizer_and_other});
  layout.offload_parameters = offloads({Offload::parameters, Offload::optimizer_and_parameters});
  layout.offload_activations = record.offload == Offload::optimizer_and_other;
  if (record.recompute) layout.recompute = *record.recompute;
  layout.gradient_bytes = gradient_width(record, layout.precision);
  layout.state_bytes = says(record.optimizer, "bf16") ? 6 : adam_bytes(layout.precision);
}

std::string strategy_of(const ParallelLayout& layout) {
  if (layout.ranks() == 1) return "one gpu";
  if (layout.mesh.pp > 1) return "pipeline";
  if (layout.mesh.cp > 1) return "context";
  if (layout.mesh.tp > 1) return "tensor";
  return layout.shard == 3 ? "sharded" : "data";
}

// Not stated: as little is computed again as memory allows; nothing where weights are frozen, which need no inputs kept.
void settle_recomputation(const ParallelRecord& record, const Gpu& gpu, ParallelLayout& layout) {
  if (record.recompute) return;
  for (const auto choice : {Recompute::none, Recompute::full}) {
    layout.recompute = choice;
    if (layout.frozen() || plan_memory(record.model, layout).total() <= usable_memory(gpu)) break;
  }
}

// What a record says as a layout, and what it leaves open.
ParallelLayout layout_of(const ParallelRecord& record, std::vector<Unstated>& unstated) {
  ParallelLayout layout;
  layout.mesh = {.dp = record.dp, .tp = record.tp, .pp = record.pp, .cp = record.cp};
  layout.precision = parse_plan_precision(record.precision);
  set_schedule(record, layout, unstated);
  set_memory(record, layout);
  layout.expert_parallel = record.expert_parallel.value_or(1);
  layout.sequence_parallel = record.sequence_parallel.value_or(false);
  layout.context = record.context_kind.value_or(ContextKind::ring);
  layout.shard = record.shard.value_or(record.tuning == Tuning::full ? 1 : 0);
  layout.shard_size = layout.shard > 0 ? std::min(record.shard_size.value_or(0), record.dp * record.cp) : 0;
  const int share = std::max(1, record.global_batch.value_or(record.dp) / record.dp);
  layout.micro_batch = std::min(share, record.micro_batch.value_or(1));
  layout.micro_batches = std::max(1, share / layout.micro_batch);
  if (!record.micro_batch) unstated.push_back(Unstated::micro_batch);
  layout.tuning = record.tuning;
  // 16-bit training with loss scaling is of the years before fused attention; so is what says it recomputes scores.
  const bool old = layout.precision == Precision::fp16 || layout.precision == Precision::fp32;
  layout.fused_attention = !old;
  layout.overlap = !old;  // as frameworks of those years
  layout.compiled = says(record.framework, "compiled");
  return layout;
}

ParallelCase case_of(const Record& record, const Machine& machine, GroupWires& wires) {
  const auto& parallel = *record.parallel;
  ParallelCase one;
  one.machine_notes = machine.notes;
  one.layout = layout_of(parallel, one.unstated);
  settle_recomputation(parallel, machine.gpu, one.layout);
  if (!parallel.recompute) one.unstated.push_back(Unstated::recomputation);
  const auto& layout = one.layout;
  one.id = record.id;
  one.group = record.group;
  one.platform = record.platform;
  one.model = parallel.model.name;
  one.gpu = record.gpu;
  one.quality = record.quality;
  one.moe = parallel.model.moe();
  one.point = fmt::format("{} gpus {}", parallel.gpus(), describe(layout));
  one.strategy = strategy_of(layout);
  one.measured = parallel.step.value_or(0);
  one.precision = parallel.precision;
  one.link = parallel.link;
  one.problem = make_problem(parallel.model, layout, wires);
  one.sequences = layout.sequences();
  one.flops =
      model_flops_per_token(parallel.model, layout.frozen()) * parallel.model.sequence * one.sequences;
  return one;
}

// Throws ConfigError where a record leaves out what nothing usual can stand for.
void check_case(const Record& record) {
  const auto& parallel = *record.parallel;
  const auto need = [](bool there, const char* otherwise) {
    if (!there) throw ConfigError(otherwise);
  };
  need(!record.gpu.empty(), "its GPU is not stated");
  need(parallel.shaped, "sizes of its model are not stated");
  need(!parallel.convolutional, "a convolutional network can't be cut as a transformer");
  need(parallel.global_batch && parallel.step, "its batch or step is not stated");
  need(*parallel.global_batch >= parallel.dp, "its batch is smaller than its data parallelism");
}

// Machines repeat from record to record, and walking their links is most of the work.
class MachineShelf {
 public:
  struct Place {
    Machine machine;
    std::unique_ptr<GroupWires> wires;
  };
  Place& of(const Record& record) {
    const auto& parallel = *record.parallel;
    const auto& net = record.node.network;
    const auto key =
        fmt::format("{} {} {} {} {} {} {} {}", record.platform, record.gpu, parallel.nodes,
                    parallel.gpus_per_node, name_of(parallel.link), parallel.nvlink_domain.value_or(0),
                    net && net->gbit_per_nic ? *net->gbit_per_nic : 0,
                    record.node.pcie_gen.value_or(0) * 100 + record.node.pcie_width.value_or(0));
    auto& found = places_[key];
    if (!found) {
      found = std::make_unique<Place>();
      found->machine = machine_of_case(record);
      found->wires = std::make_unique<GroupWires>(found->machine);
    }
    return *found;
  }

 private:
  std::map<std::string, std::unique_ptr<Place>> places_;
};

}  // namespace

ParallelCases parallel_cases(std::span<const Record> records) {
  ParallelCases all;
  MachineShelf shelf;
  for (const auto& record : records) {
    if (!record.parallel) continue;
    try {
      check_case(record);
      auto& place = shelf.of(record);
      all.cases.push_back(case_of(record, place.machine, *place.wires));
    } catch (const ConfigError& error) {
      all.left_out[record.id] = error.what();
    }
  }
  return all;
}

}  // namespace gradwire
