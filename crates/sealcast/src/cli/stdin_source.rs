//! `-?fps=30` as a source: what begins with a hyphen would be taken for an option.

use std::ffi::OsString;

/// The beginning of standard input as a source, with options.
const STDIN: &[u8] = b"-?";

/// Puts a source `-?…` behind all options and a `--`, where it is no option. Arguments with a `--` of their own are
/// left as they are.
pub(super) fn behind_options(arguments: impl IntoIterator<Item = OsString>) -> Vec<OsString> {
    let is_source = |argument: &OsString| {
        let options = argument.as_encoded_bytes().strip_prefix(STDIN);
        options.is_some_and(|options| !options.is_empty())
    };
    let all: Vec<OsString> = arguments.into_iter().collect();
    if all.iter().any(|argument| argument == "--") || !all.iter().any(is_source) {
        return all;
    }
    let (sources, mut others): (Vec<_>, Vec<_>) = all.into_iter().partition(is_source);
    others.push("--".into());
    others.extend(sources);
    others
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn standard_input_with_options_is_no_option() {
        for (given, meant) in [
            ("s publish -?fps=25 --listen x", "s publish --listen x -- -?fps=25"),
            ("s publish --listen x -?fps=25", "s publish --listen x -- -?fps=25"),
            ("s publish - -v", "s publish - -v"),
            ("s publish -?", "s publish -?"),
            ("s publish -v -- -?fps=25", "s publish -v -- -?fps=25"),
        ] {
            let words = given.split(' ').map(OsString::from);
            assert_eq!(behind_options(words).join(" ".as_ref()), *meant, "{given}");
        }
    }
}
