#include "report/train.h"

#include <fmt/format.h>

#include "base/text.h"
#include "report/step_chart.h"

namespace gradwire {
namespace {

double ms(Seconds time) { return time * 1e3; }

std::string tested(const TrainResult& result) {
  if (!result.accuracy) return "";
  return fmt::format("; test loss {:.4f}, accuracy {:.1f} % of {}", *result.test_loss, *result.accuracy * 100,
                     result.test_count);
}

std::string learnt(const TrainOptions& options, const TrainResult& result) {
  std::string text = fmt::format("loss {:.4f} -> {:.4f} in {} steps", result.losses.front(),
                                 result.losses.back(), result.losses.size());
  const int next = result.first_step + static_cast<int>(result.losses.size()) + 1;
  if (result.interrupted_by != 0)
    text += fmt::format(", ended by {} {}", describe_signal(result.interrupted_by),
                        next > options.steps ? "before it was tested"
                                             : fmt::format("before step {} of {}", next, options.steps));
  if (result.skipped_steps > 0)
    text += fmt::format(", {} left out because float16 overflowed", result.skipped_steps);
  return text + tested(result);
}

nlohmann::json held_json(const HeldMemory& held) {
  return {{"parameters", held.parameters},
          {"gathered", held.gathered},
          {"gradients", held.gradients},
          {"optimizer", held.optimizer}};
}

std::string held_text(const HeldMemory& held) {
  const std::string gathered =
      held.gathered == 0 ? "" : fmt::format(" and {} of gathered ones", format_bytes(held.gathered));
  return fmt::format("a rank holds {} of parameters{}, {} of gradients, {} of optimizer state",
                     format_bytes(held.parameters), gathered, format_bytes(held.gradients),
                     format_bytes(held.optimizer));
}

}  // namespace

double samples_per_second(const TrainOptions& options, const TrainResult& result) {
  const double samples =
      static_cast<double>(options.batch) * options.accumulate * result.ranks / result.model_ranks;
  return result.step.step() > 0 ? samples / result.step.step() : 0;
}

std::string step_line(const TrainOptions& options, const TakenStep& taken) {
  const double models = static_cast<double>(taken.ranks) / (options.tp * options.pp);
  return fmt::format("step {} of {}  loss{} {:.4f}  {:.1f} samples/s", taken.step + 1, options.steps,
                     options.backend.is_none() ? " of rank 0" : "", taken.loss,
                     options.batch * options.accumulate * models / taken.time);
}

namespace {

nlohmann::json mesh_json(const TrainOptions& options, const TrainResult& result) {
  nlohmann::json json = {{"dp", result.ranks / result.model_ranks},
                         {"tp", options.tp},
                         {"pp", options.pp},
                         {"sequence_parallel", options.sequence_parallel},
                         {"recompute", options.recompute},
                         {"links", result.mesh}};
  if (!result.pipeline) return json;
  json["schedule"] = name_of(options.schedule);
  json["micro_batches"] = options.micro_batches;
  json["bubble_by_formula"] = result.pipeline->bubble_by_formula;
  if (result.pipeline->bubble) json["bubble"] = *result.pipeline->bubble;
  json["waiting_ms"] = ms(result.pipeline->waiting);
  return json;
}

std::string pipeline_line(const TrainOptions& options, const PipelineResult& pipeline) {
  const std::string counted =
      pipeline.bubble ? fmt::format("{:.1f} % of its slots were idle, ", *pipeline.bubble * 100) : "";
  return fmt::format(
      "pipeline: {}, {} micro-batches over {} stages: {}{:.1f} % by the formula; a rank waited {:.2f} ms a "
      "step for others",
      name_of(options.schedule), options.micro_batches, options.pp, counted, pipeline.bubble_by_formula * 100,
      ms(pipeline.waiting));
}

nlohmann::json train_json(const TrainOptions& options, const TrainResult& result) {
  nlohmann::json json = {{"model", options.model},
                         {"parameters", result.parameters},
                         {"gradient_bytes", result.gradient_bytes},
                         {"buckets", result.buckets},
                         {"ranks", result.ranks},
                         {"backend", result.backend},
                         {"batch", options.batch},
                         {"accumulate", options.accumulate},
                         {"precision", name_of(options.precision)},
                         {"shard", options.shard},
                         {"held_bytes", held_json(result.held)},
                         {"skipped_steps", result.skipped_steps},
                         {"compress", name_of(options.compress)},
                         {"data", result.data},
                         {"first_step", result.first_step},
                         {"steps", result.losses.size()},
                         {"samples_per_s", samples_per_second(options, result)},
                         {"step_ms", ms(result.step.step())},
                         {"losses", result.losses},
                         {"breakdown_ms", breakdown_json(result.step)},
                         {"comm_hidden_share", result.step.hidden_share()}};
  if (!result.losses.empty()) {
    json["loss_first"] = result.losses.front();
    json["loss_last"] = result.losses.back();
  }
  if (result.interrupted_by != 0) json["interrupted_by"] = describe_signal(result.interrupted_by);
  if (result.accuracy) json["accuracy"] = *result.accuracy;
  if (result.test_loss) json["test_loss"] = *result.test_loss;
  if (!options.trace.empty() && result.traced) json["trace"] = options.trace;
  if (!result.mesh.empty()) json["mesh"] = mesh_json(options, result);
  return json;
}

}  // namespace

Report run_report(const TrainOptions& options, const TrainResult& result) {
  const std::string accumulate = options.accumulate > 1 ? fmt::format(" x {}", options.accumulate) : "";
  const std::string compress =
      options.compress == Compression::none ? "" : fmt::format(", {} gradients", name_of(options.compress));
  const std::string shard = options.shard == 0 ? "" : fmt::format(", sharded (stage {})", options.shard);
  const std::string wires = options.backend.is_none() ? "none (ranks apart)" : result.backend;
  Report report;
  report.add(
      Sentence{fmt::format("{}: {:.2f} M parameters, {} of gradients in {} {}", options.model,
                           static_cast<double>(result.parameters) / 1e6, format_bytes(result.gradient_bytes),
                           result.buckets, options.shard > 0 ? "units" : "buckets")},
      Sentence{fmt::format("{} ranks x {} threads over {}, batch {}{} a {}, {}{}{}, {}", result.ranks,
                           result.threads, wires, options.batch, accumulate,
                           result.model_ranks > 1 ? "model" : "rank", name_of(options.precision), compress,
                           shard, result.data),
               "", "  "});
  for (const std::string& line : result.mesh) report.add(Sentence{line, "", "  "});
  return report;
}

Report train_report(const TrainOptions& options, const TrainResult& result) {
  Report report;
  report.data = train_json(options, result);
  if (result.losses.empty()) {
    report.add(Sentence{fmt::format("nothing was left to do: the checkpoint is of step {} of {}{}",
                                    result.first_step, options.steps, tested(result))});
    return report;
  }
  report.add(Sentence{learnt(options, result)}, Gap{});
  add_step(report,
           fmt::format("{:.1f} samples/s; where a median step of {:.2f} ms went:",
                       samples_per_second(options, result), ms(result.step.step())),
           result.step);
  report.add(Sentence{held_text(result.held), "", "  "});
  if (result.pipeline) report.add(Gap{}, Sentence{pipeline_line(options, *result.pipeline)});
  for (const std::string& line : result.mesh) report.add(Sentence{line, "", "  "});
  if (result.dropped_spans > 0)
    report.add(Sentence{
        fmt::format("the trace holds the first steps alone: {} spans found no room", result.dropped_spans)});
  if (!options.trace.empty())
    report.add(Gap{}, Sentence{fmt::format(
                          "trace: {}{}", options.trace,
                          result.traced ? " (open it at ui.perfetto.dev)" : " could not be written")});
  if (!options.checkpoint.empty())
    report.add(Sentence{fmt::format("checkpoint: {}{}", options.checkpoint,
                                    result.saved ? "" : " could not be written after the last step")});
  return report;
}

}  // namespace gradwire
