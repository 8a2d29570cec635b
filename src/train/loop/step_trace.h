// What DistributedDataParallel tells of its buckets, taken down in a rank's recorder beside what the loop
// itself records.
//
//   StepTrace trace(recorder);
//   ddp.set_trace(&trace);
//   recorder.set_step(i);
//   { const Timed timed(&recorder, SpanKind::forward); loss = ...; }
//   { const Timed timed(&recorder, SpanKind::backward); loss.backward(); }  // buckets and waits too
#pragma once

#include <vector>

#include "trace/recorder.h"
#include "train/trace_sink.h"

namespace gradwire {

class StepTrace : public TraceSink {
 public:
  explicit StepTrace(Recorder& recorder) : recorder_(recorder) {}  // borrowed
  void record(const PhaseEvent& event) override;

 private:
  Recorder& recorder_;
  std::vector<Seconds> ready_;  // of each bucket, in this step
};

}  // namespace gradwire
