// docs/accuracy.md.
#include <fmt/format.h>

#include <map>

#include "base/text.h"
#include "base/units.h"
#include "predict/validation/summary.h"
#include "report/validate/validate.h"

namespace gradwire {
namespace {

constexpr int kWorstSweeps = 15;

std::string row(const std::string& name, const std::vector<ValidationPoint>& points) {
  const ErrorSummary of = summarize(points);
  if (of.count == 0) return "";
  return fmt::format("| {} | {} | {} | {} | {} | {} | {} | {} |\n", name, of.count,
                     format_percent(of.mean_abs_error), format_percent(of.median_abs_error),
                     format_percent(of.p90_abs_error), format_percent(of.bias), format_percent(of.inside),
                     of.alpha_beta_error > 0 ? format_percent(of.alpha_beta_error) : "-");
}

constexpr const char* kHead =
    "| | points | mean | median | 90th percentile | bias | in range | bytes / link rate "
    "|\n|---|---|---|---|---|---|---|---|\n";

using Points = std::vector<ValidationPoint>;

Points side(const Points& points, bool large) {
  return points_where(points, [&](const auto& p) { return counts(p) && is_large(p) == large; });
}

std::string overall(const Validation& validation) {
  std::string text = "## All-reduce\n\n";
  text += kHead;
  const Points points = counted_of(validation.points, PointKind::collective);
  text += row("from 1 MB, platform never seen", side(points, true));
  text += row("below 1 MB, platform never seen", side(points, false));
  text += row("from 1 MB, group never seen", side(validation.by_group, true));
  text += row("below 1 MB, group never seen", side(validation.by_group, false));
  text += row("from 1 MB, kind of machine never seen", side(validation.by_kind, true));
  text += row("from 1 MB, generation of GPU never seen", side(validation.by_generation, true));
  text += row("from 1 MB, own sweep given but the row asked for", side(validation.own_sweep, true));
  text += row("below 1 MB, own sweep given but the row asked for", side(validation.own_sweep, false));
  return text;
}

std::map<std::string, Points> by(const Points& points, std::string ValidationPoint::*field) {
  std::map<std::string, Points> parts;
  for (const ValidationPoint& point : points) parts[point.*field].push_back(point);
  return parts;
}

std::string table(const std::string& title, const Points& points, std::string ValidationPoint::*field) {
  std::string text = fmt::format("\n### {}\n\n{}", title, kHead);
  for (const auto& [name, part] : by(points, field)) text += row(name, part);
  return text;
}

// The sweeps that are furthest off from 1 MB on, each with what is known of it.
std::string worst_sweeps(const Points& points) {
  std::vector<std::pair<double, std::string>> errors;
  std::map<std::string, ErrorSummary> of;
  for (const auto& [id, part] : by(side(points, true), &ValidationPoint::id)) {
    of[id] = summarize(part);
    errors.emplace_back(of[id].mean_abs_error, id);
  }
  std::sort(errors.rbegin(), errors.rend());
  std::string text = "\n### The worst sweeps, one by one\n\n";
  for (std::size_t i = 0; i < errors.size() && i < kWorstSweeps; ++i) {
    const auto& [error, id] = errors[i];
    text += fmt::format("- **{}**: {} off on average, {} {}. {}\n", id, format_percent(error),
                        format_percent(std::abs(of[id].bias)), of[id].bias < 0 ? "too fast" : "too slow",
                        find_remark(id).value_or("No cause known."));
  }
  return text;
}

std::string training(const Validation& validation) {
  const Points points = counted_of(validation.points, PointKind::training),
               pairs = counted_of(validation.points, PointKind::training_pair);
  if (points.empty() && pairs.empty()) return "";
  std::string text = "\n## Training\n\n";
  text += kHead;
  text += row("throughput, platform never seen", points) + row("ratio with and without a link", pairs);
  if (points.empty()) return text;
  text += table("By kind of workload", points, &ValidationPoint::scope);
  text += table("By platform", points, &ValidationPoint::platform);
  return text;
}

std::string not_counted(const Validation& validation) {
  std::string text;
  for (const auto& [id, doubt] : validation.doubts)
    if (doubt.quality == Quality::odd) text += fmt::format("- **{}**: odd. {}\n", id, to_words(doubt));
  for (const auto& words : unpredicted_words(validation)) text += fmt::format("- Not predicted: {}\n", words);
  return text.empty() ? text : "\n## What does not count\n\n" + text;
}

constexpr std::string_view kIntroduction = R"(# How far off predictions are

Written by `gradwire validate {} --markdown FILE`; do not edit. For every point
the constants were fitted again without the platform it is asked about (rows marked *group never seen*:
without the experiment). For training that is nested: the constants of the step were fitted again to the other platforms' runs,
with their collectives from the calibration without the platform asked about, so neither its runs nor its sweeps enter.
Platforms are left out by name: records of the same kind of machine under another name stay in. Errors are relative to what was
measured; a bias above 0 means predicted too slow for all-reduce and too fast for training. The last column is what bytes / link
rate alone would say on the same points. Only records of quality `ok` count.

Rows marked *kind of machine never seen* leave out every PCIe box, every bridged pair or every machine of a class at once; *generation
of GPU never seen* every GPU of that generation. *In range* is the share of measurements in the range that should hold 80 %.

**How wide ranges are.** What constants leave open (`unexplained` in presets/nccl.yaml) is chosen by machines, not by points: every machine of a class counts once, whatever
number of rows it has, the older ones with their platform left out and those of presets/measured/collectives_later.jsonl, which no constant has seen. Those of kindred classes (NVLink, NVSwitch, NVLS; both
networks) count as five more together, since a class has 7 to 25 of its own, and one more counts that lies outside whatever the range: the next machine may be worse than all that are known (conformal
prediction, with machines as groups). Eight of ten of that lie inside. Tried by machines that did not choose: from the older ones and half of the later ones, forty times by lot, ranges come out that hold 76 % of
the other half's points from 1 MB on and 89 % below. Of all later points they hold 79 and 90 % (of the first 71 sweeps 65 and 69 % when points of the older records chose). Where later machines of a class err more than its older ones no range holds eight of ten of both,
and the promise to new machines was kept: of the older points NVLink direct has 93, staged network 95 and NVLS 100 % in range, the other classes 83 to 89, and below 1 MB all together 96. Peers over PCIe
and host memory were kindred too while they erred alike; with 9.8 and 19.4 % that gave the one 96 % and left 78 % of later points inside, so each stands for itself. Spreads of training runs are as they were, chosen so that
eight of ten points lie inside; platform by platform 83 % do. The five was chosen after looking: with kindred machines counting as none, three, five and eight, and one machine left out at a time, 82, 82, 79 and 80 % of
the points of the first 71 sweeps from 1 MB on lay inside, and more of the older ones the fewer count. With the rest of their own sweep given (`--measured`) ranges hold 88 and 86 % of
the older points from 1 MB on and below, 85 and 81 % of the later ones (77 and 77, 70 and 61 % while what rows scatter by was all that counted, over all rows); with the row in the middle of a sweep alone, 89 and 70 % of its others, older
and later (80 % of the first 71 sweeps: between nodes one row tells less of the others). That form is what least squares has for it; its two figures (what rows usually scatter by, and for how many rows that counts) were chosen with both sets in view.

What cross-validation does not cover: the form of the model (which resources there are, how a time is made of latency and transfer) and the
priors were written with the records known. Beside twelve variants
of the fit's strengths (mean from 1 MB on 22.8 to 23.9 %), these were changed after looking at the errors: which rows lose weight, priors of
NVLink's share and of the socket link (its spread from 0.3 to 0.06), a limit for each stream between sockets, what an
unknown version means, reading bus numbers (trees, then processors), latency that hides over PCIe (four shapes of it differed by 0.1 %), what
records of a platform tell one another, searches that find no ring, a total for streams between sockets, uplinks of NVSwitch boards, and what *Read anew* lists. Expect more on machines that are in no built-in record.

**Records found after the model was fixed.** The first 71 of the 84 sweeps of presets/measured/collectives_later.jsonl, of 28 machine types, were searched for when the form, the
priors and the constants stood. As it then was the model was, from 1 MB on, 27.5 % off on average over 170 points, median 20.8 %, 60 % in range (bytes / link rate 53.6 %);
below 1 MB 39.0 %, median 35.9 %, 70 % of 132 points in range; with the rest of their own sweep given 8.9 and 12.5 %. By class from 1 MB on: host memory 36.1 % (71 points),
staged network 29.4 % (41), network 14.8 % (33), NVLink direct 22.4 % (14), NVSwitch 7.0 % (5), PCIe 13.8 % (4), NVLS 11.5 % (2). That, not the tables below, is what to expect of a machine that resembles none
of the built-in ones. Looking at them changed: copy engines get the rate of kernels, up to seven GPUs on one socket of 128 lanes, the link between Sapphire Rapids, processors that records name,
what TCP carries over 10 Gbit/s, and the way to cards without GPUDirect. A law stood there that had been drawn by hand through the four older machines of that kind, one of which does not copy but uses GPUDirect between sockets;
physics and figures of others in its place (docs/nccl-model.md) take these staged networks from 29.0 to 20.6 % and the older ones, which now no longer know themselves, from 13.0 to 16.2 %.
The model was then 23.2 % off on them (median 17.8 %) and 13.7 instead of 13.5 % on the older records; `gradwire validate` says at any time what it is. Tried and dropped: an uplink
that one stream uses at the rate of a slot (the older records went from 14.5 and 16.2 % to 14.6 and 16.6 with their kind or generation left out), and taking them into the fit (left-out platforms of the
older records from 13.5 to 15.8 %, of these from 25.3 to 25.0 %; below 1 MB from 39.1 to 32.1 %; all before the last of these changes). So they stay out of it.

**Thirteen more**, of ten machine types, were found with that model standing; seven count: two nodes of GH200 over Slingshot (three sweeps), two GPUs of each of two DGX H100, four DGX A100, twelve GPUs of a DGX-2, eight A100 with
NCCL 2.19.3. As it was the model was 20.4 % off on them from 1 MB on (73 points, median 17.1 %, 70 % in range, bytes / link rate 40.3 %) and 23.9 % below (105 points, 92 % in range). Signed errors of all three sets, by mechanism, had one
sign where sources are independent: large buffers around rings of several nodes came out too slow, over EFA, RoCE, InfiniBand and TCP. Their latency now hides with Simple as it does over PCIe, by the same constant, and
trees of three nodes cross the busiest cards 1.5 times instead of twice. The older records went from 13.7, 14.6 and 16.5 to 13.4, 14.4 and 16.5 % (platform, kind, generation never seen; staged networks from 16.2 to 9.8, networks from 12.8
to 13.1, below 1 MB from 19.3 to 19.5), the 71 from 23.2 to 22.1 % (median 15.6), the thirteen to 18.6 % (median 13.5), all 84 are 21.0 % off. That form was chosen after looking at them. Dropped: hiding in trees too
(13.6, 15.9, 16.7); with LL128 too (13.4, 14.4, 16.4; the thirteen 17.4 of eight that then counted, where the form kept had 18.0); on top of that NCCL's own rates for trees of two nodes, without correction from 512 MiB on (13.5, 14.6, 16.5);
LL128 at 0.8 of a network's rate (13.8, 15.1, 16.7); a prior of 0.1 instead of 0.25 around the uplink's share (13.5, 14.4, 16.4 and the 71 at 21.6, but host memory at 21.1).

**Read anew.** Ranked by what they add to the mean, the largest errors of 13.4 % were hosts through memory, of which records tell more than was read. Notes name processors and tools: two EPYC 9575F, whose link carries 99 GB/s both ways where
9004 has 64 (one figure stood for both), and nccl-tests 2.17.6, which published outputs (sixteen were read) show with NCCL 2.26 to 2.30, so that those cards go through host memory. Cards three buses behind their roots sit behind switches. The link's figure moved rings
of bridged pairs too. Platform, kind and generation never seen went to 12.4, 13.7 and 15.7 %, the later records from 21.0 to 21.3. Then two steps of NCCL's code: the copy that ends a ring between peers over PCIe (issue 398; PCIe from 11.3 to 9.8 %), and latency that hides
around rings of several nodes with LL128 as with Simple, dropped before at equal figures (parallel training, of which no constant here knows, has ratios between numbers of GPUs 3.8 instead of 4.1 % off with all this): 12.2, 13.6 and 15.5 %, below 1 MB 19.8 (was 19.5), the later 84 20.96 % (was 21.03; median 13.5,
was 14.8; the 71 22.4, was 22.1, the thirteen 17.7, was 18.6; each machine counted once 19.8, was 20.0). Chosen after looking, like all forms. Tried on top and dropped (the later 84 as fourth figure; before the LL128 step where marked): the same copy through host memory (12.9,
14.4, 17.3, 22.2, marked) or at twice the rings' rate (13.0, 14.6, 17.4, 22.5, marked); at the thread blocks' own rate (12.4, 13.7, 15.9, 21.1); for rings of one GPU a node (12.5, 14.7, 15.5, 21.5); local copies over NVLink at 1000 GB/s (12.5, 13.9, 15.8, 20.9); filling that ends over NVLink
(12.2, 13.7, 15.4, 20.9, but 9.0 for 8.3 % of NVLink direct), in trees between nodes (12.1, 14.0, 15.7, 21.3), in NVLS trees alone (12.2, 14.1, 15.6, 20.9); latency that hides over NVLink (12.7, 14.5, 15.9, 21.1), in NVLS trees (12.6, 15.7, 16.1, 21.3); LL's filling for LL128 between nodes (13.2,
14.8, 16.0, 22.7, marked); NCCL's caps for NVLS trees (13.7, 15.5, 17.0, 23.2), with its rates for trees of two nodes (12.9, 14.7, 16.2, 21.9). What is left: nine points of the twelve are one factor for a whole sweep, of hosts, plug-ins and cloud networks that differ from others of their description; six
sweeps through host memory carry 3.1 of the points, and the rest is 9.8 % off. Two GPUs behind one uplink of PCIe 3 got 2.2 to 4.0 GB/s, and nothing stated tells which.

Sixteen variants were tried before that and dropped. The main ones, as means from 1 MB on with the platform, the kind of machine and the generation never
seen, where what then shipped had 13.5, 14.5 and 16.2 %: over NVLink, filling that ends when chunks have grown (13.4, 15.1, 16.2), last shares copied at 2.5 times the rings' rate (13.4, 14.6, 16.4), both
(13.3, 15.2, 16.4), and on top of both: filling that ends between nodes too (13.4, 15.8, 16.9), latency that hides in proportion over PCIe (13.3, 15.1, 16.3),
copies at the rate of thread blocks over PCIe (13.5, 15.1, 16.7). Alone: filling that ends over PCIe (13.4, 14.2, 16.2, but 19.6 instead of 19.3 % below 1 MB)
and with LL (13.5, 14.6, 16.3); one start for both protocols over PCIe (13.6, 14.4, 16.4). None is better in all three by more than such a choice flatters itself. Seven sweeps, of hosts that
differ from others with the same slots, carry 3.9 of the points: the rest is 10.7 % off. No form tried explains them. Small buffers over NVSwitch: with a version that is not stated eight A100 took 35 to 44 us for what
2.27 does in 22, under one name of platform; 2.19.3 takes 35 (one process for all eight; dkh-a100-8gpu). What came between is not known, so one pace stands for both.

)";

}  // namespace

std::string validation_markdown(const Validation& validation, std::span<const Record> records,
                                const std::vector<std::string>& files) {
  std::string text = fmt::format(kIntroduction, join(files, " "));
  text += fmt::format("{} records, {} predictions.\n\n", records.size(), validation.points.size());
  const Points points = counted_of(validation.points, PointKind::collective);
  if (!points.empty()) {
    text += overall(validation);
    text += table("By class of machine, from 1 MB", side(points, true), &ValidationPoint::scope);
    text += table("By platform, from 1 MB", side(points, true), &ValidationPoint::platform);
    text += worst_sweeps(points);
  }
  return text + training(validation) + not_counted(validation);
}

}  // namespace gradwire
