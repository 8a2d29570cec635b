#include "comm/scheduled/scheduled.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/error.h"
#include "comm/messages.h"
#include "comm/scheduled/plans.h"
#include "comm/scheduled/wire_fabric.h"
#include "sched/run.h"

namespace gradwire {
namespace {

class Scheduled final : public Collectives {
 public:
  Scheduled(std::unique_ptr<Transport> transport, ScheduledOptions options)
      : transport_(std::move(transport)),
        options_(std::move(options)),
        fabric_(*transport_),
        plans_(transport_->rank()) {
    if (!options_.hosts.empty() && static_cast<int>(options_.hosts.size()) != transport_->size())
      throw ConfigError(fmt::format("{} hosts are given for {} ranks: each rank needs one",
                                    options_.hosts.size(), transport_->size()));
  }

  Rank rank() const override { return transport_->rank(); }
  int size() const override { return transport_->size(); }
  std::string name() const override { return options_.name; }
  Carrier carrier() const override { return Carrier::network; }
  Memory allocate(std::size_t bytes) override { return allocate_private(bytes); }
  void cancel() noexcept override { transport_->cancel(); }

  void run(const Call& call, const Signature& signature) override {
    const Plan& plan = plan_for(signature);
    const std::size_t elements = std::max(call.in.size(), call.out.size()) / size_of(call.dtype);
    Binding binding{signature, Layout(plan.part.shape, elements, size_of(call.dtype)), {}};
    binding.buffers[kOut] = prepare_out(call);
    binding.buffers[kIn] = const_cast<std::byte*>(call.in.data());  // no program writes its input
    binding.buffers[kScratch] = scratch(binding.layout.scratch_bytes());
    fabric_.bind(binding, options_.trace != nullptr, patience(call.timeout));
    saying_where(signature, [&] { engine_.run({&plan, 1}, fabric_, options_.trace); });
  }

  void exchange(std::span<const Message> messages, const Signature& signature, Seconds timeout) override {
    saying_where(signature, [&] {
      std::size_t under_way = 0;
      for (const Message& message : messages)
        if (message.in)
          transport_->recv(message.peer, signature_of(signature, message.tag, message.in->size()),
                           *message.in, under_way++);
      for (const Message& message : messages)
        if (message.out)
          transport_->send(message.peer, signature_of(signature, message.tag, message.out->size()),
                           *message.out, under_way++);
      for (; under_way > 0; --under_way) transport_->wait_any(Deadline::after(patience(timeout)));
    });
  }

  // A cancelled transport says so to its peers when it is next used.
  void give_up(const std::exception&) noexcept override {
    transport_->cancel();
    try {
      transport_->wait_any(Deadline::after(0));
    } catch (const std::exception&) {
    }
  }

 private:
  Seconds patience(Seconds timeout) const { return timeout > 0 ? timeout : options_.timeout; }

  template <typename Work>
  static void saying_where(const Signature& call, const Work& work) {
    try {
      work();
    } catch (const PeerLost& lost) {  // the only error that does not know yet what was under way
      throw PeerLost(lost.peer(), fmt::format("{}, in {}", lost.what(), describe(call)));
    }
  }

  const Plan& plan_for(const Signature& call) {
    const Problem problem{
        .kind = call.kind, .world = size(), .bytes = call.bytes, .root = call.root, .hosts = options_.hosts};
    const bool forced = options_.algorithm && can(*options_.algorithm, call.kind);
    return plans_.get(problem, forced ? choose(problem, *options_.algorithm) : choose(problem));
  }

  // Programs that add up in place find the input in `out`. A reduce leaves it alone except on the root.
  std::byte* prepare_out(const Call& call) const {
    if (call.kind == Collective::reduce && rank() != call.root) return const_cast<std::byte*>(call.in.data());
    const bool in_place = call.kind == Collective::all_reduce || call.kind == Collective::reduce;
    if (in_place && call.out.data() != call.in.data() && !call.in.empty())
      std::memcpy(call.out.data(), call.in.data(), call.in.size());
    return call.out.data();
  }

  // Fresh memory is slow to touch, so what was once needed is kept.
  std::byte* scratch(std::size_t bytes) {
    if (scratch_.bytes().size() < bytes) scratch_ = allocate_private(bytes);
    return scratch_.bytes().data();
  }

  const std::unique_ptr<Transport> transport_;
  const ScheduledOptions options_;
  WireFabric fabric_;
  Engine engine_;
  Plans plans_;
  Memory scratch_;
};

bool has_root(Collective kind) { return kind == Collective::broadcast || kind == Collective::reduce; }

}  // namespace

std::unique_ptr<Collectives> make_scheduled(std::unique_ptr<Transport> transport, ScheduledOptions options) {
  return std::make_unique<Scheduled>(std::move(transport), std::move(options));
}

const Plan& Plans::get(const Problem& problem, const Choice& choice) {
  const Rank root = has_root(problem.kind) ? problem.root : 0;
  const auto found = std::ranges::find_if(kept_, [&](const Kept& kept) {
    return kept.kind == problem.kind && kept.choice == choice && kept.root == root;
  });
  if (found != kept_.end()) {
    kept_.splice(kept_.begin(), kept_, found);
  } else {
    kept_.push_front({problem.kind, choice, root, make_plan(make_part(choice, problem, me_))});
    if (kept_.size() > most_) kept_.pop_back();
  }
  return kept_.front().plan;
}

}  // namespace gradwire
