#include "predict/parallel/cases.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "base/error.h"
#include "predict/parallel/frameworks.h"
#include "predict/parallel/memory.h"

namespace gradwire {
namespace {

bool says(const std::optional<std::string>& text, std::string_view word) {
  return text && text->find(word) != std::string::npos;
}

// All that a machine is built from: runs share one where it is the same.
struct Site {
  NodeSpec node;
  int nodes = 1;
  bool operator==(const Site&) const = default;
};

// A rack of one NVLink domain counts as a node: any pair of it is joined at full rate.
Site site_of(const StatedLinks& links) {
  Site site{links.node, links.nodes};
  if (links.domain > site.node.gpus && site.nodes > 1) {
    const int joined = std::min(links.domain / site.node.gpus, site.nodes);
    if (site.nodes % joined == 0) {
      site.node.gpus *= joined;
      site.nodes /= joined;
    }
  }
  if (site.nodes == 1)
    site.node.network.reset();
  else if (!site.node.network)
    site.node.network.emplace();  // nothing stated: what is usual for the GPU
  return site;
}

// What a GPU gets done, as published. Arithmetic says so only where a token takes as much of it: the same is tuned and
// computed again.
void set_rate(const ParallelRecord& record, ParallelCase& one) {
  one.counted_in = name_of(record.metric);
  one.rate = record.value;
  if (record.metric == ParallelMetric::step_s) one.rate = 0;
  if (record.metric == ParallelMetric::samples_per_s) one.rate /= record.gpus();
  if (record.metric != ParallelMetric::tflops_per_gpu) return;
  one.counted_in += fmt::format(" {} {} {}", record.flops_formula.value_or("not-stated"),
                                name_of(record.tuning), name_of(one.layout.recompute));
}

void set_schedule(const ParallelRecord& record, ParallelLayout& layout, std::vector<Unstated>& unstated) {
  layout.schedule = record.schedule.value_or(PipelineSchedule::one_f_one_b);
  layout.virtual_stages = record.virtual_stages.value_or(1);
  if (layout.virtual_stages > 1) layout.schedule = PipelineSchedule::interleaved;
  if (layout.schedule == PipelineSchedule::interleaved && !record.virtual_stages) {
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

// Not stated: as many micro-batches as the middle one of the runs that state it has, with a pipeline and without.
int usual_micro_batches(int stages) { return stages > 1 ? 4 * stages : 2; }

void set_batch(const ParallelRecord& record, ParallelLayout& layout, std::vector<Unstated>& unstated) {
  layout.micro_batch = record.micro_batch.value_or(1);
  if (!record.micro_batch) unstated.push_back(Unstated::micro_batch);
  if (!record.global_batch) {
    layout.micro_batches = usual_micro_batches(record.pp);
    unstated.push_back(Unstated::batch);
    return;
  }
  const int share = std::max(1, *record.global_batch / record.dp);
  layout.micro_batch = std::min(share, layout.micro_batch);
  layout.micro_batches = std::max(1, share / layout.micro_batch);
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
  set_batch(record, layout, unstated);
  layout.tuning = record.tuning;
  // 16-bit training with loss scaling is of the years before fused attention; so is what says it recomputes scores.
  const bool old = layout.precision == Precision::fp16 || layout.precision == Precision::fp32;
  layout.fused_attention = !old;
  layout.overlap = !old;  // as frameworks of those years
  // Unless they are told otherwise Megatron-LM (--overlap-param-gather), InternEvo (overlap_sync_param) and DeepSpeed end a step
  // with whole parameters.
  layout.overlap_update = false;
  layout.compiled = says(record.framework, "compiled");
  const auto habits = habits_of(record.framework.value_or(""));
  if (layout.shard == 1 || layout.shard == 2) layout.whole_tensors = habits.whole_tensors;
  if (layout.shard == 3) layout.kept_parameters = habits.kept_parameters;
  return layout;
}

ParallelCase case_of(const Record& record, const StatedLinks& links, const Machine& machine,
                     GroupWires& wires) {
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
  one.links = links;
  set_rate(parallel, one);
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
  need(parallel.global_batch || !parallel.step, "its batch is not stated");
  need(parallel.global_batch.value_or(parallel.dp) >= parallel.dp,
       "its batch is smaller than its data parallelism");
}

// Machines repeat from record to record, and walking their links is most of the work.
class MachineShelf {
 public:
  struct Place {
    explicit Place(const Site& of)
        : site(of), machine(build_machine(of.node, of.nodes, of.node.network)), wires(machine) {}
    Site site;
    Machine machine;
    GroupWires wires;  // refers to the machine
  };
  Place& of(const Site& site) {
    const auto is_it = [&](const auto& place) { return place->site == site; };
    if (const auto found = std::ranges::find_if(places_, is_it); found != places_.end()) return **found;
    return *places_.emplace_back(std::make_unique<Place>(site));
  }

 private:
  std::vector<std::unique_ptr<Place>> places_;
};

}  // namespace

ParallelCases parallel_cases(std::span<const Record> records) {
  ParallelCases all;
  MachineShelf shelf;
  for (const auto& record : records) {
    if (!record.parallel) continue;
    try {
      check_case(record);
      const auto links = stated_links(record);
      auto& place = shelf.of(site_of(links));
      all.cases.push_back(case_of(record, links, place.machine, place.wires));
      if (!record.parallel->step)
        all.left_out[record.id] = "its batch or step is not stated: in ratios alone";
    } catch (const ConfigError& error) {
      all.left_out[record.id] = error.what();
    }
  }
  return all;
}

}  // namespace gradwire
