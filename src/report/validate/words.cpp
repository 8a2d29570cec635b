// What `gradwire validate` found, in sentences: what was assumed, what speaks against a record, what could not be predicted.
#include <fmt/format.h>

#include "base/text.h"
#include "report/validate/validate.h"

namespace gradwire {
namespace {

std::string to_words(UnstatedTraining what, const Assumed& taken) {
  switch (what) {
    case UnstatedTraining::parameters:
      return fmt::format("parameters are not stated: taken as {} million", taken.parameters / 1000000);
    case UnstatedTraining::layers:
      return "the model's layers are not known: " + taken.layers;
    case UnstatedTraining::samples:
      return fmt::format("samples of a step are not stated: taken as {} a GPU", taken.samples);
    case UnstatedTraining::precision:
      return "precision is not stated: taken as fp32";
    case UnstatedTraining::gradients:
      break;
  }
  return fmt::format("the type of gradients is not stated: taken as {} bytes each", taken.gradient_bytes);
}

std::string far_off_words(const ValidationPoint& point) {
  const bool time = point.kind == RecordKind::collective;
  return fmt::format("{}: measured {:.3g} times the predicted {}", point.point,
                     point.measured / point.predicted,
                     time         ? "time"
                     : point.pair ? "ratio"
                                  : "rate");
}

std::string why_unpredicted(const Skipped& skipped) {
  switch (skipped.why) {
    case Unpredicted::one_gpu:
      return "one GPU alone sends nothing";
    case Unpredicted::anchor_alone:
      return "it holds its anchor and nothing to predict from it";
    case Unpredicted::no_anchor:
      return "no step on one GPU (an anchor) to predict it from, and no value that differs in its link alone";
    case Unpredicted::not_finite:
      return "no finite prediction came out";
    case Unpredicted::refused:
      break;
  }
  return skipped.error;
}

}  // namespace

std::vector<std::string> sentences_of(const Assumed& assumed) {
  auto sentences = assumed.of_machine;
  for (const auto what : assumed.of_training) sentences.push_back(to_words(what, assumed));
  return sentences;
}

std::string to_words(const Doubt& doubt) {
  std::vector<std::string> reasons = {doubt.note, doubt.remark.value_or("")};
  if (const auto& above = doubt.above_linear)
    reasons.push_back(fmt::format("{} GPUs at {:.0f} % of linear", above->gpus, 100 * above->share));
  if (doubt.far_off) reasons.push_back(far_off_words(*doubt.far_off));
  std::erase_if(reasons, [](const std::string& reason) { return reason.empty(); });
  return reasons.empty() ? "the record does not say why" : join(reasons, "; ");
}

std::vector<std::string> unpredicted_words(const Validation& validation) {
  auto all = validation.unread;
  for (const Skipped& skipped : validation.skipped)
    all.push_back(fmt::format("{}: {}", skipped.what, why_unpredicted(skipped)));
  return all;
}

}  // namespace gradwire
