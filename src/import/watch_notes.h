// What the hook of `gradwire watch` noted of one rank besides its trace: how long steps took around the traced ones, what
// watching cost, how the processor was shared, and what DistributedDataParallel says of itself. A value.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/units.h"
#include "import/profile.h"

namespace gradwire {

// DistributedDataParallel's logging data. Zero and empty: it does not say.
struct DdpSettings {
  bool find_unused_parameters = false, broadcast_buffers = false, sync_batch_norm = false;
  std::optional<Bytes> unused_parameters;  // bytes of those without a gradient in the last step it looked at
  Bytes bucket_cap = 0, parameters = 0;
  int tensors = 0;             // parameters, counted
  std::vector<Bytes> buckets;  // as they are now, in the order in which they leave
};

struct WatchNotes {
  std::string file;
  int rank = 0, world = 1;
  std::string backend, torch, host;
  bool kineto = false;
  int steps = 0;                                           // of the optimizer
  int profiled_steps = 0;                                  // 0: no window was traced
  std::optional<double> before_ms, profiled_ms, after_ms;  // median step
  double own_us = 0;                                       // of the hook, a step outside of the window
  double start_ms = 0, write_ms = 0;                       // of the profiler, around the window
  int cores = 0, threads = 0;
  std::optional<double> waited_ms;  // for a core, a step of the window: the thread that waited most
  std::optional<DdpSettings> ddp;
  std::vector<std::string> problems;

  // No core is left for the threads that communicate: what they do under computing, computing pays for.
  bool no_spare_core() const { return cores > 0 && cores <= threads; }
  std::optional<double> plain_ms() const { return after_ms ? after_ms : before_ms; }
};

// With find_unused_parameters each rank also sends which it used: 32 bits a parameter.
Bytes used_map_bytes(const DdpSettings&);

// Throws ConfigError with the name in front.
WatchNotes parse_watch_notes(std::string_view text, const std::string& name);

// Tells a trace what its writer could not: how many ranks there were, and how large the gradients' all-reduces were where
// each backward has as many as there are buckets, or one more for the map of used parameters.
void add_notes(const WatchNotes&, Profile&);

}  // namespace gradwire
