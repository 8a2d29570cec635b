// A pickle is a program for a stack machine; pickle_values.h is what it works on.
#include "import/pickle.h"

#include <cstring>
#include <string>

#include "base/error.h"
#include "base/text.h"
#include "import/pickle_values.h"

namespace gradwire {
namespace {

class Unpickler {
 public:
  explicit Unpickler(std::string_view bytes) : bytes_(bytes) {}

  nlohmann::json run() {
    for (;;) {
      const auto code = static_cast<unsigned char>(take(1)[0]);
      if (code == '.') break;
      step(code);
    }
    return values_.take_json();
  }

 private:
  using Kind = PickleValues::Kind;

  std::string_view take(std::size_t count) {
    if (count > bytes_.size() - at_) PickleValues::refuse("it is cut off");
    at_ += count;
    return bytes_.substr(at_ - count, count);
  }
  std::uint64_t unsigned_of(std::size_t size) {
    const auto raw = take(size);
    std::uint64_t value = 0;
    for (std::size_t i = size; i-- > 0;) value = value << 8 | static_cast<unsigned char>(raw[i]);
    return value;
  }
  std::string_view line() {
    const auto end = bytes_.find('\n', at_);
    if (end == std::string_view::npos) PickleValues::refuse("it is cut off");
    const auto text = bytes_.substr(at_, end - at_);
    at_ = end + 1;
    return text;
  }
  void push_text(std::size_t size) { values_.push_scalar(std::string(take(size))); }

  void push_double() {
    std::uint64_t bits = 0;
    for (const char c : take(8)) bits = bits << 8 | static_cast<unsigned char>(c);
    double value = 0;
    std::memcpy(&value, &bits, sizeof value);
    values_.push_scalar(value);
  }
  void push_long(std::size_t size) {
    if (size > 8) PickleValues::refuse("a number has more than 64 bits");
    std::uint64_t value = unsigned_of(size);
    if (size > 0 && size < 8 && (value >> (8 * size - 1) & 1) != 0) value |= ~std::uint64_t{0} << (8 * size);
    values_.push_scalar(static_cast<std::int64_t>(value));
  }
  void push_decimal() {
    auto text = trim(line());
    if (text.ends_with('L')) text.remove_suffix(1);
    const auto value = find_integer<std::int64_t>(text);
    if (!value) PickleValues::refuse("a number is none");
    values_.push_scalar(*value);
  }

  void step(unsigned char code) {
    if (!numbers(code) && !texts(code) && !containers(code) && !memory(code))
      PickleValues::refuse(
          fmt::format("operation 0x{:02x} would build more than lists, dicts, texts and numbers", code));
  }
  bool numbers(unsigned char code) {
    switch (code) {
      case 'N':
        values_.push_scalar(nullptr);
        return true;
      case 0x88:
        values_.push_scalar(true);
        return true;
      case 0x89:
        values_.push_scalar(false);
        return true;
      case 'K':
        values_.push_scalar(unsigned_of(1));
        return true;
      case 'M':
        values_.push_scalar(unsigned_of(2));
        return true;
      case 'J':
        values_.push_scalar(static_cast<std::int32_t>(unsigned_of(4)));
        return true;
      case 0x8a:
        push_long(unsigned_of(1));
        return true;
      case 0x8b:
        push_long(unsigned_of(4));
        return true;
      case 'G':
        push_double();
        return true;
      case 'I':
      case 'L':
        push_decimal();
        return true;
      default:
        return false;
    }
  }
  bool texts(unsigned char code) {
    switch (code) {
      case 'X':
      case 'B':
      case 'T':
        push_text(unsigned_of(4));
        return true;
      case 0x8c:
      case 'C':
      case 'U':
        push_text(unsigned_of(1));
        return true;
      case 0x8d:
      case 0x8e:
        push_text(unsigned_of(8));
        return true;
      case 'V':
      case 'S':
        values_.push_scalar(std::string(line()));
        return true;
      default:
        return false;
    }
  }
  bool containers(unsigned char code) {
    switch (code) {
      case '(':
        values_.push(Kind::mark);
        return true;
      case '}':
        values_.push(Kind::dict);
        return true;
      case ']':
      case ')':
        values_.push(Kind::list);
        return true;
      case 'l':
      case 't':
        values_.push(Kind::list, values_.pop_to_mark());
        return true;
      case 'd':
        values_.push(Kind::dict, values_.pop_to_mark());
        return true;
      case 0x85:
      case 0x86:
      case 0x87:
        values_.push_tuple(code - 0x84u);
        return true;
      case 'a':
        values_.extend(Kind::list, {values_.pop()});
        return true;
      case 's':
        set_one();
        return true;
      case 'e':
        values_.extend(Kind::list, values_.pop_to_mark());
        return true;
      case 'u':
        values_.extend(Kind::dict, values_.pop_to_mark());
        return true;
      default:
        return false;
    }
  }
  void set_one() {
    const auto value = values_.pop(), key = values_.pop();
    values_.extend(Kind::dict, {key, value});
  }
  bool memory(unsigned char code) {
    switch (code) {
      case 0x80:
        take(1);
        return true;  // protocol
      case 0x95:
        take(8);
        return true;  // frame
      case 0x94:
        values_.keep_next();
        return true;
      case 'q':
        values_.keep(unsigned_of(1));
        return true;
      case 'r':
        values_.keep(unsigned_of(4));
        return true;
      case 'p':
        values_.keep(find_integer<std::uint64_t>(line()).value_or(0));
        return true;
      case 'h':
        values_.push_kept(unsigned_of(1));
        return true;
      case 'j':
        values_.push_kept(unsigned_of(4));
        return true;
      case 'g':
        values_.push_kept(find_integer<std::uint64_t>(line()).value_or(0));
        return true;
      case '0':
        values_.pop();
        return true;
      default:
        return false;
    }
  }

  std::string_view bytes_;
  std::size_t at_ = 0;
  PickleValues values_;
};

}  // namespace

nlohmann::json parse_pickle(std::string_view bytes) { return Unpickler(bytes).run(); }

}  // namespace gradwire
