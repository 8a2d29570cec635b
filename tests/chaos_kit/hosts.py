"""Two machines in one: network namespaces joined by a cable that can be pulled and put back. Root only."""

import os
import subprocess


def obstacle():
    if os.geteuid() != 0:
        return "two hosts need root"
    for program in ("ip", "unshare", "nsenter"):
        if subprocess.run(["which", program], stdout=subprocess.DEVNULL).returncode != 0:
            return f"two hosts need {program}"
    try:
        Hosts().close()
    except (OSError, subprocess.CalledProcessError) as error:
        return f"two hosts can't be made: {error}"
    return None


class Hosts:
    def __init__(self):
        self.holders = [subprocess.Popen(["unshare", "--net", "sleep", "infinity"]) for _ in range(2)]
        mine = os.readlink("/proc/self/ns/net")
        for holder in self.holders:
            while os.readlink(f"/proc/{holder.pid}/ns/net") == mine:
                if holder.poll() is not None:
                    raise OSError("unshare failed")
        self.run(0, f"ip link add link0 type veth peer name link0 netns {self.holders[1].pid}")
        for node in (0, 1):
            self.run(node, f"ip address add 10.77.0.{node + 1}/24 dev link0")
            self.run(node, "ip link set lo up")
            self.run(node, "ip link set link0 up")

    def within(self, node):
        return ["nsenter", f"--net=/proc/{self.holders[node].pid}/ns/net"]

    def run(self, node, command):
        subprocess.run(self.within(node) + command.split(), check=True, stderr=subprocess.PIPE)

    def cut(self, node):
        self.run(node, "ip link set link0 down")

    def heal(self, node):
        self.run(node, "ip link set link0 up")

    def close(self):
        for holder in self.holders:
            holder.kill()
            holder.wait()
