#include <zlib.h>

#include "base/error.h"
#include "report/page/page_data.h"

namespace gradwire {

std::string deflate_raw(std::string_view bytes) {
  z_stream stream{};
  constexpr int kNoHeader = -15, kMemory = 9;
  check(deflateInit2(&stream, Z_BEST_COMPRESSION, Z_DEFLATED, kNoHeader, kMemory, Z_DEFAULT_STRATEGY) == Z_OK,
        "zlib does not start");
  std::string out(deflateBound(&stream, static_cast<uLong>(bytes.size())), '\0');
  stream.next_in =
      reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));  // zlib's header is older than const
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  const int end = deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  check(end == Z_STREAM_END, "zlib did not deflate a column");
  return out;
}

}  // namespace gradwire
