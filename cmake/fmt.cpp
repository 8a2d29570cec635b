// The functions of fmt, compiled once: Debian has them in a shared library only, and a program that is to run where that is
// not installed would otherwise compile them with each of its files.
#include <fmt/format-inl.h>

FMT_BEGIN_NAMESPACE
namespace detail {

template auto dragonbox::to_decimal(float) noexcept -> dragonbox::decimal_fp<float>;
template auto dragonbox::to_decimal(double) noexcept -> dragonbox::decimal_fp<double>;
template auto thousands_sep_impl(locale_ref) -> thousands_sep_result<char>;
template auto decimal_point_impl(locale_ref) -> char;
#if FMT_VERSION < 110000
template locale_ref::locale_ref(const std::locale&);
template auto locale_ref::get<std::locale>() const -> std::locale;
template void buffer<char>::append(const char*, const char*);
#endif
#if FMT_VERSION >= 100000 && FMT_VERSION < 110000
template void vformat_to(buffer<char>&, string_view, vformat_args<>::type, locale_ref);
#elif FMT_VERSION < 100000
template void vformat_to(buffer<char>&, string_view, basic_format_args<FMT_BUFFER_CONTEXT(char)>, locale_ref);
#endif

}  // namespace detail
FMT_END_NAMESPACE
