// What `gradwire train` is asked to do, as the verb reads it and hands it on to its ranks. A value; without
// torch.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "sched/pipeline.h"
#include "sched/training.h"
#include "train/catalog/catalog.h"

namespace gradwire {

// What carries gradients between ranks.
struct TrainBackend {
  enum class Kind : std::uint8_t { automatic, none, named };  // none: every rank trains apart
  Kind kind = Kind::automatic;
  std::string name = "auto";  // as make_communicator takes it; of none what else ranks tell each other by
  bool is_none() const { return kind == Kind::none; }
};
TrainBackend parse_train_backend(
    const std::string& word);                // "auto", "none", or a name that nobody has checked yet
std::string to_string(const TrainBackend&);  // that word

// models_own: generated for resnets, else real.
enum class DataSource : std::uint8_t { models_own, real, generated };
template <>
inline constexpr std::array<std::string_view, 3> kNamesOf<DataSource> = {"", "real", "generated"};

struct TrainOptions {
  std::string model;
  TrainBackend backend;
  DataSource data = DataSource::models_own;
  std::string text;  // a file to learn from instead of the licences
  Precision precision = Precision::fp32;
  Compression compress = Compression::none;
  OptimizerKind optimizer = OptimizerKind::models_own;
  Overlap overlap = Overlap::automatic;
  std::string trace, checkpoint, resume;
  std::string html, command;      // a file for the page, and what was typed to get it
  std::string checkpoint_before;  // file_version() of the checkpoint before the run: see restart.h
  int batch = 0;                  // per rank and micro-batch; 0: the model's
  int accumulate = 1, steps = 50;
  int shard = 0;  // 1: the optimizer's state, 2: and gradients, 3: and parameters; 0: every rank has all
  int sequence = 0, image = 224;  // 0: up to 128 tokens of the model's context
  int checkpoint_every = 0;       // steps; 0: at the end alone
  double checkpoint_seconds = 0;  // or so much time; 0: no matter how long it takes
  int checkpoint_keep = 1;        // so many in all
  int max_restarts = 0;           // how often the launcher starts the run again
  int dp = 0, tp = 1, pp = 1;     // how ranks are a mesh (mesh_options.h); dp 0: what tp and pp leave
  int micro_batches = 0,
      virtual_stages = 0;  // of a pipeline; 0: twice its stages, and as the schedule has it
  PipelineSchedule schedule = PipelineSchedule::one_f_one_b;
  double bucket_mb = 25, first_bucket_mb = 1;
  double learning_rate = 0;  // 0: the model's
  double clip = 0;           // of the gradients' norm; 0: not
  std::uint64_t seed = 1;
  bool json = false, sharded = false, sync_batch_norm = false;
  bool resume_unchecked = false;  // also from a file without a checksum of ours
  bool scale_lr = false;          // the learning rate is a rank's: multiplied by their number
  bool recompute = false, sequence_parallel = false;
};

// As JSON all of these are their words.
template <HasNames E>
void to_json(nlohmann::json& json, E value) {
  json = std::string(name_of(value));
}
template <HasNames E>
void from_json(const nlohmann::json& json, E& value) {
  value = find_enumerator<E>(json.get<std::string>()).value();
}
void to_json(nlohmann::json&, const TrainBackend&);
void from_json(const nlohmann::json&, TrainBackend&);

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(TrainOptions, model, backend, data, text, precision, compress, optimizer,
                                   overlap, trace, checkpoint, resume, html, command, checkpoint_before,
                                   batch, accumulate, steps, shard, sequence, image, checkpoint_every,
                                   bucket_mb, first_bucket_mb, learning_rate, clip, seed, json, sharded,
                                   sync_batch_norm, resume_unchecked, checkpoint_seconds, checkpoint_keep,
                                   max_restarts, scale_lr, dp, tp, pp, micro_batches, virtual_stages,
                                   schedule, recompute, sequence_parallel)

// As one word of a command line, and back. Names of files are bytes, which JSON does not take: each travels as a character.
std::string to_argument(const TrainOptions& options);
TrainOptions from_argument(std::string_view argument);

// The choices of a training in the words of its flags, each as it is where nobody says.
struct TrainWords {
  std::string backend = "auto", data = {}, precision = "fp32", compress = "none", optimizer = {},
              overlap = "auto", schedule = "1f1b";
};
void read_words(const TrainWords&, TrainOptions&);  // throws ConfigError naming the flag and what there is

// "fp32" for "f32", as compare and everybody else spell it; others as they are.
std::string full_precision(const std::string& name);

Overlap parse_overlap(const std::string& word);  // throws ConfigError

// --checkpoint-every: steps ("10"), or time ("30s", "5m"). Throws ConfigError.
void read_interval(const std::string& text, TrainOptions& options);

// Every rank writes a part of a checkpoint: asked to, or because it alone has what is to be saved.
bool writes_parts(const TrainOptions& options);

// With what the model says where the user said nothing. Throws ConfigError naming the flag and what would be
// right.
TrainOptions complete(TrainOptions options);

}  // namespace gradwire
