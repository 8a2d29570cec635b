// The question Gradwire was made for: what does one machine's wiring do to a training step that another's
// does not? Estimates the step on each machine, compares the best connected with the worst (of those that
// differ in their links alone, if there are such), says why, what else would help, and where the answer turns.
// Pure functions of values.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/names.h"
#include "base/units.h"
#include "predict/nccl/version.h"
#include "predict/step/gain.h"
#include "predict/step/on_machine.h"
#include "predict/step/options.h"
#include "predict/step/other_slots.h"
#include "predict/workload/workload.h"
#include "topo/machine.h"

namespace gradwire {

enum class Verdict : std::uint8_t { helps, no_difference, hurts };
template <>
inline constexpr std::array<std::string_view, 3> kNamesOf<Verdict> = {"helps", "no_difference", "hurts"};

// Below this gain a difference is called none: it drowns in what steps vary by.
constexpr double kMatters = 0.05;

struct Contender {
  Machine machine;
  Wires wires;
  StepEstimate estimate;
  Seconds plain_step = 0;  // what bytes / link rate says, everything else equal
};

Verdict verdict_of(const Effect&);
double hours_saved(const Effect&);  // of every 24 that the slower one trains; below 0: lost
bool is_certain(const Effect&);     // the range does not contradict the verdict

// yes: that range; probably: the range that holds three of five instead of four.
enum class Sure : std::uint8_t { yes, probably, cant_tell };
template <>
inline constexpr std::array<std::string_view, 3> kNamesOf<Sure> = {"yes", "probably", "cant_tell"};
Sure how_sure(const Effect&);

// The worse machine's computing on some wires.
struct Rewired {
  Wires wires;
  StepEstimate estimate;
  // Of all that crosses the wires in a step: gradients and buffers.
  Seconds taken() const { return estimate.communication + estimate.synchronising; }
};

// What nobody stated of the machines and was taken so: the link's gain if it is otherwise.
struct Otherwise {
  std::variant<OtherSlots, OtherVersion> what;
  double gain = 1;
};

// Its own factor is throughput of the better connected machine over that of the worse one; where equal GPUs
// differ in number, of the one with more of them.
struct Answer : Effect {
  Verdict verdict = Verdict::no_difference;
  bool certain = true;  // the range does not contradict the verdict
  Sure sure = Sure::yes;
  bool at_least = false;      // what was computed here is done sooner there, so that links matter more
  std::string better, worse;  // the machines compared: better and worse connected, or more and fewer GPUs
  // That factor is the product of these. The link's is what the worse machine's computing would gain on the
  // better one's wires; the GPU's is what is left, 1 when both compute alike (the same GPU, or a measured
  // step that stands for both).
  double count = 1;  // GPUs of the first over those of the second
  Effect gpu, link;
  bool alike = true;  // both compute alike
  // What the link's rests on.
  std::string better_gpu, worse_gpu;  // names
  Rewired on_better, on_worse;
  std::vector<Otherwise> otherwise;  // where that would make a difference
};

// What else could be changed: an option, or where the GPUs are.
enum class Change : std::uint8_t {
  accumulate,
  batch,
  bucket,
  compression,
  precision,
  overlap,
  backend,
  one_node,         // alone
  all_in_one_node,  // instead of several
  one_switch,
  one_socket,
  bridges
};

// A change on the machine whose collectives take longer, and what it would bring there.
struct Remedy {
  Change change;
  StepOptions options;  // with the change, where it is one of them
  int count = 0;        // GPUs that one node leaves idle, GPUs that all are, bridges
  double speedup = 1;
};

// Where the answer becomes another: from so large a batch or accumulation on, or down to it.
struct Turn {
  Change of = Change::batch;
  bool down = false;
  int value = 0;
  Verdict verdict;
  double speedup = 1;
  bool fits = true;  // the memory of both machines' GPUs
};

// A training step that a GPU's memory does not hold, on these machines, whose GPUs hold as much.
struct Misfit {
  std::string model;
  std::vector<std::string> machines;
  int batch = 0;
  Bytes state = 0;  // weights, gradients and the optimizer's
  Bytes activations = 0;
  Bytes memory = 0;  // of the GPU
};

struct Comparison {
  Workload workload;
  StepOptions options;
  std::vector<Contender> contenders;  // in the order asked for
  Answer answer;
  std::vector<Remedy> remedies;  // best first, only those that matter
  std::string remedies_on;       // the machine they are for
  std::vector<Turn> turns;
  std::vector<Misfit> misfits;  // what can't be run as asked
  bool links_alone = false;     // a measured step stands for GPUs that differ
  std::string premise = {};     // why the answer is no more than a lower bound, by whoever asked; a clause
  std::vector<std::string> warnings;  // of the question, likewise: clauses
};

Contender contend(const Workload&, const Machine&, const StepOptions&, const StepModel&);

// At least one machine. With one, the answer is what a link without limits would change.
Comparison compare(const Workload&, const std::vector<Machine>&, const StepOptions&, const StepModel& = {});

Answer judge(const Workload&, const Contender& better, const Contender& worse, const StepOptions&,
             const StepModel&);
std::vector<Remedy> find_remedies(const Workload&, const Contender&, const StepOptions&, const StepModel&);
std::vector<Turn> find_turns(const Workload&, const Contender& better, const Contender& worse,
                             const StepOptions&, const StepModel&);

// The same contender as if its wires had no limit: communication that costs nothing.
Contender with_ideal_wires(const Workload&, const Contender&, const StepOptions&, const StepModel&);

// The same GPUs placed otherwise: on fewer nodes, in other slots, with a bridge.
struct Rearrangement {
  Change change;
  int count = 0;  // as a Remedy's
  Machine machine;
};

// What could be tried with this machine's GPUs; what can't be built is left out. Nothing where a matrix says
// how they are wired, except fewer nodes.
std::vector<Rearrangement> rearrangements_of(const Machine&);

// Whether a training step fits a GPU's memory: roughly, and with the benefit of the doubt. Says no only when
// even a frugal implementation needs more than the GPU has. Of weights, gradients and optimizer state on one of `ranks` GPUs.
Bytes state_bytes(const Workload&, const StepOptions&);

// Of what forward leaves for backward in one micro-batch.
Bytes activation_bytes(const Workload&, const StepOptions&);

// Nothing when it fits or the GPU's memory is not known.
std::optional<Misfit> find_misfit(const Workload&, const Machine&, const StepOptions&);

}  // namespace gradwire
