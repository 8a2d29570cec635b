#include "train/job/options.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <vector>

#include "base/error.h"
#include "base/kept_files.h"
#include "base/text.h"
#include "base/units.h"
#include "comm/make.h"
#include "train/job/mesh_options.h"

namespace gradwire {
namespace {

// `least` and `most` may themselves be taken.
void check_range(const char* flag, double value, double least, double most) {
  if (!(value >= least && value <= most))
    throw ConfigError(fmt::format("{} {:g}: write a number from {:g} to {:g}", flag, value, least, most));
}

void check_place(const char* flag, const std::string& file) {
  if (file.empty()) return;
  std::filesystem::path folder = std::filesystem::path(file).parent_path();
  if (folder.empty()) folder = ".";
  if (!std::filesystem::is_directory(folder))
    throw ConfigError(fmt::format("{} {}: there is no folder {}", flag, file, folder.string()));
  if (std::filesystem::is_directory(file))
    throw ConfigError(fmt::format("{} {}: this is a folder", flag, file));
  if (std::filesystem::exists(file) && !std::filesystem::is_regular_file(file))
    throw ConfigError(fmt::format("{} {}: this is a device or a pipe, not a file", flag, file));
  if (::access(folder.c_str(), W_OK) != 0)  // better now than after hours
    throw ConfigError(fmt::format("{} {}: nothing can be written in {}", flag, file, folder.string()));
}

void check_wires(const TrainOptions& options) {
  if (!options.backend.is_none()) return check_backend(options.backend.name);
  if (!options.checkpoint.empty())
    throw ConfigError(
        "--checkpoint with --backend none: ranks that train apart have no common model to keep");
}

void check_training_numbers(const TrainOptions& options) {
  check_range("--batch", options.batch, 1, 1 << 20);
  check_range("--accumulate", options.accumulate, 1, 1 << 20);
  check_range("--steps", options.steps, 1, 1e9);
  check_range("--image", options.image, 32, 4096);
  check_range("--bucket-mb", options.bucket_mb, 1e-6, 1e6);
  check_range("--first-bucket-mb", options.first_bucket_mb, 1e-6, 1e6);
  check_range("--lr", options.learning_rate, 1e-12, 1e6);
  check_range("--clip", options.clip, 0, 1e12);
  check_range("--checkpoint-every", options.checkpoint_every, 0, 1e9);
  check_range("--checkpoint-every", options.checkpoint_seconds, 0, 1e9);
  check_range("--checkpoint-keep", options.checkpoint_keep, 1, 1e6);
}

void check_shard(const TrainOptions& options) {
  check_range("--shard", options.shard, 0, 3);
  if (options.shard == 0) return;
  if (options.compress != Compression::none)
    throw ConfigError(
        "--shard with --compress: shares are reduced as they are; --precision bf16 halves what travels");
  if (options.overlap != Overlap::automatic)
    throw ConfigError("--shard with --overlap: a unit's gradients always leave when they are there");
}

// The file that lists the parts of a checkpoint holds their names as JSON does.
void check_part_names(const TrainOptions& options) {
  if (!writes_parts(options)) return;
  try {
    nlohmann::json(options.checkpoint).dump();
  } catch (const nlohmann::json::type_error&) {
    throw ConfigError(
        fmt::format("--checkpoint {}: a checkpoint in parts needs a name in UTF-8", options.checkpoint));
  }
}

// Flags that would change nothing are slips.
void check_sense(const TrainOptions& options, const TrainableModel& model) {
  const auto refuse = [&](const char* flag, const char* why) {
    throw ConfigError(fmt::format("{} has no meaning for {}: {}", flag, options.model, why));
  };
  if (!takes_text(model) && options.sequence > 0) refuse("--sequence", "it takes no text");
  if (!takes_text(model) && !options.text.empty()) refuse("--text", "it takes no text");
  if (options.checkpoint.empty() && (options.checkpoint_every > 0 || options.checkpoint_seconds > 0))
    throw ConfigError("--checkpoint-every needs --checkpoint FILE");
  if (options.checkpoint.empty() && options.checkpoint_keep > 1)
    throw ConfigError("--checkpoint-keep needs --checkpoint FILE");
  if (options.resume.empty() && options.resume_unchecked)
    throw ConfigError("--resume-unchecked needs --resume FILE");
  if (options.checkpoint.empty() && options.sharded) throw ConfigError("--sharded needs --checkpoint FILE");
}

// The first 256 characters of Unicode are two bytes of UTF-8 each, but for ASCII.
std::string as_characters(const std::string& bytes) {
  std::string characters;
  for (const char byte : bytes) {
    const auto value = static_cast<unsigned char>(byte);
    if (value >= 0x80) characters += static_cast<char>(0xC0 | value >> 6);
    characters += value >= 0x80 ? static_cast<char>(0x80 | (value & 0x3F)) : byte;
  }
  return characters;
}

std::string as_bytes(const std::string& characters) {
  std::string bytes;
  for (std::size_t i = 0; i < characters.size(); ++i) {
    const auto value = static_cast<unsigned char>(characters[i]);
    const bool two = value >= 0x80 && i + 1 < characters.size();
    bytes += two ? static_cast<char>(value << 6 | (characters[++i] & 0x3F)) : characters[i];
  }
  return bytes;
}

void change_texts(nlohmann::json& fields, std::string (*change)(const std::string&)) {
  for (auto& field : fields)
    if (field.is_string()) field = change(field.get<std::string>());
}

}  // namespace

std::string to_argument(const TrainOptions& options) {
  nlohmann::json fields = options;
  change_texts(fields, as_characters);
  return fields.dump();
}

TrainOptions from_argument(std::string_view argument) {
  auto fields = nlohmann::json::parse(argument);
  change_texts(fields, as_bytes);
  return fields.get<TrainOptions>();
}

TrainBackend parse_train_backend(const std::string& word) {
  for (const auto& known : {TrainBackend{}, TrainBackend{TrainBackend::Kind::none}})
    if (to_string(known) == word) return known;
  return {TrainBackend::Kind::named, word};
}

std::string to_string(const TrainBackend& backend) { return backend.is_none() ? "none" : backend.name; }

void to_json(nlohmann::json& json, const TrainBackend& backend) { json = to_string(backend); }

void from_json(const nlohmann::json& json, TrainBackend& backend) {
  backend = parse_train_backend(json.get<std::string>());
}

std::string full_precision(const std::string& name) {
  return name == "f32" || name == "f64" ? "fp" + name.substr(1) : name;
}

Overlap parse_overlap(const std::string& word) {
  return parse_choice("--overlap", word,
                      {Overlap::automatic, Overlap::during_backward, Overlap::after_backward});
}

void read_words(const TrainWords& words, TrainOptions& options) {
  options.backend = parse_train_backend(words.backend);
  if (!words.data.empty())
    options.data = parse_choice("--data", words.data, {DataSource::real, DataSource::generated});
  options.precision = parse_choice("--precision", full_precision(words.precision),
                                   {Precision::fp32, Precision::fp64, Precision::bf16, Precision::fp16});
  options.compress =
      parse_choice("--compress", words.compress,
                   {Compression::none, Compression::fp16, Compression::bf16, Compression::powersgd});
  if (!words.optimizer.empty())
    options.optimizer =
        parse_choice("--optimizer", words.optimizer, {OptimizerKind::sgd, OptimizerKind::adamw});
  options.overlap = parse_overlap(words.overlap);
  options.schedule = parse_pipeline_schedule(words.schedule);
}

void read_interval(const std::string& text, TrainOptions& options) {
  options.checkpoint_every = 0;
  options.checkpoint_seconds = 0;
  if (const auto steps = find_integer<int>(text)) {
    options.checkpoint_every = *steps;
    return;
  }
  try {
    options.checkpoint_seconds = parse_seconds(text);
  } catch (const ConfigError&) {
    throw ConfigError(
        fmt::format("--checkpoint-every '{:.40}': write steps, as 10, or time, as 30s or 5m", text));
  }
}

bool writes_parts(const TrainOptions& options) {
  return options.sharded || options.shard > 0 || uses_mesh(options) ||
         options.compress == Compression::powersgd;
}

TrainOptions complete(TrainOptions options) {
  const TrainableModel& model = find_trainable(options.model);
  check_sense(options, model);
  if (options.batch == 0) options.batch = model.batch;
  if (options.optimizer == OptimizerKind::models_own) options.optimizer = model.optimizer;
  if (options.learning_rate == 0) options.learning_rate = model.learning_rate;
  if (options.data == DataSource::models_own)
    options.data = model.kind == ModelKind::resnet ? DataSource::generated : DataSource::real;
  if (takes_text(model)) {
    if (options.sequence == 0) options.sequence = std::min(128, model.shape.context);
    check_range("--sequence", options.sequence, 1, model.shape.context);
  }
  options = complete_mesh(std::move(options), model);
  check_training_numbers(options);
  check_wires(options);
  check_shard(options);
  check_place("--trace", options.trace);
  check_place("--checkpoint", options.checkpoint);
  check_part_names(options);
  if (!options.resume.empty() && !std::filesystem::is_regular_file(options.resume) &&
      list_versions(options.resume).empty())
    throw ConfigError(
        fmt::format("--resume {}: {}", options.resume,
                    std::filesystem::exists(options.resume) ? "this is no file" : "there is no such file"));
  return options;
}

}  // namespace gradwire
