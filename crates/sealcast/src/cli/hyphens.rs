//! `-?fps=30` as a source, and `-?format=mkv` as a sink: what begins with a hyphen would be taken for an option.

use std::ffi::OsString;

/// The beginning of standard input or output with options.
const PIPE: &[u8] = b"-?";
/// The options that name a sink.
const SINKS: [&str; 2] = ["--to", "--into"];

/// Joins a sink `-?…` to its option, and puts a source `-?…` behind all options and a `--`, where they are no options.
/// Arguments with a `--` of their own are left as they are.
pub(super) fn sorted(arguments: impl IntoIterator<Item = OsString>) -> Vec<OsString> {
    let is_pipe = |argument: &OsString| {
        let options = argument.as_encoded_bytes().strip_prefix(PIPE);
        options.is_some_and(|options| !options.is_empty())
    };
    let all: Vec<OsString> = arguments.into_iter().collect();
    if all.iter().any(|argument| argument == "--") || !all.iter().any(is_pipe) {
        return all;
    }
    let (mut sources, mut others): (Vec<OsString>, Vec<OsString>) = (Vec::new(), Vec::new());
    for argument in all {
        match others.last_mut() {
            Some(option) if is_pipe(&argument) && SINKS.iter().any(|sink| *option == *sink) => {
                option.push("=");
                option.push(argument);
            }
            _ if is_pipe(&argument) => sources.push(argument),
            _ => others.push(argument),
        }
    }
    if !sources.is_empty() {
        others.push("--".into());
        others.append(&mut sources);
    }
    others
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn standard_input_and_output_with_options_are_no_option() {
        for (given, meant) in [
            ("s publish -?fps=25 --listen x", "s publish --listen x -- -?fps=25"),
            ("s publish --listen x -?fps=25", "s publish --listen x -- -?fps=25"),
            ("s publish - -v", "s publish - -v"),
            ("s publish -?", "s publish -?"),
            ("s publish -v -- -?fps=25", "s publish -v -- -?fps=25"),
            ("s watch t --to -?format=ts -v", "s watch t --to=-?format=ts -v"),
            ("s replay d --into -?format", "s replay d --into=-?format"),
            ("s publish -?fps=25 --to t", "s publish --to t -- -?fps=25"),
        ] {
            let words = given.split(' ').map(OsString::from);
            assert_eq!(sorted(words).join(" ".as_ref()), *meant, "{given}");
        }
    }
}
