//! `docs/sealcast.example.toml`, generated from the declared options.

use super::option::{Kind, Opt};
use super::options::{OPTIONS, SECTIONS};

const HEAD: &str = "\
# Every option of the configuration file. Lines with one `#` show an option as it would be set; remove the `# ` to set
# it. `sealcast config example` prints this file.
#
# Use it with `--config FILE`. A flag overrides the environment, and the environment overrides this file: each option
# has a variable SEALCAST_SECTION_KEY, for example SEALCAST_PUBLISH_LISTEN. `sealcast config check FILE` shows the
# options in force. A length of time has its unit, as in \"10m\". Relative paths start from the directory in which the
# program is started.
#
# Secrets do not belong here. Write a camera URL with a password, or a ticket with an invite, into a file that only you
# may read, and name that file.
";

/// Maximum width of a line of help, without its `## `.
const WIDTH: usize = 117;

/// A configuration file that shows every option and sets none.
pub fn example() -> String {
    let mut text = HEAD.to_owned();
    for (section, about) in SECTIONS {
        text.push_str(&format!("\n[{section}]\n{}", comment(about)));
        for opt in OPTIONS.iter().filter(|opt| opt.section == *section) {
            text.push_str(&entry(opt));
        }
    }
    let tables = OPTIONS.iter().filter(|opt| opt.kind == Kind::Tables);
    tables.for_each(|opt| text.push_str(&entry(opt)));
    text
}

fn entry(opt: &Opt) -> String {
    let mut help = format!("{}.", opt.help);
    if let Some(unset) = opt.unset {
        help.push_str(&format!(" Without it: {unset}."));
    }
    if let Some(key) = opt.excludes {
        help.push_str(&format!(" Excludes `{key}`."));
    }
    let example = opt.example.or(opt.default).unwrap_or_default();
    let setting = match opt.kind {
        Kind::Tables => example.to_owned(),
        _ => {
            let value = opt.read(example).expect("a test reads the examples");
            format!("# {} = {value}\n", opt.key)
        }
    };
    format!("\n{}{setting}", comment(&help))
}

/// `text` as lines that begin with `## `.
fn comment(text: &str) -> String {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        let line = lines.last_mut().expect("there is always one");
        if !line.is_empty() && line.chars().count() + 1 + word.chars().count() > WIDTH {
            lines.push(word.to_owned());
        } else {
            line.push_str(if line.is_empty() { "" } else { " " });
            line.push_str(word);
        }
    }
    lines.iter().map(|line| format!("## {line}\n")).collect()
}

#[cfg(test)]
mod tests {
    use super::super::camera::Camera;
    use super::super::options::Config;
    use super::*;

    #[test]
    fn the_example_in_the_documents_is_what_the_options_make() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/sealcast.example.toml");
        let shown = std::fs::read_to_string(path).unwrap();
        assert!(
            shown == example(),
            "run `sealcast config example > docs/sealcast.example.toml`"
        );
    }

    #[test]
    fn the_example_sets_nothing() {
        assert_eq!(toml::from_str::<Config>(&example()).unwrap(), Config::default());
    }

    #[test]
    fn every_line_of_the_example_can_be_taken_as_it_is() {
        let example = example();
        let set: Vec<&str> = example
            .lines()
            .filter(|line| {
                line.starts_with('[') || line.starts_with("# ") && line.contains(" = ") || line.contains("[[")
            })
            .filter(|line| !line.starts_with("##"))
            .map(|line| line.trim_start_matches("# "))
            .collect();
        for opt in OPTIONS.iter().filter(|opt| opt.kind != Kind::Tables) {
            let section = format!("[{}]", opt.section);
            let mut of_section = set.iter().skip_while(|line| **line != section);
            let line = of_section
                .find(|line| line.split(" = ").next() == Some(opt.key))
                .unwrap_or_else(|| panic!("{} is not in the example", opt.path));
            toml::from_str::<Config>(&format!("{section}\n{line}\n")).unwrap_or_else(|error| panic!("{line}: {error}"));
        }
    }

    #[test]
    fn the_example_shows_cameras_with_every_key() {
        let example = example();
        let start = example.find("# [[camera]]").unwrap();
        let section = example[start..].split("\n[").next().unwrap();
        let cameras: Vec<&str> = section.lines().filter_map(|line| line.strip_prefix("# ")).collect();
        let config: Config = toml::from_str(&cameras.join("\n")).unwrap();
        let shown = serde_json::to_value(&config.camera).unwrap();
        for (key, _) in serde_json::to_value(Camera::default()).unwrap().as_object().unwrap() {
            let set = |camera: &serde_json::Value| !camera[key].is_null();
            assert!(shown.as_array().unwrap().iter().any(set), "{key} is not in the example");
        }
    }
}
