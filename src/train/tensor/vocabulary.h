// The two ends of a language model, cut by the vocabulary: each rank has the embeddings of some words and the logits
// of some words. A vocabulary need not divide: the first ranks have a word more. group.h says the rest.
#pragma once

#include <torch/torch.h>

#include "train/tensor/moves.h"

namespace gradwire {

// Takes token numbers, the same on every rank, and gives what all ranks have (with sequence parallelism: ranks'
// rows). Its weight can be the output layer's too: vocabulary_logits() takes it.
class VocabularyEmbeddingImpl : public torch::nn::Module, public SplitModule {
 public:
  VocabularyEmbeddingImpl(const torch::nn::Embedding& whole, TensorGroup& group);
  torch::Tensor forward(const torch::Tensor& tokens);
  TensorCut cut_of(const std::string&) const override { return {.dim = 0}; }

  torch::Tensor weight;

 private:
  TensorGroup* const group_;
  const Share words_;
};
TORCH_MODULE(VocabularyEmbedding);

// An output layer over the words: logits of this rank's.
class VocabularyLinearImpl : public torch::nn::Module, public SplitModule {
 public:
  VocabularyLinearImpl(const torch::nn::Linear& whole, TensorGroup& group);
  torch::Tensor forward(const torch::Tensor& input);
  TensorCut cut_of(const std::string&) const override { return {.dim = 0}; }

  torch::Tensor weight, bias;  // bias may be undefined

 private:
  TensorGroup* const group_;
};
TORCH_MODULE(VocabularyLinear);

// The same of any weight and bias of this rank's words, such as a VocabularyEmbedding's.
torch::Tensor vocabulary_logits(TensorGroup& group, const torch::Tensor& input, const torch::Tensor& weight,
                                const torch::Tensor& bias = {});

// Mean cross-entropy of logits whose last dimension is this rank's words of a vocabulary, in float32 or better;
// targets of -100 do not count. The same on every rank; two sums and a maximum over the ranks, of one number a token.
torch::Tensor vocabulary_cross_entropy(TensorGroup& group, const torch::Tensor& logits,
                                       const torch::Tensor& targets, std::int64_t vocabulary);

// The likeliest word of the whole vocabulary, the first of equals.
torch::Tensor vocabulary_argmax(TensorGroup& group, const torch::Tensor& logits, std::int64_t vocabulary);

}  // namespace gradwire
