// What one page shows, wherever it came from: the Report of a verb, timelines and machines to draw, and the question
// that a reader may change. The command embeds it in a page; the predictor in the page gives it for a changed question.
// docs/page.md describes the JSON. Values.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "report/report.h"

namespace gradwire {

struct DrawnSpan {
  std::int32_t lane = 0, kind = 0, name = 0;  // indices into the timeline's lanes, kinds and names
  std::int32_t step = 0;
  double begin_ns = 0, duration_ns = 0;
  double bytes = -1, ready_ns = -1;  // -1: it has none
};

struct DrawnTimeline {
  struct Lane {
    int rank = 0;
    std::string name;          // "compute", "communication", "stream 7"
    std::int64_t stream = -1;  // of a GPU
    bool operator==(const Lane&) const = default;
  };
  std::string name;
  bool predicted = false;  // else measured
  int world = 1;           // ranks of the run, of which some are drawn
  std::vector<Lane> lanes;
  std::vector<std::string> kinds, names;
  std::vector<DrawnSpan> spans;  // by lane and begin
};

struct DrawnTopology {
  struct Node {
    std::string id, kind, name;
    int host = 0;        // -1: of none
    std::string parent;  // empty: none
  };
  struct Link {
    std::string a, b, kind;
    double gbps = 0;
    double load = -1;  // share of its rate that an all-reduce of large buffers uses; -1: it carries nothing
    bool narrowest = false;
    std::string text;
  };
  std::string name;
  std::string narrowest;  // what holds up an all-reduce, as `compare` says it; empty: nothing does
  std::vector<Node> nodes;
  std::vector<Link> links;
};

struct PageData {
  std::string verb, command, title;
  Report report;
  std::vector<DrawnTimeline> timelines;
  std::vector<DrawnTopology> topologies;
  nlohmann::json question;  // null: there is nothing to change
};

// What a verb shows where no more than its report is drawn.
PageData plain_page(std::string verb, std::string title, Report report);

nlohmann::json page_json(const PageData&);
nlohmann::json block_json(const Block&);

// Spans as columns of numbers, small enough to stand in a page: each column is delta-coded (a value less the one before
// it), written little endian, deflated without a header, and spelt in base64. Pure.
nlohmann::json columns_json(std::span<const DrawnSpan>);

// Raw deflate (RFC 1951). By zlib in the command; stored as it is where there is no zlib.
std::string deflate_raw(std::string_view bytes);

std::string base64(std::string_view bytes);

}  // namespace gradwire
