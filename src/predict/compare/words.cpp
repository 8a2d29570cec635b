#include "predict/compare/compare.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace gradwire {
namespace {

std::string milliseconds(Seconds time) {
  return time < 0.01 ? fmt::format("{:.1f} ms", time * 1e3) : fmt::format("{:.0f} ms", time * 1e3);
}

std::string megabytes(Bytes bytes) {
  const double mega = double(bytes) / 1e6;
  if (mega >= 1e4) return fmt::format("{:.0f} GB", mega / 1e3);
  return mega >= 10 ? fmt::format("{:.0f} MB", mega) : fmt::format("{:.2g} MB", mega);
}

// Of all that crosses the wires in a step: gradients, parameters that are gathered, buffers.
Seconds taken(const StepEstimate& estimate) { return estimate.communication + estimate.synchronising; }
Seconds taken(const Contender& contender) { return taken(contender.estimate); }

// What that costs a step: what is uncovered, and what is hidden but slows backward. Each is said where it is noticed among
// what the collectives take, however long the step around them is.
std::string cost(const StepEstimate& estimate) {
  constexpr double kNoticed = 0.05;
  const auto noticed = [&](Seconds time) { return time >= kNoticed * taken(estimate); };
  if (!noticed(estimate.communication_cost())) return "hides under backward";
  auto text = fmt::format("costs {}", milliseconds(estimate.communication_cost()));
  const Seconds uncovered = estimate.parts.comm_exposed + estimate.synchronising;
  if (!noticed(estimate.slowdown)) return text;
  if (!noticed(uncovered)) return text + " by slowing backward";
  return text + fmt::format(" ({} of it uncovered)", milliseconds(uncovered));
}

std::string sent(const Contender& contender) {
  auto text = fmt::format("a step sends {} of gradients", megabytes(contender.estimate.gradient_bytes));
  if (contender.gathered > 0)
    text += fmt::format(" and gathers {} of parameters", megabytes(contender.gathered));
  return text + "; ";
}

double load_on(const std::string& resource, const Contender& contender) {
  for (const auto& one : contender.wires.loads)
    if (one.name == resource) return one.load;
  return 0;
}

std::string times(double count) {
  return count == 0 ? "never" : count == 1 ? "once" : count == 2 ? "twice" : fmt::format("{:g} times", count);
}

// What holds up the slower one, and how much of that load the other takes off.
std::string crowded(const Contender& slow, const Contender& fast) {
  if (slow.wires.loads.empty() || fast.wires.loads.empty() || slow.wires.nodes > 1) return "";
  const auto& narrowest = slow.wires.loads.front();
  const double other = load_on(narrowest.name, fast);
  if (other >= narrowest.load) return "";
  return fmt::format("; there every byte crosses {} {}, here {}", narrowest.name, times(narrowest.load),
                     times(other));
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
  return fmt::format("{} the GPUs, of which the link takes {} % ({} to {})", times, percent(1 - link.speedup),
                     percent(1 - link.high), percent(1 - link.low));
}

// Where several things differ: what each contributes.
std::string factors(const Answer& answer, const Contender& better, const Contender& worse) {
  if (more_of_the_same(answer)) return count_and_link(answer) + ": ";
  std::string text;
  if (answer.count != 1)
    text +=
        fmt::format("GPUs {:.2f}x ({} instead of {}), ", answer.count, better.wires.ranks, worse.wires.ranks);
  if (!answer.alike)
    text += fmt::format("GPU {:.2f}x ({} against {}), ", answer.gpu.speedup, better.machine.gpu.name,
                        worse.machine.gpu.name);
  if (text.empty()) return text;
  return text + fmt::format("link {}; ", how_much(answer.link));
}

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

std::string communication_words(const StepEstimate& estimate) {
  return fmt::format("{} and {}", milliseconds(taken(estimate)), cost(estimate));
}

std::string reason_of(const Answer& answer, const Contender& better, const Rewired& same) {
  const auto& [fast, slow] = same;
  const auto parts = factors(answer, better, slow);
  if (taken(slow) == 0 && taken(fast) == 0)
    return parts +
           (slow.wires.ranks > 1 ? "ranks that are not synchronised send nothing" : "one GPU sends nothing");
  auto text = parts + sent(taken(slow) > 0 ? slow : fast);
  const auto takes = [](const Contender& one) { return communication_words(one.estimate); };
  if (taken(slow) == 0)
    return text + fmt::format("{} that takes {}, on one GPU nothing is sent", fast.wires.way, takes(fast));
  text += fmt::format("{} that takes {}", slow.wires.way, takes(slow));
  if (taken(fast) == 0) return text;
  if (same_way(fast.wires, fast.estimate.communication, slow.wires, slow.estimate.communication))
    return text + " on both";
  const auto why = crowded(slow, fast);
  if (fast.wires.way == slow.wires.way)
    return text + fmt::format(" on {}, {} on {}{}", slow.machine.name, takes(fast), better.machine.name, why);
  return text + fmt::format(", {} {}{}", fast.wires.way, takes(fast), why);
}

std::string sentence_of(const Workload& workload, const Answer& answer) {
  if (answer.better == answer.worse)  // those that differ are told apart by their names
    return fmt::format("It does not matter for {}: {} and {} are the same machine.", workload.name,
                       answer.better, answer.worse);
  const bool told = answer.sure != Sure::cant_tell;
  const bool probably = answer.sure == Sure::probably;
  const auto* word = !told                              ? "Can't tell"
                     : answer.verdict == Verdict::helps ? (probably ? "Probably" : "Yes")
                     : answer.verdict == Verdict::hurts ? (probably ? "Probably not" : "No")
                     : probably                         ? "Probably it does not matter"
                                                        : "It does not matter";
  const bool plain = told || more_of_the_same(answer);
  const auto gives = plain ? how_much(answer)
                           : fmt::format("{:.2f}x, but anything from {:.2f} to {:.2f} is possible",
                                         answer.speedup, answer.low, answer.high);
  const auto saved = told && answer.verdict == Verdict::helps && !more_of_the_same(answer)
                         ? fmt::format(", {:.1f} h saved of every 24", hours_saved(answer))
                         : "";
  return fmt::format("{} for {}: {} over {} gives {}{}{} {}.", word, workload.name, answer.better,
                     answer.worse, gives, saved, link_clause(answer), answer.reason);
}

}  // namespace gradwire
