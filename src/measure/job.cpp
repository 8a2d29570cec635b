#include "measure/contestant.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "measure/contestant_mpi.h"
#include "measure/limit.h"
#include "measure/sampler.h"

namespace gradwire {
namespace {

// One of this rank's communicators, made in the same order everywhere.
Sampler make_sampler(World world, const std::string& name) {
  const auto mpi = find_mpi(name);  // the job has one already, as it was started
  const bool other_mpi = mpi && (mpi->implementation != BackendModule::open_mpi || !mpi->variant.empty());
  if (other_mpi || name == kLimit)
    throw ConfigError(
        fmt::format("--backend {}: only in a `gradwire bench` that starts its own ranks", name));
  world.name = "bench " + name;
  return {world, name};
}

std::vector<Sampler> make_samplers(const World& world, const std::vector<std::string>& names) {
  std::vector<Sampler> samplers;
  samplers.reserve(names.size());
  for (const auto& name : names) samplers.push_back(make_sampler(world, name));
  return samplers;
}

// Rank 0's orders to all, and their answers.
class Orders {
 public:
  explicit Orders(const World& world) : world_(world) {}
  ~Orders() {
    try {
      world_.store->set(order_key(number_), kStop);
    } catch (const Error&) {  // nobody is left to be told
    }
  }

  SampleResult give(std::size_t contestant, const SampleRequest& request, Sampler& own) {
    const int number = number_++;
    world_.store->set(order_key(number),
                      nlohmann::json{{"contestant", contestant}, {"request", request}}.dump());
    SampleResult total;
    add(total, own.take(request));
    for (Rank rank = 1; rank < world_.size; ++rank)
      add(total, nlohmann::json::parse(get_from(*world_.store, rank, answer_key(number, rank),
                                                Deadline::after(world_.timeout))));
    total.processor /= world_.size;
    return total;
  }

 private:
  const World& world_;
  int number_ = 0;
};

class JobContestant final : public Contestant {
 public:
  JobContestant(std::shared_ptr<Orders> orders, std::size_t index, std::string name, Sampler own)
      : orders_(std::move(orders)), index_(index), name_(std::move(name)), own_(std::move(own)) {}

  const std::string& name() const override { return name_; }
  SampleResult sample(const SampleRequest& request) override {
    try {
      return orders_->give(index_, request, own_);
    } catch (const Error& error) {
      throw Error(fmt::format("{}: {}", name_, error.what()));
    }
  }

 private:
  const std::shared_ptr<Orders> orders_;
  const std::size_t index_;
  const std::string name_;
  Sampler own_;
};

}  // namespace

std::vector<std::unique_ptr<Contestant>> job_contestants(const World& world,
                                                         const std::vector<std::string>& names) {
  const auto orders = std::make_shared<Orders>(world);
  std::vector<std::unique_ptr<Contestant>> contestants;
  for (std::size_t i = 0; i < names.size(); ++i)
    contestants.push_back(
        std::make_unique<JobContestant>(orders, i, names[i], make_sampler(world, names[i])));
  return contestants;
}

void follow_job(const World& world, const std::vector<std::string>& names) {
  auto samplers = make_samplers(world, names);
  for (int number = 0;; ++number) {
    // Rank 0 may wait that long for the last answer before it gives the next order.
    const auto order = get_from(*world.store, 0, order_key(number), Deadline::after(2 * world.timeout));
    if (order == kStop) return;
    const auto parsed = nlohmann::json::parse(order);
    auto& sampler = samplers.at(parsed.at("contestant").get<std::size_t>());
    const auto result = sampler.take(parsed.at("request").get<SampleRequest>());
    world.store->set(answer_key(number, world.rank), nlohmann::json(result).dump());
    if (!result.error.empty()) throw Error(result.error);
  }
}

}  // namespace gradwire
