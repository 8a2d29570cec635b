#include "comm/gloo/gloo.h"

#include <gloo/common/error.h>
#include <gloo/common/logging.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <exception>
#include <optional>

#include "base/deadline.h"
#include "base/error.h"
#include "comm/gloo/classic.h"
#include "comm/gloo/diagnosis.h"
#include "comm/gloo/functions.h"
#include "comm/gloo/mesh.h"
#include "comm/gloo/post.h"
#include "comm/gloo/roll_call.h"
#include "comm/kernels/kernels.h"

namespace gradwire {
namespace {

bool is_classic(GlooAlgorithm algorithm) { return algorithm >= GlooAlgorithm::halving_doubling; }

bool is_power_of_two(int number) { return (number & (number - 1)) == 0; }

bool says_timeout(const std::string& text) {
  return text.find("Timed out") != std::string::npos || text.find("imeout [") != std::string::npos;
}

class GlooCollectives final : public Collectives {
 public:
  GlooCollectives(const World& world, const GlooOptions& options)
      : world_(world),
        options_(options),
        context_(connect_mesh(world_)),
        roll_call_(world_, context_),
        functions_(context_, options.algorithm, isa_),
        classic_(context_, options.algorithm, isa_) {
    await_all_connected(world_);
  }

  // Sends nothing; but the others may still be reading what this rank sent in the last call: also a rank that fails by
  // itself must not look lost to them. Where a call failed the job does, and nobody is waited for any more.
  ~GlooCollectives() override {
    constexpr Seconds kLongest = 5, kLongestFailing = 1;
    const BrokenPipeGuard guard;
    const bool failing = std::uncaught_exceptions() != uncaught_before_;
    if (!broken_ && !cancelled_)
      roll_call_.wait_for_dismissal(
          Deadline::after(std::min(failing ? kLongestFailing : kLongest, world_.timeout)));
  }

  Rank rank() const override { return world_.rank; }
  int size() const override { return world_.size; }
  std::string name() const override { return "gloo"; }
  Carrier carrier() const override { return Carrier::network; }
  Memory allocate(std::size_t bytes) override { return allocate_private(bytes); }

  void run(const Call& call, const Signature& signature) override {
    or_break([&] {
      set_timeout(call.timeout);
      failing_as(
          signature, [&] { return roll_call_.missing(); },
          [&] {
            agree_and_run(call, signature);
            if (options_.check) roll_call_.dismiss();
          });
    });
  }

  void cancel() noexcept override {
    cancelled_ = true;
    break_off(*context_);
  }

  void give_up(const std::exception& why) noexcept override {
    tell_gloo_fault(world_, why);
    break_off(*context_);
  }

  void exchange(std::span<const Message> messages, const Signature& signature, Seconds timeout) override {
    or_break([&] {
      set_timeout(timeout);
      Post post(world_, *context_, options_.check);
      failing_as(
          signature, [&] { return post.awaited(); }, [&] { post.exchange(messages, signature, timeout_); });
    });
  }

 private:
  template <typename Work>
  void or_break(const Work& work) {
    if (broken_) std::rethrow_exception(broken_);
    const BrokenPipeGuard guard;
    try {
      work();
    } catch (...) {
      broken_ = std::current_exception();
      throw;
    }
  }

  // Gloo's errors as ours; `awaited` says for whom this rank waited.
  template <typename Awaited, typename Work>
  void failing_as(const Signature& signature, const Awaited& awaited, const Work& work) {
    try {
      work();
    } catch (const gloo::IoException& error) {
      if (cancelled_) throw Cancelled(fmt::format("rank {} gave up {}", world_.rank, describe(signature)));
      World patient = world_;
      patient.timeout = timeout_;
      raise_gloo_failure(patient, {.during = describe(signature),
                                   .text = error.what(),
                                   .timed_out = says_timeout(error.what()),
                                   .awaited = awaited()});
    } catch (const Mismatch& error) {
      tell_gloo_fault(world_, error);
      break_off(*context_);
      throw;
    } catch (const gloo::EnforceNotMet& error) {
      break_off(*context_);
      throw TransportError(fmt::format("gloo failed in {}: {}", describe(signature), error.what()));
    }
  }

  // Every rank must come to the same decision here, whatever its own memory is.
  void agree_and_run(const Call& call, const Signature& signature) {
    const auto key = classic_key(call);
    const bool prepared = key && classic_.is_prepared(*key);
    const bool all_prepared = options_.check ? roll_call_.hold(signature, prepared) : prepared;
    if (signature.bytes == 0 && call.kind != Collective::barrier) return;
    if (!key) {
      if (call.kind == Collective::barrier && options_.check) return;  // the roll call was one
      return functions_.run(call);
    }
    if (!all_prepared) classic_.prepare(*key);
    copy_in(call);
    classic_.run();
    functions_.average(call);
  }

  std::optional<ClassicAllReduce::Key> classic_key(const Call& call) const {
    if (call.kind != Collective::all_reduce || !is_classic(options_.algorithm) || call.out.empty()) return {};
    const ClassicAllReduce::Key key{call.out.data(), call.out.size(), call.dtype, combined_by(call)};
    if (!ClassicAllReduce::takes(key)) return {};
    return key;
  }

  // Of the waits of the next call. Gloo asks its context when a wait begins.
  void set_timeout(Seconds timeout) {
    timeout_ = timeout > 0 ? timeout : world_.timeout;
    context_->setTimeout(gloo_timeout(timeout_));
  }

  const World world_;
  const GlooOptions options_;
  const int uncaught_before_ = std::uncaught_exceptions();
  const Isa isa_ = best_isa();
  const std::shared_ptr<gloo::Context> context_;
  std::atomic<bool> cancelled_ = false;

  // Of the thread that calls:
  Seconds timeout_ = 0;
  RollCall roll_call_;
  GlooFunctions functions_;
  ClassicAllReduce classic_;
  std::exception_ptr broken_;
};

// A world of one rank, where every collective is a copy at most.
class Alone final : public Collectives {
 public:
  Rank rank() const override { return 0; }
  int size() const override { return 1; }
  std::string name() const override { return "gloo"; }
  Carrier carrier() const override { return Carrier::network; }
  Memory allocate(std::size_t bytes) override { return allocate_private(bytes); }
  void cancel() noexcept override {}
  void give_up(const std::exception&) noexcept override {}
  void exchange(std::span<const Message>, const Signature&, Seconds) override {}  // there is nobody else
  void run(const Call& call, const Signature&) override {
    if (!call.in.empty() && call.in.data() != call.out.data())
      std::memcpy(call.out.data(), call.in.data(), call.in.size());
  }
};

}  // namespace

std::unique_ptr<Collectives> make_gloo(const World& world, const GlooOptions& options) {
  if (world.size == 1) return std::make_unique<Alone>();
  if (!world.store) throw ConfigError("a world of several ranks needs a store to make a gloo communicator");
  if (options.algorithm == GlooAlgorithm::classic_bcube && !is_power_of_two(world.size))
    throw ConfigError(fmt::format("gloo's classic_bcube takes 2, 4, 8 ... ranks, not {}", world.size));
  try {
    return std::make_unique<GlooCollectives>(world, options);
  } catch (const gloo::IoException& error) {
    raise_gloo_failure(
        world,
        {.during = "the setting up of gloo", .text = error.what(), .timed_out = says_timeout(error.what())});
  }
}

}  // namespace gradwire
