// Measured all-reduce sweeps against the NCCL model: samples to fit a calibration to, and predictions of
// every row by a calibration that never saw its platform.
#pragma once

#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "predict/calibration/fit.h"
#include "predict/nccl/all_reduce.h"
#include "predict/records/record.h"

namespace gradwire {

// Where a record is silent: what its machine was built with instead, and of a training what stands in for it.
enum class UnstatedTraining : std::uint8_t { parameters, layers, samples, precision, gradients };
struct Assumed {
  std::vector<std::string> of_machine = {};  // Machine::notes
  std::vector<UnstatedTraining> of_training = {};
  std::uint64_t parameters = 0;         // what they were taken as, where unstated
  std::string layers = {};              // the stand-in's title
  int samples = 0, gradient_bytes = 0;  // a GPU and step; of an element
};

// One prediction beside its measurement. For a collective the values are microseconds.
struct ValidationPoint {
  std::string id, platform, group, point;
  RecordKind kind = RecordKind::collective;
  Quality quality = Quality::ok;
  Bytes bytes = 0;  // of a collective
  double measured = 0, predicted = 0;
  double low = 0, high = 0;  // eight of ten measurements should lie between; 0: not computed
  double alpha_beta = 0;     // what bytes / link rate would say; 0: not computed
  std::string scope;         // what it is counted under: the class of the machine, or the kind of workload
  bool pair = false;         // a ratio of two training values
  Assumed assumed;
  double by_constants = 0;  // of a collective: the spread of log(predicted) that constants give
  MachineClass machines = MachineClass::all;  // of a collective: the class of its machine
  double error() const { return predicted / measured - 1; }
  bool inside() const { return low <= measured && measured <= high; }
  bool right_sign() const { return (measured > 1) == (predicted > 1); }  // of a pair
};

// A collective record with everything the model needs of it, computed once.
struct PreparedRecord {
  Record record;
  NcclFabric fabric;
  MachineClass machines = MachineClass::all;
  std::string kind;  // what `LeaveOut::kind` leaves out together: "pcie box", "pair", or the class
  std::vector<std::string> assumed;  // of the machine, where the record is silent
};

// Why something of a record has no prediction: it was refused with an error, one GPU alone sends nothing, there is nothing but
// the anchor, neither an anchor nor a value that differs in its link alone, or no finite figure came out.
enum class Unpredicted : std::uint8_t { refused, one_gpu, anchor_alone, no_anchor, not_finite };
struct Skipped {
  std::string what;  // the record, and the point of it
  Unpredicted why = Unpredicted::refused;
  std::string error = {};  // where it was refused
};

// Collective records of two GPUs or more; those of one are noted in `skipped` if given. A machine that can't
// be built throws ConfigError, or is noted there.
std::vector<PreparedRecord> prepare(std::span<const Record>, std::vector<Skipped>* skipped = nullptr);

// Which rows take part: by record and by position in it.
using RowFilter = std::function<bool(const PreparedRecord&, std::size_t row)>;
std::vector<FitSweep> fit_sweeps(std::span<const PreparedRecord>, const RowFilter&);  // borrow the records

// Calibrations that never saw a platform (group, kind of machine, generation of GPU), fitted to what `known` has
// without it when they are first asked for. One thread.
enum class LeaveOut { platform, group, kind, generation };
class CalibrationsWithout {
 public:
  explicit CalibrationsWithout(std::span<const PreparedRecord> known, LeaveOut by = LeaveOut::platform)
      : known_(known), by_(by) {}                  // `known` must outlive this
  const Calibration& of(const std::string& name);  // the shipped one where `known` has none of that name
  const Calibration& of(const PreparedRecord&);

 private:
  std::span<const PreparedRecord> known_;
  LeaveOut by_;
  std::map<std::string, Calibration> made_;
};

// Predicts every row by the calibration without it.
std::vector<ValidationPoint> cross_validate(std::span<const PreparedRecord> asked,
                                            std::span<const PreparedRecord> known,
                                            LeaveOut = LeaveOut::platform);

// The same when the platform's own sweep is given: the rows beside the asked one are seen, the row itself is
// not (nor, in sweeps of more than 32 rows, every 32nd from it).
std::vector<ValidationPoint> validate_with_own_sweep(std::span<const PreparedRecord> asked,
                                                     std::span<const PreparedRecord> known);

// Constants of this very machine: those of all, moved by rows of its own sweep.
Calibration with_own_sweep(const Calibration&, const PreparedRecord&, const RowFilter&);

// What must be added to the spread of the constants so that of a machine never seen eight of ten measurements lie in their
// range, by class, from points of machines that no constant had seen. Machines count, not points.
UnexplainedByClass left_open(std::span<const ValidationPoint>);

// Constants from all usable records of `known`, ranges from those too, each predicted without its platform, and from `later`,
// which no constant sees. This is what ships.
Calibration calibrate(std::span<const PreparedRecord> known, std::span<const PreparedRecord> later);

const std::vector<Record>& built_in_records();  // presets/collectives.jsonl, compiled in

}  // namespace gradwire
