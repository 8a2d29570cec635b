#include <fmt/format.h>

#include "predict/workload/builders.h"

// Inception-v3 (Szegedy et al. 2015) as torchvision builds it without the auxiliary classifier, and
// Inception-v4 (Szegedy et al. 2016). Every convolution is followed by batch normalisation.
namespace gradwire {
namespace {

// A row of convolutions on one branch: channels and windows.
struct Step {
  int channels;
  Window window;
};
using Branch = std::vector<Step>;

Window tall(int size) { return {size, 1, 1, size / 2, 0}; }
Window wide(int size) { return {1, size, 1, 0, size / 2}; }
Window same(int size) { return square(size, 1, size / 2); }

ImageShape walk(Graph& graph, const std::string& name, ImageShape shape, const Branch& branch) {
  int i = 0;
  for (const auto& step : branch)
    shape = graph.conv_norm(fmt::format("{}.{}", name, i++), shape, step.channels, step.window);
  return shape;
}

// Branches side by side, their channels put together; `pooled` more channels come from a pooling branch.
ImageShape fork(Graph& graph, const std::string& name, ImageShape in, const std::vector<Branch>& branches,
                int pooled = 0) {
  ImageShape out{pooled, 0, 0};
  int i = 0;
  for (const auto& branch : branches) {
    const auto end = walk(graph, fmt::format("{}.b{}", name, i++), in, branch);
    out = {out.channels + end.channels, end.height, end.width};
  }
  return out;
}

ImageShape v3_a(Graph& graph, const std::string& name, ImageShape in, int pool) {
  return fork(graph, name, in,
              {{{64, same(1)}},
               {{48, same(1)}, {64, same(5)}},
               {{64, same(1)}, {96, same(3)}, {96, same(3)}},
               {{pool, same(1)}}});
}

ImageShape v3_c(Graph& graph, const std::string& name, ImageShape in, int c) {
  return fork(graph, name, in,
              {{{192, same(1)}},
               {{c, same(1)}, {c, wide(7)}, {192, tall(7)}},
               {{c, same(1)}, {c, tall(7)}, {c, wide(7)}, {c, tall(7)}, {192, wide(7)}},
               {{192, same(1)}}});
}

// The last blocks: beside plain branches two whose ends are both wide and tall.
ImageShape widened(Graph& graph, const std::string& name, ImageShape in, const std::vector<Branch>& plain,
                   const Branch& right, int each) {
  const auto out = fork(graph, name, in, plain, 4 * each);
  for (const auto& half :
       {walk(graph, name + ".l", in, {{384, same(1)}}), walk(graph, name + ".r", in, right)}) {
    walk(graph, name + ".wide", half, {{each, wide(3)}});
    walk(graph, name + ".tall", half, {{each, tall(3)}});
  }
  return out;
}

ImageShape v4_a(Graph& graph, const std::string& name, ImageShape in) {
  return fork(graph, name, in,
              {{{96, same(1)}},
               {{64, same(1)}, {96, same(3)}},
               {{64, same(1)}, {96, same(3)}, {96, same(3)}},
               {{96, same(1)}}});
}

ImageShape v4_b(Graph& graph, const std::string& name, ImageShape in) {
  return fork(graph, name, in,
              {{{384, same(1)}},
               {{192, same(1)}, {224, wide(7)}, {256, tall(7)}},
               {{192, same(1)}, {192, tall(7)}, {224, wide(7)}, {224, tall(7)}, {256, wide(7)}},
               {{128, same(1)}}});
}

ImageShape first_stem(Graph& graph) {
  return walk(graph, "stem1", ImageShape{3, 299, 299}, {{32, square(3, 2)}, {32, square(3)}, {64, same(3)}});
}

ImageShape v4_stem(Graph& graph) {
  auto out = first_stem(graph);
  out = fork(graph, "stem2", out, {{{96, square(3, 2)}}}, 64);
  out = fork(
      graph, "stem3", out,
      {{{64, same(1)}, {96, square(3)}}, {{64, same(1)}, {64, wide(7)}, {64, tall(7)}, {96, square(3)}}});
  return fork(graph, "stem4", out, {{{192, square(3, 2)}}}, 192);
}

std::vector<Layer> with_classifier(Graph graph, ImageShape out) {
  graph.pool("avgpool", out, square(out.height));
  graph.linear("fc", out.channels, 1000);
  return graph.layers;
}

}  // namespace

std::vector<Layer> inception3() {
  Graph graph;
  auto out = first_stem(graph);
  out = graph.pool("pool1", out, square(3, 2));
  out = walk(graph, "stem2", out, {{80, square(1)}, {192, square(3)}});
  out = graph.pool("pool2", out, square(3, 2));
  out = v3_a(graph, "mixed5b", out, 32);
  out = v3_a(graph, "mixed5c", out, 64);
  out = v3_a(graph, "mixed5d", out, 64);
  out = fork(graph, "mixed6a", out,
             {{{384, square(3, 2)}}, {{64, same(1)}, {96, same(3)}, {96, square(3, 2)}}}, out.channels);
  int number = 0;
  for (const int c : {128, 160, 160, 192})
    out = v3_c(graph, fmt::format("mixed6{}", "bcde"[number++]), out, c);
  out = fork(graph, "mixed7a", out,
             {{{192, same(1)}, {320, square(3, 2)}},
              {{192, same(1)}, {192, wide(7)}, {192, tall(7)}, {192, square(3, 2)}}},
             out.channels);
  for (const auto* name : {"mixed7b", "mixed7c"})
    out = widened(graph, name, out, {{{320, same(1)}}, {{192, same(1)}}}, {{448, same(1)}, {384, same(3)}},
                  384);
  return with_classifier(graph, out);
}

std::vector<Layer> inception4() {
  Graph graph;
  auto out = v4_stem(graph);
  for (int i = 0; i < 4; ++i) out = v4_a(graph, fmt::format("a{}", i), out);
  out = fork(graph, "reduce_a", out,
             {{{384, square(3, 2)}}, {{192, same(1)}, {224, same(3)}, {256, square(3, 2)}}}, out.channels);
  for (int i = 0; i < 7; ++i) out = v4_b(graph, fmt::format("b{}", i), out);
  out = fork(graph, "reduce_b", out,
             {{{192, same(1)}, {192, square(3, 2)}},
              {{256, same(1)}, {256, wide(7)}, {320, tall(7)}, {320, square(3, 2)}}},
             out.channels);
  for (int i = 0; i < 3; ++i)
    out = widened(graph, fmt::format("c{}", i), out, {{{256, same(1)}}, {{256, same(1)}}},
                  {{384, same(1)}, {448, tall(3)}, {512, wide(3)}}, 256);
  return with_classifier(graph, out);
}

}  // namespace gradwire
