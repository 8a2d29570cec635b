// What a verb found, before anybody decided how it looks: blocks in reading order for people, and one JSON value for
// programs. A verb makes one Report; render.h shows it. Nothing here knows of terminals or pages.
//
// Texts are whole sentences without line ends; whoever shows them wraps them.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace gradwire {

struct Title {  // of the blocks up to the next one
  std::string text;
};

struct Sentence {
  std::string text;
  std::string indent = "", hanging = "";  // before the first line, and before the others
};

struct Gap {};  // what follows is another matter

// The first row is the heading. `left` columns are flush left, the others right.
struct Table {
  std::vector<std::vector<std::string>> rows;
  std::size_t left = 1;
  bool prose_last = false;  // the last column is flush left and may run over several lines
};

// A square or oblong of short cells under names: paths or rates between devices.
struct Grid {
  std::vector<std::string> rows, columns;
  std::vector<std::vector<std::string>> cells;  // [row][column]
};

// Bars of the same parts beside each other, in one scale.
struct StackedBars {
  struct Part {
    std::string mark;  // what a terminal draws it with
    std::string name;
    bool in_legend = true;
  };
  struct Bar {
    std::string name, label;
    std::vector<double> values;  // one a part
  };
  std::vector<Part> parts;
  std::vector<Bar> bars;
  std::size_t name_width = 0;
};

struct Series {
  std::string name;
  std::vector<std::pair<double, double>> points;       // x and y above 0; others are left out
  std::vector<std::pair<double, double>> ranges = {};  // of y, one a point; empty: it has none
};

// Several series on logarithmic axes.
struct Curves {
  std::string title;
  std::vector<Series> series;
  std::string (*format_x)(double) = nullptr;
  std::string (*format_y)(double) = nullptr;
  std::string x, y;  // what the axes are, for those who draw them
};

struct Drawing {  // lines as they are: a tree of devices
  std::string text;
};

using Block = std::variant<Title, Sentence, Gap, Table, Grid, StackedBars, Curves, Drawing>;

struct Report {
  std::vector<Block> blocks;
  nlohmann::json data;  // its names are the contract of docs/command-line.md

  template <typename... Blocks>
  void add(Blocks... more) {
    (blocks.emplace_back(std::move(more)), ...);
  }
  void append(Report other);  // its blocks; its data stays apart
};

}  // namespace gradwire
