// What is said where a GPU, its driver, its links or the board they are on fail: also what the kernel says of them.
// Data of known_failures.cpp, which alone includes it. The first that fits counts: what is special stands before what is general.
#pragma once

#include "import/failure_meanings.h"

namespace gradwire {

constexpr Meaning kNoSharp = {
    "R20",
    "NVLink SHARP can't be set up: the fabric manager was restarted while GPUs were in use, or is not well",
    "stop what uses the GPUs, restart nvidia-fabricmanager, nvidia-smi -r, or reboot; NCCL_NVLS_ENABLE=0 "
    "until then"};
constexpr Meaning kApart = {"R17",
                            "processes that NCCL takes for neighbours on one machine do not share its "
                            "memory: containers apart, or machines of one name",
                            "docker run --ipc=host --gpus all for each, or one container for all; else "
                            "NCCL_HOSTID different for each",
                            Effect::gpus_hidden};
constexpr Meaning kSickMemory = {
    "R00", "a GPU's memory has errors that can't be corrected",
    "nvidia-smi -q -d ECC,ROW_REMAPPER; nvidia-smi -r, or reboot; have the board replaced if they "
    "come back"};
constexpr Meaning kMendedMemory = {
    "R00", "a GPU's memory had errors that were corrected: it goes on, and more of them may follow",
    "nvidia-smi -q -d ECC,ROW_REMAPPER  # pending: nvidia-smi -r; have the board replaced if it has failed"};
constexpr Meaning kLostGpu = {
    "R00", "a GPU fell off the bus: no program reaches it until the machine starts anew",
    "dmesg | grep Xid; reboot; check its power cables, its slot or riser, and how hot it gets"};
constexpr Meaning kSickLink = {
    "R10", "an NVLink has errors",
    "nvidia-smi nvlink -e; nvidia-smi nvlink -s  # reseat the bridge, reset the GPUs, restart the fabric "
    "manager, or have the board replaced"};
constexpr Meaning kStuckDriver = {"R00", "a GPU's own firmware does not answer the driver any more",
                                  "nvidia-smi -r, or reboot; update the driver"};
constexpr Meaning kIommu = {
    "R14", "the IOMMU stops what devices send each other: peer access hangs, or brings wrong values",
    "IOMMU off in the BIOS, or amd_iommu=off, intel_iommu=off on the kernel's command line (iommu=pt where "
    "it must stay on)"};
constexpr Meaning kOtherFabric = {
    "R20", "the fabric manager does not run, for it is of another version than the driver: no NVSwitch",
    "install nvidia-fabricmanager of exactly the driver's version; systemctl restart nvidia-fabricmanager"};
constexpr Meaning kNoFabric = {
    "R20", "the fabric manager does not start, and without it boards with NVSwitch have no NVLink",
    "journalctl -u nvidia-fabricmanager; its version must be the driver's; without NVSwitch it is not "
    "needed"};
constexpr Meaning kNoSwitch = {"R20", "the fabric manager finds no NVSwitch: this board needs none",
                               "systemctl disable nvidia-fabricmanager"};
constexpr Meaning kDeadGpu = {
    "R00", "the driver can't start a GPU",
    "reboot, or take the power away for a minute; dmesg | grep NVRM; check its power cables, its slot or "
    "riser; in a virtual machine how it is passed through; have the board replaced if it comes back"};

constexpr Meaning kFailedCheck = {
    "R00",
    "a check inside of a kernel failed, mostly a label, token or index that the model has no place for; the "
    "other ranks then "
    "wait for the one it ended",
    "CUDA_LAUNCH_BLOCKING=1 names the call; compare labels and tokens with the sizes of the layers"};
constexpr Meaning kWeakPcie = {
    "R15", "a PCIe link has errors: it sends again what was lost, and may lose its device",
    "lspci -vv of the device that the line names: LnkSta, and what is behind it; reseat the card, its riser "
    "or cable; a lower "
    "generation of PCIe in the BIOS"};

constexpr KnownFailure kGpuFailures[] = {
    {"nvlink sharp*multicast", Told::cause, kNoSharp},
    {"system not yet initialized", Told::cause,
     Meaning{"R20", "NVSwitch is not set up: the fabric manager does not run, or was restarted",
             "systemctl restart nvidia-fabricmanager  # its version must be the driver's"},
     Scope::any},
    {"gpu driver interface version*match with driver version", Told::cause, kOtherFabric, Scope::any},
    {"nvswitch driver failed with error:warning nothing to do", Told::hint, kNoSwitch, Scope::any},
    {"failed to start nvidia fabric manager", Told::symptom, kNoFabric, Scope::any},
    {"fabricmanager.service: failed with result", Told::symptom, kNoFabric, Scope::any},
    {"nvls.cc*initialization error", Told::unexplained,
     Meaning{"R00", kCudaInNccl,
             "torch.cuda.init() alone, and in a process that was not forked; driver and CUDA must fit"}},
    {"nvls.cc*cuda failure", Told::cause, kNoSharp},
    {"imex", Told::cause,
     Meaning{
         "R20",
         "NVLink between nodes can't be set up: the IMEX service or its channels are missing on some node",
         "systemctl status nvidia-imex; nvidia-imex-ctl -N; the channel in the container; "
         "NCCL_MNNVL_ENABLE=0 until then"}},
    {"p2p is disabled between nvlink connected gpus", Told::cause,
     Meaning{"R12",
             "GPUs with NVLink between them may not reach each other: a link, its bridge or the driver is "
             "not well",
             "nvidia-smi nvlink -s; nvidia-smi topo -p2p n  # reseat the bridge, reset the GPUs, update the "
             "driver",
             Effect::peers_refused}},
    {"peer access is not supported", Told::cause,
     Meaning{"R12", "the driver says that GPUs may reach each other and then refuses it",
             "NCCL_P2P_DISABLE=1 until the driver or NCCL is updated, of vLLM and SGLang "
             "--disable-custom-all-reduce; nvidia-smi topo -p2p r",
             Effect::peers_refused},
     Scope::any},
    {"failed to open cuda ipc handle", Told::usual_cause, kApart},
    {"p2p.cc*cuda failure*invalid argument", Told::usual_cause, kApart},
    {"p2p.cc*cuda failure*invalid device ordinal", Told::usual_cause, kApart},
    {"uncorrectable ecc error", Told::cause, kSickMemory, Scope::any},
    {"device-side assert triggered", Told::cause, kFailedCheck, Scope::any},
    {".cu:*block: [*thread: [*assertion*failed", Told::cause, kFailedCheck, Scope::any},
    {"has fallen off the bus", Told::cause, kLostGpu, Scope::any},
    {"unable to determine the device handle for gpu", Told::cause, kLostGpu, Scope::any},
    {"gpu is lost", Told::cause, kLostGpu, Scope::any},
    {"rminitadapter failed", Told::cause, kDeadGpu, Scope::any},
    {"rm_init_adapter failed", Told::cause, kDeadGpu, Scope::any},
    {"nvidia: probe of*failed with error", Told::cause, kDeadGpu, Scope::any},
    {"nvrm: the nvidia probe routine failed", Told::cause, kDeadGpu, Scope::any},
    {"nvrm: this pci i/o region assigned to your nvidia device is invalid", Told::cause, kDeadGpu,
     Scope::any},
    {"nvidia*io_page_fault", Told::cause, kIommu, Scope::any},
    {"amd-vi: event logged [io_page_fault", Told::hint, kIommu, Scope::any},  // any device's
    {"dmar: [dma *fault addr", Told::hint, kIommu, Scope::any},
    {"pcie bus error: severity=uncorrect*(fatal)", Told::usual_cause, kWeakPcie, Scope::any},
    {"pcie bus error: severity=", Told::hint, kWeakPcie, Scope::any},  // any device's
    {"nvrm: xid*nonfatal", Told::hint, kSickLink, Scope::any},
    {"nvrm: xid*): 74,", Told::cause, kSickLink, Scope::any},
    {"nvrm: xid*): 137,", Told::cause, kSickLink, Scope::any},
    {"nvrm: xid*): 144,", Told::cause, kSickLink, Scope::any},
    {"nvrm: xid*): 145,", Told::cause, kSickLink, Scope::any},
    {"nvrm: xid*): 146,", Told::cause, kSickLink, Scope::any},
    {"nvrm: xid*): 147,", Told::cause, kSickLink, Scope::any},
    {"nvrm: xid*): 148,", Told::cause, kSickLink, Scope::any},
    {"nvrm: xid*): 149,", Told::cause, kSickLink, Scope::any},
    {"nvrm: xid*): 150,", Told::cause, kSickLink, Scope::any},
    {"nvrm: xid*): 79,", Told::cause, kLostGpu, Scope::any},
    {"nvrm: xid*): 48,", Told::cause, kSickMemory, Scope::any},
    {"nvrm: xid*): 64,", Told::cause, kSickMemory, Scope::any},
    {"nvrm: xid*): 95,", Told::cause, kSickMemory, Scope::any},
    {"nvrm: xid*): 94,", Told::cause, kSickMemory, Scope::any},
    {"nvrm: xid*): 62,", Told::cause, kStuckDriver, Scope::any},
    {"nvrm: xid*): 119,", Told::cause, kStuckDriver, Scope::any},
    {"nvrm: xid*): 120,", Told::cause, kStuckDriver, Scope::any},
    {"nvrm: xid*): 31,", Told::usual_cause, kStrayAccess, Scope::any},
    {"nvrm: xid*): 13,", Told::usual_cause, kStrayAccess, Scope::any},
    {"nvrm: xid*): 63,", Told::hint, kMendedMemory, Scope::any},
    {"nvrm: xid*): 92,", Told::hint, kMendedMemory, Scope::any},
    {"uncorrectable nvlink error", Told::cause,
     Meaning{"R10", "an NVLink failed while it was used",
             "nvidia-smi nvlink -e; dmesg | grep Xid  # reseat the bridge, reset the GPUs, or have the board "
             "replaced"},
     Scope::any},
    {"numa auto balancing enabled", Told::hint,
     Meaning{"R21", "the kernel moves memory between sockets while the run uses it",
             "sysctl kernel.numa_balancing=0"}},
    {"missing \"iommu=pt\"", Told::hint,
     Meaning{"R14", "the kernel was not told to let devices pass the IOMMU",
             "iommu=pt on the kernel's command line"}},
    {"illegal memory access", Told::usual_cause, kStrayAccess, Scope::any},
    {"unspecified launch failure", Told::usual_cause, kStrayAccess, Scope::any},
    {"cuda error: misaligned address", Told::usual_cause, kStrayAccess, Scope::any},
    {"memory access fault by gpu", Told::usual_cause, kStrayAccess, Scope::any},
};

}  // namespace gradwire
