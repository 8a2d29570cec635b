// A comparison as a Report: the answer, a table, bars, what else would help, where it turns, how sure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "predict/compare/compare.h"
#include "predict/compare/sweep.h"
#include "report/report.h"

namespace gradwire {

// One screen; `verbose` adds how sure that is and why.
Report comparison_report(const Comparison&, bool verbose = false);
// Throws ConfigError when no machine can have any of the values.
Report sweep_report(const std::vector<SweepCurve>&, const SweepSpec&, const Workload&);

// The answer in words: why, in one clause, the factors where there are several, then what each way does with the gradients;
// and all of it, yes, no, it does not matter, or that it can't be told, where the range says so.
std::string reason_of(const Answer&);
std::string sentence_of(const std::string& model, const Answer&);

std::string path_of(const Wires&);  // "NVLink + InfiniBand", "gloo through host memory"

// "173 ms and costs 173 ms (17 ms of it uncovered)": what collectives take, and what that costs the step.
std::string communication_words(const StepEstimate&);

// "gpt2 does not fit a GPU of dgx-a100: ...", a clause.
std::string to_words(const Misfit&);

// Of a trace of a CPU's: what follows from it for GPUs, a clause.
std::string cpu_premise(const std::string& file);

// What to write or do, "--accumulate 4", and what it costs or needs.
std::string to_words(const Remedy&);
std::string note_of(const Remedy&);

std::string to_words(const Turn&);  // "from batch 16"

// "dgx-a100 has 8 GPUs; ...": why some values of a sweep are left out; empty: none are.
std::string why_left_out(const SweepCurve&);

// What the values of an axis stand for, where that is not plain; empty: it is.
std::string assumption_of(Axis);

// What speaks against taking the answer as it is, in clauses.
std::vector<std::string> warnings_of(const Comparison&);

// "slots are taken as x8 each, with x16", to be ended by what is so there.
std::string to_words(const OtherSlots&);

// A step on one machine: its parts, and what communication costs in the words of a comparison.
void add_predicted_step(Report&, const std::string& title, const StepEstimate&);

nlohmann::json comparison_json(const Comparison&);
nlohmann::json sweep_json(const std::vector<SweepCurve>&, const SweepSpec&);

// What the environment changes of prices with these options: nothing where NCCL joins no gradients.
std::optional<std::string> find_nccl_note(const StepOptions&);

std::string plural(const std::string& word);  // "images", "batches"

// What --on names, short enough for tables: "2*boxes/a.txt:rtx3090@10gbe" is "2*a.txt:rtx3090@10gbe"; names that would then be equal keep as many folders
// as tell them apart.
std::vector<std::string> without_folders(const std::vector<std::string>& on);

}  // namespace gradwire
