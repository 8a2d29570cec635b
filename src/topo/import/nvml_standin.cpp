// Stands in for NVIDIA's libnvidia-ml: four A100 on a board with NVSwitch, as NVML's manual says they are
// reported. Built as a library of its own and opened by this_machine_test.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

namespace {

constexpr unsigned kGpus = 4, kLinks = 12;
constexpr int kSuccess = 0, kInvalidArgument = 2;

struct PciInfo {
  char legacy_bus_id[16];
  unsigned domain, bus, device, device_id, subsystem_id;
  char bus_id[32];
};

struct FieldValue {
  unsigned field, scope;
  long long timestamp, latency;
  int type, result;
  unsigned long long value;
};

unsigned index_of(void* device) {
  return static_cast<unsigned>(reinterpret_cast<std::uintptr_t>(device)) - 1;
}

int pci_at(unsigned bus, PciInfo* info) {
  *info = {};
  info->bus = bus;
  std::snprintf(info->bus_id, sizeof info->bus_id, "00000000:%02X:00.0", bus);
  return kSuccess;
}

}  // namespace

extern "C" {
int nvmlInit_v2() { return kSuccess; }
int nvmlShutdown() { return kSuccess; }
const char* nvmlErrorString(int) { return "stand-in"; }
int nvmlDeviceGetCount_v2(unsigned* count) {
  *count = kGpus;
  return kSuccess;
}
int nvmlDeviceGetHandleByIndex_v2(unsigned index, void** device) {
  *device = reinterpret_cast<void*>(static_cast<std::uintptr_t>(index + 1));
  return index < kGpus ? kSuccess : kInvalidArgument;
}
int nvmlDeviceGetName(void*, char* name, unsigned length) {
  std::snprintf(name, length, "NVIDIA A100-SXM4-80GB");
  return kSuccess;
}
int nvmlDeviceGetPciInfo_v3(void* device, PciInfo* info) { return pci_at(0x17 + index_of(device), info); }
int nvmlDeviceGetMaxPcieLinkGeneration(void*, unsigned* generation) {
  *generation = 4;
  return kSuccess;
}
int nvmlDeviceGetMaxPcieLinkWidth(void*, unsigned* width) {
  *width = 16;
  return kSuccess;
}
int nvmlDeviceGetNvLinkState(void*, unsigned link, unsigned* active) {
  *active = 1;
  return link < kLinks ? kSuccess : kInvalidArgument;
}
int nvmlDeviceGetNvLinkRemotePciInfo_v2(void*, unsigned link, PciInfo* info) {
  return pci_at(0xc0 + link / 2, info);
}
// Each question finds a gibibyte more sent and half of one more received: fields 138 and 139, KiB, over all links.
int nvmlDeviceGetFieldValues(void* device, int count, FieldValue* values) {
  // It is unloaded between questions, and links do not forget: what was asked is kept in the environment.
  const char* const before = std::getenv("GRADWIRE_NVML_STANDIN_ASKED");
  const auto asked = (before == nullptr ? 0 : std::strtoull(before, nullptr, 10)) + 1;
  setenv("GRADWIRE_NVML_STANDIN_ASKED", std::to_string(asked).c_str(), 1);
  for (int i = 0; i < count; ++i) {
    const bool known = (values[i].field == 138 || values[i].field == 139) && values[i].scope == 0xffffffff;
    values[i].result = known ? kSuccess : kInvalidArgument;
    values[i].value = (index_of(device) + asked) << (values[i].field == 138 ? 20 : 19);
  }
  return kSuccess;
}
int nvmlDeviceGetNvLinkRemoteDeviceType(void*, unsigned, int* type) {
  *type = 2;  // a switch
  return kSuccess;
}
}
