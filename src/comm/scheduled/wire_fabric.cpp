#include "comm/scheduled/wire_fabric.h"

#include <cstring>

#include "base/error.h"

namespace gradwire {

WireFabric::WireFabric(Transport& transport)
    : transport_(transport), isa_(best_isa()), birth_(std::chrono::steady_clock::now()) {}

void WireFabric::bind(const Binding& binding, bool timed, Seconds timeout) {
  binding_ = &binding;
  timed_ = timed;
  timeout_ = timeout;
  ready_.clear();
  executed_ = 0;
}

void WireFabric::start(StepId id, const Step& step) {
  if (timed_) {
    if (begun_.size() <= static_cast<std::size_t>(id.index))
      begun_.resize(static_cast<std::size_t>(id.index) + 1);
    begun_[id.index] = {id, now(), 0, binding_->layout.bytes(step.op == Op::recv ? step.dst : step.src)};
  }
  const Ticket ticket = static_cast<Ticket>(id.index);
  if (step.op == Op::send)
    transport_.send(step.peer, binding_->signature, binding_->at(step.src), ticket);
  else if (step.op == Op::recv)
    transport_.recv(step.peer, binding_->signature, binding_->at(step.dst), ticket);
  else
    ready_.push_back({id.index, &step});
}

Event WireFabric::next() {
  if (executed_ == ready_.size())
    return finish(static_cast<std::int32_t>(transport_.wait_any(Deadline::after(timeout_))));
  const Ready ready = ready_[executed_++];
  if (executed_ == ready_.size()) ready_.clear(), executed_ = 0;
  execute(*ready.step);
  return finish(ready.index);
}

Event WireFabric::finish(std::int32_t index) {
  if (!timed_) return {.step = {transport_.rank(), index}};
  begun_[index].end = now();
  return begun_[index];
}

void WireFabric::execute(const Step& step) const {
  check(step.op == Op::reduce || step.op == Op::copy, "a collective on wires has nothing to compute");
  if (step.op == Op::reduce) return reduce(step);
  const std::span<const std::byte> from = binding_->at(step.src);
  const std::span<std::byte> to = binding_->at(step.dst);
  // In place, a rank's own part is where it belongs already.
  if (!from.empty() && from.data() != to.data()) std::memcpy(to.data(), from.data(), from.size());
}

void WireFabric::reduce(const Step& step) const {
  const std::span<std::byte> sum = binding_->at(step.dst);
  if (sum.empty()) return;
  const Signature& call = binding_->signature;
  const bool average = call.reduction() == Reduction::avg;
  const std::byte* const more = binding_->at(step.src).data();
  const std::byte* const sources[] = {step.swapped ? more : sum.data(), step.swapped ? sum.data() : more};
  std::byte* const destinations[] = {sum.data()};
  combine(isa_, call.dtype(), average ? Reduction::sum : call.reduction(), sources, destinations, sum.size());
  if (average && step.last) divide(isa_, call.dtype(), transport_.size(), sum);
}

Seconds WireFabric::now() const {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - birth_).count();
}

}  // namespace gradwire
