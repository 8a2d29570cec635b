#include "report/render.h"

#include <fmt/format.h>

#include <cmath>
#include <cstdlib>

#include "base/text.h"
#include "report/terminal.h"

namespace gradwire {
namespace {

struct AsText {
  std::string operator()(const Title& title) const { return wrapped(title.text, 2); }
  std::string operator()(const Sentence& one) const {
    return wrap(one.indent + one.text, kTerminalWidth, one.hanging) + "\n";
  }
  std::string operator()(const Gap&) const { return "\n"; }
  std::string operator()(const Table& table) const { return table_text(table); }
  std::string operator()(const Grid& grid) const { return grid_text(grid); }
  std::string operator()(const StackedBars& bars) const { return draw_bars(bars); }
  std::string operator()(const Curves& curves) const { return draw_curves(curves); }
  std::string operator()(const Drawing& drawing) const { return drawing.text; }
};

}  // namespace

void Report::append(Report other) {
  for (Block& block : other.blocks) blocks.push_back(std::move(block));
}

std::string to_text(const Block& block) { return std::visit(AsText{}, block); }

std::string to_text(const Report& report) {
  std::string text;
  for (const Block& block : report.blocks) text += to_text(block);
  return printable(text, Lines::keep);  // names come from files
}

nlohmann::json rounded(nlohmann::json value) {
  if (value.is_structured()) {
    for (auto& item : value) item = rounded(std::move(item));
  } else if (value.is_number_float() && std::isfinite(value.get<double>())) {
    value = std::strtod(fmt::format("{:.9g}", value.get<double>()).c_str(), nullptr);
  }
  return value;
}

// ASCII alone: what acts on a terminal is escaped, and what is no UTF-8 replaced.
std::string to_json(const Report& report) {
  return rounded(report.data).dump(2, ' ', true, nlohmann::json::error_handler_t::replace) + "\n";
}

void show(const Report& report, bool json) { fmt::print("{}", json ? to_json(report) : to_text(report)); }

}  // namespace gradwire
