// A training step as plain data: for every rank the tasks it does, in the order in which it issues them, with
// what each must wait for. Made by a pure function from a plan and the cut of a model; the trainer executes a
// rank's tasks as they stand, step_run.h passes the time of them, step_verify.h proves that no rank waits for
// ever and that every gradient is complete. Values.
//
// A rank has one compute lane and one lane for each group it is in. A lane runs its tasks one after another in
// issue order; a task begins when the one before it in its lane and all in `after` have ended. So a message or
// a collective goes on under compute, and whoever executes a graph walks the list: it waits for `after`, then
// computes, or starts the communication and goes on.
//
// Point-to-point messages from one rank to another have a group of their own, {from, to}, for each direction
// and for activations and gradients apart: all messages of a lane go one way, so two stages that send to each
// other never wait for each other's receive.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/collective.h"
#include "base/units.h"
#include "sched/mesh.h"
#include "sched/pipeline.h"

namespace gradwire {

enum class TaskKind : std::uint8_t { forward, backward, update, collective, send, recv };
enum class TaskData : std::uint8_t {
  none,        // of compute
  activation,  // of send and recv: the output of `chunk`
  gradient,    // of send and recv: the gradient of that output; of a collective: of the unit's parameters
  parameters   // of a collective: the unit's parameters, gathered
};
std::string_view name_of(TaskKind);
std::string_view name_of(TaskData);

struct Task {
  TaskKind kind = TaskKind::forward;
  TaskData data = TaskData::none;
  int chunk = 0;         // piece of the model, in forward order
  int micro_batch = -1;  // -1: of the step as a whole
  int unit = -1;         // bucket or sharded unit of the chunk, in forward order; -1: the whole chunk
  int group =
      -1;  // of communication: index in StepGraph::groups. Of forward and backward: the ranks that share
           // the layer (tensor parallelism), which meet inside; -1: computed alone
  int meetings = 0;  // of forward and backward: collectives of `group` inside, `bytes` each
  Collective collective = Collective::all_reduce;
  Rank peer = -1;          // of send and recv
  Bytes bytes = 0;         // of communication: the buffer of all ranks, as NcclModel takes it
  int slot = -1;           // of gathered parameters: which of the chunk's buffers they fill; -1: their own
  bool reads = true;       // of forward and backward: computes with the parameters
  bool learns = true;      // of backward: adds to the gradient of the parameters
  std::vector<int> after;  // tasks of the same rank that must have ended
  bool operator==(const Task&) const = default;
};
std::string describe(const Task&);  // "backward of chunk 2, micro-batch 5"

struct StepGraph {
  std::vector<std::vector<Rank>> groups;
  std::vector<std::vector<Task>> ranks;
  Mesh mesh;
  PipelineShape pipeline;
};

// Who shares what along dp: nothing (0), optimizer state (1), gradients too (2), parameters too (3).
struct StepPlan {
  Mesh mesh;
  PipelineSchedule schedule = PipelineSchedule::one_f_one_b;
  int virtual_stages = 1;
  int micro_batches = 1;  // that one replica takes in a step: accumulation, and what fills a pipeline
  int shard = 0;
  bool sequence_parallel = false;  // tensor-parallel ranks gather and reduce-scatter instead of all-reducing
  bool recompute = false;          // forward is repeated at the begin of backward
  bool by_unit =
      true;  // forward and backward are a task for each unit, so that its collective can leave under
             // the next one's; false: for the whole chunk
  bool join_alone = false;  // a replica that has no other joins its gradients all the same: a group of one
};

// What a rank holds of one chunk (its share where tensor parallelism cuts it).
struct ChunkCut {
  std::vector<Bytes> units = {};  // parameters of each, as they travel; in forward order. At least one
  Bytes output = 0;  // activations of a micro-batch that go to the next chunk, and as many gradients back
  int meetings = 0;  // tensor-parallel collectives in a forward of a micro-batch; as many in a backward
  Bytes meeting_bytes = 0;  // each
};

// A stretch of computing: a unit of a chunk (all of them where `unit` is -1) with a micro-batch.
struct StepPiece {
  bool forward = true;
  int chunk = 0, micro_batch = 0, unit = -1;
  bool first = true,
       last = true;  // of its pass: after what comes from another stage, and before what goes there
  bool reads = true, learns = true;  // as in Task
  bool sends = true;                 // of backward: the unit's gradient is complete with it, and leaves
  bool together = false;             // with the piece before: one operator takes the parameters of both
};

// As many chunks as there are stages times virtual stages. Throws ConfigError for what can't be: another number
// of chunks, a chunk without units, a shard that is none of 0 to 3, sharding without data parallelism.
//
// Gradients are joined over dp (and cp) once, after the last micro-batch, where shard is 0 or 1; after each
// micro-batch with 2 and 3, which do not keep whole gradients. Where anything is shared, a step begins with what updates
// have left: a share of each unit on each rank. With 1 and 2 a unit is gathered once, for its first use. With 3 a chunk
// has two buffers for whole units, one for the unit in use and one for the next, and gathers what they no longer
// hold; of whole chunks (by_unit is false), each piece gathers all.
//
// `pieces`: what every rank computes, in their order, instead of what the schedule says. One stage alone has such.
StepGraph make_step_graph(const StepPlan&, const std::vector<ChunkCut>&,
                          const std::vector<StepPiece>& pieces = {});

}  // namespace gradwire
