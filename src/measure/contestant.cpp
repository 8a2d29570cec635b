#include "measure/contestant.h"

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include "base/error.h"
#include "base/secret.h"
#include "comm/make.h"
#include "launch/rank_group.h"
#include "measure/contestant_mpi.h"
#include "measure/limit.h"
#include "measure/sampler.h"
#include "net/address/socket.h"
#include "net/rendezvous/environment.h"
#include "net/store/server.h"
#include "net/store/tcp.h"

namespace gradwire {
namespace {

std::string own_program() { return std::filesystem::read_symlink("/proc/self/exe").string(); }

class ProcessContestant final : public Contestant {
 public:
  ProcessContestant(std::string name, const ContestantOptions& options)
      : name_(std::move(name)),
        options_(options),
        secret_(make_secret()),
        server_(listen_at(SocketAddress::loopback()), secret_),
        store_({.server = {server_.address().host(), server_.address().port()}, .secret = secret_, .who = {}},
               Deadline::after(options.timeout)) {
    group_.emplace(members(), GroupOptions{.output = GroupOptions::Output::inherit});
  }

  ~ProcessContestant() override {
    constexpr Seconds kGoodbye = 5;  // mpirun complains at length when its ranks are ended instead
    try {
      store_.set(order_key(orders_), kStop);
      group_->wait(Deadline::after(kGoodbye));
    } catch (const Error&) {  // the ranks are gone already
    }
  }

  const std::string& name() const override { return name_; }

  SampleResult sample(const SampleRequest& request) override {
    const int number = orders_++;
    store_.set(order_key(number), nlohmann::json(request).dump());
    SampleResult total;
    for (Rank rank = 0; rank < options_.ranks; ++rank) {
      const auto answer = await(answer_key(number, rank));
      try {
        add(total, nlohmann::json::parse(answer));
      } catch (const Error& error) {
        throw Error(fmt::format("{}: {}", name_, error.what()));
      }
    }
    total.processor /= options_.ranks;
    return total;
  }

 private:
  Environment environment() const {
    Environment variables = process_environment();
    variables["GRADWIRE_STORE"] = server_.address().text();
    variables["GRADWIRE_SECRET"] = secret_;
    variables["GRADWIRE_TIMEOUT"] = fmt::format("{}", options_.timeout);
    if (!options_.interface.empty()) variables["GRADWIRE_INTERFACE"] = options_.interface;
    return variables;
  }

  std::vector<Member> members() const {
    const auto mpi = find_mpi(name_);
    return mpi ? mpi_member(*mpi) : rank_members();
  }

  std::vector<Member> mpi_member(const MpiName& mpi) const {
    MpiLaunch launch = mpi_launch(mpi, options_.ranks, options_.folder);
    Environment variables = environment();
    for (const auto& [name, value] : launch.environment) variables[name] = value;
    launch.command.insert(launch.command.end(), {own_program(), "bench-rank", "mpi:unchecked"});
    return {{.rank = 0, .command = launch.command, .environment = variables}};
  }

  std::vector<Member> rank_members() const {
    // Others are measured as they are, without what Gradwire adds to them.
    const std::string backend = name_.starts_with("gloo") ? name_ + ":unchecked" : name_;
    Environment variables = environment();
    variables["WORLD_SIZE"] = variables["LOCAL_WORLD_SIZE"] = std::to_string(options_.ranks);
    std::vector<Member> ranks;
    for (Rank rank = 0; rank < options_.ranks; ++rank) {
      variables["RANK"] = variables["LOCAL_RANK"] = std::to_string(rank);
      ranks.push_back(
          {.rank = rank, .command = {own_program(), "bench-rank", backend}, .environment = variables});
    }
    return ranks;
  }

  // The value of a key that a rank will set, unless the group ends first.
  std::string await(const std::string& key) {
    const Deadline deadline = Deadline::after(options_.timeout * 2);
    for (;;) {
      try {
        return store_.get(key, Deadline::after(std::min(0.5, deadline.remaining())));
      } catch (const Timeout&) {
        const bool ended = group_->wait(Deadline::after(0)) || group_->failure();
        if (ended && store_.find(key).empty()) throw Error(fmt::format("{}: {}", name_, last_words()));
        if (deadline.passed())
          throw Timeout(fmt::format("{}: no answer within {}", name_, format_seconds(options_.timeout * 2)));
      }
    }
  }

  // Of the first rank that left any: often all have the same.
  std::string last_words() {
    for (Rank rank = 0; rank < options_.ranks; ++rank)
      if (const std::string words = store_.find(failure_key(rank)); !words.empty()) return words;
    return "a rank ended early; what it said is above";
  }

  const std::string name_;
  const ContestantOptions options_;
  const std::string secret_;
  StoreServer server_;
  TcpStore store_;
  std::optional<RankGroup> group_;
  int orders_ = 0;
};

}  // namespace

std::unique_ptr<Contestant> start_contestant(const std::string& name, const ContestantOptions& options) {
  if (!find_mpi(name) && name != kLimit) check_backend(without_memory(name));
  return std::make_unique<ProcessContestant>(name, options);
}

}  // namespace gradwire
