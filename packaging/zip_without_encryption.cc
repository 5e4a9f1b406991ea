// SPDX-License-Identifier: Apache-2.0
// What libarchive's zip calls for encrypted entries, in place of nettle and of a function that glibc has
// since 2.36 only. libarchive asks for a passphrase before it calls any of these (3.6.2,
// init_WinZip_AES_decryption), and this program never gives one: such an entry is an error of libarchive's,
// "Passphrase required". So no code under the LGPL is inside a package, and packages run with older systems.
extern "C" {
#define NL_NEVER_CALLED(name) \
  [[noreturn]] void name() { __builtin_trap(); }
NL_NEVER_CALLED(arc4random_buf)
NL_NEVER_CALLED(nettle_aes128_encrypt)
NL_NEVER_CALLED(nettle_aes128_set_encrypt_key)
NL_NEVER_CALLED(nettle_aes192_encrypt)
NL_NEVER_CALLED(nettle_aes192_set_encrypt_key)
NL_NEVER_CALLED(nettle_aes256_encrypt)
NL_NEVER_CALLED(nettle_aes256_set_encrypt_key)
NL_NEVER_CALLED(nettle_hmac_sha1_digest)
NL_NEVER_CALLED(nettle_hmac_sha1_set_key)
NL_NEVER_CALLED(nettle_hmac_sha1_update)
NL_NEVER_CALLED(nettle_pbkdf2_hmac_sha1)
}
