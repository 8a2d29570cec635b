#include "report/machine_notes.h"

#include <fmt/format.h>

#include <filesystem>

#include "base/text.h"

namespace gradwire {
namespace {

std::string clauses_on(const MeasuredThere& measured) {
  constexpr double kMuchMore = 1.2;
  std::string all;
  for (const std::string& remark : measured.remarks) all += "; " + remark;
  if (!measured.rates) return all + "; nothing from 1 MB up was measured, so rates are as unsure as before";
  if (measured.now > kMuchMore * measured.before) all += "; it does not fit this machine: was it another?";
  return all;
}

}  // namespace

std::string to_words(const MeasuredThere& measured) {
  std::vector<std::string> names;
  for (const std::string& file : measured.files)
    names.push_back(std::filesystem::path(file).filename().string());
  return fmt::format(
      "measured ({}): eight of ten all-reduce times of 64 MiB within {:.0f} %, without it {:.0f} %{}",
      join(names, ", "), 100 * measured.now, 100 * measured.before, clauses_on(measured));
}

std::optional<std::string> find_guess_note(const Machine& machine) {
  if (!machine.node.gpu_guessed) return std::nullopt;
  return fmt::format(
      "{0} does not name its GPU: {1} is what its links suggest; write {0}:GPU if it is another",
      machine.node.name, machine.gpu.name);
}

std::vector<std::string> all_notes(const Machine& machine) {
  auto all = machine.notes;
  if (machine.measured) all.push_back(to_words(*machine.measured));
  return all;
}

}  // namespace gradwire
