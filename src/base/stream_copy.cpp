#include "base/stream_copy.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

#if defined(__x86_64__)
#include <emmintrin.h>
#endif

namespace gradwire {

#if defined(__x86_64__)

void stream_copy(std::byte* to, const std::byte* from, std::size_t bytes) {
  constexpr std::size_t kLine = 64, kWord = sizeof(__m128i);
  const std::size_t head = std::min(bytes, (kLine - reinterpret_cast<std::uintptr_t>(to) % kLine) % kLine);
  if (head != 0) std::memcpy(to, from, head);
  std::size_t at = head;
  for (; at + kLine <= bytes; at += kLine) {
    __m128i words[kLine / kWord];
    for (std::size_t i = 0; i < kLine / kWord; ++i)
      words[i] = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + at + i * kWord));
    for (std::size_t i = 0; i < kLine / kWord; ++i)
      _mm_stream_si128(reinterpret_cast<__m128i*>(to + at + i * kWord), words[i]);
  }
  if (at < bytes) std::memcpy(to + at, from + at, bytes - at);
  _mm_sfence();  // streaming stores are not ordered by a release store
}

#else

void stream_copy(std::byte* to, const std::byte* from, std::size_t bytes) {
  if (bytes != 0) std::memcpy(to, from, bytes);
}

#endif

}  // namespace gradwire
