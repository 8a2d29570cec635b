#include "report/compare/compare.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "base/text.h"
#include "base/units.h"
#include "report/machine_notes.h"
#include "report/narrowest.h"
#include "report/nccl_notes.h"
#include "report/render.h"
#include "report/step_chart.h"

namespace gradwire {
namespace {

std::string milliseconds(Seconds time) {
  if (time < 5e-5) return "0.0 ms";  // nor "-0.0 ms"
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

Table table_of(const Comparison& comparison) {
  const auto names = name_width(comparison);
  Table table{{{"", "step", plural(comparison.workload.sample) + "/s", "exposed", "comm costs", "scaling"}}};
  for (const auto& [machine, wires, estimate, plain] : comparison.contenders)
    table.rows.push_back({machine.name.substr(0, names), milliseconds(estimate.step),
                          rate(estimate.samples_per_s), milliseconds(estimate.parts.comm_exposed),
                          milliseconds(estimate.communication_cost()),
                          fmt::format("{:.0f} %", 100 * estimate.scaling)});
  return table;
}

void add_narrowest(Report& report, const Comparison& comparison) {
  report.add(Sentence{"comm costs: what is exposed, and backward slowed by collectives under it"});
  for (const auto& [machine, wires, estimate, plain] : comparison.contenders)
    if (wires.narrowest.by != Holdup::unknown)
      report.add(Sentence{
          fmt::format("{}: {}; narrowest: {}", machine.name, wires.algorithm, to_words(wires.narrowest)), "",
          "  "});
}

struct DrawnPart {
  const char* mark;
  const char* name;
  Seconds time;
};

std::array<DrawnPart, 7> drawn_parts(const StepEstimate& estimate) {
  const auto& parts = estimate.parts;
  return {{{"·", "data", parts.data},
           {"▒", "forward", parts.forward},
           {"█", "backward", parts.backward - estimate.slowdown},
           {"~", "slowed", estimate.slowdown},
           {"!", "exposed", parts.comm_exposed},
           {"▓", "optimizer", parts.optimizer},
           {"-", "other", parts.other}}};
}

StackedBars bars_of(const Comparison& comparison) {
  StackedBars chart{.parts = {}, .bars = {}, .name_width = name_width(comparison)};
  const bool waits_for_data = std::ranges::any_of(
      comparison.contenders, [](const Contender& one) { return one.estimate.parts.data > 0; });
  for (const auto& part : drawn_parts(comparison.contenders.front().estimate))
    chart.parts.push_back({part.mark, part.name, part.name != std::string_view("data") || waits_for_data});
  for (const auto& contender : comparison.contenders) {
    chart.bars.push_back({contender.machine.name, milliseconds(contender.estimate.step), {}});
    for (const auto& part : drawn_parts(contender.estimate)) chart.bars.back().values.push_back(part.time);
  }
  return chart;
}

// How much of the comparison is shown below its bars.
struct Shown {
  std::size_t remedies = 0;
  bool turns = true;
  bool verbose = false;
};

Shown most_shown(const Comparison& comparison, bool verbose) {
  const std::size_t machines = comparison.contenders.size(), most = machines < 4 ? 5 - machines : 1;
  return {verbose ? comparison.remedies.size() : std::min(comparison.remedies.size(), most), true, verbose};
}

// What a terminal has no room for.
std::string verbose_words(std::size_t remedies_left) {
  if (remedies_left == 0) return "--verbose says how sure that is, and why.";
  return fmt::format("{} more remed{} with --verbose, and how sure that is, and why.", remedies_left,
                     remedies_left == 1 ? "y" : "ies");
}

void add_remedies(Report& report, const Comparison& comparison, std::size_t shown) {
  if (shown == 0) return;
  const bool against = comparison.contenders.size() > 1 && comparison.remedies_on == comparison.answer.worse;
  report.add(Gap{}, Title{fmt::format(
                        "What else would help on {}{}", comparison.remedies_on,
                        against ? fmt::format(" (the link: {:.2f}x)", comparison.answer.link.speedup) : "")});
  for (std::size_t i = 0; i < shown; ++i) {
    const Remedy& remedy = comparison.remedies[i];
    report.add(Sentence{fmt::format("{:25} {:.2f}x  {}", to_words(remedy), remedy.speedup, note_of(remedy)),
                        "  ", std::string(35, ' ')});
  }
}

std::string turn_text(const Turn& turn) {
  return fmt::format("{} it {} ({:.2f}x{})", to_words(turn),
                     turn.verdict == Verdict::helps   ? "helps"
                     : turn.verdict == Verdict::hurts ? "hurts"
                                                      : "does not matter",
                     turn.speedup, turn.fits ? "" : "; does not fit the GPU");
}

void add_turns(Report& report, const Comparison& comparison) {
  std::vector<std::string> turns;
  for (const auto& turn : comparison.turns) turns.push_back(turn_text(turn));
  if (!turns.empty()) report.add(Sentence{"Where it turns: " + join(turns, ", "), "", "  "});
}

// PyTorch may compute fp32 in TF32 where a GPU has it: say which is meant.
std::string precision_of(const Comparison& comparison) {
  const auto& anchor = comparison.options.anchor;
  if (anchor && anchor->recorded && !anchor->precision) return "precision as recorded";
  const auto has_tf32 = [](const Contender& contender) { return contender.machine.gpu.tf32_flops > 0; };
  const bool either = std::ranges::any_of(comparison.contenders, has_tf32);
  const std::string name(name_of(comparison.options.precision));
  return comparison.options.precision == Precision::fp32 && either ? name + " (without TF32)" : name;
}

std::string through_host_text(const Comparison& comparison) {
  const auto is_it = [](const Contender& contender) { return contender.wires.through_host; };
  if (comparison.options.backend != Backend::nccl || std::ranges::none_of(comparison.contenders, is_it))
    return {};
  return " Through host memory overlap is taken to hide nothing (docs/predict.md); a range with such a "
         "machine "
         "covers that it hides as over direct links. What a host's memory path gives differs up to seven "
         "times "
         "between hosts with equal slots: measure yours with nccl-tests.";
}

std::string certainty(const Comparison& comparison) {
  std::string text =
      comparison.options.anchor
          ? "How sure: computing is anchored on the step you measured"
          : fmt::format(
                "How sure: computing is estimated from the GPU's peaks, which holds eight of "
                "ten measured steps within a factor of {:.1f}; give --step-ms, a step measured "
                "on one GPU, to make it exact",
                1 + comparison.contenders.front().estimate.computing_error);
  double worst = 0;
  for (const auto& contender : comparison.contenders) worst = std::max(worst, contender.wires.relative_error);
  if (const Backend backend = comparison.options.backend; backend != Backend::nccl)
    text += fmt::format(
        "; all-reduce times with {} rest on one machine's measurements, count on {:.0f} % either way",
        to_string(backend), 100 * worst);
  else if (worst > 0)
    text += fmt::format("; eight of ten all-reduce times lie within {:.0f} % on machines left out of the fit",
                        100 * worst);
  text += ". Bytes over link rate alone would say ";
  std::vector<std::string> plain;
  for (const auto& contender : comparison.contenders)
    plain.push_back(fmt::format("{} for {}", milliseconds(contender.plain_step), contender.machine.name));
  return text + join(plain, ", ") + "." + through_host_text(comparison);
}

// What its all-reduce times answer to most, each with what it may be off there.
std::string doubts_of(const Contender& contender) {
  const NcclDoubt& doubt = contender.wires.doubt;
  std::vector<std::pair<double, std::string>> parts = {{doubt.rest, "what no constant explains"}};
  for (std::size_t i = 0; i < kNcclConstants; ++i)
    parts.emplace_back(std::abs(doubt.by_constant[i]), nccl_priors()[i].name);
  std::ranges::sort(parts, std::ranges::greater{});
  std::vector<std::string> words;
  for (std::size_t i = 0; i < 4 && parts[i].first > 0.005; ++i)
    words.push_back(fmt::format("{} {:.0f} %", parts[i].second, 100 * parts[i].first));
  return words.empty() ? "" : fmt::format("{}: {}", contender.machine.name, join(words, ", "));
}

void add_doubts(Report& report, const Comparison& comparison) {
  report.add(Gap{}, Sentence{certainty(comparison)});
  if (comparison.options.backend != Backend::nccl) return;
  report.add(Gap{}, Title{"What all-reduce times rest on (presets/nccl.yaml), with what each may be off"});
  for (const Contender& contender : comparison.contenders)
    if (const auto text = doubts_of(contender); !text.empty()) report.add(Sentence{text, "  ", "    "});
  for (const Contender& contender : comparison.contenders)
    for (const std::string& note : contender.machine.notes)
      report.add(Sentence{fmt::format("{}, assumed: {}", contender.machine.name, note), "  ", "    "});
  for (const Contender& contender : comparison.contenders)
    if (const auto note = find_version_note(contender.machine, comparison.options.nccl))
      report.add(Sentence{fmt::format("{}, assumed: {}", contender.machine.name, *note), "  ", "    "});
}

// What the environment tells NCCL, and which machines can't follow.
void add_nccl_notes(Report& report, const Comparison& comparison) {
  const auto& options = comparison.options;
  if (const auto note = find_nccl_note(options)) report.add(Sentence{"Note: " + *note + "."});
  if (options.backend != Backend::nccl) return;
  for (const auto& contender : comparison.contenders)
    if (const auto note = find_unmet_note(contender.machine, options.nccl))
      report.add(Sentence{fmt::format("{}: {}.", contender.machine.name, *note), "", "  "});
}

}  // namespace

std::string plural(const std::string& word) { return word + (word.ends_with("ch") ? "es" : "s"); }

std::optional<std::string> find_nccl_note(const StepOptions& options) {
  return options.backend == Backend::nccl ? find_environment_note(options.nccl) : std::nullopt;
}

void add_predicted_step(Report& report, const std::string& title, const StepEstimate& estimate) {
  add_slowed_step(report, title, estimate.parts, estimate.slowdown);
  if (estimate.communication > 0)
    report.add(Sentence{"communication takes " + communication_words(estimate), "     ", "     "});
}

namespace {

Report report_of(const Comparison& comparison, const Shown& shown) {
  Report report;
  if (!comparison.premise.empty()) report.add(Sentence{comparison.premise + "."});
  report.add(Sentence{sentence_of(comparison.workload.name, comparison.answer)});
  for (const auto& warning : warnings_of(comparison)) report.add(Sentence{"But " + warning + "."});
  for (const auto& [machine, wires, estimate, plain] : comparison.contenders)
    if (machine.measured) report.add(Sentence{machine.name + ": " + to_words(*machine.measured), "", "  "});
  const auto& options = comparison.options;
  add_nccl_notes(report, comparison);
  report.add(Gap{}, Sentence{fmt::format(
                        "{}, batch {} a GPU{}, {}, {} of gradients a step", comparison.workload.title,
                        options.batch, options.accumulate > 1 ? fmt::format(" x {}", options.accumulate) : "",
                        precision_of(comparison),
                        format_bytes(comparison.contenders.front().estimate.gradient_bytes))});
  report.add(table_of(comparison));
  if (shown.verbose) add_narrowest(report, comparison);
  report.add(Gap{}, bars_of(comparison));
  add_remedies(report, comparison, shown.remedies);
  if (shown.turns) add_turns(report, comparison);
  if (shown.verbose)
    add_doubts(report, comparison);
  else
    report.add(Sentence{verbose_words(comparison.remedies.size() - shown.remedies)});
  return report;
}

bool fits_a_screen(const Report& report) {
  constexpr auto kLines = 24;
  return std::ranges::count(to_text(report), '\n') <= kLines;
}

}  // namespace

// What is left out where the answer itself is long is all but the best remedy, then where it turns: --verbose has them.
Report comparison_report(const Comparison& comparison, bool verbose) {
  Shown shown = most_shown(comparison, verbose);
  Report report = report_of(comparison, shown);
  while (!verbose && !fits_a_screen(report) && (shown.remedies > 1 || shown.turns)) {
    if (shown.remedies > 1)
      --shown.remedies;
    else
      shown.turns = false;
    report = report_of(comparison, shown);
  }
  report.data = comparison_json(comparison);
  return report;
}

}  // namespace gradwire
