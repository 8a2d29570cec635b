// What is said where ranks do not reach each other: sockets, InfiniBand, plugins, and where they are to meet.
// Data of known_failures.cpp, which alone includes it. The first that fits counts: what is special stands before what is general.
#pragma once

#include "import/failure_meanings.h"

namespace gradwire {

constexpr Meaning kPinned = {"R37", "the process may not lock the memory that the network card needs",
                             "ulimit -l unlimited; docker run --ulimit memlock=-1"};
constexpr Meaning kNoInterface = {"R36", "NCCL_SOCKET_IFNAME names no interface of this machine",
                                  kNameInterface};
constexpr Meaning kBrokenLink = {
    "R37", "the InfiniBand or RoCE connection to a peer broke, or never came about",
    "ibv_devinfo; show_gids, NCCL_IB_GID_INDEX=3 for RoCE v2; NCCL_CROSS_NIC=0 where only cards of one "
    "number reach each other; check cables and switches with ib_write_bw"};
constexpr Meaning kCardBlind = {"R38",
                                "a network card was kept from the GPU's memory: bridges redirect what it "
                                "sends (ACS), which breaks GPUDirect RDMA",
                                "NCCL_NET_GDR_LEVEL=LOC tells: if it runs then, turn ACS off in the BIOS or "
                                "by setpci, on every node (lspci -vv: ACSCtl); modprobe nvidia-peermem"};
constexpr Meaning kNoPlugin = {
    "R37", "NCCL_NET or NCCL_NET_PLUGIN names a network that NCCL does not find",
    "unset NCCL_NET and NCCL_NET_PLUGIN, or LD_LIBRARY_PATH with the folder of libnccl-net.so"};
constexpr Meaning kBadTopoFile = {
    "R19", "the file that describes this machine to NCCL (NCCL_TOPO_FILE, or a plugin's own) lacks something",
    "unset NCCL_TOPO_FILE, or take the provider's newest file for this kind of machine; update the plugin"};
constexpr Meaning kNotMine = {
    "R36", "the address at which ranks are to meet is none of this machine's, or of this container's",
    "MASTER_ADDR, or NCCL_COMM_ID, as rank 0 itself has it (ip addr); docker run --network=host"};
constexpr Meaning kOtherNet = {
    "R36", "no interface that NCCL took is in the network of the address at which ranks meet",
    "NCCL_SOCKET_IFNAME names the interface that all nodes share; docker run --network=host"};
constexpr Meaning kNoGids = {
    "R37", "the address of a RoCE card (its GID) can't be read where the process runs: nodes can't connect",
    "show_gids in the container: it needs the card's own network device, as with --network=host or SR-IOV; "
    "NCCL_IB_GID_INDEX=3 for RoCE v2"};
constexpr Meaning kFailedEfa = {"R37", "the plugin for EFA (libfabric) failed: nodes can't connect over it",
                                "fi_info -p efa on every node; the same versions of EFA's installer and of "
                                "aws-ofi-nccl on all; allow all "
                                "traffic inside the security group"};

constexpr Meaning kOtherFamily = {
    "R36", "NCCL can't open a socket for an address: a machine without any, or IPv6 on some nodes alone",
    "ip addr on every node; NCCL_SOCKET_FAMILY=AF_INET; NCCL_SOCKET_IFNAME names an interface with an "
    "address"};

constexpr KnownFailure kNetworkFailures[] = {
    {"ibv_reg_mr*bad address", Told::cause,
     Meaning{"R38", "the network card can't reach the GPU's memory (GPUDirect RDMA)",
             "modprobe nvidia-peermem on every node; NCCL_NET_GDR_LEVEL=LOC until then"}},
    {"ibv_reg_mr*cannot allocate memory", Told::cause, kPinned},
    {"ibv_create_cq*cannot allocate memory", Told::cause, kPinned},
    {"ibv_create_qp*cannot allocate memory", Told::cause, kPinned},
    {"ibv_reg_mr*failed", Told::usual_cause, kPinned},
    {"ibv_create_cq*failed", Told::usual_cause, kPinned},
    {"ibv_create_qp*failed", Told::usual_cause, kPinned},
    {"rocegetversionnum", Told::cause, kNoGids},
    {"ibv_query_gid*failed", Told::cause, kNoGids},
    {"no socket interface found", Told::cause, kNoInterface},
    {"bind*cannot assign requested address", Told::cause, kNotMine},
    {"no interface found in the same subnet", Told::hint, kOtherNet},
    {"is neither af_inet", Told::cause, kNoInterface},
    {"no usable listening interface", Told::cause, kNoInterface},
    {"ibv_modify_qp*failed", Told::symptom, kBrokenLink},
    {"got completion*with error 4,", Told::usual_cause, kCardBlind},
    {"got completion*with status=4 ", Told::usual_cause, kCardBlind},
    {"attribute*of node*not found", Told::cause, kBadTopoFile},
    {"got completion with", Told::symptom, kBrokenLink, Scope::any},
    {"got completion from peer", Told::symptom, kBrokenLink, Scope::any},
    {"async event*port error", Told::symptom,
     Meaning{"R37", "a port of an InfiniBand or RoCE card went down while the run was on",
             "ibstat, or ip -s link; dmesg | grep mlx5  # a cable, its transceiver or the switch's port; its "
             "errors: perfquery"},
     Scope::nodes},
    {"async event*catastrophic", Told::symptom, kBrokenLink, Scope::nodes},
    {"async fatal event", Told::symptom, kBrokenLink, Scope::nodes},
    {"error: network*not found", Told::cause, kNoPlugin},
    {"failed to initialize any net plugin", Told::cause, kNoPlugin},
    {"net/ib : unable to open device", Told::symptom,
     Meaning{
         "R37", "InfiniBand cards are there and can't be opened, and nodes are left to TCP",
         "docker run --device /dev/infiniband --cap-add IPC_LOCK --ulimit memlock=-1; ibv_devinfo where the "
         "process runs"},
     Scope::sockets},
    {"net/*completed with error", Told::symptom, kBrokenLink},
    {"net/ofi*endpoint*failed", Told::symptom, kNoEfa},
    {"net/ofi*unable to create endpoint", Told::symptom, kNoEfa},
    {"net/ofi*rc: -", Told::symptom, kFailedEfa, Scope::nodes},
    {"net/ofi*provider", Told::symptom, kNoEfa, Scope::sockets},
    {"net/ofi*initialization", Told::symptom, kNoEfa, Scope::sockets},
    {"connect*refused*exceeded", Told::symptom, kSilentPeer},
    {"call to connect*refused", Told::symptom, kSilentPeer},
    {"socket creation failed", Told::symptom, kOtherFamily},
    {"no route to host", Told::symptom, kNoWay},
    {"connect*connection timed out", Told::symptom, kNoWay},
    {"connect to*failed", Told::symptom, kNoWay},
    {"connect returned*retrying", Told::symptom, kNoWay},
    {"too many open files", Told::cause,
     Meaning{"R36", "a process may not open as many files as NCCL has connections", "ulimit -n 65536"}},
    {"failed to listen*eaddrnotavail", Told::cause, kNotMine, Scope::any},
    {"failed to listen*cannot assign requested address", Told::cause, kNotMine, Scope::any},
    {"server socket has failed to listen", Told::cause, kPortTaken, Scope::any},
    {"eaddrinuse", Told::cause, kPortTaken, Scope::any},
    {"runtimeerror: address already in use", Told::usual_cause, kPortTaken, Scope::any},
    {"client socket has timed out", Told::symptom, kNoMeeting, Scope::any},
    {"runtimeerror: connect() timed out", Told::symptom, kNoMeeting, Scope::any},
    {"runtimeerror: connection timed out", Told::symptom, kNoMeeting, Scope::any},
    {"runtimeerror: connection refused", Told::symptom, kNoMeeting, Scope::any},
    {"runtimeerror: resource temporarily unavailable", Told::symptom, kNoMeeting,
     Scope::any},  // a time-out's errno
    {"seconds waiting for clients*joined", Told::symptom, kNoMeeting, Scope::any},
    {"seconds waiting for workers*joined", Told::symptom, kNoMeeting, Scope::any},
    {"valueerror: host not found", Told::symptom, kNoMeeting, Scope::any},
    {"rendezvoustimeouterror", Told::symptom, kNoMeeting, Scope::any},
    {"rendezvousconnectionerror", Told::symptom, kNoMeeting, Scope::any},
    {"in store based barrier on rank", Told::symptom, kNoMeeting, Scope::any},
    {"retrieving nccluniqueid from", Told::symptom, kNoMeeting, Scope::any},
    {"diststoreerror: socket timeout", Told::symptom, kNoMeeting, Scope::any},
    {"client socket has failed to connect", Told::hint, kNoMeeting, Scope::any},
    {"connectfullmesh failed", Told::symptom,
     Meaning{
         "R36", "ranks can't reach each other over the network interface that Gloo took",
         "GLOO_SOCKET_IFNAME=eth0  # the interface that all nodes share; a host's name must not stand for "
         "127.0.0.1 in /etc/hosts; open the firewall between nodes"},
     Scope::any},
    {"ctrl timeout cnt", Told::hint,
     Meaning{"R36", "the network's plugin waits for seconds on end for a peer on another node",
             "look at that peer's log and processor; the plugin's own version and settings as the provider "
             "gives them"}},
};

}  // namespace gradwire
