#include "report/page/page_data.h"

#include <bit>
#include <cstring>
#include <limits>

#include "base/version.h"
#include "report/render.h"

namespace gradwire {
namespace {

using Json = nlohmann::json;

constexpr int kPageSchema = 1;

struct AsJson {
  Json operator()(const Title& title) const { return {{"kind", "title"}, {"text", title.text}}; }
  Json operator()(const Sentence& one) const { return {{"kind", "sentence"}, {"text", one.text}}; }
  Json operator()(const Gap&) const { return {{"kind", "gap"}}; }
  Json operator()(const Drawing& drawing) const { return {{"kind", "drawing"}, {"text", drawing.text}}; }
  Json operator()(const Table& table) const {
    return {{"kind", "table"}, {"rows", table.rows}, {"left", table.left}, {"prose_last", table.prose_last}};
  }
  Json operator()(const Grid& grid) const {
    return {{"kind", "grid"}, {"rows", grid.rows}, {"columns", grid.columns}, {"cells", grid.cells}};
  }

  Json operator()(const StackedBars& chart) const {
    Json parts = Json::array(), bars = Json::array();
    for (const auto& part : chart.parts)
      parts.push_back({{"name", part.name}, {"mark", part.mark}, {"in_legend", part.in_legend}});
    for (const auto& bar : chart.bars)
      bars.push_back({{"name", bar.name}, {"label", bar.label}, {"values", bar.values}});
    return {{"kind", "bars"}, {"parts", parts}, {"bars", bars}};
  }

  Json operator()(const Curves& curves) const {
    Json all = Json::array();
    for (const Series& series : curves.series) {
      Json points = Json::array();
      for (std::size_t i = 0; i < series.points.size(); ++i) {
        const auto [x, y] = series.points[i];
        points.push_back(
            {x, y, curves.format_x ? curves.format_x(x) : "", curves.format_y ? curves.format_y(y) : ""});
        if (i >= series.ranges.size()) continue;
        points.back().push_back(series.ranges[i].first);
        points.back().push_back(series.ranges[i].second);
      }
      all.push_back({{"name", series.name}, {"points", points}});
    }
    return {{"kind", "curves"}, {"title", curves.title}, {"x", curves.x}, {"y", curves.y}, {"series", all}};
  }
};

Json timeline_page_json(const DrawnTimeline& timeline) {
  Json lanes = Json::array();
  for (const auto& lane : timeline.lanes) lanes.push_back({{"rank", lane.rank}, {"name", lane.name}});
  return {{"name", timeline.name},          {"origin", timeline.predicted ? "predicted" : "measured"},
          {"world", timeline.world},        {"lanes", lanes},
          {"kinds", timeline.kinds},        {"names", timeline.names},
          {"count", timeline.spans.size()}, {"columns", columns_json(timeline.spans)}};
}

Json topology_page_json(const DrawnTopology& topology) {
  Json nodes = Json::array(), links = Json::array();
  for (const auto& node : topology.nodes) {
    nodes.push_back({{"id", node.id}, {"kind", node.kind}, {"name", node.name}, {"host", node.host}});
    if (!node.parent.empty()) nodes.back()["parent"] = node.parent;
  }
  for (const auto& link : topology.links) {
    links.push_back(
        {{"a", link.a}, {"b", link.b}, {"kind", link.kind}, {"gbps", link.gbps}, {"text", link.text}});
    if (link.load >= 0) links.back()["load"] = link.load;
    if (link.narrowest) links.back()["narrowest"] = true;
  }
  return {{"name", topology.name}, {"narrowest", topology.narrowest}, {"nodes", nodes}, {"links", links}};
}

static_assert(std::endian::native == std::endian::little, "columns are written as they lie in memory");

template <typename T>
void put_number(std::string& bytes, T value) {
  char raw[sizeof value];
  std::memcpy(raw, &value, sizeof value);
  bytes.append(raw, sizeof raw);
}

// Differences of 32-bit numbers may wrap around, and so does their sum.
std::string int_column(std::span<const DrawnSpan> spans, std::int32_t DrawnSpan::*member) {
  std::string bytes;
  std::uint32_t before = 0;
  for (const DrawnSpan& span : spans) {
    const auto value = static_cast<std::uint32_t>(span.*member);
    put_number(bytes, value - before);
    before = value;
  }
  return base64(deflate_raw(bytes));
}

// Whole numbers below 2^53: sums of their differences are exact.
std::string double_column(std::span<const DrawnSpan> spans, double DrawnSpan::*member) {
  std::string bytes;
  double before = 0;
  for (const DrawnSpan& span : spans) {
    put_number(bytes, span.*member - before);
    before = span.*member;
  }
  return base64(deflate_raw(bytes));
}

// Most spans are short, and half the bytes are enough for them.
std::string duration_column(std::span<const DrawnSpan> spans) {
  std::vector<DrawnSpan> shorter;
  for (const DrawnSpan& span : spans) {
    if (span.duration_ns > std::numeric_limits<std::int32_t>::max())
      return double_column(spans, &DrawnSpan::duration_ns);
    shorter.push_back({.lane = static_cast<std::int32_t>(span.duration_ns)});
  }
  return int_column(shorter, &DrawnSpan::lane);
}

}  // namespace

Json block_json(const Block& block) { return std::visit(AsJson{}, block); }

PageData plain_page(std::string verb, std::string title, Report report) {
  PageData page;
  page.verb = std::move(verb);
  page.title = std::move(title);
  page.report = std::move(report);
  return page;
}

Json page_json(const PageData& page) {
  Json blocks = Json::array(), timelines = Json::array(), topologies = Json::array();
  for (const Block& block : page.report.blocks) blocks.push_back(block_json(block));
  for (const auto& timeline : page.timelines) timelines.push_back(timeline_page_json(timeline));
  for (const auto& topology : page.topologies) topologies.push_back(topology_page_json(topology));
  Json result = {{"schema", kPageSchema},    {"verb", page.verb},      {"command", page.command},
                 {"version", version()},     {"title", page.title},    {"blocks", blocks},
                 {"data", page.report.data}, {"timelines", timelines}, {"topologies", topologies}};
  if (!page.question.is_null()) result["question"] = page.question;
  return rounded(std::move(result));
}

std::string base64(std::string_view bytes) {
  constexpr char kDigits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const auto byte = [&](std::size_t k) -> unsigned {
      return i + k < bytes.size() ? static_cast<unsigned char>(bytes[i + k]) : 0U;
    };
    const unsigned group = byte(0) << 16 | byte(1) << 8 | byte(2);
    const std::size_t there = bytes.size() - i;
    text += kDigits[group >> 18];
    text += kDigits[group >> 12 & 63];
    text += there > 1 ? kDigits[group >> 6 & 63] : '=';
    text += there > 2 ? kDigits[group & 63] : '=';
  }
  return text;
}

nlohmann::json columns_json(std::span<const DrawnSpan> spans) {
  return {{"lane", int_column(spans, &DrawnSpan::lane)},
          {"kind", int_column(spans, &DrawnSpan::kind)},
          {"name", int_column(spans, &DrawnSpan::name)},
          {"step", int_column(spans, &DrawnSpan::step)},
          {"begin_ns", double_column(spans, &DrawnSpan::begin_ns)},
          {"duration_ns", duration_column(spans)},
          {"bytes", double_column(spans, &DrawnSpan::bytes)},
          {"ready_ns", double_column(spans, &DrawnSpan::ready_ns)}};
}

}  // namespace gradwire
