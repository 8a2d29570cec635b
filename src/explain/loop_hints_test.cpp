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

std::string finds(const std::string& text) {
  CaseFile given;
  given.files.scripts.push_back(parse_script(text, "train.py"));
  std::string all;
  for (const Finding& finding : diagnose(given).findings) all += finding.what + "\n";
  return all;
}

TEST(LoopFindings, tell_data_parallel_from_what_only_ends_like_it) {
  EXPECT_TRUE(says(finds("import torch\nmodel = nn.DataParallel(model)\n"), "DataParallel drives"));
  EXPECT_TRUE(
      says(finds("from torch.nn import DataParallel\nmodel = DataParallel(net)\n"), "DataParallel drives"));
  EXPECT_EQ(finds("model = nn.parallel.DistributedDataParallel(model)\n"), "");
  EXPECT_EQ(finds("if isinstance(model, nn.DataParallel):\n    model = model.module\n"), "");
  EXPECT_EQ(finds("model = nn.DataParallel(model, device_ids=[0])\n"), "");
  EXPECT_EQ(finds("warn(\"not with nn.DataParallel() please\")\n"), "");
}

TEST(LoopHints, mind_data_parallel_less_where_a_script_can_also_distribute) {
  const char* both = "if many:\n    model = DDP(model)\nelse:\n    model = nn.DataParallel(model)\n";
  EXPECT_TRUE(says(hints_at(both), "DataParallel drives"));
}

TEST(LoopFindings, miss_a_sampler_where_ranks_shuffle_the_same_data) {
  EXPECT_TRUE(says(finds("model = DDP(model)\nloader = DataLoader(data, shuffle=True, num_workers=4)\n"),
                   "DistributedSampler"));
  EXPECT_TRUE(
      says(finds("model = DDP(model)\nloader = DataLoader(\n    data,\n    shuffle=True, num_workers=4)\n"),
           "DistributedSampler"));
  EXPECT_TRUE(says(finds("model = DDP(model)\nsampler = DistributedSampler(data)\n"
                         "loader = DataLoader(data, shuffle=True, num_workers=4)\n"),
                   "given to no loader"));
  EXPECT_EQ(finds("model = DDP(model)\nsampler = DistributedSampler(data, shuffle=True)\n"
                  "loader = DataLoader(data, sampler=sampler, num_workers=4)\n"),
            "");
  EXPECT_EQ(finds("loader = DataLoader(data, shuffle=True, num_workers=4)\n"), "");
}

TEST(LoopHints, miss_the_epoch_of_a_sampler_that_shuffles) {
  const auto loop = [](const char* sampler, const char* epochs) {
    return hints_at((std::string("model = DDP(model)\n") + sampler + epochs + "    train()\n").c_str());
  };
  const char *shuffles = "s = DistributedSampler(data)\n", *epochs = "for epoch in range(10):\n";
  EXPECT_TRUE(says(loop(shuffles, epochs), "set_epoch"));
  EXPECT_EQ(loop("s = DistributedSampler(data, shuffle=False)\n", epochs), "");
  EXPECT_EQ(loop(shuffles, "for epoch in range(1):\n"), "");
  EXPECT_EQ(loop(shuffles, "for epoch in range(10):\n    s.set_epoch(epoch)\n"), "");
}

TEST(LoopHints, find_a_cache_that_is_emptied_in_every_step) {
  const std::string loop = "model.to('cuda:1')\nfor x in loader:\n    model(x).backward()\n";
  EXPECT_TRUE(
      says(hints_at((loop + "    torch.cuda.empty_cache()\n").c_str()), "empty_cache() in every step"));
  EXPECT_EQ(hints_at((loop + "torch.cuda.empty_cache()\n").c_str()), "");
  EXPECT_EQ(hints_at((loop + "    if i % 500 == 0:\n        torch.cuda.empty_cache()\n").c_str()), "");
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
