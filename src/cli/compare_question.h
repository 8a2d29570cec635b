// What is asked of a model of machines: which training, and how. The same for `compare` and `train --on`; and the same
// as a page starts from it.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cli/flags.h"
#include "explain/traced_run.h"
#include "report/page/question.h"
#include "topo/machine.h"
#include "trace/timeline.h"

namespace gradwire {

struct Question {
  Workload workload;
  StepOptions options;
  std::string premise;                // why links matter at least as much as is answered; empty: as much
  std::string warning;                // of what it rests on; empty: none
  std::optional<TracedRun> run = {};  // of a trace of torch.profiler
};

// Whether a name of a model means a file that `gradwire train --trace` or torch.profiler wrote, or a folder of them.
bool is_trace(const std::string& model);

// Gradwire's own, or one of torch.profiler, told by content.
Timeline recorded_timeline(const std::string& file);

// `model` is a built-in one, a YAML file, or a trace, which is a measured step too. `parameters` are of the model in a trace
// that does not tell its gradients; 0: not said. A trace computes in the precision that the names of its kernels tell,
// unless somebody `stated` another. Throws ConfigError.
Question question_of(const std::string& model, const StepFlags& flags, double parameters = 0,
                     bool stated = false);

// What a page of `compare` starts from: the command's own question with the files it read, so that a reader who has none
// of them can change the rest.

// Files on disk, remembered. Belongs to one thread.
class FilesRead : public NamedFiles {
 public:
  bool has(std::string_view name) const override { return files_on_disk().has(name); }
  bool is_folder(std::string_view name) const override { return files_on_disk().is_folder(name); }
  std::string read(std::string_view name) const override { return last_ = files_on_disk().read(name); }

  // What was read since the last call; empty: nothing.
  std::string take() const { return std::exchange(last_, {}); }

 private:
  mutable std::string last_;
};

// Null where a page could not ask it again: of this machine, or of one that only NCCL's XML describes.
nlohmann::json page_question(const std::string& model, const Question&, const StepFlags&,
                             const std::vector<AskedMachine>&);

}  // namespace gradwire
