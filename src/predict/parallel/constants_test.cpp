// What ships against what it was made from.
#include "predict/parallel/constants.h"

#include <gtest/gtest.h>

#include <cmath>

#include "predict/parallel/fit.h"
#include "predict/parallel/validation.h"
#include "predict/workload/catalog.h"

namespace gradwire {
namespace {

TEST(ParallelConstants, ship_as_the_fit_of_the_runs_that_are_carried) {
  const auto cases = parallel_cases(built_in_parallel_records());
  const auto known = learnable(cases.cases);
  const auto& model = default_parallel_model();
  const auto fit = fit_parallel(known, model, model.prior_values(), 25);
  for (int i = 0; i < kParallelConstants; ++i)
    EXPECT_NEAR(std::log(fit.values[static_cast<std::size_t>(i)] / model.values[static_cast<std::size_t>(i)]),
                0, 0.05)
        << name_of(static_cast<ParallelConstant>(i)) << " of\n"
        << parallel_yaml(fit, model);
}

TEST(ParallelConstants, follow_a_run_that_was_measured_as_far_as_they_are_uncertain) {
  const auto cases = parallel_cases(built_in_parallel_records());
  const auto fit =
      fit_parallel(learnable(cases.cases), default_parallel_model(), default_parallel_model().values, 2);
  auto slow = cases.cases.front();
  const Seconds predicted = price_plan(slow.problem, fit.values).total();
  slow.measured = predicted * 1.5;
  EXPECT_GT(step_given(slow, slow, fit), predicted * 1.3);
  EXPECT_LT(step_given(slow, slow, fit), predicted * 1.5);
  slow.quality = Quality::weak;
  EXPECT_LT(step_given(slow, slow, fit), predicted * 1.4);
}

TEST(TransformerSizesOf, have_the_parameters_of_the_model_of_that_name) {
  for (const auto& model : all_models()) {
    const auto shape = find_transformer(model.name);
    if (!shape) continue;
    // Norms of heads, poolers and tables of types are left out of a shape: a thousandth at most.
    EXPECT_NEAR(parameter_count(*shape) / double(model.parameters), 1, 6e-3) << model.name;
    EXPECT_NO_THROW(check_sizes(*shape));
  }
}

TEST(TransformerSizesOf, count_what_a_token_takes_of_a_mixture_of_experts) {
  // Mixtral 8x7B: 46.7 billion, of which a token uses 12.9 (Jiang et al. 2024).
  EXPECT_NEAR(active_parameter_count(transformer_sizes("mixtral-8x7b")) / 12.9e9, 1, 0.01);
  EXPECT_NEAR(active_parameter_count(transformer_sizes("qwen3-235b-a22b")) / 22e9, 1, 0.02);
  EXPECT_EQ(active_parameter_count(transformer_sizes("llama-7b")),
            parameter_count(transformer_sizes("llama-7b")));
}

}  // namespace
}  // namespace gradwire
