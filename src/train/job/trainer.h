// One rank of `gradwire train`: builds model, data and communicator as the options say, and trains. Belongs
// to one thread. The only part of the command line that uses torch, with trainer.cpp, in a program of its
// own.
#pragma once

#include <torch/torch.h>

#include <functional>
#include <memory>
#include <optional>

#include "net/world.h"
#include "sched/mesh.h"
#include "train/job/options.h"
#include "train/job/result.h"
#include "train/job/trained_model.h"
#include "train/job/training_data.h"
#include "train/loop/checkpoint_saver.h"
#include "train/loop/clocks.h"
#include "train/loop/metrics.h"
#include "train/rehearsal.h"

namespace gradwire {

// What the loop tells and asks its owner.
struct TrainHooks {
  // After each step: its number, the loss over all ranks (of this one where ranks train apart), and how long
  // it took.
  std::function<void(int step, double loss, Seconds time)> on_step = {};
  // The signal by which this rank was asked to end, or 0. When any rank was, all end after the same step.
  std::function<int()> asked_to_end = {};
};

class Trainer {
 public:
  Trainer(const World& world, const TrainOptions& options);

  TrainResult describe() const;                // what is known before the first step
  TrainResult train(const TrainHooks& hooks);  // all ranks call it; each gets the whole result
  void save_last(const TrainResult& result);   // the checkpoint of that; all ranks call it, and throw alike
  bool on_processor() const { return device_.is_cpu(); }
  const Timeline& timeline() const { return timeline_; }            // of the training, on all ranks
  int left_out() const { return saver_ ? saver_->left_out() : 0; }  // checkpoints that were due

 private:
  void make_communicators();
  bool is_apart() const;  // ranks train models of their own, or rehearse one
  void make_recorder();
  void resume();
  // What ranks tell each other in every step.
  struct News {
    double loss = 0;    // the mean over ranks
    int signal = 0;     // by which any of them was asked to end
    bool save = false;  // rank 0 finds it is time for a checkpoint
  };
  bool is_time_to_save() const;
  News train_step(int step, int signal);
  News share_news(double loss, int signal);
  void train_steps(TrainResult& result, const TrainHooks& hooks);
  void average_losses(TrainResult& result);
  double learn(int step);
  std::unique_ptr<TrainedModel> make_parts(std::shared_ptr<Net> net);
  std::size_t spans_a_step() const;
  void save(int step);
  int shared_signal(const TrainHooks& hooks);
  void evaluate(TrainResult& result, const TrainHooks& hooks);
  double test(int number, Metrics& metrics);  // how many answers it asked for

  const World world_;
  const TrainOptions options_;
  const TrainableModel& entry_;
  torch::Device device_ = torch::kCPU;
  const Mesh mesh_;
  std::vector<std::string> links_;  // for people: which ranks of the mesh share what over which
  TrainingData data_;
  std::optional<Rehearsal> rehearsal_;  // where ranks that share a model must not communicate
  std::unique_ptr<Communicator> communicator_,
      host_communicator_;                // the second where the first does not join all ranks in host memory
  Communicator* host_ = nullptr;         // whichever moves host memory
  std::unique_ptr<TrainedModel> model_;  // the whole of it, or this rank's part
  std::unique_ptr<Recorder> recorder_;
  std::optional<CheckpointSaver> saver_;
  Seconds saved_at_ = 0;
  ClockOffset clock_;
  int first_step_ = 0;
  Timeline timeline_;
};

}  // namespace gradwire
