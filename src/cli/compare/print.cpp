#include "cli/compare/print.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/text.h"
#include "base/units.h"
#include "report/wrap.h"

namespace gradwire {
namespace {

constexpr std::size_t kWidth = kTerminalWidth;

std::string milliseconds(Seconds time) {
  return time < 0.0995 ? fmt::format("{:.1f} ms", time * 1e3) : fmt::format("{:.0f} ms", time * 1e3);
}

std::string rate(double value) {
  return fmt::format("{:.{}f}", value, value < 0.995 ? 2 : value < 99.95 ? 1 : 0);
}

std::size_t name_width(const Comparison& comparison) {
  std::size_t width = 8;
  for (const auto& contender : comparison.contenders) width = std::max(width, contender.machine.name.size());
  return std::min<std::size_t>(width, 29);
}

std::string table(const Comparison& comparison) {
  const auto names = name_width(comparison);
  auto text = fmt::format("{:{}} {:>8} {:>12} {:>8} {:>10} {:>7}\n", "", names, "step",
                          plural(comparison.workload.sample) + "/s", "exposed", "comm costs", "scaling");
  for (const auto& [machine, wires, estimate, plain] : comparison.contenders)
    text += fmt::format("{:{}} {:>8} {:>12} {:>8} {:>10} {:>5.0f} %\n", machine.name.substr(0, names), names,
                        milliseconds(estimate.step), rate(estimate.samples_per_s),
                        milliseconds(estimate.parts.comm_exposed),
                        milliseconds(estimate.communication_cost()), 100 * estimate.scaling);
  text += "comm costs: what is exposed, and backward slowed by collectives under it\n";
  for (const auto& [machine, wires, estimate, plain] : comparison.contenders)
    if (!wires.narrowest_link.empty())
      text += wrap(fmt::format("{}: {}; narrowest: {}", machine.name, wires.algorithm, wires.narrowest_link),
                   kWidth, "  ") +
              "\n";
  return text;
}

struct Part {
  const char* mark;
  const char* name;
  Seconds time;
};

std::array<Part, 7> parts_of(const StepEstimate& estimate) {
  const auto& parts = estimate.parts;
  return {{{"·", "data", parts.data},
           {"▒", "forward", parts.forward},
           {"█", "backward", parts.backward - estimate.slowdown},
           {"~", "slowed", estimate.slowdown},
           {"!", "exposed", parts.comm_exposed},
           {"▓", "optimizer", parts.optimizer},
           {"-", "other", parts.other}}};
}

// A part as long as its share, each at the place where its running sum puts it, so that the whole is right.
std::string bar(const StepEstimate& estimate, double per_second) {
  std::string text;
  double sum = 0;
  int drawn = 0;
  for (const auto& part : parts_of(estimate)) {
    sum += part.time;
    for (const int until = static_cast<int>(sum * per_second + 0.5); drawn < until; ++drawn)
      text += part.mark;
  }
  return text;
}

std::string bars(const Comparison& comparison) {
  const auto names = name_width(comparison);
  Seconds longest = 0;
  for (const auto& contender : comparison.contenders) longest = std::max(longest, contender.estimate.step);
  const double cells = double(kWidth - names - 14);
  std::string text = "Where a step's time goes\n";
  for (const auto& contender : comparison.contenders)
    text += fmt::format("{:{}}  {} {}\n", contender.machine.name.substr(0, names), names,
                        bar(contender.estimate, cells / longest), milliseconds(contender.estimate.step));
  std::vector<std::string> legend;
  for (const auto& part : parts_of(comparison.contenders.front().estimate))
    if (part.name != std::string_view("data") || comparison.options.data > 0)
      legend.push_back(fmt::format("{} {}", part.mark, part.name));
  return text + join(legend, "  ") + "\n";
}

std::string remedies(const Comparison& comparison) {
  if (comparison.remedies.empty()) return {};
  const bool against = comparison.contenders.size() > 1 && comparison.remedies_on == comparison.answer.worse;
  auto text = fmt::format("What else would help on {}{}\n", comparison.remedies_on,
                          against ? fmt::format(" (the link: {:.2f}x)", comparison.answer.link.speedup) : "");
  for (const auto& remedy : comparison.remedies)
    text += fmt::format("  {:25} {:.2f}x  {}\n", remedy.what, remedy.speedup, remedy.note);
  return text + "\n";
}

std::string turns(const Comparison& comparison) {
  if (comparison.turns.empty()) return {};
  std::string text = "Where the answer turns\n";
  for (const auto& turn : comparison.turns)
    text += fmt::format("  {} it {} ({:.2f}x{})\n", turn.what,
                        turn.verdict == Verdict::helps   ? "helps"
                        : turn.verdict == Verdict::hurts ? "hurts"
                                                         : "does not matter",
                        turn.speedup, turn.fits ? "" : "; does not fit the GPU's memory");
  return text + "\n";
}

// PyTorch may compute fp32 in TF32 where a GPU has it: say which is meant.
std::string precision_of(const Comparison& comparison) {
  const auto has_tf32 = [](const Contender& contender) { return contender.machine.gpu.tf32_flops > 0; };
  const bool either = std::ranges::any_of(comparison.contenders, has_tf32);
  const std::string name(to_string(comparison.options.precision));
  return comparison.options.precision == Precision::fp32 && either ? name + " (without TF32)" : name;
}

std::string through_host_text(const Comparison& comparison) {
  const auto is_it = [](const Contender& contender) { return contender.wires.through_host; };
  if (comparison.options.backend != "nccl" || std::ranges::none_of(comparison.contenders, is_it)) return {};
  return " Through host memory overlap is taken to hide nothing, which rests on two RTX 4090 "
         "(docs/predict.md); a range with such a machine covers that it hides as over direct links. The rate "
         "of host memory differs between hosts from 3.1 to 5 GB/s.";
}

std::string certainty(const Comparison& comparison) {
  std::string text = comparison.options.anchor
                         ? "How sure: computing is anchored on the step you measured"
                         : fmt::format(
                               "How sure: computing is estimated from the GPU's peaks, {:.0f} % off on "
                               "average; give --step-ms, a step measured on one GPU, to make it exact",
                               100 * comparison.contenders.front().estimate.computing_error);
  double worst = 0;
  for (const auto& contender : comparison.contenders) worst = std::max(worst, contender.wires.relative_error);
  if (const auto& backend = comparison.options.backend; backend != "nccl")
    text += fmt::format(
        "; all-reduce times with {} rest on one machine's measurements, count on {:.0f} % either way",
        backend, 100 * worst);
  else if (worst > 0)
    text += fmt::format("; all-reduce times are known to {:.0f} % on average on machines left out of the fit",
                        100 * worst);
  text += ". Bytes over link rate alone would say ";
  std::vector<std::string> plain;
  for (const auto& contender : comparison.contenders)
    plain.push_back(fmt::format("{} for {}", milliseconds(contender.plain_step), contender.machine.name));
  return wrap(text + join(plain, ", ") + "." + through_host_text(comparison), kWidth) + "\n";
}

}  // namespace

std::string plural(const std::string& word) { return word + (word.ends_with("ch") ? "es" : "s"); }

std::string comparison_text(const Comparison& comparison) {
  std::string warnings;
  for (const auto& warning : comparison.warnings) warnings += wrap("But " + warning + ".", kWidth) + "\n";
  const auto& options = comparison.options;
  const auto how = fmt::format(
      "{}, batch {} a GPU{}, {}, {} of gradients a step", comparison.workload.title, options.batch,
      options.accumulate > 1 ? fmt::format(" x {}", options.accumulate) : "", precision_of(comparison),
      format_bytes(comparison.contenders.front().estimate.gradient_bytes));
  return wrap(comparison.answer.sentence, kWidth) + "\n" + warnings + "\n" + wrap(how, kWidth) + "\n" +
         table(comparison) + "\n" + bars(comparison) + "\n" + remedies(comparison) + turns(comparison) +
         certainty(comparison);
}

}  // namespace gradwire
