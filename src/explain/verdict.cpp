#include "explain/verdict.h"

#include <fmt/format.h>

#include <algorithm>

namespace gradwire {
namespace {

constexpr double kLossMatters = 0.20, kMostlyLast = 0.6;

// Two idle cores of a virtual machine were up to 14 % apart for seconds, with nobody to blame.
double straggler_matters(const std::vector<RankSummary>& ranks) { return ranks[0].on_gpu ? 0.10 : 0.15; }

struct Losses {
  Seconds step = 0, computing = 0, input = 0, idle = 0, quiet = 0, communication = 0, waiting = 0, copies = 0;
  Seconds copies_in = 0;
};

// Pauses before a batch are the input's where the trace has no other word for it.
Seconds nameless_input(const RankSummary& rank) { return rank.names_input ? 0 : rank.mean.idle_before; }

// What the GPU waited for with work launched is the collectives' where the trace has them and not their kernels.
Seconds nameless_communication(const RankSummary& rank) {
  return rank.calls_unseen ? rank.mean.idle_queued : 0;
}

Losses mean_losses(const std::vector<RankSummary>& ranks) {
  Losses sum;
  for (const RankSummary& rank : ranks) {
    sum.step += rank.mean.step();
    sum.computing += rank.mean.computing();
    sum.input += rank.mean.parts.data;
    sum.idle += rank.mean.idle - nameless_input(rank) - nameless_communication(rank);
    sum.quiet += nameless_input(rank);
    sum.communication += rank.mean.parts.comm_exposed - rank.wait + nameless_communication(rank);
    sum.waiting += rank.wait;
    sum.copies += rank.mean.copies;
    sum.copies_in += rank.mean.copies_in;
  }
  const auto count = static_cast<double>(ranks.size());
  for (Seconds* part : {&sum.step, &sum.computing, &sum.input, &sum.idle, &sum.quiet, &sum.communication,
                        &sum.waiting, &sum.copies, &sum.copies_in})
    *part /= count;
  return sum;
}

const RankSummary& usually_last(const std::vector<RankSummary>& ranks) {
  return *std::max_element(ranks.begin(), ranks.end(),
                           [](auto& a, auto& b) { return a.last_share < b.last_share; });
}

struct SlowerPart {
  std::string_view words;
  Seconds more = 0;
};

// What the rank that comes last does longer than the others do on average.
SlowerPart slower_part(const std::vector<RankSummary>& ranks, const RankSummary& last) {
  std::vector<RankSummary> others;
  for (const RankSummary& rank : ranks)
    if (&rank != &last) others.push_back(rank);
  const Losses mean = mean_losses(others), own = mean_losses({last});
  const SlowerPart parts[] = {{"waits for its input", own.input - mean.input},
                              {"computes", own.computing - mean.computing},
                              {"is idle between kernels", own.idle - mean.idle},
                              {"launches nothing before a batch", own.quiet - mean.quiet},
                              {"copies", own.copies - mean.copies}};
  return *std::max_element(std::begin(parts), std::end(parts),
                           [](auto& a, auto& b) { return a.more < b.more; });
}

double percent_of(Seconds part, Seconds step) { return step > 0 ? part / step * 100 : 0; }

VerdictFigure share_figure(const char* what, Seconds part, Seconds step) {
  return {what, percent_of(part, step), "%"};
}
VerdictFigure time_figure(const char* what, Seconds time) { return {what, time * 1e3, "ms"}; }

// `waited` is what each of the others waits, or each of all where nobody is to blame.
BottleneckVerdict blame_straggler(const std::vector<RankSummary>& ranks, const Losses& losses,
                                  Seconds waited) {
  const RankSummary& last = usually_last(ranks);
  BottleneckVerdict verdict;
  verdict.bottleneck = Bottleneck::straggler;
  verdict.figures = {time_figure("others wait for it, of a step", waited), time_figure("step", losses.step),
                     share_figure("of the step", waited, losses.step)};
  if (last.last_share < kMostlyLast) {
    verdict.reason = fmt::format(
        "ranks wait {:.1f} ms of a {:.1f} ms step for whichever comes last, and that changes from call to "
        "call: the work is not "
        "spread evenly",
        waited * 1e3, losses.step * 1e3);
    verdict.figures[0].what = "ranks wait for whichever comes last, of a step";
    return verdict;
  }
  verdict.rank = last.rank;
  const SlowerPart slower = slower_part(ranks, last);
  verdict.reason = fmt::format(
      "rank {} comes last to {:.0f} % of the collectives and the others wait {:.1f} ms of a {:.1f} ms step "
      "for it",
      last.rank, last.last_share * 100, waited * 1e3, losses.step * 1e3);
  if (slower.more > 0.2 * waited)
    verdict.reason += fmt::format("; it {} {:.1f} ms longer than they do", slower.words, slower.more * 1e3);
  return verdict;
}

BottleneckVerdict blame_communication(const Losses& losses, Seconds hidden, Reach reach) {
  const char* where = reach == Reach::one_node        ? " inside the node"
                      : reach == Reach::several_nodes ? " between nodes"
                                                      : "";
  BottleneckVerdict verdict;
  verdict.bottleneck = reach == Reach::one_node        ? Bottleneck::communication_intra
                       : reach == Reach::several_nodes ? Bottleneck::communication_inter
                                                       : Bottleneck::communication;
  const Seconds exposed = losses.communication + losses.waiting;
  verdict.reason = fmt::format("{:.1f} ms of a {:.1f} ms step are communication{} that no computing hides",
                               exposed * 1e3, losses.step * 1e3, where);
  verdict.figures = {time_figure("exposed", exposed), time_figure("hidden", hidden),
                     share_figure("exposed of the step", exposed, losses.step)};
  return verdict;
}

BottleneckVerdict blame_input(const Losses& losses, bool named) {
  const Seconds input = named ? losses.input : losses.quiet;
  BottleneckVerdict verdict;
  verdict.bottleneck = Bottleneck::input;
  verdict.reason =
      named ? fmt::format(
                  "{:.1f} ms of a {:.1f} ms step the loop waits for the next batch with nothing running",
                  input * 1e3, losses.step * 1e3)
            : fmt::format(
                  "{:.1f} ms of a {:.1f} ms step the GPU is idle before a batch's first kernel, and for "
                  "milliseconds at a stretch nothing is launched: the processor makes the batch, or does "
                  "something else the trace has no name for",
                  input * 1e3, losses.step * 1e3);
  verdict.figures = {time_figure("waiting", input), time_figure("computing", losses.computing),
                     share_figure("waiting of the step", input, losses.step)};
  return verdict;
}

BottleneckVerdict blame_copies(const Losses& losses) {
  BottleneckVerdict verdict;
  verdict.bottleneck = Bottleneck::input;
  verdict.reason = fmt::format(
      "{:.1f} ms of a {:.1f} ms step the GPU does nothing but wait for copies from the host: its input comes "
      "late",
      losses.copies_in * 1e3, losses.step * 1e3);
  verdict.figures = {time_figure("copying", losses.copies_in), time_figure("computing", losses.computing),
                     share_figure("copying of the step", losses.copies_in, losses.step)};
  return verdict;
}

BottleneckVerdict blame_launch(const Losses& losses, const std::vector<RankSummary>& ranks) {
  Seconds pauses = 0;
  for (const RankSummary& rank : ranks)
    pauses += (rank.mean.idle_quiet - nameless_input(rank)) / static_cast<double>(ranks.size());
  BottleneckVerdict verdict;
  verdict.bottleneck = Bottleneck::launch;
  verdict.reason = fmt::format(
      "{:.1f} ms of a {:.1f} ms step the GPU is idle between kernels: the processor does not launch them "
      "fast enough{}",
      losses.idle * 1e3, losses.step * 1e3,
      pauses > 0.5 * losses.idle
          ? ", and for milliseconds at a stretch it launches nothing at all (logging, saving, Python)"
          : "");
  verdict.figures = {time_figure("idle", losses.idle), time_figure("computing", losses.computing),
                     share_figure("idle of the step", losses.idle, losses.step)};
  return verdict;
}

// Communication that nothing hides, part of which is waiting: each may be too little to blame, and both together not.
std::string exposed_words(const Losses& losses, const Losses& shared, Seconds varies) {
  const Seconds exposed = losses.communication + losses.waiting;
  const std::string all = fmt::format("{:.1f} ms are exposed", exposed * 1e3);
  if (losses.waiting < 0.5 * exposed)
    return fmt::format(
        "{}, {:.1f} of them waiting for other ranks and the rest communication: not every rank loses a "
        "fifth to either",
        all, losses.waiting * 1e3);
  if (shared.waiting < varies)
    return fmt::format(
        "{}, mostly waiting for other ranks that changes from step to step, as steps do by {:.1f} ms", all,
        varies * 1e3);
  return all + ", mostly waiting for other ranks, in too few of the steps or too little to blame one";
}

BottleneckVerdict blame_nothing(const Losses& losses, const Losses& shared, Seconds varies) {
  const bool computes = losses.computing >= 0.5 * losses.step;
  const bool exposed = losses.communication + losses.waiting >= kLossMatters * losses.step;
  const Seconds largest = std::max({losses.input, losses.idle, losses.quiet, losses.copies_in});
  BottleneckVerdict verdict;
  verdict.bottleneck = computes ? Bottleneck::compute : Bottleneck::none;
  const std::string computing =
      fmt::format("{:.1f} ms of a {:.1f} ms step are computing; ", losses.computing * 1e3, losses.step * 1e3);
  if (exposed)
    verdict.reason = computing + exposed_words(losses, shared, varies);
  else if (computes)
    verdict.reason =
        computing + (largest < kLossMatters * losses.step ? "no loss takes a fifth of it"
                                                          : "no loss of all ranks takes a fifth of it");
  else
    verdict.reason = "no single part of the step stands out";
  verdict.figures = {time_figure("computing", losses.computing), time_figure("step", losses.step),
                     share_figure("computing of the step", losses.computing, losses.step)};
  return verdict;
}

// What the step gets shorter by without it. Behind one slow rank all others wait and it does not: what each of them waits.
// Where whichever comes last is another each time, work that is spread evenly ends when all would on average: the mean.
Seconds shared_waiting(const std::vector<RankSummary>& ranks) {
  if (ranks.size() < 2) return 0;
  const auto count = static_cast<double>(ranks.size());
  Seconds waiting = 0, usual = 0;
  for (const RankSummary& rank : ranks) {
    waiting += rank.wait;
    usual += std::min(rank.wait, rank.usual_wait.value_or(rank.wait));
  }
  if (usually_last(ranks).last_share >= kMostlyLast) return usual / (count - 1);
  return std::min(waiting / count, ranks[0].usual_wait_of_all.value_or(waiting / count));
}

// What all ranks lose: what one alone loses makes the others wait, and is counted there.
Losses shared_losses(const std::vector<RankSummary>& ranks) {
  Losses least = mean_losses({ranks[0]});
  for (const RankSummary& rank : ranks) {
    const Losses own = mean_losses({rank});
    least.input = std::min(least.input, own.input);
    least.idle = std::min(least.idle, own.idle);
    least.quiet = std::min(least.quiet, own.quiet);
    least.copies_in = std::min(least.copies_in, own.copies_in);
    least.communication = std::min(least.communication, own.communication);
  }
  least.waiting = shared_waiting(ranks);
  return least;
}

BottleneckVerdict no_verdict(const char* why) {
  BottleneckVerdict verdict;
  verdict.reason = why;
  return verdict;
}

}  // namespace

std::string_view to_string(Bottleneck bottleneck) {
  constexpr std::string_view kNames[] = {
      "compute",   "launch", "input",  "communication_intra", "communication_inter", "communication",
      "straggler", "none",   "unknown"};
  return kNames[static_cast<int>(bottleneck)];
}

BottleneckVerdict judge_ranks(const std::vector<RankSummary>& ranks, Reach reach) {
  if (ranks.empty()) return no_verdict("there is no step to judge");
  if (std::all_of(ranks.begin(), ranks.end(), [](const auto& rank) { return rank.gpu_unseen; }))
    return no_verdict(
        "the run used a GPU and the trace has the processor's side alone: record ProfilerActivity.CUDA too "
        "(that of NPUs is not read)");
  const Losses losses = mean_losses(ranks);
  if (!(losses.step > 0)) return no_verdict("the steps have no length");
  Seconds hidden = 0;
  for (const RankSummary& rank : ranks)
    hidden += rank.mean.parts.comm_overlapped / static_cast<double>(ranks.size());
  const Losses shared = shared_losses(ranks);
  const Seconds largest =
      std::max({shared.input, shared.quiet, shared.idle, shared.communication, shared.copies_in});
  // Waiting that is less than what steps differ by anyway blames nobody.
  const Seconds varies = std::max_element(ranks.begin(), ranks.end(), [](auto& a, auto& b) {
                           return a.varies < b.varies;
                         })->varies;
  if (shared.waiting > largest && shared.waiting >= std::max(straggler_matters(ranks) * losses.step, varies))
    return blame_straggler(ranks, losses, shared.waiting);
  if (largest < kLossMatters * losses.step && largest < losses.computing)
    return blame_nothing(losses, shared, varies);
  if (largest == shared.communication) return blame_communication(losses, hidden, reach);
  if (largest == shared.input || largest == shared.quiet) return blame_input(losses, largest == shared.input);
  if (largest == shared.copies_in) return blame_copies(losses);
  return blame_launch(losses, ranks);
}

}  // namespace gradwire
