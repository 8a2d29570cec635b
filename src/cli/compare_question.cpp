#include "cli/compare_question.h"

#include <fmt/format.h>

#include "base/error.h"
#include "explain/analysis.h"
#include "import/file_kind.h"
#include "import/profile.h"
#include "predict/compare/compare.h"
#include "predict/step/recorded.h"
#include "predict/workload/catalog.h"

namespace gradwire {
namespace {

std::string cpu_warning(const std::string& file) {
  return fmt::format(
      "the computing in {} is a CPU's: a GPU is done sooner, and communication costs it more than is shown "
      "here; give a model's name or a trace of a GPU, or --step-ms of one",
      file);
}

Question question_of_trace(const std::string& file, const StepFlags& flags) {
  if (sequence_of(flags)) throw ConfigError("--sequence: a trace holds its own sequences; leave it out");
  const auto timeline = recorded_timeline(file);
  auto recorded = model_of(timeline, file);
  auto options = step_options(flags, recorded.workload);
  const bool on_cpu = (computed_on_cpu(timeline) || timeline.source == kOnProcessor) && !options.anchor;
  if (!options.anchor) options.anchor = recorded.anchor;
  return {std::move(recorded.workload), options, on_cpu ? cpu_warning(file) : ""};
}

}  // namespace

Timeline recorded_timeline(const std::string& file) {
  if (kind_of(head_of(file, 1 << 16)) != FileKind::profile) return read_timeline(file);
  return timeline_of(read_profile(file));
}

bool is_trace(const std::string& model) { return model.ends_with(".json") || model.ends_with(".json.gz"); }

Question question_of(const std::string& model, const StepFlags& flags) {
  if (is_trace(model)) return question_of_trace(model, flags);
  auto workload = load_model(model, sequence_of(flags));
  const auto options = step_options(flags, workload);
  return {std::move(workload), options, {}};
}

}  // namespace gradwire
