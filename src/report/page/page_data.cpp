#include "report/page/page_data.h"

#include "base/version.h"
#include "report/page/columns.h"
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

}  // namespace

Json block_json(const Block& block) { return std::visit(AsJson{}, block); }

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

}  // namespace gradwire
