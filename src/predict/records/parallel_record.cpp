#include <algorithm>

#include "predict/records/fields.h"
#include "predict/records/read.h"

namespace gradwire {
namespace {

constexpr int kMostOfAny = 1 << 24;

void read_model(const Fields& fields, ParallelRecord& record) {
  auto& model = record.model;
  model.name = fields.text("name");
  const auto kind = fields.word("kind", {"decoder", "encoder", "encoder-decoder", "hybrid", "cnn"});
  record.convolutional = kind == "cnn";
  model.causal = kind == "decoder" || kind == "hybrid";
  model.cross = kind == "encoder-decoder";
  const auto size = [&](std::string_view key) {
    const auto found = fields.find_integer(key, 1, kMostOfAny);
    record.shaped &= found.has_value();
    return found.value_or(1);
  };
  model.layers = size("layers");
  model.hidden = size("hidden");
  model.heads = size("heads");
  model.kv_heads = fields.find_integer("kv_heads", 1, kMostOfAny).value_or(model.heads);
  model.head_dim =
      fields.find_integer("head_dim", 1, kMostOfAny).value_or(std::max(1, model.hidden / model.heads));
  model.vocab = size("vocab");
  model.sequence = size("sequence_length");
  model.mlp_matrices = fields.find_integer("mlp_matrices", 2, 3).value_or(2);
  model.experts = fields.find_integer("experts", 1, kMostOfAny).value_or(0);
  model.experts_per_token = fields.find_integer("experts_per_token", 1, kMostOfAny).value_or(0);
  model.expert_ffn = fields.find_integer("expert_ffn", 1, kMostOfAny).value_or(0);
  model.ffn = fields.find_integer("ffn", 1, kMostOfAny).value_or(0);
  record.shaped &= model.ffn > 0 || model.expert_ffn > 0;
  model.tied = fields.find_flag("tied_embeddings").value_or(true);
  model.biases = model.mlp_matrices == 2;
  model.parameters = fields.find_number("parameters", 1, 1e15).value_or(0);
  model.active = fields.find_number("active_parameters", 1, 1e15).value_or(0);
}

}  // namespace

ParallelRecord read_parallel(const Fields& fields) {
  ParallelRecord record;
  record.nodes = fields.integer("nodes", 1, 1 << 16);
  record.gpus_per_node = fields.integer("gpus_per_node", 1, 1024);
  record.nvlink_domain = fields.find_integer("nvlink_domain", 1, 1 << 16);
  record.link = fields.value(
      "link", {LinkSetting::normal, LinkSetting::nvlink, LinkSetting::pcie, LinkSetting::no_p2p});
  const auto model = fields.find_object("model");
  if (!model) fields.fail("model", "an object");
  read_model(*model, record);
  record.precision =
      fields.word("precision", {"fp32", "tf32", "fp16", "amp-fp16", "bf16", "fp8", "mxfp8", "nvfp4"});
  record.tuning = fields.value<Tuning>("tuning");
  record.global_batch = fields.find_integer("global_batch", 1, kMostOfAny);
  record.micro_batch = fields.find_integer("micro_batch", 1, kMostOfAny);
  record.tp = fields.integer("tp", 1, kMostOfAny);
  record.pp = fields.integer("pp", 1, kMostOfAny);
  record.cp = fields.integer("cp", 1, kMostOfAny);
  record.dp = fields.integer("dp", 1, kMostOfAny);
  record.virtual_stages = fields.find_integer("vpp", 1, 1024);
  record.expert_parallel = fields.find_integer("ep", 1, kMostOfAny);
  record.shard = fields.find_integer("zero", 0, 3);
  record.shard_size = fields.find_integer("shard_size", 1, kMostOfAny);
  record.sequence_parallel = fields.find_flag("sp");
  record.context_kind = fields.find_value<ContextKind>("cp_kind");
  record.offload = fields.find_value<Offload>("offload").value_or(Offload::none);
  record.recompute = fields.find_value<Recompute>("recompute");
  record.schedule = fields.find_value<PipelineSchedule>("schedule");
  record.optimizer = fields.find_text("optimizer");
  record.framework = fields.find_text("framework");
  record.gradient_bytes = find_gradient_bytes(fields);
  if (const auto notes = fields.find_text("notes"); notes && !record.gradient_bytes) {
    if (notes->find("reduced in fp32") != std::string::npos) record.gradient_bytes = 4;
    if (notes->find("reduced in bf16") != std::string::npos) record.gradient_bytes = 2;
  }
  record.metric = fields.value<ParallelMetric>("metric");
  record.value = fields.number("value", 1e-12, 1e15);
  record.flops_formula = fields.find_text("flops_formula");
  record.step = fields.find_number("step_s", 1e-9, 1e9);
  if (std::int64_t{record.tp} * record.pp * record.cp * record.dp != record.gpus())
    fields.fail("dp", "tp x pp x cp x dp equal to the GPUs");
  return record;
}

}  // namespace gradwire
