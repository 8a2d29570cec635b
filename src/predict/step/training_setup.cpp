#include "predict/step/training.h"

#include <cmath>

#include "base/error.h"
#include "predict/nccl/version.h"
#include "predict/workload/catalog.h"

namespace gradwire {
namespace {

constexpr int kAmpere = 80;
constexpr Seconds kUsualStep = 0.3;  // where a record's batch does not count samples
constexpr double kUsualCnn = 25e6, kUsualOther = 110e6;

bool contains(const std::optional<std::string>& text, std::string_view word) {
  return text && text->find(word) != std::string::npos;
}

NodeSpec node_of(const Record& record, const TrainingValue& value) {
  return node_with_links(record, value.gpus / std::max(1, value.nodes), value.link, value.gpu_indices);
}

std::optional<NetworkSpec> network_of(const Record& record, const TrainingValue& value) {
  auto network = value.network ? value.network : record.node.network;
  if (value.nodes == 1) return network;
  if (!network) network = NetworkSpec{};
  if (value.link == LinkSetting::ethernet && !network->kind) network->kind = NetworkKind::ethernet;
  if (value.link == LinkSetting::infiniband && !network->kind) network->kind = NetworkKind::infiniband;
  return network;
}

// NVIDIA's containers compute "fp32" with TF32 on Ampere and later.
Precision precision_of(const Record& record, const Gpu& gpu) {
  const auto& training = *record.training;
  const auto precision = parse_precision(training.precision.value_or("fp32"));
  if (precision == Precision::fp32 && gpu.sm >= kAmpere && contains(training.framework, "ngc"))
    return Precision::tf32;
  return precision;
}

// Not stated: half precision computing with fp16 (apex, Horovod with AMP) sends fp16 gradients, all else
// fp32.
int gradient_bytes(const TrainingRecord& training, Precision precision) {
  return training.gradient_bytes.value_or(precision == Precision::fp16 ? 2 : 4);
}

// TensorFlow compiled by XLA runs backward as one cluster: all gradients come at its end. Without XLA each
// all-reduce starts when its gradient is there.
std::optional<bool> overlap_of(const Record& record, Distribution distribution) {
  const auto& training = *record.training;
  return distribution == Distribution::tf_replicated && training.xla ? !*training.xla : training.overlap;
}

// Samples of a micro-batch on one GPU. Where batches are counted in something else, a step of a usual length.
int batch_of(const TrainingRecord& training, const TrainingValue& value, const TrainingValue* anchor) {
  const auto batch = value.batch_per_gpu ? value.batch_per_gpu : training.batch_per_gpu;
  if (training.counts_samples && batch) return *batch;
  const auto& reference = anchor ? *anchor : value;
  const double one_gpu = reference.samples_per_s / reference.gpus;
  return std::max(1, static_cast<int>(std::lround(one_gpu * kUsualStep)));
}

StepOptions options_of(const Record& record, const TrainingValue& value, const TrainingValue* anchor,
                       const Gpu& gpu) {
  const auto& training = *record.training;
  StepOptions options;
  options.batch = batch_of(training, value, anchor);
  options.accumulate = value.accumulate;
  options.precision = precision_of(record, gpu);
  options.gradient_bytes = gradient_bytes(training, options.precision);
  options.distribution = parse_distribution(value.distribution.value_or(training.distribution));
  if (!value.distribution) options.overlap = overlap_of(record, options.distribution);
  if (training.bucket_bytes) options.buckets.rest = std::max<Bytes>(1, *training.bucket_bytes);
  options.optimizer = optimizer_in(training.optimizer.value_or(""));
  if (anchor) {
    const int batch = batch_of(training, *anchor, anchor);
    options.anchor =
        Anchor{double(batch) * anchor->accumulate / anchor->samples_per_s, batch, anchor->accumulate, {}};
  }
  return options;
}

}  // namespace

TrainingSetup training_setup(const Record& record, const TrainingValue& value, const TrainingValue* anchor) {
  check(record.training.has_value(), "a training record");
  TrainingSetup setup;
  setup.machine = build_machine(node_of(record, value), value.nodes, network_of(record, value));
  setup.settings.version = version_of_record(setup.machine);
  setup.settings.p2p_disabled = value.link == LinkSetting::no_p2p;
  setup.options = options_of(record, value, anchor, setup.machine.gpu);
  setup.samples = double(setup.options.batch) * value.accumulate * value.gpus;
  return setup;
}

Assumed training_assumptions(const Record& record, const TrainingValue& value, const Workload& workload,
                             const TrainingSetup& setup) {
  using Unstated = UnstatedTraining;
  const auto& training = *record.training;
  Assumed assumed{.of_machine = setup.machine.notes,
                  .parameters = parameter_count(workload),
                  .layers = workload.title,
                  .samples = setup.options.batch,
                  .gradient_bytes = setup.options.gradient_bytes};
  const auto note_if = [&](bool unstated, Unstated what) {
    if (unstated) assumed.of_training.push_back(what);
  };
  note_if(!training.parameters && !find_model(training.model), Unstated::parameters);
  note_if(workload.stand_in, Unstated::layers);
  note_if(!training.counts_samples || !(value.batch_per_gpu || training.batch_per_gpu), Unstated::samples);
  note_if(!training.precision, Unstated::precision);
  note_if(!training.gradient_bytes, Unstated::gradients);
  return assumed;
}

Workload training_workload(const Record& record) {
  const auto& training = *record.training;
  const auto family = guess_family(training.model, training.sample);
  const auto known = find_model(training.model);
  const double usual = family == Family::cnn ? kUsualCnn : kUsualOther;
  const auto parameters = training.parameters.value_or(known ? double(known->parameters) : usual);
  if (known && std::abs(parameters / double(known->parameters) - 1) < 0.02)
    return build_model(training.model, training.sequence_length);
  return build_stand_in({training.model, static_cast<std::uint64_t>(parameters), family, training.sample,
                         training.sequence_length,
                         known ? std::string_view(known->name) : std::string_view{}});
}

}  // namespace gradwire
