//! The manual pages and completions in `packaging/` are those of the program's options and of the documents' tables.
//!
//! `cargo xtask manual` writes them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use clap_complete::aot::Shell;
use clap_mangen::Man;
use clap_mangen::roff::{Roff, bold, roman};
use sealcast::cli;
use sealcast::config::option::Opt;
use sealcast::config::options::{OPTIONS, SECTIONS};

/// Set to write the files instead of comparing them.
const WRITE: &str = "SEALCAST_WRITE_MANUAL";
/// When the texts that are only here were last changed.
const DATE: &str = "2026-11-29";
const MANUAL: &str = "sealcast manual";
/// Longest line that mandoc likes.
const WIDTH: usize = 74;

/// Variables that are no option's, and what they are for.
const VARIABLES: &[(&str, &str)] = &[
    (
        "SEALCAST_HOME",
        "Folder of identities and lists, instead of $XDG_CONFIG_HOME/sealcast or ~/.config/sealcast",
    ),
    ("SEALCAST_CONFIG", "The configuration file, as --config names it"),
    (
        "SEALCAST_SECTION_KEY",
        "Sets the option that the configuration file calls key in [section], for instance SEALCAST_PUBLISH_LISTEN. \
         A flag overrides it, and it overrides the file",
    ),
    (
        "SEALCAST_RTSP_PASSWORD",
        "Password of an RTSP camera whose URL has only a user name",
    ),
    (
        "SEALCAST_LOG",
        "What is logged, such as warn or sealcast=debug, instead of -v",
    ),
    (
        "CREDENTIALS_DIRECTORY",
        "Set by systemd for a service with credentials: files of root in it may be readable by the service's group",
    ),
];

#[test]
fn manual_pages_and_completions_are_those_of_the_options() {
    let folder = root().join("packaging");
    let made = [pages(), completions()].concat();
    if std::env::var_os(WRITE).is_some() {
        for (place, text) in &made {
            let file = folder.join(place);
            std::fs::create_dir_all(file.parent().expect("a folder")).expect("packaging can be written");
            std::fs::write(file, text).expect("packaging can be written");
        }
    }
    let shown = files(&folder.join("man"))
        .into_iter()
        .chain(files(&folder.join("completions")));
    let shown: BTreeMap<PathBuf, String> = shown.map(|file| (file.clone(), read(&file))).collect();
    let made: BTreeMap<PathBuf, String> = made
        .into_iter()
        .map(|(place, text)| (folder.join(place), text))
        .collect();
    let names: Vec<&PathBuf> = shown.keys().collect();
    assert_eq!(
        names,
        made.keys().collect::<Vec<_>>(),
        "run `cargo xtask manual`, and delete what is not made"
    );
    for (file, text) in made {
        assert!(shown[&file] == text, "{}: run `cargo xtask manual`", file.display());
    }
}

#[test]
fn every_command_has_a_page_and_every_option_is_on_one() {
    let pages: BTreeMap<String, String> = pages().into_iter().collect();
    assert!(pages.contains_key("man/sealcast-gateway-camera.1"));
    assert!(
        !pages.keys().any(|page| page.contains("decoder")),
        "a hidden command has a page"
    );
    let publish = &pages["man/sealcast-publish.1"];
    assert!(publish.contains(r"\-\-rekey\-seconds") && publish.contains("SEALCAST_PUBLISH_REKEY_SECONDS"));
    let file = &pages["man/sealcast.toml.5"];
    for opt in OPTIONS {
        assert!(
            file.contains(&format!(r"\fB{}\fR", opt.key)),
            "{} is not in the manual",
            opt.path
        );
    }
    let main = &pages["man/sealcast.1"];
    for words in ["the port is taken", "identity\\-gateway\\-viewer", "SEALCAST_HOME"] {
        assert!(main.contains(words), "no \"{words}\" in sealcast(1)");
    }
}

/// Pages with their places beneath `packaging`.
fn pages() -> Vec<(String, String)> {
    let mut program = cli::command().disable_help_subcommand(true);
    program.build();
    let mut found = Vec::new();
    page(&program, &mut found);
    found.push(("man/sealcast.toml.5".to_owned(), configuration()));
    found
}

/// The page of a command, and those of the commands beneath it.
fn page(command: &clap::Command, found: &mut Vec<(String, String)>) {
    let visible = || command.get_subcommands().filter(|command| !command.is_hide_set());
    let name = command
        .get_display_name()
        .unwrap_or_else(|| command.get_name())
        .to_owned();
    let man = Man::new(command.clone())
        .title(name.to_uppercase())
        .date(DATE)
        .source(version())
        .manual(MANUAL);
    let mut text = Vec::new();
    man.render_title(&mut text).expect("memory");
    man.render_name_section(&mut text).expect("memory");
    man.render_synopsis_section(&mut text).expect("memory");
    man.render_description_section(&mut text).expect("memory");
    man.render_options_section(&mut text).expect("memory");
    if visible().next().is_some() {
        man.render_subcommands_section(&mut text).expect("memory");
    }
    let top = name == "sealcast";
    let mut more = Roff::new();
    if top {
        whole(&mut more);
    } else {
        environment(&mut more, command);
        more.control("SH", ["EXIT STATUS"]);
        more.text([
            roman("0 if all went well; "),
            bold("sealcast"),
            roman("(1) lists the other codes."),
        ]);
    }
    examples(&mut more, command);
    let mut others: Vec<String> = visible().map(|below| format!("{name}-{}", below.get_name())).collect();
    if !top {
        others.insert(0, "sealcast".to_owned());
    }
    see_also(&mut more, &others, true);
    text.extend(more.to_roff().bytes());
    found.push((format!("man/{name}.1"), tidy(&String::from_utf8(text).expect("text"))));
    visible().for_each(|below| page(below, found));
}

/// Sections of the first page alone, from the tables in the documents.
fn whole(more: &mut Roff) {
    more.control("SH", ["ENVIRONMENT"]);
    for (name, meaning) in VARIABLES {
        entry(more, name, &format!("{meaning}."));
    }
    more.control("SH", ["FILES"]);
    more.text([roman(
        "In the folder that SEALCAST_HOME names, readable by its user alone:",
    )]);
    for row in table("docs/peers.md", "## Files") {
        entry(more, &plain(&row[0]), &format!("{}.", plain(&row[1])));
    }
    more.control("SH", ["EXIT STATUS"]);
    for row in table("docs/exit-codes.md", "# Exit codes") {
        entry(
            more,
            &plain(&row[0]),
            &format!("{}: {}. What to do: {}.", row[1], plain(&row[2]), plain(&row[3])),
        );
    }
    entry(more, "130", "Ended at once by a second Ctrl-C or SIGTERM.");
}

fn examples(more: &mut Roff, command: &clap::Command) {
    let Some(help) = command.get_after_help().map(ToString::to_string) else {
        return;
    };
    more.control("SH", ["EXAMPLES"]);
    more.control("nf", []);
    for line in help.lines().filter_map(|line| line.strip_prefix("  ")) {
        more.text([roman(line.split_whitespace().collect::<Vec<_>>().join(" "))]);
    }
    more.control("fi", []);
}

/// The variables of a command's options.
fn environment(more: &mut Roff, command: &clap::Command) {
    let of_command = |opt: &&Opt| command.get_arguments().any(|arg| arg.get_id().as_str() == opt.path);
    let taken: Vec<&Opt> = OPTIONS.iter().filter(of_command).collect();
    if taken.is_empty() {
        return;
    }
    more.control("SH", ["ENVIRONMENT"]);
    more.text([roman(
        "A flag overrides its variable, and the variable overrides the configuration file:",
    )]);
    for opt in taken {
        let flag = command.get_arguments().find(|arg| arg.get_id().as_str() == opt.path);
        let flag = flag
            .and_then(|arg| arg.get_long())
            .map_or_else(|| opt.key.to_uppercase(), |long| format!("--{long}"));
        entry(more, &opt.variable(), &format!("{flag} ({} in the file)", opt.path));
    }
}

/// `sealcast.toml(5)`: the options of the file.
fn configuration() -> String {
    let mut page = Roff::new();
    page.control("TH", ["SEALCAST.TOML", "5", DATE, &version(), MANUAL]);
    page.control("SH", ["NAME"]);
    page.text([roman("sealcast.toml - configuration of sealcast")]);
    page.control("SH", ["DESCRIPTION"]);
    page.text([roman(
        "A file in TOML that --config or SEALCAST_CONFIG names; none is read by itself. It holds no secrets: a \
         camera's password, a ticket with an invite or a key stands in a file of its own, which only its user may \
         read and which an option names. Relative paths start from the folder in which the program is started. \
         sealcast config example prints a file with every option; sealcast config check says whether a file is right, \
         and what is in force.",
    )]);
    for (section, about) in SECTIONS {
        page.control("SH", [format!("[{section}]").as_str()]);
        page.text([roman(plain(about.trim()))]);
        for opt in OPTIONS.iter().filter(|opt| opt.section == *section) {
            let more = match (opt.default.filter(|text| !text.is_empty()), opt.unset) {
                (Some(default), _) => format!(" Default: {default}."),
                (None, Some(unset)) => format!(" Without it: {unset}."),
                (None, None) => String::new(),
            };
            entry(&mut page, opt.key, &plain(&format!("{}.{more}", opt.help)));
        }
    }
    page.control("SH", ["CAMERAS"]);
    page.text([roman("The keys of [[camera]], in an example:")]);
    page.control("nf", []);
    let camera = OPTIONS
        .iter()
        .find(|opt| opt.path == "camera")
        .and_then(|opt| opt.example);
    for line in camera.expect("an example").lines() {
        page.text([roman(line)]);
    }
    page.control("fi", []);
    see_also(
        &mut page,
        &["sealcast", "sealcast-config-check", "sealcast-config-example"].map(str::to_owned),
        false,
    );
    tidy(&page.render())
}

fn see_also(more: &mut Roff, others: &[String], file: bool) {
    more.control("SH", ["SEE ALSO"]);
    let mut others = others.iter().map(|other| (other.as_str(), "1")).collect::<Vec<_>>();
    if file {
        others.push(("sealcast.toml", "5"));
    }
    let last = others.len() - 1;
    for (at, (name, section)) in others.iter().enumerate() {
        more.control(
            "BR",
            [*name, &format!("({section}){}", if at == last { "" } else { "," })],
        );
    }
}

fn entry(more: &mut Roff, name: &str, meaning: &str) {
    more.control("TP", []);
    more.text([bold(name)]);
    more.text([roman(meaning)]);
}

fn version() -> String {
    format!("sealcast {}", env!("CARGO_PKG_VERSION"))
}

/// The rows of the first table of a document after this line.
fn table(document: &str, after: &str) -> Vec<Vec<String>> {
    let text = read(&root().join(document));
    let mut lines = text
        .lines()
        .skip_while(|line| *line != after)
        .skip_while(|line| !line.starts_with('|'));
    let cells = |line: &str| {
        line.trim_matches('|')
            .split('|')
            .map(|cell| cell.trim().to_owned())
            .collect()
    };
    // Its heads, and the line beneath them.
    lines.by_ref().take(2).for_each(drop);
    let rows: Vec<Vec<String>> = lines.take_while(|line| line.starts_with('|')).map(cells).collect();
    assert!(rows.len() > 3, "{document} has no table after \"{after}\"");
    rows
}

/// Markdown without its marks: links become their text.
fn plain(text: &str) -> String {
    let mut plain = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('[') {
        match after
            .split_once("](")
            .and_then(|(shown, after)| Some((shown, after.split_once(')')?.1)))
        {
            Some((shown, after)) if !shown.contains(']') => {
                plain.push_str(before);
                plain.push_str(shown);
                rest = after;
            }
            _ => {
                plain.push_str(before);
                plain.push('[');
                rest = after;
            }
        }
    }
    plain.push_str(rest);
    plain.replace('`', "")
}

/// One definition of apostrophes, and no long lines where lines are filled.
fn tidy(page: &str) -> String {
    let mut tidied = String::new();
    let mut filled = true;
    for (at, line) in page.lines().enumerate() {
        let line = line.trim_end();
        let again = at > 2 && (line.starts_with(".ie \\n(.g") || line.starts_with(".el .ds Aq"));
        let broken = line == ".br" && tidied.ends_with("\n.br\n");
        if again || broken || line.is_empty() {
            continue;
        }
        filled = match line {
            ".nf" => false,
            ".fi" => true,
            _ => filled,
        };
        match filled && !line.starts_with('.') {
            true => wrap(line, &mut tidied),
            false => tidied.push_str(&format!("{line}\n")),
        }
    }
    tidied
}

/// A break is a space, where lines are filled. A line may not begin with what roff takes for a request.
fn wrap(line: &str, tidied: &mut String) {
    let mut width = 0;
    for word in line.split(' ').filter(|word| !word.is_empty()) {
        let length = word.len();
        if width > 0 && width + 1 + length > WIDTH && !word.starts_with(['.', '\'']) {
            tidied.push('\n');
            width = 0;
        }
        if width > 0 {
            tidied.push(' ');
            width += 1;
        }
        tidied.push_str(word);
        width += length;
    }
    tidied.push('\n');
}

fn completions() -> Vec<(String, String)> {
    let of = |shell| String::from_utf8(cli::completions(&cli::command(), shell)).expect("text");
    vec![
        ("completions/sealcast.bash".to_owned(), of(Shell::Bash)),
        ("completions/_sealcast".to_owned(), of(Shell::Zsh)),
        ("completions/sealcast.fish".to_owned(), of(Shell::Fish)),
    ]
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let entries =
        std::fs::read_dir(folder).unwrap_or_else(|_| panic!("{}: run `cargo xtask manual`", folder.display()));
    entries.map(|entry| entry.expect("an entry").path()).collect()
}

fn read(file: &Path) -> String {
    std::fs::read_to_string(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()))
}
