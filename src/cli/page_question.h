// What a page of `compare` starts from: the command's own question with the files it read, so that a reader who has none
// of them can change the rest.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "cli/compare_question.h"
#include "report/page/question.h"
#include "topo/machine.h"

namespace gradwire {

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
