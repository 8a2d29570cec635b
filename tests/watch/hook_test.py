"""What the hook of `gradwire watch` does in processes of Python, and what it leaves alone. Run by ctest; 77: no torch here.

    hook_test.py GRADWIRE
"""
import json
import os
import subprocess
import sys
import tempfile
import unittest

GRADWIRE = sys.argv.pop(1) if len(sys.argv) > 1 else "gradwire"

LOOP = """
import torch
model = torch.nn.Linear(4, 4)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
def train(steps):
    for _ in range(steps):
        optimizer.zero_grad()
        model(torch.ones(2, 4)).sum().backward()
        optimizer.step()
"""


class Hook(unittest.TestCase):
    def setUp(self):
        self.place = tempfile.TemporaryDirectory()
        self.out = os.path.join(self.place.name, "seen")

    def tearDown(self):
        self.place.cleanup()

    def watch(self, program, flags=(), environment=None):
        command = [GRADWIRE, "watch", "--out", self.out, *flags, "--", sys.executable, "-c", program]
        return subprocess.run(
            command, env={**os.environ, **(environment or {})}, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            universal_newlines=True, timeout=120,
        )

    def notes(self):
        with open(os.path.join(self.out, "notes_rank0.json")) as file:
            return json.load(file)

    def left(self):
        return sorted(name for name in os.listdir(self.out) if name.startswith(("trace", "notes")))

    def test_traces_a_few_steps_and_leaves_the_output_alone(self):
        ended = self.watch(LOOP + "train(25)\nprint('mine')")
        self.assertEqual((ended.returncode, ended.stdout), (0, "mine\n"))
        self.assertEqual(self.left(), ["notes_rank0.json", "trace_rank0.json"])
        self.assertEqual(self.notes()["profiled"], {"first": 10, "count": 8})
        self.assertIn("A step of", ended.stderr)

    def test_traces_the_steps_that_were_asked_for(self):
        self.watch(LOOP + "train(25)", ["--start", "4", "--steps", "3"])
        self.assertEqual(self.notes()["profiled"], {"first": 4, "count": 3})

    def test_gives_what_there_is_of_a_run_that_is_short(self):
        self.watch(LOOP + "train(6)")
        self.assertEqual(self.notes()["profiled"], {"first": 2, "count": 2})

    def test_gives_what_there_is_of_a_run_that_fails(self):
        ended = self.watch(LOOP + "train(13)\nraise SystemExit(9)")
        self.assertEqual(ended.returncode, 9)
        self.assertEqual(self.notes()["profiled"], {"first": 10, "count": 3})
        self.assertIn("exited with code 9", ended.stderr)

    def test_leaves_nothing_of_a_program_without_training(self):
        ended = self.watch("import torch; print(torch.ones(1).item())")
        self.assertEqual((ended.returncode, ended.stdout), (0, "1.0\n"))
        self.assertEqual(self.left(), [])
        self.assertIn("no trace", ended.stderr)

    def test_gives_way_to_a_profiler_of_the_program(self):
        ended = self.watch(
            LOOP + "train(10)\nwith torch.autograd.profiler.profile() as p:\n    train(5)\nprint(len(p.function_events) > 0)"
        )
        self.assertEqual(ended.stdout, "True\n")
        self.assertIn("profiler of its own", " ".join(self.notes()["problems"]))
        self.assertIn("profiler of its own", " ".join(ended.stderr.split()))

    def test_runs_the_sitecustomize_that_it_hides(self):
        with open(os.path.join(self.place.name, "sitecustomize.py"), "w") as file:
            file.write("print('theirs', flush=True)\n")
        ended = self.watch("print('mine')", environment={"PYTHONPATH": self.place.name})
        self.assertEqual(ended.stdout, "theirs\nmine\n")

    def test_leaves_what_the_user_told_nccl(self):
        ended = self.watch("import os; print(os.environ['NCCL_DEBUG'])", environment={"NCCL_DEBUG": "WARN"})
        self.assertEqual(ended.stdout, "WARN\n")
        self.assertIn("NCCL_DEBUG=WARN is yours", " ".join(ended.stderr.split()))

    def test_prints_one_object_with_json_and_the_programs_output_beside_it(self):
        ended = self.watch(LOOP + "train(25)\nprint('mine')", ["--json"])
        report = json.loads(ended.stdout)
        self.assertEqual(report["watch"]["exit_code"], 0)
        self.assertEqual(len(report["ranks"]), 1)
        self.assertEqual(ended.stderr, "mine\n")


if __name__ == "__main__":
    try:
        import torch  # noqa: F401
    except ImportError:
        print("hook_test: SKIPPED, there is no torch here")
        sys.exit(77)
    unittest.main()
