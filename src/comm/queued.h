// Makes an asynchronous Communicator of blocking Collectives: a queue, and one thread that works it off in
// call order.
//
// Whoever waits for a call runs it, and the calls before it, in its own thread unless the background thread
// is at it already: a wait costs no hand-over between threads, and a program that only calls run() never
// starts the thread.
#pragma once

#include <memory>
#include <string>

#include "comm/collectives.h"
#include "comm/communicator.h"
#include "comm/flight_recorder.h"

namespace gradwire {

class Queued final : public Communicator {
 public:
  // `recorder` takes down every call; null: one in memory alone.
  explicit Queued(std::unique_ptr<Collectives> collectives,
                  std::unique_ptr<FlightRecorder> recorder = nullptr);
  ~Queued() override;  // calls that have not ended fail with Cancelled

  Rank rank() const override;
  int size() const override;
  std::string name() const override;
  Carrier carrier() const override;
  std::unique_ptr<Work> start(const Call& call) override;
  void run(const Call& call) override;
  Memory allocate(std::size_t bytes) override;
  void abort() override;

 private:
  class State;
  std::shared_ptr<State> state_;  // shared with the Works it gave out
};

}  // namespace gradwire
