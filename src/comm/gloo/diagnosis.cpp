#include "comm/gloo/diagnosis.h"

#include <chrono>
#include <optional>
#include <thread>

#include "base/deadline.h"
#include "base/error.h"
#include "base/text.h"
#include "net/fault.h"
#include "net/overdue.h"

namespace gradwire {
namespace {

// How long ranks get to say what they saw. Whoever is alive fails at the same moment, because Gloo closes all
// connections of a rank that fails.
constexpr Seconds kGrace = 0.5;
constexpr std::chrono::milliseconds kBetweenLooks(5);

std::string fault_key(const World& world, Rank rank) {
  return fmt::format("{}/gloo/fault/{}", world.name, rank);
}

class Inquiry {
 public:
  Inquiry(const World& world, const GlooFailure& failure)
      : world_(world), failure_(failure), faults_(static_cast<std::size_t>(world.size)) {}

  // Whether the store answered. Throws what is known for sure.
  bool ask_around() try {
    testify();
    collect();
    return true;
  } catch (const Timeout&) {
    return false;
  }

  [[noreturn]] void conclude() const {
    const std::vector<Rank> silent = silent_ranks();
    if (failure_.timed_out || someone(Fault::Kind::timeout)) throw_timeout(silent);
    for (const auto& fault : faults_)
      if (fault && fault->kind != Fault::Kind::peer_lost) fault->raise(global(world_.rank));
    if (!silent.empty())
      throw PeerLost(global(silent[0]), fmt::format("{} closed its connection during {}: {}", names(silent),
                                                    failure_.during, failure_.text));
    throw_unexplained();
  }

  [[noreturn]] void conclude_alone() const {
    if (failure_.timed_out) throw_timeout({});
    throw_unexplained();
  }

 private:
  Rank global(Rank rank) const { return world_.global(rank); }
  std::string key(Rank rank) const { return fault_key(world_, rank); }

  // `peer_lost` says no more than that this rank is alive and saw a connection close.
  void testify() {
    const auto kind = failure_.timed_out ? Fault::Kind::timeout : Fault::Kind::peer_lost;
    const Fault mine{kind, global(world_.rank), -1, failure_.text};
    world_.store->set(key(world_.rank), mine.encode(), answer_);
  }

  void collect() {
    const Deadline grace = Deadline::after(kGrace);
    for (;;) {
      bool complete = true;
      for (Rank rank = 0; rank < world_.size; ++rank)
        if (rank != world_.rank) complete = look_for(rank) && complete;
      if (complete || grace.passed()) return;
      std::this_thread::sleep_for(kBetweenLooks);
    }
  }

  // Whether the rank has said what it saw. Throws if it is lost.
  bool look_for(Rank rank) {
    auto& fault = faults_[static_cast<std::size_t>(rank)];
    if (fault) return true;
    const auto loss = world_.store->find(fmt::format("lost/{}", global(rank)), answer_);
    if (!loss.empty())
      throw PeerLost(global(rank),
                     fmt::format("rank {} is lost during {}: {}", global(rank), failure_.during, loss));
    const auto word = world_.store->find(key(rank), answer_);
    if (!word.empty()) fault = Fault::decode(word);
    return fault.has_value();
  }

  bool someone(Fault::Kind kind) const {
    for (const auto& fault : faults_)
      if (fault && fault->kind == kind) return true;
    return false;
  }

  std::vector<Rank> silent_ranks() const {
    std::vector<Rank> silent;
    for (Rank rank = 0; rank < world_.size; ++rank)
      if (rank != world_.rank && !faults_[static_cast<std::size_t>(rank)]) silent.push_back(rank);
    return silent;
  }

  std::string names(const std::vector<Rank>& ranks) const {
    std::vector<std::string> words;
    for (const Rank rank : ranks) words.push_back(std::to_string(global(rank)));
    return fmt::format("rank{} {}", words.size() == 1 ? "" : "s", join(words, ", "));
  }

  [[noreturn]] void throw_unexplained() const {
    throw TransportError(fmt::format("rank {} lost its connections during {}: {}", global(world_.rank),
                                     failure_.during, failure_.text));
  }

  [[noreturn]] void throw_timeout(const std::vector<Rank>& silent) const {
    const auto& awaited = silent.empty() ? failure_.awaited : silent;
    std::vector<Rank> known;
    for (const Rank rank : awaited) known.push_back(global(rank));
    throw Overdue(
        fmt::format("rank {} waited {} in {}{}", global(world_.rank), format_seconds(world_.timeout),
                    failure_.during, awaited.empty() ? "" : " for " + names(awaited)),
        known);
  }

  const World& world_;
  const GlooFailure& failure_;
  const Deadline answer_ = Deadline::after(2 * kGrace);  // until when the store is asked
  std::vector<std::optional<Fault>> faults_;             // what the others said
};

}  // namespace

void tell_gloo_fault(const World& world, const std::exception& error) noexcept try {
  world.store->set(fault_key(world, world.rank), Fault::of(error, world.global(world.rank)).encode());
} catch (const std::exception&) {  // the store is gone, and with it everybody who would ask
}

// Where the store can't be reached nobody else can be heard.
void raise_gloo_failure(const World& world, const GlooFailure& failure) {
  Inquiry inquiry(world, failure);
  if (!inquiry.ask_around()) inquiry.conclude_alone();
  inquiry.conclude();
}

}  // namespace gradwire
