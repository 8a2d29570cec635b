#include "report/terminal.h"

#include <fmt/format.h>

#include <algorithm>

namespace gradwire {
namespace {

using TextRow = std::vector<std::string>;

std::string padded(const std::string& cell, std::size_t width, bool flush_left) {
  const std::size_t used = display_width(cell);
  const std::string blanks(width > used ? width - used : 0, ' ');
  return flush_left ? cell + blanks : blanks + cell;
}

void cut_trailing_blanks(std::string& line) {
  while (!line.empty() && line.back() == ' ') line.pop_back();
}

std::vector<std::size_t> widths_of(const std::vector<TextRow>& rows) {
  std::vector<std::size_t> widths;
  for (const TextRow& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], display_width(row[i]));
  }
  return widths;
}

}  // namespace

std::string wrapped(std::string_view text, std::size_t indent) {
  return wrap(text, kTerminalWidth, std::string(indent, ' ')) + '\n';
}

std::string table_text(const Table& table) {
  const std::vector<std::size_t> widths = widths_of(table.rows);
  std::string text;
  for (const TextRow& row : table.rows) {
    std::string line;
    std::size_t column = 0;  // where the last cell begins
    for (std::size_t i = 0; i < row.size(); ++i) {
      if (i > 0) line += "  ";
      column = display_width(line);
      const bool last = table.prose_last && i + 1 == widths.size();
      line += padded(row[i], last ? 0 : widths[i], last || i < table.left);
    }
    cut_trailing_blanks(line);
    text += table.prose_last ? wrapped(line, column) : line + "\n";
  }
  return text;
}

namespace {

struct GridWidths {
  std::size_t head = 0, column = 4;
};

GridWidths grid_widths(const Grid& grid) {
  GridWidths widths;
  for (const std::string& name : grid.rows) widths.head = std::max(widths.head, name.size());
  for (const std::string& name : grid.columns) widths.column = std::max(widths.column, name.size());
  for (const TextRow& row : grid.cells)
    for (const std::string& cell : row) widths.column = std::max(widths.column, display_width(cell));
  return widths;
}

}  // namespace

std::size_t grid_width(const Grid& grid) {
  const GridWidths widths = grid_widths(grid);
  return 2 + widths.head + grid.columns.size() * (widths.column + 1);
}

std::string grid_text(const Grid& grid) {
  const auto [head, column] = grid_widths(grid);
  const std::size_t per_block = std::max<std::size_t>(1, (kTerminalWidth - 2 - head) / (column + 1));
  std::string text;
  for (std::size_t begin = 0; begin < grid.columns.size(); begin += per_block) {
    const std::size_t end = std::min(grid.columns.size(), begin + per_block);
    if (begin > 0) text += "\n";
    for (std::size_t row = 0; row <= grid.rows.size(); ++row) {
      std::string line = "  ";
      line += padded(row == 0 ? "" : grid.rows[row - 1], head, true);
      for (std::size_t i = begin; i < end; ++i) {
        line += ' ';
        line += padded(row == 0 ? grid.columns[i] : grid.cells[row - 1][i], column, false);
      }
      cut_trailing_blanks(line);
      text += line + "\n";
    }
  }
  return text;
}

}  // namespace gradwire
