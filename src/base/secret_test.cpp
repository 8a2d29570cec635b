#include "base/secret.h"

#include <gtest/gtest.h>

#include <set>

#include "base/error.h"

namespace gradwire {
namespace {

std::string hex(const Proof& proof) {
  std::string text;
  for (const std::byte byte : proof) text += fmt::format("{:02x}", static_cast<int>(byte));
  return text;
}

TEST(Prove, computes_HMAC_SHA_256_as_RFC_4231_publishes_it) {
  // Test cases 1, 2 and 6: an ordinary key, a short one, and one longer than a block.
  EXPECT_EQ(hex(prove(std::string(20, '\x0b'), "Hi There")),
            "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7");
  EXPECT_EQ(hex(prove("Jefe", "what do ya want for nothing?")),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
  EXPECT_EQ(hex(prove(std::string(131, '\xaa'), "Test Using Larger Than Block-Size Key - Hash Key First")),
            "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
}

TEST(Prove, differs_by_secret_and_by_message) {
  const Proof proof = prove("secret", "message");
  EXPECT_TRUE(same(proof, prove("secret", "message")));
  EXPECT_FALSE(same(proof, prove("secret", "massage")));
  EXPECT_FALSE(same(proof, prove("Secret", "message")));
  EXPECT_FALSE(same(proof, prove("secretm", "essage")));
  EXPECT_FALSE(same(prove("secret", ""), prove("", "secret")));
}

TEST(Same, sees_a_difference_in_any_byte) {
  const Proof proof = prove("secret", "message");
  for (std::size_t i = 0; i < proof.size(); ++i) {
    Proof other = proof;
    other[i] ^= std::byte{1};
    EXPECT_FALSE(same(proof, other)) << i;
  }
}

TEST(MakeSecret, gives_64_hexadecimal_digits_never_twice) {
  std::set<std::string> secrets;
  for (int i = 0; i < 100; ++i) {
    const std::string secret = make_secret();
    EXPECT_EQ(secret.size(), 64u);
    EXPECT_EQ(secret.find_first_not_of("0123456789abcdef"), std::string::npos);
    EXPECT_TRUE(secrets.insert(secret).second);
  }
}

TEST(MakeNonce, gives_other_bytes_every_time) {
  std::set<Nonce> nonces;
  for (int i = 0; i < 100; ++i) EXPECT_TRUE(nonces.insert(make_nonce()).second);
}

}  // namespace
}  // namespace gradwire
