#include "comm/gloo/gloo.h"

#include <gloo/allgather.h>
#include <gloo/allreduce.h>
#include <gloo/alltoall.h>
#include <gloo/barrier.h>
#include <gloo/broadcast.h>
#include <gloo/common/error.h>
#include <gloo/common/logging.h>
#include <gloo/reduce.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <exception>
#include <optional>

#include "base/error.h"
#include "comm/gloo/classic.h"
#include "comm/gloo/diagnosis.h"
#include "comm/gloo/mesh.h"
#include "comm/gloo/post.h"
#include "comm/gloo/roll_call.h"
#include "comm/kernels/kernels.h"

namespace gradwire {
namespace {

using Byte = std::uint8_t;

// Gloo takes what it only reads as non-const.
Byte* pointer(std::span<const std::byte> bytes) {
  return const_cast<Byte*>(reinterpret_cast<const Byte*>(bytes.data()));
}

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
        context_(connect(world_)),
        roll_call_(world_, context_),
        classic_(context_, options.algorithm, isa_) {}

  // Sends nothing; but the others may still be reading what this rank sent in the last call. Where something
  // was thrown the job fails, and nobody is waited for any more.
  ~GlooCollectives() override {
    constexpr Seconds kLongest = 5;
    const BrokenPipeGuard guard;
    if (!broken_ && !cancelled_ && std::uncaught_exceptions() == uncaught_before_)
      roll_call_.wait_for_dismissal(gloo_timeout(std::min(kLongest, world_.timeout)));
  }

  Rank rank() const override { return world_.rank; }
  int size() const override { return world_.size; }
  std::string name() const override { return "gloo"; }
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

  static std::shared_ptr<gloo::Context> connect(const World& world) {
    try {
      return connect_mesh(world);
    } catch (const gloo::IoException& error) {
      raise_gloo_failure(world, {.during = "the setting up of gloo",
                                 .text = error.what(),
                                 .timed_out = says_timeout(error.what())});
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
    if (!key) return run_current(call);
    if (!all_prepared) classic_.prepare(*key);
    copy_in(call);
    classic_.run();
    average(call, call.out);
  }

  std::optional<ClassicAllReduce::Key> classic_key(const Call& call) const {
    if (call.kind != Collective::all_reduce || !is_classic(options_.algorithm) || call.out.empty()) return {};
    const ClassicAllReduce::Key key{call.out.data(), call.out.size(), call.dtype, combined_by(call)};
    if (!ClassicAllReduce::takes(key)) return {};
    return key;
  }

  // Gloo's current functions, of which each runs in one place or another.
  void run_current(const Call& call) {
    switch (call.kind) {
      case Collective::all_reduce:
        return all_reduce(call);
      case Collective::reduce_scatter:
        return reduce_scatter(call);
      case Collective::all_gather:
        return all_gather(call);
      case Collective::broadcast:
        return broadcast(call);
      case Collective::reduce:
        reduce(call, call.in, call.root);
        if (call.root == world_.rank) average(call, call.out);
        return;
      case Collective::all_to_all:
        return all_to_all(call);
      default:
        return barrier();
    }
  }

  static Reduction combined_by(const Call& call) {
    return call.reduction == Reduction::avg ? Reduction::sum : call.reduction;
  }

  void average(const Call& call, std::span<std::byte> data) const {
    if (call.reduction == Reduction::avg) divide(isa_, call.dtype, world_.size, data);
  }

  // Gloo counts in bytes here, so that it takes any type; but it must not cut one, hence elements of that
  // size.
  auto reduction_of(const Call& call) const {
    return [isa = isa_, dtype = call.dtype, how = combined_by(call)](void* to, const void* a, const void* b,
                                                                     std::size_t count) {
      const std::byte* sources[] = {static_cast<const std::byte*>(a), static_cast<const std::byte*>(b)};
      std::byte* destination = static_cast<std::byte*>(to);
      combine(isa, dtype, how, sources, {&destination, 1}, count * size_of(dtype));
    };
  }

  static void copy_in(const Call& call) {
    if (call.in.data() != call.out.data()) std::memcpy(call.out.data(), call.in.data(), call.in.size());
  }

  // Calls use(T*, count) with a type of the element's size.
  template <typename Use>
  static void with_elements(DType dtype, std::span<const std::byte> bytes, const Use& use) {
    const std::size_t count = bytes.size() / size_of(dtype);
    void* memory = pointer(bytes);
    switch (size_of(dtype)) {
      case 1:
        return use(static_cast<std::uint8_t*>(memory), count);
      case 2:
        return use(static_cast<std::uint16_t*>(memory), count);
      case 4:
        return use(static_cast<std::uint32_t*>(memory), count);
      default:
        return use(static_cast<std::uint64_t*>(memory), count);
    }
  }

  void all_reduce(const Call& call) {
    copy_in(call);
    gloo::AllreduceOptions options(context_);
    options.setAlgorithm(options_.algorithm == GlooAlgorithm::bcube
                             ? gloo::AllreduceOptions::Algorithm::BCUBE
                             : gloo::AllreduceOptions::Algorithm::RING);
    with_elements(call.dtype, call.out,
                  [&](auto* data, std::size_t count) { options.setOutput(data, count); });
    options.setReduceFunction(reduction_of(call));
    gloo::allreduce(options);
    average(call, call.out);
  }

  // Reduces `in` to the root's out. Gloo uses everybody's output on the way, ours is only written on the
  // root.
  void reduce(const Call& call, std::span<const std::byte> in, Rank root) {
    if (root != world_.rank && scratch_.size() < in.size()) scratch_.resize(in.size());
    const std::span<std::byte> out = root == world_.rank ? call.out : std::span(scratch_).first(in.size());
    gloo::ReduceOptions options(context_);
    if (in.data() != out.data())
      with_elements(call.dtype, in, [&](auto* data, std::size_t count) { options.setInput(data, count); });
    with_elements(call.dtype, out, [&](auto* data, std::size_t count) { options.setOutput(data, count); });
    options.setRoot(root);
    options.setReduceFunction(reduction_of(call));
    gloo::reduce(options);
  }

  // Gloo's only reduce_scatter is an older class that reorders; a reduce of every part moves as few bytes.
  void reduce_scatter(const Call& call) {
    for (Rank root = 0; root < world_.size; ++root)
      reduce(call, call.in.subspan(static_cast<std::size_t>(root) * call.out.size(), call.out.size()), root);
    average(call, call.out);
  }

  void all_gather(const Call& call) {
    const std::byte* own = call.out.data() + static_cast<std::size_t>(world_.rank) * call.in.size();
    gloo::AllgatherOptions options(context_);
    if (call.in.data() != own) options.setInput(pointer(call.in), call.in.size());
    options.setOutput(pointer(call.out), call.out.size());
    gloo::allgather(options);
  }

  void broadcast(const Call& call) {
    gloo::BroadcastOptions options(context_);
    options.setOutput(pointer(call.out), call.out.size());
    options.setRoot(call.root);
    gloo::broadcast(options);
  }

  void all_to_all(const Call& call) {
    gloo::AlltoallOptions options(context_);
    options.setInput(pointer(call.in), call.in.size());
    options.setOutput(pointer(call.out), call.out.size());
    gloo::alltoall(options);
  }

  // Of the waits of the next call. Gloo asks its context when a wait begins.
  void set_timeout(Seconds timeout) {
    timeout_ = timeout > 0 ? timeout : world_.timeout;
    context_->setTimeout(gloo_timeout(timeout_));
  }

  void barrier() {
    if (options_.check) return;  // the roll call was one
    gloo::BarrierOptions options(context_);
    gloo::barrier(options);
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
  ClassicAllReduce classic_;
  std::vector<std::byte> scratch_;
  std::exception_ptr broken_;
};

// A world of one rank, where every collective is a copy at most.
class Alone final : public Collectives {
 public:
  Rank rank() const override { return 0; }
  int size() const override { return 1; }
  std::string name() const override { return "gloo"; }
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
  return std::make_unique<GlooCollectives>(world, options);
}

}  // namespace gradwire
