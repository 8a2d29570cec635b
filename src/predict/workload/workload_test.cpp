#include "predict/workload/workload.h"

#include <gmock/gmock.h>

#include <algorithm>

#include "base/error.h"
#include "predict/workload/catalog.h"
#include "predict/workload/transformer.h"

namespace gradwire {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

class BuiltIn : public ::testing::TestWithParam<ModelEntry> {};

TEST_P(BuiltIn, has_as_many_parameters_as_published) {
  EXPECT_EQ(parameter_count(build_model(GetParam().name)), GetParam().parameters);
}

TEST_P(BuiltIn, is_a_model_that_can_be_trained) {
  const auto workload = build_model(GetParam().name);
  EXPECT_NO_THROW(check_workload(workload));
  EXPECT_GT(forward_flops(workload), 0);
  EXPECT_EQ(workload.family, GetParam().family);
}

INSTANTIATE_TEST_SUITE_P(Models, BuiltIn, ::testing::ValuesIn(all_models()), [](const auto& model) {
  std::string name(model.param.name);
  std::replace(name.begin(), name.end(), '-', '_');
  std::replace(name.begin(), name.end(), '.', '_');
  return name;
});

// Published multiplications and additions of one image, forward: torchvision's table gives GFLOPS counted as
// multiply-adds: 4.09, 15.47, 0.71, 5.71.
TEST(Workload, does_the_work_that_is_published) {
  EXPECT_NEAR(forward_flops(build_model("resnet50")) / 2e9, 4.09, 0.25);
  EXPECT_NEAR(forward_flops(build_model("vgg16")) / 2e9, 15.47, 0.2);
  EXPECT_NEAR(forward_flops(build_model("alexnet")) / 2e9, 0.71, 0.02);
  EXPECT_NEAR(forward_flops(build_model("inception3")) / 2e9, 5.71, 0.3);
}

// 6 flops a parameter and token for forward and backward together: 2 forward (Kaplan et al. 2020).
TEST(Workload, llama_does_two_flops_a_parameter_and_token) {
  const auto llama = build_model("llama-7b");
  EXPECT_NEAR(forward_flops(llama) / (2.0 * double(parameter_count(llama)) * llama.sequence), 1.0, 0.1);
}

TEST(Workload, counts_tensors_as_torchvision_registers_them) {
  EXPECT_EQ(tensor_count(build_model("resnet50")), 161);
  EXPECT_EQ(tensor_count(build_model("gpt2")), 148);
  EXPECT_EQ(tensor_count(build_model("vgg16")), 32);
}

TEST(Workload, tied_embedding_is_registered_first) {
  const auto gpt2 = build_model("gpt2");
  EXPECT_EQ(gpt2.layers.front().tensors.front(), 50257u * 768u);
  EXPECT_TRUE(gpt2.layers.back().tensors.empty());
}

TEST(Workload, sequence_length_scales_the_work_and_not_the_parameters) {
  const auto half = build_model("gpt2", 512), full = build_model("gpt2", 1024);
  EXPECT_EQ(parameter_count(half), parameter_count(full));
  EXPECT_GT(forward_flops(full), 2 * forward_flops(half));
}

TEST(Workload, an_unknown_name_is_answered_with_near_ones) {
  EXPECT_THAT([] { build_model("resnet51"); },
              ThrowsMessage<ConfigError>(HasSubstr("'resnet51' is not a model (did you mean resnet50?)")));
}

TEST(Workload, a_sequence_the_model_can_not_take_is_refused) {
  EXPECT_EQ(load_model("gpt2", 1024).sequence, 1024);
  EXPECT_THAT([] { load_model("gpt2", 1025); },
              ThrowsMessage<ConfigError>(HasSubstr("gpt2 takes 1 to 1024")));
  EXPECT_THAT([] { load_model("resnet50", 128); },
              ThrowsMessage<ConfigError>(HasSubstr("resnet50 takes images, which have none; leave it out")));
  EXPECT_EQ(load_model("transformer-xl-base", 5000).sequence, 5000);
}

TEST(StandInModel, has_exactly_the_parameters_asked_for) {
  for (const std::uint64_t parameters : {1'000ull, 19'341'616ull, 333'000'000ull, 2'567'463'684ull})
    for (const auto family : {Family::cnn, Family::transformer, Family::other})
      EXPECT_EQ(parameter_count(build_stand_in({"x", parameters, family, "item", {}, {}})), parameters);
}

TEST(StandInModel, guesses_families_from_names) {
  EXPECT_EQ(guess_family("efficientnet-b4", "image"), Family::cnn);
  EXPECT_EQ(guess_family("roberta-base", "sequence"), Family::transformer);
  EXPECT_EQ(guess_family("jasper", "sequence"), Family::other);
  EXPECT_EQ(guess_family("resnet50", "image"), Family::cnn);
}

TEST(ModelYaml, reads_layers_and_repeats) {
  const auto workload = parse_model(R"(
name: two
batch: 8
layers:
  - {name: a, kind: convolution, flops: 1e6, tensors: [100, 10], repeat: 3}
  - {name: b, tensors: [50]}
)",
                                    "two.yaml");
  EXPECT_EQ(workload.layers.size(), 4u);
  EXPECT_EQ(parameter_count(workload), 380u);
  EXPECT_EQ(workload.batch, 8);
}

TEST(ModelYaml, a_size_alone_makes_a_stand_in) {
  const auto workload = parse_model("{name: mine, parameters: 124e6, family: transformer}", "mine.yaml");
  EXPECT_EQ(parameter_count(workload), 124'000'000u);
  EXPECT_EQ(workload.family, Family::transformer);
}

TEST(ModelYaml, a_transformer_of_a_size_begins_as_the_built_in_one_of_that_size) {
  const auto workload = parse_model("{name: mine, parameters: 770e6, family: transformer}", "mine.yaml");
  EXPECT_EQ(workload.sample, "sequence");
  EXPECT_EQ(workload.sequence, 1024);
  EXPECT_EQ(workload.batch, 2);
  EXPECT_EQ(workload.optimizer, "adam");
  EXPECT_NEAR(forward_flops(workload) / forward_flops(build_model("gpt2-large")), 770.0 / 774, 0.01);
  EXPECT_THAT(workload.title, HasSubstr("scaled from gpt2-large"));
  const auto other =
      parse_model("{parameters: 770e6, family: transformer, batch: 7, sample: image}", "mine.yaml");
  EXPECT_EQ(other.sample, "image");
  EXPECT_EQ(other.batch, 7);
}

TEST(ModelYaml, a_sequence_is_for_models_known_by_their_size) {
  const auto flops = [](int sequence) {
    return forward_flops(parse_model("{parameters: 770e6, family: transformer}", "m.yaml", sequence));
  };
  EXPECT_NEAR(flops(1024) / flops(512), 2, 0.2);
  EXPECT_GT(flops(8192), flops(1024)) << "longer than gpt2-large takes";
  EXPECT_THAT([] { parse_model("{parameters: 25e6, family: cnn}", "m.yaml", 512); },
              ThrowsMessage<ConfigError>(HasSubstr("takes images, which have none")));
  EXPECT_THAT(
      [] { parse_model("layers: [{tensors: [50]}]", "m.yaml", 512); },
      ThrowsMessage<ConfigError>(HasSubstr("the layers of m.yaml say what one of its samples costs")));
}

TEST(ModelYaml, says_what_is_wrong_and_where) {
  const auto fails = [](const char* yaml, const char* text) {
    EXPECT_THAT([&] { parse_model(yaml, "m.yaml"); }, ThrowsMessage<ConfigError>(HasSubstr(text))) << yaml;
  };
  fails("[1, 2]", "m.yaml: expected keys such as 'name' and 'layers'");
  fails("layers: [{tensors: [1", "m.yaml line 1");
  EXPECT_THAT(
      [] {
        parse_model(std::string("\x7f"
                                "ELF\0",
                                5),
                    "m.yaml");
      },
      ThrowsMessage<ConfigError>(HasSubstr("m.yaml: this is not YAML but a binary file")));
  fails("layres: [{tensors: [1]}]", "m.yaml line 1: there is no 'layres' here (did you mean layers?)");
  fails("layers: [{flop: 3, tensors: [1]}]", "there is no 'flop' here (did you mean flops?)");
  fails("batch: 1\nbatch: 2\nlayers: [{tensors: [1]}]", "'batch' is there twice");
  fails("parameters: 10\nlayers: [{tensors: [5]}]",
        "'parameters: 10' but the layers have 5: are some missing?");
  fails("layers: []", "'layers' is a list of at least one layer");
  fails("layers: [3]", "m.yaml: line 1: a layer is a map of keys");
  fails("layers: [{flops: fast}]", "m.yaml: line 1: 'flops' has a value of the wrong type");
  fails("layers: [{kind: magic, tensors: [1]}]", "'magic' is not a kind of layer");
  fails("layers: [{tensors: [1e300]}]", "a tensor of 1e+300 elements");
  fails("layers: [{tensors: [-1]}]", "a tensor of -1 elements");
  fails("layers: [{flops: .nan, tensors: [1]}]", "flops is nan: write a number from 0 to 1e15");
  fails("layers: [{tensors: [1], repeat: 1000000000}]", "'repeat: 1000000000' is not 1 to 10000");
  fails("layers: [{flops: 1}]", "has no parameters: nothing to train");
  fails("{layers: [{tensors: [1]}], batch: 0}", "batch is 0: write 1 or more");
  fails("{layers: [{tensors: [1]}], family: big}", "'family: big' is none of cnn, transformer, other");
  fails("{parameters: 3, family: cnn}", "'parameters' is a number from 1000 to 1e14");
  fails("name: x", "needs 'layers', or 'parameters' and 'family'");
}

constexpr const char* kByItsSizes = R"(
name: mine
sequence: 1024
transformer: {layers: 48, hidden: 1600, heads: 25, vocab: 50257, positions: 1024}
)";

TEST(ModelFile, of_a_transformer_by_its_sizes_is_that_transformer) {
  const auto mine = parse_model(kByItsSizes, "mine.yaml"), known = build_model("gpt2-xl");
  EXPECT_EQ(parameter_count(mine), parameter_count(known));
  EXPECT_EQ(mine.layers.size(), known.layers.size());
  EXPECT_EQ(mine.family, Family::transformer);
  EXPECT_EQ(mine.sample, "sequence");
  EXPECT_EQ(parse_model(kByItsSizes, "mine.yaml", 256).sequence, 256);
  auto sizes = parse_transformer(kByItsSizes, "mine.yaml");
  sizes.name = "gpt2-xl";
  EXPECT_EQ(sizes, transformer_sizes("gpt2-xl"));
  EXPECT_EQ(parse_transformer(kByItsSizes, "mine.yaml", 256).sequence, 256);
}

TEST(ModelFile, of_a_gated_transformer_may_share_its_embedding_with_its_output) {
  const char* shared =
      "{sequence: 64, transformer: {layers: 2, hidden: 64, heads: 4, vocab: 1000, mlp_matrices: 3}}";
  const char* apart =
      "{sequence: 64, transformer: {layers: 2, hidden: 64, heads: 4, vocab: 1000, mlp_matrices: 3, tied: "
      "false}}";
  EXPECT_EQ(parameter_count(parse_model(apart, "m.yaml")) - parameter_count(parse_model(shared, "m.yaml")),
            64000);
}

TEST(ModelFile, that_can_not_be_cut_says_what_to_write) {
  const auto fails = [](const char* yaml, const char* text) {
    EXPECT_THAT([&] { parse_transformer(yaml, "m.yaml"); }, ThrowsMessage<ConfigError>(HasSubstr(text)))
        << yaml;
  };
  fails("{layers: [{tensors: [1]}]}", "write 'sequence: 1024' and 'transformer: {layers: 24, hidden: 1024");
  fails("{transformer: {layers: 2}}", "'sequence' is the tokens of a sample");
  fails("{sequence: 8, transformer: {layers: 2, hidden: 8}}", "'heads' is missing");
  fails("{sequence: 8, transformer: {layers: 2, hidden: 10, heads: 4, vocab: 9}}", "a divisor of 'hidden'");
  fails("{sequence: 8, transformer: {layers: 1.5, hidden: 8, heads: 2, vocab: 9}}", "layers is '1.5'");
  fails("{sequence: 8, transformer: {layers: 2, hiden: 10}}", "did you mean hidden?");
  fails("{sequence: 8, layers: [{tensors: [1]}], transformer: {layers: 2}}", "not both");
}

TEST(TransformerSizesOf, say_which_models_can_not_be_cut) {
  EXPECT_THROW(transformer_sizes("resnet50"), ConfigError);
  EXPECT_THROW(transformer_sizes("lama-7b"), ConfigError);
  EXPECT_THROW(transformer_sizes("gpt3-175b", 4096), ConfigError);
}

}  // namespace
}  // namespace gradwire
