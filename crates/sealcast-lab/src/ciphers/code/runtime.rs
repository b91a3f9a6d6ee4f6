//! Code that a cipher shares with everything else in a program, and that no cipher is charged for.

/// Beginnings of the names of Rust's run-time library. What is generic in `core`, such as iterators over packets, is
/// compiled for its user and belongs to it.
const RUST: [&str; 13] = [
    "alloc::",
    "core::cell::panic",
    "core::fmt::",
    "core::option::expect_failed",
    "core::option::unwrap_failed",
    "core::panicking::",
    "core::result::unwrap_failed",
    "core::slice::copy_from_slice_impl::len_mismatch_fail",
    "core::slice::index::slice_",
    "core::str::",
    "std::",
    "__rust",
    "rust_eh_personality",
];

/// The prefix of aws-lc's symbols, which a version follows.
const AWS_LC: &str = "aws_lc_";
/// Beginnings of names in aws-lc: errors, memory, threads, random bytes.
const AWS_LC_RUNTIME: [&str; 8] = [
    "BIO_",
    "CRYPTO_get_thread_local",
    "CRYPTO_once",
    "CRYPTO_set_thread_local",
    "ERR_",
    "FIPS_",
    "OPENSSL_",
    "RAND_",
];

/// True if a symbol belongs to a run-time library.
pub(super) fn is_runtime(symbol: &str) -> bool {
    if let Some(rest) = symbol.strip_prefix(AWS_LC) {
        let name = rest.trim_start_matches(|letter: char| letter.is_ascii_digit() || letter == '_');
        return AWS_LC_RUNTIME.iter().any(|begin| name.starts_with(begin));
    }
    let name = format!("{:#}", rustc_demangle::demangle(symbol));
    let name = name.trim_start_matches(['<', '&', ' ']);
    RUST.iter().any(|begin| name.starts_with(begin))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn panics_and_errors_are_everybodys_and_generic_code_is_its_users() {
        let everybodys = [
            "_ZN4core9panicking5panic17h0123456789abcdefE",
            "_ZN3std2io5stdio6_print17h0123456789abcdefE",
            "aws_lc_0_47_0_ERR_put_error",
        ];
        assert_eq!(everybodys.map(is_runtime), [true; 3]);
        let its_users = [
            "_ZN4core5slice4iter13Chunks$LT$T$GT$4next17h0123456789abcdefE",
            "aws_lc_0_47_0_EVP_aead_aes_128_gcm",
            "ERR_of_some_cipher",
        ];
        assert_eq!(its_users.map(is_runtime), [false; 3]);
    }
}
