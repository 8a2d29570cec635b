// What Gradwire uses of the standard library and the one of emscripten 3.1.6 (LLVM 13) does not have yet: algorithms on
// ranges, bit_cast. Included before every file that is compiled for the page; goes when that library has them.
#pragma once

#include <algorithm>
#include <bit>
#include <functional>
#include <iterator>
#include <utility>

static_assert(_LIBCPP_VERSION < 15000, "this C++ library has these itself: remove web/wasm/library.h");

namespace std {

template <typename To, typename From>
constexpr To bit_cast(const From& from) noexcept {
  return __builtin_bit_cast(To, from);
}

}  // namespace std

namespace std::ranges {

template <typename Compare, typename Projection>
auto projected_compare(Compare compare, Projection projection) {
  return [=](const auto& a, const auto& b) {
    return std::invoke(compare, std::invoke(projection, a), std::invoke(projection, b));
  };
}

template <typename Range, typename T, typename Projection = std::identity>
auto find(Range&& range, const T& value, Projection projection = {}) {
  return std::find_if(std::begin(range), std::end(range),
                      [&](const auto& one) { return std::invoke(projection, one) == value; });
}

template <typename Range, typename Test>
auto find_if(Range&& range, Test test) {
  return std::find_if(std::begin(range), std::end(range), test);
}

template <typename Range, typename Test>
bool any_of(Range&& range, Test test) {
  return std::any_of(std::begin(range), std::end(range), test);
}

template <typename Range, typename Test>
bool all_of(Range&& range, Test test) {
  return std::all_of(std::begin(range), std::end(range),
                     [&](const auto& one) { return std::invoke(test, one); });
}

template <typename Range, typename Test>
bool none_of(Range&& range, Test test) {
  return std::none_of(std::begin(range), std::end(range), test);
}

template <typename Range, typename T>
auto count(Range&& range, const T& value) {
  return std::count(std::begin(range), std::end(range), value);
}

template <typename Range, typename Test>
auto count_if(Range&& range, Test test) {
  return std::count_if(std::begin(range), std::end(range), test);
}

template <typename Range, typename Out, typename Test>
auto copy_if(Range&& range, Out out, Test test) {
  return std::copy_if(std::begin(range), std::end(range), out, test);
}

template <typename Range, typename Compare = std::less<>, typename Projection = std::identity>
void sort(Range&& range, Compare compare = {}, Projection projection = {}) {
  std::sort(std::begin(range), std::end(range), projected_compare(compare, projection));
}

template <typename Range, typename Compare = std::less<>, typename Projection = std::identity>
void stable_sort(Range&& range, Compare compare = {}, Projection projection = {}) {
  std::stable_sort(std::begin(range), std::end(range), projected_compare(compare, projection));
}

template <typename Range, typename T, typename Compare = std::less<>, typename Projection = std::identity>
auto lower_bound(Range&& range, const T& value, Compare compare = {}, Projection projection = {}) {
  return std::lower_bound(std::begin(range), std::end(range), value, [&](const auto& one, const T& wanted) {
    return std::invoke(compare, std::invoke(projection, one), wanted);
  });
}

template <typename Range, typename Compare = std::less<>, typename Projection = std::identity>
auto min_element(Range&& range, Compare compare = {}, Projection projection = {}) {
  return std::min_element(std::begin(range), std::end(range), projected_compare(compare, projection));
}

template <typename Range, typename Compare = std::less<>, typename Projection = std::identity>
auto max_element(Range&& range, Compare compare = {}, Projection projection = {}) {
  return std::max_element(std::begin(range), std::end(range), projected_compare(compare, projection));
}

}  // namespace std::ranges
