//! Parses the description of a library on the command line.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

/// Limits in bytes for keys and IVs, and for contexts; `host.c` has the same.
const MOST_KEY_BYTES: usize = 256;
const MOST_CONTEXT_BYTES: usize = 1 << 20;

/// A library with a cipher: `NAME=FILE`, and where needed `,key=BITS`, `,iv=BITS`, `,context=BYTES`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct External {
    /// Name of the cipher. If it is a study cipher's, the library is checked against that cipher's published values.
    pub(super) name: String,
    pub(super) file: PathBuf,
    pub(super) key_bytes: Option<usize>,
    pub(super) iv_bytes: Option<usize>,
    /// The largest context that it may write.
    pub(super) context_bytes: Option<usize>,
}

impl External {
    /// Name of the cipher.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }
}

impl fmt::Display for External {
    /// Writes it in the form that is parsed.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}={}", self.name, self.file.display())?;
        let bits = |bytes: Option<usize>| bytes.map(|bytes| 8 * bytes);
        let words = [
            ("key", bits(self.key_bytes)),
            ("iv", bits(self.iv_bytes)),
            ("context", self.context_bytes),
        ];
        words
            .iter()
            .filter_map(|(word, number)| Some((word, (*number)?)))
            .try_for_each(|(word, number)| write!(out, ",{word}={number}"))
    }
}

impl FromStr for External {
    type Err = String;

    /// # Errors
    /// The part that is not understood.
    fn from_str(text: &str) -> Result<Self, String> {
        let (name, rest) = text
            .split_once('=')
            .ok_or("this is no NAME=FILE, such as rabbit=./rabbit.so")?;
        let mut words = rest.split(',');
        let file = words.next().unwrap_or_default();
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
        if name.is_empty() || !name.chars().all(is_plain) {
            return Err(format!(
                "`{name}` is no name: letters, digits, `-`, `_` and `.` make one"
            ));
        }
        if file.is_empty() {
            return Err("a file is missing behind the name".to_owned());
        }
        let mut external = Self {
            name: name.to_owned(),
            file: file.into(),
            key_bytes: None,
            iv_bytes: None,
            context_bytes: None,
        };
        for word in words {
            match word.split_once('=') {
                Some(("key", bits)) => external.key_bytes = Some(bytes(word, bits, 8)?),
                Some(("iv", bits)) => external.iv_bytes = Some(bytes(word, bits, 0)?),
                Some(("context", number)) => external.context_bytes = Some(context(word, number)?),
                _ => return Err(format!("`{word}` is none of key=BITS, iv=BITS and context=BYTES")),
            }
        }
        Ok(external)
    }
}

/// A number of bits as whole bytes.
fn bytes(word: &str, bits: &str, least: usize) -> Result<usize, String> {
    let most = 8 * MOST_KEY_BYTES;
    let number = bits.parse::<usize>().ok();
    let number = number.filter(|number| number.is_multiple_of(8) && (least..=most).contains(number));
    let refused = || format!("`{word}`: bits are a multiple of 8 from {least} to {most}");
    number.map(|bits| bits / 8).ok_or_else(refused)
}

fn context(word: &str, number: &str) -> Result<usize, String> {
    let number = number.parse().ok();
    let refused = || format!("`{word}`: a context has 1 to {MOST_CONTEXT_BYTES} bytes");
    number
        .filter(|number| (1..=MOST_CONTEXT_BYTES).contains(number))
        .ok_or_else(refused)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_library_is_named_with_sizes_or_without() {
        let plain = External {
            name: "rabbit".to_owned(),
            file: "./a=b.so".into(),
            key_bytes: None,
            iv_bytes: None,
            context_bytes: None,
        };
        assert_eq!("rabbit=./a=b.so".parse(), Ok(plain.clone()));
        let sized = External {
            key_bytes: Some(10),
            iv_bytes: Some(0),
            context_bytes: Some(1024),
            ..plain
        };
        assert_eq!("rabbit=./a=b.so,context=1024,key=80,iv=0".parse(), Ok(sized.clone()));
        assert_eq!(sized.to_string().parse(), Ok(sized));
    }

    #[test]
    fn what_is_no_library_is_refused_with_the_word_that_is_wrong() {
        let cases = [
            ("rabbit.so", "NAME=FILE"),
            ("=x.so", "no name"),
            ("a/b=x.so", "`a/b`"),
            ("a=", "a file is missing"),
            ("a=x.so,key=12", "`key=12`"),
            ("a=x.so,key=0", "`key=0`"),
            ("a=x.so,iv=2056", "`iv=2056`"),
            ("a=x.so,context=0", "`context=0`"),
            ("a=x.so,context=1048577", "`context=1048577`"),
            ("a=x.so,tag=16", "`tag=16`"),
        ];
        for (text, word) in cases {
            let refused = text.parse::<External>().expect_err(text);
            assert!(refused.contains(word), "{text}: {refused}");
        }
    }
}
