#include <gtest/gtest.h>

#include "explain/log_fixture.h"

namespace gradwire {
namespace {

Diagnosis diagnosis_of_script(const std::string& text) {
  CaseFile given;
  given.files.scripts.push_back(parse_script(text, "train.py"));
  return diagnose(given);
}

std::string rule_of_script(const std::string& text) { return first_rule(diagnosis_of_script(text)); }

const std::string kPlaced =
    "import torch\nlocal_rank = int(os.environ['LOCAL_RANK'])\ntorch.cuda.set_device(local_rank)\n"
    "model = DDP(model.cuda(), device_ids=[local_rank])\n";

TEST(DoctorOnScripts, finds_a_search_for_unused_parameters_however_it_is_written) {
  EXPECT_EQ(rule_of_script("model = DDP(model, find_unused_parameters=True)\n"), "R25");
  EXPECT_EQ(rule_of_script("model = DDP(model,\n            find_unused_parameters = True)\n"), "R25");
  EXPECT_EQ(rule_of_script("Trainer(strategy='ddp_find_unused_parameters_true')\n"), "R25");
  EXPECT_EQ(rule_of_script("def f():\n    \"\"\"With find_unused_parameters=True it\n    works.\"\"\"\n"),
            "");
}

TEST(DoctorOnScripts, finds_collectives_that_rank_0_alone_comes_to) {
  EXPECT_EQ(rule_of_script(kPlaced + "if rank == 0:\n    save(model)\n    dist.barrier()\n"), "R35");
  EXPECT_EQ(rule_of_script(kPlaced + "if dist.get_rank() == 0:\n    dist.all_reduce(loss)\n"), "R35");
  EXPECT_EQ(
      rule_of_script(kPlaced + "if accelerator.is_main_process:\n    accelerator.wait_for_everyone()\n"),
      "R35");
  EXPECT_EQ(rule_of_script(kPlaced + "if rank == 0:\n    save(model)\ndist.barrier()\n"), "");
  EXPECT_EQ(rule_of_script(kPlaced +
                           "if rank != 0:\n    dist.barrier()\nload()\nif rank == 0:\n    dist.barrier()\n"),
            "");
  EXPECT_EQ(
      rule_of_script(kPlaced + "if rank == 0:\n    dist.broadcast(x, 0)\nelse:\n    dist.broadcast(y, 0)\n"),
      "");
}

TEST(DoctorOnScripts, sees_that_forwards_past_ddp_all_reduce_nothing) {
  const std::string loop =
      "for step, batch in enumerate(loader):\n    if (step + 1) % every == 0:\n        loss = model(batch)\n "
      "   else:\n"
      "        loss = model.module(batch)\n    loss.backward()\n    if (step + 1) % every == 0:\n        "
      "optimizer.step()\n";
  EXPECT_EQ(rule_of_script(kPlaced + loop), "");
}

TEST(DoctorOnScripts, finds_accumulation_that_accelerate_is_not_told_of) {
  const std::string loop =
      "for step, batch in enumerate(loader):\n    loss = model(**batch).loss / every\n    "
      "accelerator.backward(loss)\n"
      "    if step % every == 0:\n        optimizer.step()\n";
  const auto told = diagnosis_of_script("from accelerate import Accelerator\n" + loop);
  ASSERT_EQ(first_rule(told), "R26");
  EXPECT_TRUE(says(told.findings[0].fix, "accumulate(model)"));
  EXPECT_EQ(
      rule_of_script(
          "with accelerator.accumulate(model):\n    accelerator.backward(loss)\n    optimizer.step()\n"),
      "");
}

TEST(DoctorOnScripts, finds_accumulation_by_what_the_loop_does) {
  const auto every = [](const std::string& body) {
    return rule_of_script(
        kPlaced + "for i, x in enumerate(loader):\n    loss = model(x)\n    loss.backward()\n" + body);
  };
  EXPECT_EQ(every("    if (i + 1) % accum_steps == 0:\n        optimizer.step()\n"), "R26");
  EXPECT_EQ(every("    if (i + 1) % args.every == 0:\n        scaler.step(optimizer)\n"), "R26");
  EXPECT_EQ(every("    if i - last >= accumulate:\n        scaler.step(optimizer)\n"), "R26");
  EXPECT_EQ(every("    last = (i + 1) % 4 == 0\n    if last:\n        optimizer.step()\n"), "R26");
  EXPECT_EQ(every("    last = i == len(loader) - 1\n    if last:\n        optimizer.step()\n"), "");
  EXPECT_EQ(every("    if scaler is not None:\n        scaler.step(optimizer)\n"), "");
  EXPECT_EQ(every("    if accum > 1:\n        loss = loss / accum\n    optimizer.step()\n"), "");
  EXPECT_EQ(every("    optimizer.step()\n    if i % 1000 == 0:\n        scheduler.step()\n"), "");
  EXPECT_EQ(
      every("    optimizer.step()\n    if i % 5 == 0:\n        g_loss.backward()\n        g_opt.step()\n"),
      "");
  EXPECT_EQ(
      rule_of_script(kPlaced + "for micro in range(pieces):\n    model(x).backward()\noptimizer.step()\n"),
      "R26");
}

TEST(DoctorOnScripts, knows_what_keeps_gradients_at_home) {
  EXPECT_EQ(rule_of_script(kPlaced + "with model.no_sync():\n    loss = model(x)\n    loss.backward()\n"),
            "");
  EXPECT_EQ(rule_of_script(kPlaced + "out = model(x)\nwith model.no_sync():\n    loss.backward()\n"), "R26");
  EXPECT_EQ(
      rule_of_script(kPlaced +
                     "with model.no_sync():\n    scaled = scaler.scale(loss / 4)\n    scaled.backward()\n"),
      "R26");
}

TEST(DoctorOnScripts, finds_ranks_that_share_a_gpu) {
  EXPECT_EQ(rule_of_script("model = DDP(model.cuda())\n"), "R22");
  EXPECT_EQ(rule_of_script("rank = int(os.environ['LOCAL_RANK'])\nmodel = DDP(Net().to('cuda:0'))\n"), "R22");
  EXPECT_EQ(
      rule_of_script("local_rank = args.local_rank\ntorch.cuda.set_device(0)\nmodel = DDP(model.cuda())\n"),
      "R22");
}

TEST(DoctorOnScripts, knows_the_ways_in_which_ranks_take_their_own_gpu) {
  EXPECT_EQ(rule_of_script(kPlaced), "");
  EXPECT_EQ(rule_of_script("model = DDP(Net().to(rank))\nx = x.cuda()\n"), "");
  EXPECT_EQ(rule_of_script("device = f'cuda:{rank}'\nmodel = DDP(Net().to(device))\nx = x.cuda()\n"), "");
  EXPECT_EQ(rule_of_script("torch.cuda.set_device(args.gpu)\nmodel = DDP(Net().cuda())\n"), "");
  EXPECT_EQ(rule_of_script("model = DDP(net, device_ids=[r])\nx = x.cuda()\n"), "");
  EXPECT_EQ(rule_of_script("torch.cuda.set_device(d)\nmodel = DDP(Net().cuda())\n"), "");
  EXPECT_EQ(rule_of_script("setup(local_rank)\nmodel = DDP(Net().cuda())\n"),
            "");  // somebody else may set it
  EXPECT_EQ(
      rule_of_script("local_rank = 1\nd = 'cuda:0' if torch.cuda.is_available() else 'cpu'\nm = DDP(m)\n"),
      "");
}

TEST(DoctorOnScripts, reads_a_call_to_its_end) {
  EXPECT_EQ(rule_of_script(kPlaced + "state = torch.load(\n    path,\n    map_location='cpu')\n"), "");
  EXPECT_EQ(rule_of_script(kPlaced + "state = torch.load(path)\n"), "R22");
  EXPECT_EQ(
      rule_of_script(
          kPlaced + "if alone:\n    a = torch.load(path)\nelse:\n    a = torch.load(path, map_location=d)\n"),
      "");
}

TEST(DoctorOnScripts, finds_gloo_where_it_carries_gradients_of_gpus) {
  EXPECT_EQ(rule_of_script(kPlaced + "dist.init_process_group('gloo')\n"), "R32");
  EXPECT_EQ(
      rule_of_script(kPlaced + "dist.init_process_group(args.backend)\ng = dist.new_group(backend='gloo')\n"),
      "");
  EXPECT_EQ(rule_of_script("dist.init_process_group('gloo')\nmodel = DDP(model)\n"), "");
}

TEST(DoctorOnScripts, finds_variables_that_are_set_and_none_that_are_asked_for) {
  EXPECT_EQ(rule_of_script("os.environ[\"NCCL_P2P_DISABLE\"] = \"1\"\n"), "R06");
  EXPECT_EQ(rule_of_script("os.environ.setdefault('NCCL_P2P_LEVEL', 'LOC')\n"), "R06");
  EXPECT_EQ(rule_of_script("os.environ.update({\"NCCL_P2P_DISABLE\": \"1\"})\n"), "R06");
  EXPECT_EQ(rule_of_script("NCCL_DEBUG=INFO NCCL_P2P_DISABLE=1 torchrun train.py\n"), "R06");
  EXPECT_EQ(rule_of_script("os.environ[\"NCCL_P2P_DISABLE\"] = \"0\"\n"), "");
  EXPECT_EQ(rule_of_script("if os.environ.get(\"NCCL_P2P_DISABLE\", \"1\") == \"1\":\n"), "");
  EXPECT_EQ(rule_of_script("if os.environ[\"NCCL_P2P_DISABLE\"] == \"1\":\n"), "");
  EXPECT_EQ(rule_of_script("# export NCCL_P2P_DISABLE=1\nunset NCCL_P2P_DISABLE\n"), "");
}

TEST(DoctorOnScripts, finds_a_job_that_gives_each_process_one_gpu) {
  const std::string job = "#!/bin/bash\n#SBATCH --nodes=1\n#SBATCH --ntasks-per-node=4\n";
  EXPECT_EQ(rule_of_script(job + "#SBATCH --gpus-per-task=1\nsrun python train.py\n"), "R17");
  EXPECT_EQ(rule_of_script(job + "#SBATCH --gpus-per-task=1\nsrun --gpu-bind=none python train.py\n"), "");
  EXPECT_EQ(rule_of_script(job + "#SBATCH --gpus-per-node=4\nsrun python train.py\n"), "");
  EXPECT_EQ(rule_of_script("#SBATCH --ntasks=1\n#SBATCH --gpus-per-task=1\npython train.py\n"), "");
}

TEST(DoctorOnScripts, finds_infiniband_turned_off_where_there_are_several_nodes) {
  EXPECT_EQ(rule_of_script("export NCCL_IB_DISABLE=1\ntorchrun --nnodes=2 train.py\n"), "R37");
  EXPECT_EQ(rule_of_script("export NCCL_IB_DISABLE=1\ntorchrun --nproc-per-node 8 train.py\n"), "");
}

TEST(DoctorOnScripts, finds_a_rank_that_is_read_and_chooses_no_gpu) {
  const std::string read = "local_rank = int(os.environ['LOCAL_RANK'])\nif local_rank == 0: print('here')\n";
  EXPECT_EQ(rule_of_script(read + "model = DDP(Net().cuda())\n"), "R22");
  EXPECT_EQ(rule_of_script(read + "torch.cuda.set_device(local_rank)\nmodel = DDP(Net().cuda())\n"), "");
  EXPECT_EQ(rule_of_script(read + "prepare(local_rank)\nmodel = DDP(Net().cuda())\n"), "");
  EXPECT_EQ(rule_of_script("card = int(os.environ['LOCAL_RANK'])\nuse(card)\nmodel = DDP(Net().cuda())\n"),
            "");
  EXPECT_EQ(rule_of_script("use(int(os.environ['LOCAL_RANK']))\nmodel = DDP(Net().cuda())\n"), "");
}

TEST(DoctorOnScripts, reads_what_trainer_of_transformers_is_told) {
  const std::string from = "from transformers import Trainer, TrainingArguments\n";
  const auto slow = diagnosis_of_script(
      from +
      "args = TrainingArguments(out, ddp_find_unused_parameters=True,\n    dataloader_num_workers=0)\n"
      "Trainer(model, args).train()\n");
  EXPECT_EQ(first_rule(slow), "R25");
  ASSERT_EQ(slow.hints.size(), 2u);
  EXPECT_TRUE(says(slow.hints[0].what, "dataloader_num_workers"));
  EXPECT_TRUE(says(slow.hints[1].what, "started by python alone"));
  const auto good =
      diagnosis_of_script(from +
                          "rank = int(os.environ.get('LOCAL_RANK', 0))  # of torchrun\n"
                          "Trainer(model, TrainingArguments(out, dataloader_num_workers=8)).train()\n");
  EXPECT_TRUE(good.findings.empty() && good.hints.empty());
}

TEST(DoctorOnScripts, finds_steps_that_accelerate_is_told_to_accumulate_and_does_not) {
  const std::string loop =
      "for batch in loader:\n    loss = model(**batch).loss\n    accelerator.backward(loss)\n    "
      "optimizer.step()\n";
  EXPECT_EQ(rule_of_script("accelerator = Accelerator(gradient_accumulation_steps=4)\n" + loop), "R26");
  EXPECT_EQ(rule_of_script("accelerator = Accelerator(gradient_accumulation_steps=1)\n" + loop), "");
  EXPECT_EQ(rule_of_script("accelerator = Accelerator()\n" + loop), "");
}

TEST(DoctorOnScripts, minds_what_they_set_for_cuda_and_the_network) {
  EXPECT_EQ(rule_of_script("os.environ['CUDA_LAUNCH_BLOCKING'] = '1'\n"), "R41");
  EXPECT_EQ(rule_of_script("os.environ['CUDA_LAUNCH_BLOCKING'] = '0'\n"), "");
  EXPECT_EQ(rule_of_script("os.environ['CUDA_LAUNCH_BLOCKING'] = blocking\n"), "");
  EXPECT_TRUE(diagnosis_of_script("os.environ.setdefault('GLOO_SOCKET_IFNAME', 'lo')\n").hints.empty());
  EXPECT_EQ(rule_of_script("export NCCL_SOCKET_IFNAME=lo\ntorchrun --nnodes=2 train.py\n"), "R36");
  EXPECT_EQ(rule_of_script("export NCCL_SOCKET_IFNAME=^lo,docker0\ntorchrun --nnodes=2 train.py\n"), "");
  EXPECT_EQ(rule_of_script("export NCCL_SOCKET_IFNAME=docker0,eth1\ntorchrun --nnodes=2 train.py\n"), "");
}

TEST(DoctorOnScripts, finds_a_rank_that_is_the_same_number_in_every_process) {
  const std::string wraps =
      "torch.cuda.set_device(local_rank)\nmodel = DistributedDataParallel(net.cuda())\n";
  EXPECT_EQ(rule_of_script("import torch\nlocal_rank = 0\n" + wraps), "R22");
  EXPECT_EQ(rule_of_script("import torch\nlocal_rank = 0\nif many:\n    local_rank = int(env)\n" + wraps),
            "");
  EXPECT_EQ(rule_of_script("import torch\nfor local_rank in ranks:\n    pass\n" + wraps), "");
}

TEST(DoctorOnScripts, finds_a_job_of_several_nodes_that_starts_on_one) {
  const std::string job = "#!/bin/sh\n#SBATCH --nodes=3\n#SBATCH --ntasks-per-node=1\n";
  EXPECT_EQ(rule_of_script(job + "python main.py\n"), "R23");
  EXPECT_EQ(rule_of_script(job + "torchrun --nnodes 3 main.py\n"), "R23");
  EXPECT_EQ(rule_of_script(job + "srun python main.py\n"), "");
  EXPECT_EQ(rule_of_script(job + "for n in $NODES; do ssh $n python main.py & done\n"), "");
  EXPECT_EQ(rule_of_script("#!/bin/sh\n#SBATCH --nodes=1\npython main.py\n"), "");
}

}  // namespace
}  // namespace gradwire
