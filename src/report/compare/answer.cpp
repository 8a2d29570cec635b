#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/text.h"
#include "report/compare/compare.h"
#include "report/machine_notes.h"
#include "report/narrowest.h"
#include "report/nccl_notes.h"

// An answer in words: yes or no, how much, and because of what.
namespace gradwire {
namespace {

std::string short_milliseconds(Seconds time) {
  return time < 0.01 ? fmt::format("{:.1f} ms", time * 1e3) : fmt::format("{:.0f} ms", time * 1e3);
}

std::string megabytes(Bytes bytes) {
  const double mega = double(bytes) / 1e6;
  if (mega >= 1e4) return fmt::format("{:.0f} GB", mega / 1e3);
  return mega >= 10 ? fmt::format("{:.0f} MB", mega) : fmt::format("{:.2g} MB", mega);
}

Seconds taken(const StepEstimate& estimate) { return estimate.communication + estimate.synchronising; }

// What collectives cost a step: what is uncovered, and what is hidden but slows backward. Each is said where it is noticed
// among what they take, however long the step around them is.
std::string cost(const StepEstimate& estimate) {
  constexpr double kNoticed = 0.05;
  const auto noticed = [&](Seconds time) { return time >= kNoticed * taken(estimate); };
  if (!noticed(estimate.communication_cost())) return "hides under backward";
  auto text = fmt::format("costs {}", short_milliseconds(estimate.communication_cost()));
  const Seconds uncovered = estimate.parts.comm_exposed + estimate.synchronising;
  if (!noticed(estimate.slowdown)) return text;
  if (!noticed(uncovered)) return text + " by slowing backward";
  return text + fmt::format(" ({} of it uncovered)", short_milliseconds(uncovered));
}

std::string sent(const Rewired& step) {
  return fmt::format("a step sends {} of gradients; ", megabytes(step.estimate.gradient_bytes));
}

double load_on(ResourceClass resource, const Wires& wires) {
  for (const auto& one : wires.loads)
    if (one.of == resource) return one.load;
  return 0;
}

std::string times(double count) {
  return count == 0 ? "never" : count == 1 ? "once" : count == 2 ? "twice" : fmt::format("{:g} times", count);
}

// What holds up the slower one, and how much of that load the other takes off.
std::string crowded(const Wires& slow, const Wires& fast) {
  if (slow.loads.empty() || fast.loads.empty() || slow.nodes > 1) return "";
  const auto& narrowest = slow.loads.front();
  const double other = load_on(narrowest.of, fast);
  if (other >= narrowest.load) return "";
  return fmt::format("; there every byte crosses {} {}, here {}", to_words(narrowest.of),
                     times(narrowest.load), times(other));
}

std::string how_much(const Effect& effect) {
  return fmt::format("{:.2f}x ({:.2f} to {:.2f})", effect.speedup, effect.low, effect.high);
}

bool more_of_the_same(const Answer& answer) { return answer.alike && answer.count != 1; }

// "twice the GPUs, of which the link takes 38 % (27 to 53)"
std::string count_and_link(const Answer& answer) {
  const auto percent = [](double share) { return std::lround(100 * share); };
  const auto& link = answer.link;
  const auto times = answer.count == 2 ? "twice" : fmt::format("{:.3g} times", answer.count);
  if (verdict_of(link) == Verdict::helps)
    return fmt::format("{} the GPUs, and the link adds {} % ({} to {})", times, percent(link.speedup - 1),
                       percent(link.low - 1), percent(link.high - 1));
  if (verdict_of(link) == Verdict::no_difference && is_certain(link))
    return fmt::format("{} the GPUs, of which the link takes next to nothing", times);
  const auto taken = [&](double gain) { return percent(std::max(0.0, 1 - gain)); };
  return fmt::format("{} the GPUs, of which the link takes {} % ({} to {})", times, taken(link.speedup),
                     taken(link.high), taken(link.low));
}

// Where several things differ: what each contributes.
std::string factors(const Answer& answer) {
  if (more_of_the_same(answer)) return count_and_link(answer) + ": ";
  std::string text;
  if (answer.count != 1)
    text += fmt::format("GPUs {:.2f}x ({} instead of {}), ", answer.count, answer.on_better.wires.ranks,
                        answer.on_worse.wires.ranks);
  if (!answer.alike)
    text +=
        fmt::format("GPU {:.2f}x ({} against {}), ", answer.gpu.speedup, answer.better_gpu, answer.worse_gpu);
  if (text.empty()) return text;
  return text + fmt::format("link {}; ", how_much(answer.link));
}

// The path in a sentence: "over NVLink", "through host memory".
std::string along(const Wires& wires) {
  if (!wires.way) return "without limits";
  const bool through = wires.backend == Backend::nccl && *wires.way == Way{.inside = NcclLink::host};
  return (through ? "through " : "over ") + path_of(wires);
}

// Why a machine that has NVLink does without it.
std::string left_nvlink(const Answer& answer) {
  std::string text;
  for (const auto& [wires, on] :
       {std::pair(&answer.on_better.wires, &answer.better), std::pair(&answer.on_worse.wires, &answer.worse)})
    if (wires->nvlinked > 0 && wires->way)
      text += fmt::format(
          "; NVLink joins no more than {} of the {} GPUs {}{}, and a ring needs all: it crosses {}",
          wires->nvlinked, wires->ranks_per_node, wires->nodes > 1 ? "of a node of " : "of ", *on,
          path_name(Way{.inside = wires->way->inside}));
  return text;
}

// What each way does with the gradients.
std::string ways(const Answer& answer) {
  const auto &fast = answer.on_better, &slow = answer.on_worse;
  if (slow.taken() == 0 && fast.taken() == 0)
    return slow.wires.ranks > 1 ? "ranks that are not synchronised send nothing" : "one GPU sends nothing";
  auto text = sent(slow.taken() > 0 ? slow : fast);
  const auto takes = [](const Rewired& one) { return communication_words(one.estimate); };
  if (slow.taken() == 0)
    return text + fmt::format("{} that takes {}, on one GPU nothing is sent", along(fast.wires), takes(fast));
  text += fmt::format("{} that takes {}", along(slow.wires), takes(slow));
  if (fast.taken() == 0) return text;
  if (same_way(fast.wires, fast.estimate.communication, slow.wires, slow.estimate.communication))
    return text + " on both";
  const auto why = crowded(slow.wires, fast.wires);
  if (go_alike(fast.wires, slow.wires))
    return text + fmt::format(" on {}, {} on {}{}", answer.worse, takes(fast), answer.better, why);
  return text + fmt::format(", {} {}{}", along(fast.wires), takes(fast), why);
}

double gibibytes(Bytes bytes) { return static_cast<double>(bytes) / (1 << 30); }

// How the reason is joined to the answer.
std::string link_clause(const Answer& answer) {
  if (answer.alike && answer.count == 1) return answer.certain ? ", because" : ";";
  if (more_of_the_same(answer)) return ":";
  if (!is_certain(answer.link)) return "; whether the link alone helps can't be told:";
  const auto verdict = verdict_of(answer.link);
  const auto* joined = !answer.certain ? ";" : verdict == answer.verdict ? ", and" : ", but";
  return fmt::format("{} the link alone {}:", joined,
                     verdict == Verdict::helps   ? "helps"
                     : verdict == Verdict::hurts ? "hurts"
                                                 : "does not matter");
}

}  // namespace

std::string path_of(const Wires& wires) {
  if (!wires.way || wires.backend == Backend::nccl) return path_name(wires.way);
  return to_string(wires.backend) + " through host memory" + (wires.way->network ? " and network" : "");
}

std::string to_words(const Misfit& misfit) {
  const auto machines = join(misfit.machines, " or ");
  if (misfit.state > misfit.memory)
    return fmt::format(
        "{} does not fit a GPU of {}: weights, gradients and optimizer take {:.0f} GiB, it has {:.0f}; times "
        "are as if it did",
        misfit.model, machines, gibibytes(misfit.state), gibibytes(misfit.memory));
  return fmt::format(
      "a batch of {} of {} does not fit a GPU of {}: activations take over {:.0f} GiB and weights, gradients "
      "and optimizer {:.1f}, it has {:.0f}; times are as if it did",
      misfit.batch, misfit.model, machines, gibibytes(misfit.activations), gibibytes(misfit.state),
      gibibytes(misfit.memory));
}

namespace {

// A network's name says how fast a card is; how many a node has was taken to be what is usual.
std::optional<std::string> find_cards_note(const Machine& one, const Machine& other) {
  if (!one.network || !other.network || one.node.gpus != other.node.gpus) return std::nullopt;
  if (*one.network->nics_per_node < *other.network->nics_per_node) return find_cards_note(other, one);
  const auto &more = *one.network, &fewer = *other.network;
  if (*more.nics_per_node == *fewer.nics_per_node || !(more.nics_assumed || fewer.nics_assumed))
    return std::nullopt;
  const auto as_many = fewer.name.empty()
                           ? std::string()
                           : fmt::format("; @{}x-{} is as many", *more.nics_per_node, fewer.name);
  return fmt::format("a node of {} has {} network cards in this, one of {} {}{}", one.name,
                     *more.nics_per_node, other.name, *fewer.nics_per_node, as_many);
}

const Machine* find_compared(const Comparison& comparison, const std::string& name) {
  const auto found = std::ranges::find(comparison.contenders, name,
                                       [](const Contender& contender) { return contender.machine.name; });
  return found == comparison.contenders.end() ? nullptr : &found->machine;
}

}  // namespace

std::vector<std::string> warnings_of(const Comparison& comparison) {
  auto warnings = comparison.warnings;
  for (const Contender& contender : comparison.contenders)
    if (const auto note = find_guess_note(contender.machine)) warnings.push_back(*note);
  const auto *better = find_compared(comparison, comparison.answer.better),
             *worse = find_compared(comparison, comparison.answer.worse);
  if (better != nullptr && worse != nullptr)
    if (const auto note = find_cards_note(*better, *worse)) warnings.push_back(*note);
  for (const Misfit& misfit : comparison.misfits) warnings.push_back(to_words(misfit));
  if (comparison.links_alone)
    warnings.emplace_back(
        "the step you measured stands for every GPU here, though they differ: the links alone are compared");
  return warnings;
}

std::string to_words(const OtherSlots& slots) {
  if (slots.lanes == 0) return "slots are assumed, with two cards behind each PCIe switch";
  const auto whose = slots.machine.empty() ? "" : " of " + slots.machine;
  return fmt::format("slots{} are taken as x{} each, with x{}", whose, slots.lanes, slots.all_lanes);
}

std::string communication_words(const StepEstimate& estimate) {
  return fmt::format("{} and {}", short_milliseconds(taken(estimate)), cost(estimate));
}

std::string reason_of(const Answer& answer) {
  auto text = factors(answer) + ways(answer) + left_nvlink(answer);
  for (const Otherwise& other : answer.otherwise) {
    const auto words = std::visit([](const auto& what) { return to_words(what); }, other.what);
    text += fmt::format("; {} {:.2f}x", words, other.gain);
  }
  return text;
}

std::string sentence_of(const std::string& model, const Answer& answer) {
  if (answer.better == answer.worse)  // those that differ are told apart by their names
    return fmt::format("It does not matter for {}: {} and {} are the same machine.", model, answer.better,
                       answer.worse);
  const bool told = answer.sure != Sure::cant_tell;
  const bool probably = answer.sure == Sure::probably;
  const auto* word = !told                              ? "Can't tell"
                     : answer.verdict == Verdict::helps ? (probably ? "Probably" : "Yes")
                     : answer.verdict == Verdict::hurts ? (probably ? "Probably not" : "No")
                     : probably                         ? "Probably it does not matter"
                                                        : "It does not matter";
  const bool plain = told || more_of_the_same(answer);
  const auto gives = answer.at_least ? fmt::format("{:.2f}x or more", answer.speedup)
                     : plain         ? how_much(answer)
                                     : fmt::format("{:.2f}x, but anything from {:.2f} to {:.2f} is possible",
                                                   answer.speedup, answer.low, answer.high);
  const auto saved = told && answer.verdict == Verdict::helps && !more_of_the_same(answer)
                         ? fmt::format(", {:.1f} h saved of every 24", hours_saved(answer))
                         : "";
  return fmt::format("{} for {}: {} over {} gives {}{}{} {}.", word, model, answer.better, answer.worse,
                     gives, saved, link_clause(answer), reason_of(answer));
}

std::string cpu_premise(const std::string& file) {
  return fmt::format(
      "{} has no work of a GPU: a CPU computed it. A GPU is done sooner, so links matter to it at least as "
      "much as "
      "is said here; how much more, a model's name, a trace of a GPU or --step-ms of one tells",
      file);
}

}  // namespace gradwire
