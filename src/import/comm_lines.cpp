// Lines in which NCCL says of a communicator who is where, and over how many nodes.
#include <algorithm>
#include <array>
#include <charconv>

#include "import/nccl_lines.h"

namespace gradwire {
namespace {

// "comm 0x.. rank 0 nranks 2 cudaDev 0 nvmlDev 0 busId 1000 - Init COMPLETE", "comm 0x.. rank 0 nRanks 2 nNodes 1 localRanks 2
// localRank 0 MNNVL 0": what stands behind each word, the first time.
class CommWords {
 public:
  explicit CommWords(std::string_view message) {
    for (std::string_view key; !message.empty();) {
      const auto blank = std::min(message.find(' '), message.size());
      const auto word = message.substr(0, blank);
      if (const auto at = std::find(kKeys.begin(), kKeys.end(), key); at != kKeys.end())
        if (auto& value = values_[static_cast<std::size_t>(at - kKeys.begin())]; value.empty()) value = word;
      key = word;
      message.remove_prefix(std::min(blank + 1, message.size()));
    }
  }

  std::string_view text(std::string_view key) const {  // empty: it is not there
    return first_word(
        values_[static_cast<std::size_t>(std::find(kKeys.begin(), kKeys.end(), key) - kKeys.begin())]);
  }
  std::optional<int> number(std::string_view key) const {
    const auto digits = text(key);
    int value = 0;
    const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    return read.ec == std::errc{} && value >= 0 ? std::optional(value) : std::nullopt;
  }

 private:
  static constexpr std::array<std::string_view, 9> kKeys = {
      "rank", "nranks", "nRanks", "cudaDev", "nvmlDev", "busId", "nNodes", "localRanks", "MNNVL"};
  std::array<std::string_view, kKeys.size()> values_;
};

void read_place(const CommWords& words, std::string_view host, NcclLog& log) {
  const auto rank = words.number("rank"), ranks = words.number("nranks");
  if (rank && ranks && *ranks > log.ranks.value_or(0)) {
    log.ranks = *ranks;
    log.places.clear();  // ranks of a part of it are numbered anew
  }
  auto bus = words.text("busId");
  if (bus.empty()) bus = words.text("nvmlDev");  // before 2.5: the driver's number for it
  if (!rank || bus.empty() || (ranks && *ranks < log.ranks.value_or(0))) return;
  const bool known = std::any_of(log.places.begin(), log.places.end(),
                                 [&](const auto& place) { return place.rank == *rank; });
  if (known || log.places.size() >= kMostPairsOfLog) return;
  log.places.push_back({*rank, std::string(host), words.number("cudaDev"), std::string(bus)});
}

void read_shape(const CommWords& words, NcclLog& log) {
  const auto nodes = words.number("nNodes");
  if (!nodes) return;
  if (!log.nodes || *nodes > *log.nodes) log.nodes = *nodes;
  const auto local = words.number("localRanks");
  if (local && (!log.gpus_per_node || *local > *log.gpus_per_node)) log.gpus_per_node = *local;
  if (words.number("MNNVL") == 1) log.gpu_paths.emplace("NVL");
  const auto ranks = words.number("nRanks");
  if (ranks && (!log.ranks || *ranks > *log.ranks)) log.ranks = *ranks;
}

}  // namespace

void read_comm(std::string_view message, std::string_view host, NcclLog& log) {
  if (message.find("comm 0x") == std::string_view::npos && !message.starts_with("rank ")) return;
  const CommWords words(message);
  read_place(words, host, log);
  read_shape(words, log);
}

}  // namespace gradwire
