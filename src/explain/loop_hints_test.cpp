#include <gtest/gtest.h>

#include "explain/log_fixture.h"

namespace gradwire {
namespace {

std::string hints_at(const char* text) {
  CaseFile given;
  given.files.scripts.push_back(parse_script(text, "train.py"));
  const auto diagnosis = diagnose(given);
  EXPECT_TRUE(diagnosis.findings.empty()) << diagnosis.findings[0].what;  // hints are no findings
  std::string all;
  for (const Finding& hint : diagnosis.hints) all += hint.what + "\n";
  return all;
}

TEST(LoopHints, tell_data_parallel_from_what_only_ends_like_it) {
  EXPECT_TRUE(says(hints_at("import torch\nmodel = nn.DataParallel(model)\n"), "DataParallel drives"));
  EXPECT_TRUE(says(hints_at("from torch.nn import DataParallel\nmodel = DataParallel(net)\n"),
                   "DataParallel drives"));
  EXPECT_FALSE(says(hints_at("model = nn.parallel.DistributedDataParallel(model)\n"), "DataParallel drives"));
  EXPECT_FALSE(says(hints_at("if isinstance(model, nn.DataParallel):\n    model = model.module\n"),
                    "DataParallel drives"));
}

TEST(LoopHints, miss_a_sampler_where_ranks_shuffle_the_same_data) {
  const char* equal = "model = DDP(model)\nloader = DataLoader(data, shuffle=True, num_workers=4)\n";
  EXPECT_TRUE(says(hints_at(equal), "DistributedSampler"));
  const char* shared =
      "model = DDP(model)\nsampler = DistributedSampler(data, shuffle=True)\n"
      "loader = DataLoader(data, sampler=sampler, num_workers=4)\n";
  EXPECT_FALSE(says(hints_at(shared), "DistributedSampler"));
  EXPECT_FALSE(
      says(hints_at("loader = DataLoader(data, shuffle=True, num_workers=4)\n"), "DistributedSampler"));
}

TEST(LoopHints, find_what_waits_for_the_gpu_in_every_step) {
  const auto loop = [](const char* line) {
    return std::string(
               "model.to('cuda:1')\nfor epoch in range(9):\n    for x in loader:\n        loss = model(x)\n"
               "        loss.backward()\n") +
           line;
  };
  EXPECT_TRUE(
      says(hints_at(loop("        total += loss.item()\n").c_str()), "waits for the GPU in every step"));
  EXPECT_TRUE(says(hints_at(loop("        print(loss)\n").c_str()), "waits for the GPU in every step"));
  EXPECT_TRUE(says(hints_at(loop("        out = out.cpu()\n").c_str()), "waits for the GPU in every step"));
  for (const char* healthy :
       {"        if step % 100 == 0:\n            print(loss.item())\n",
        "        if step % 100 == 0: print(loss.item())\n", "    print(total.item() / len(loader))\n"})
    EXPECT_EQ(hints_at(loop(healthy).c_str()), "") << healthy;
}

}  // namespace
}  // namespace gradwire
