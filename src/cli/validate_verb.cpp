#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "base/error.h"
#include "base/files.h"
#include "cli/verbs.h"
#include "predict/records/read.h"
#include "report/render.h"
#include "report/validate/validate.h"

namespace gradwire {
namespace {

constexpr const char* kValidateExample = R"(
FILE holds measured records, one JSON object a line, as docs/records.md says:
all-reduce sweeps, training runs, and runs of tensor, pipeline or sharded
parallelism. Every row is predicted without its answer: where a platform is
among the built-in measurements, the calibration of collectives and the
constants of the step are both fitted again without it.
Only records of quality `ok` count in the summary; of `odd` ones it is said what
is wrong. What can't be predicted is listed with the reason. --markdown writes a
report of the files given; docs/accuracy.md is that of collectives and training.

Examples:
  gradwire validate presets/measured/collectives.jsonl
  gradwire validate presets/measured/parallel.jsonl
  gradwire validate presets/measured/collectives.jsonl \
      presets/measured/training.jsonl --markdown accuracy.md
  gradwire validate presets/measured/collectives.jsonl \
      presets/measured/collectives_later.jsonl --fit > nccl.yaml
)";

constexpr int kShownPoints = 30;

struct ValidateFlags {
  std::vector<std::string> files;
  std::string markdown;
  bool json = false, fit = false, all = false;
};

std::vector<Record> read_all(const std::vector<std::string>& files, std::vector<std::string>* skipped) {
  std::vector<Record> records;
  for (const std::string& file : files)
    for (Record& record : read_records(file, skipped)) records.push_back(std::move(record));
  if (records.empty() && (skipped == nullptr || skipped->empty()))
    throw ConfigError(fmt::format("{}: no records in it", files.front()));
  return records;
}

// A calibration must not rest on less than what it was given.
std::string fitted(std::vector<std::string> files) {
  const auto known = prepare(read_all({files.front()}, nullptr));
  if (known.empty()) throw ConfigError("--fit needs records of collectives");
  files.erase(files.begin());
  return calibration_yaml(
      calibrate(known, files.empty() ? std::vector<PreparedRecord>{} : prepare(read_all(files, nullptr))));
}

// Those of parallel training, or all others.
std::vector<Record> records_of(const std::vector<Record>& all, bool parallel) {
  std::vector<Record> chosen;
  for (const Record& record : all)
    if (record.parallel.has_value() == parallel) chosen.push_back(record);
  return chosen;
}

int run_validate(const ValidateFlags& flags) {
  if (flags.fit) {
    fmt::print("{}", fitted(flags.files));
    return 0;
  }
  std::vector<std::string> unknown;
  const std::vector<Record> records = read_all(flags.files, &unknown);
  const int most = flags.all ? 1 << 30 : kShownPoints;
  Report report;
  if (const auto others = records_of(records, false); !others.empty() || !unknown.empty()) {
    Validation validation = validate(others, !flags.markdown.empty() || !flags.json);
    validation.unread = unknown;
    if (!flags.markdown.empty())
      write_file(flags.markdown, validation_markdown(validation, others, flags.files));
    report = validation_report(validation, most);
  }
  if (const auto runs = records_of(records, true); !runs.empty())
    add_parallel(report, validate_parallel(runs, built_in_parallel_records()), most);
  show(report, flags.json);
  return 0;
}

}  // namespace

void add_validate_verb(CLI::App& app, int& exit_code) {
  auto* verb = app.add_subcommand("validate", "predictions against measured records, with the error of each");
  auto flags = std::make_shared<ValidateFlags>();
  verb->add_option("files", flags->files, "measured records, JSON lines")->required();
  verb->add_flag("--json", flags->json, "print one JSON object and nothing else");
  verb->add_flag("--all", flags->all, "show every point, not the worst alone");
  verb->add_option("--markdown", flags->markdown, "also write the report here");
  verb->add_flag("--fit", flags->fit,
                 "print a calibration instead: constants fitted to the first file, ranges from all");
  verb->footer(kValidateExample);
  verb->callback([flags, &exit_code] { exit_code = run_validate(*flags); });
}

}  // namespace gradwire
