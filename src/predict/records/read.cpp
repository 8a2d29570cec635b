#include "predict/records/read.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>
#include <utility>

#include "base/error.h"
#include "base/files.h"
#include "base/text.h"
#include "predict/records/fields.h"

namespace gradwire {
namespace {

constexpr int kMostGpus = 1 << 20;

std::string read_distribution(const Fields& fields) {
  return fields.word("distribution", {"ddp", "dataparallel", "horovod", "byteps", "tf-replicated", "mirrored",
                                      "megatron-dp", "mxnet", "paddle", "none"});
}

NetworkSpec read_network(const Fields& fields) {
  NetworkSpec network;
  if (fields.find_text("kind"))
    network.kind = fields.choice("kind", find_network_kind,
                                 "infiniband, roce, efa, ethernet, slingshot, omnipath or null");
  network.gbit_per_nic = fields.find_number("gbit_per_nic", 0.001, 1e5);
  network.nics_per_node = fields.find_integer("nics_per_node", 1, 1024);
  network.gpudirect = fields.find_flag("gpudirect");
  return network;
}

// A processor that is not stated. A slot is no faster than it.
void take_processor(const std::optional<Processor>& cpu, bool maker_alone, NodeSpec& node) {
  if (!cpu || !node.cpu_model.empty() || (node.cpu && *node.cpu != cpu->maker)) return;
  node.cpu = cpu->maker;
  if (maker_alone) return;
  node.cpu_model = cpu->id;
  if (node.pcie_gen) node.pcie_gen = std::min(*node.pcie_gen, cpu->pcie_gen);
}

// What the numbers of buses tell of the tree and of its processor.
void place_by_bus_ids(std::span<const int> ids, NodeSpec& node) {
  node.pcie = layout_by_bus_ids(ids);
  const auto cpu = processor_by_bus_ids(ids);
  take_processor(cpu, cpu && cpu->numbered_alike, node);
}

// The processor that words about a machine name ("two EPYC 9575F"): `named` in presets/cpus.yaml.
std::optional<Processor> processor_in(const std::string& notes) {
  static const auto names = [] {
    std::vector<std::pair<std::regex, Processor>> all;
    for (const Processor& cpu : all_processors())
      if (!cpu.named.empty()) all.emplace_back(std::regex(cpu.named), cpu);
    return all;
  }();
  for (const auto& [name, cpu] : names)
    if (std::regex_search(notes, name)) return cpu;
  return std::nullopt;
}

// The least that NCCL can have been by the tool that ran there ("nccl-tests 2.17.6"): sixteen published outputs of 2.17 and
// later have 2.26 to 2.30.
std::optional<std::string> nccl_version_in(const std::string& notes) {
  static const std::regex kTests(R"(\bnccl-tests 2\.([0-9]{1,3}))");
  std::smatch found;
  if (!std::regex_search(notes, found, kTests) || std::stoi(found[1]) < 17) return std::nullopt;
  return "2.26";
}

// An id of a preset that `find` knows, or nothing.
template <typename Find>
std::string preset_id(const Fields& fields, std::string_view key, Find find) {
  const auto id = fields.find_text(key);
  if (!id) return "";
  try {
    find(*id);
  } catch (const ConfigError& error) {  // which names near ones
    throw UnknownValue(error.what());
  }
  return *id;
}

NodeSpec read_node(const Fields& fields, const std::string& where) {
  NodeSpec node;
  if (fields.find_text("intra"))
    node.intra = fields.choice("intra", find_intra, "nvswitch, nvlink-mesh, nvlink-pairs, pcie or null");
  node.nvlink_gen = fields.find_integer("nvlink_gen", 1, 9);
  node.nvlink_links_per_gpu = fields.find_integer("nvlink_links_per_gpu", 1, 256);
  node.nvlink_links_per_pair = fields.find_integer("nvlink_links_per_pair", 1, 256);
  node.p2p = fields.find_flag("p2p");
  node.pcie_gen = fields.find_integer("pcie_gen", 1, 7);
  node.pcie_width = fields.find_integer("pcie_width", 1, 32);
  if (fields.find_text("cpu"))
    node.cpu = fields.choice("cpu", find_cpu_maker, "amd, intel, power, grace or null");
  node.cpu_model = preset_id(fields, "cpu_model", find_processor);
  if (!node.cpu_model.empty()) node.cpu = find_processor(node.cpu_model).maker;
  if (const auto matrix = fields.find_texts("topo_matrix"))
    node.matrix = parse_matrix(*matrix, where + ", `topo_matrix`");
  node.gpu_indices = fields.find_integers("gpu_indices", 0, kMostGpus).value_or(std::vector<int>{});
  if (const auto ids = fields.find_integers("bus_ids", 0, 255)) place_by_bus_ids(*ids, node);
  if (const auto network = fields.find_object("network")) node.network = read_network(*network);
  return node;
}

CollectiveRecord read_collective(const Fields& fields) {
  CollectiveRecord record;
  fields.word("collective", {"all_reduce"});
  fields.word("dtype", {"float32", "float16", "int8"});
  record.nodes = fields.integer("nodes", 1, kMostGpus);
  record.gpus_per_node = fields.integer("gpus_per_node", 1, 1024);
  if (const auto env = fields.find_object("env"))
    for (const auto& [name, value] : env->text_pairs()) record.env[name] = value;
  record.nccl_version = fields.find_text("nccl_version");
  record.tool = fields.value<BenchTool>("tool");
  for (const Fields& row : fields.objects("rows"))
    record.rows.push_back({static_cast<Bytes>(row.number("bytes", 1, 1e15)),
                           row.number("time_us", 1e-3, 1e12) * 1e-6, row.find_flag("peak").value_or(false)});
  return record;
}

TrainingValue read_value(const Fields& fields) {
  TrainingValue value;
  value.nodes = fields.integer("nodes", 1, kMostGpus);
  value.gpus = fields.integer("gpus", 1, kMostGpus);
  value.accumulate = fields.find_integer("accumulate", 1, 1 << 20).value_or(1);
  value.link = fields.value("link", {LinkSetting::normal, LinkSetting::nvlink, LinkSetting::pcie,
                                     LinkSetting::no_p2p, LinkSetting::infiniband, LinkSetting::ethernet});
  value.samples_per_s = fields.number("samples_per_s", 1e-9, 1e15);
  value.anchor = fields.find_flag("anchor").value_or(false);
  value.batch_per_gpu = fields.find_integer("batch_per_gpu", 1, 1 << 30);
  if (const auto network = fields.find_object("network")) value.network = read_network(*network);
  if (fields.find_text("distribution")) value.distribution = read_distribution(fields);
  value.gpu_indices = fields.find_integers("gpu_indices", 0, kMostGpus);
  return value;
}

TrainingRecord read_training(const Fields& fields) {
  TrainingRecord record;
  record.model = fields.text("model");
  record.parameters = fields.find_number("parameters", 1, 1e15);
  record.gradient_bytes = find_gradient_bytes(fields);
  record.precision = fields.find_word("precision", {"fp32", "tf32", "amp-fp16", "fp16", "bf16"});
  record.optimizer = fields.find_text("optimizer");
  record.framework = fields.find_text("framework");
  record.batch_per_gpu = fields.find_integer("batch_per_gpu", 1, 1 << 30);
  record.sequence_length = fields.find_integer("sequence_length", 1, 1 << 30);
  record.distribution = read_distribution(fields);
  record.sample = fields.word(
      "sample", {"image", "sequence", "segment", "item", "molecule", "token", "mel-frame", "relative"});
  record.counts_samples =
      record.sample != "token" && record.sample != "mel-frame" && record.sample != "relative";
  fields.word("metric", {"samples_per_s"});
  record.overlap = fields.find_flag("overlap");
  record.xla = fields.find_flag("xla");
  if (const auto bytes = fields.find_number("bucket_bytes", 1, 1e15))
    record.bucket_bytes = static_cast<Bytes>(*bytes);
  for (const Fields& value : fields.objects("values")) record.values.push_back(read_value(value));
  return record;
}

Record read_record(const Fields& fields, const std::string& where) {
  Record record;
  record.where = where;
  record.kind = fields.value<RecordKind>("kind");
  record.id = fields.text("id");
  record.source = fields.find_text("source").value_or("");
  record.platform = fields.text("platform");
  record.group = fields.text("group");
  record.notes = fields.find_text("notes").value_or("");
  record.quality = fields.value<Quality>("quality");
  const auto machine = fields.find_object("machine");
  if (!machine) fields.fail("machine", "an object");
  record.node = read_node(*machine, where);
  take_processor(processor_in(record.notes), false, record.node);
  if (!record.node.pcie && !record.node.matrix) place_by_bus_ids(bus_ids_in(record.notes), record.node);
  record.node.name = record.platform;
  record.gpu = preset_id(fields, "gpu", find_gpu);
  record.node.gpu = record.gpu;
  if (record.kind == RecordKind::collective) {
    record.collective = read_collective(fields);
    if (!record.collective->nccl_version) record.collective->nccl_version = nccl_version_in(record.notes);
    record.node.gpus = record.collective->gpus_per_node;
  } else if (record.kind == RecordKind::training) {
    record.training = read_training(fields);
    if (!record.training->xla && record.notes.find("XLA") != std::string::npos)
      record.training->xla = record.notes.find("no XLA") == std::string::npos;
  } else {
    record.parallel = read_parallel(fields);
    record.node.gpus = record.parallel->gpus_per_node;
  }
  return record;
}

// A platform is a type of machine: where one record of it is silent, bus numbers in another tell its processor, and
// with as many GPUs its tree.
void learn_from_siblings(std::vector<Record>& records) {
  const auto told = [](const NodeSpec& node) { return node.pcie && !node.cpu_model.empty(); };
  std::vector<const Record*> siblings;
  for (const Record& record : records)
    if (told(record.node)) siblings.push_back(&record);
  for (Record& record : records) {
    NodeSpec& node = record.node;
    if (node.pcie || node.matrix || node.cpu) continue;
    for (const Record* other : siblings) {
      if (other->platform != record.platform || other->gpu != record.gpu) continue;
      node.cpu_model = other->node.cpu_model;
      node.pcie_gen = other->node.pcie_gen;
      if (other->node.gpus == node.gpus) node.pcie = other->node.pcie;
    }
  }
}

// One line of a file. Nothing: a value in it is not known, and `skipped` says so.
std::optional<Record> parse_line(const nlohmann::json& json, const std::string& place,
                                 std::vector<std::string>* skipped) {
  const Fields fields(json, place);
  const auto placed = [&](const std::string& what) {
    return what.starts_with(place) ? what : place + ": " + what;
  };
  try {
    return read_record(fields, place);
  } catch (const UnknownValue& error) {
    if (skipped == nullptr) throw ConfigError(placed(error.what()));
    skipped->push_back(fmt::format("{} ({})", placed(error.what()), fields.text("id")));
    return std::nullopt;
  } catch (const ConfigError& error) {
    throw ConfigError(placed(error.what()));
  }
}

nlohmann::json parse_json(std::string_view line, const std::string& place) {
  try {
    return nlohmann::json::parse(line);
  } catch (const nlohmann::json::parse_error& error) {
    throw ConfigError(
        fmt::format("{}: not JSON (at byte {}): one whole record a line is expected", place, error.byte));
  } catch (const nlohmann::json::out_of_range&) {
    throw ConfigError(place + ": a number in it is too large");
  }
}

}  // namespace

std::optional<int> find_gradient_bytes(const Fields& fields) {
  const auto type = fields.find_word("gradient_dtype", {"float32", "float16", "bfloat16"});
  return type ? std::optional(*type == "float32" ? 4 : 2) : std::nullopt;
}

std::vector<Record> parse_records(std::string_view text, std::string_view where,
                                  std::vector<std::string>* skipped) {
  std::vector<Record> records;
  std::set<std::string> ids;
  int line_number = 0;
  for (const std::string_view line : split(text, '\n')) {
    ++line_number;
    if (trim(line).empty()) continue;
    const std::string place = fmt::format("{} line {}", where, line_number);
    const nlohmann::json json = parse_json(line, place);
    auto record = parse_line(json, place, skipped);
    const std::string id = Fields(json, place).text("id");
    if (!ids.insert(id).second) throw ConfigError(fmt::format("{}: `id` {} was there before", place, id));
    if (record) records.push_back(*std::move(record));
  }
  learn_from_siblings(records);
  return records;
}

std::vector<Record> read_records(const std::filesystem::path& path, std::vector<std::string>* skipped) {
  return parse_records(read_file(path), path.filename().string(), skipped);
}

}  // namespace gradwire
