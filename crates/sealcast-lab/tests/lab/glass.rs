//! Output and files of `sealcast-lab glass`. Latencies have no upper bounds here, since they depend on the machine.

use std::collections::HashMap;
use std::path::Path;
use std::process::{Command, Output};

const LAB: &str = env!("CARGO_BIN_EXE_sealcast-lab");
/// A line in the definition, for others in its place.
const PIPE: &str = "sender = \"{gst} {pictures-in} ! {pictures-out}\"";

fn lab(arguments: &[&str]) -> (Option<i32>, String) {
    let output = Command::new(LAB).args(arguments).output().expect("it runs");
    let Output { status, stdout, stderr } = output;
    let said = [stdout, stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    (status.code(), said.concat())
}

/// The built-in definition with other programs as the system `pipe`.
fn definition(folder: &Path, pipe: &str) -> String {
    let built_in = include_str!("../../definitions/glass.toml");
    let own = built_in.replace(PIPE, pipe);
    assert_ne!(own, built_in);
    // Any program can be used, so GStreamer is not needed.
    let own = own.replace(
        "needs = [\"gst-inspect-1.0 --exists rawvideoparse\"]",
        "needs = [\"true\"]",
    );
    let file = folder.join("mine.toml");
    std::fs::write(&file, own).expect("a file");
    file.display().to_string()
}

fn table(file: &Path) -> Vec<HashMap<String, String>> {
    let mut table = csv::Reader::from_path(file).expect("a table");
    table.deserialize().map(|line| line.expect("a line")).collect()
}

fn value(line: &HashMap<String, String>, column: &str) -> f64 {
    let text = &line[column];
    text.parse()
        .unwrap_or_else(|_| panic!("{column} is '{text}' in {line:?}"))
}

#[test]
fn sealcast_sealed_and_not_is_measured_and_nothing_is_deducted_from_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path().join("out");
    let only = "vga,sealcast,unsealed";
    let arguments = ["glass", "--quick", "--only", only, "--out", &out.display().to_string()];
    let (code, said) = lab(&arguments);
    assert_eq!(code, Some(0), "{said}");
    let lines = table(&out.join("table.csv"));
    assert_eq!(lines.len(), 2, "{said}");
    for line in &lines {
        assert_eq!(value(line, "net_p50_ms"), value(line, "p50_ms"), "{line:?}");
        let known = ["p50_ms", "shown", "cpu_us", "encode_ms", "decode_ms"];
        assert!(known.iter().all(|column| value(line, column) > 0.0), "{line:?}");
        assert!(value(line, "p99_ms") >= value(line, "p50_ms"), "{line:?}");
        assert!(value(line, "shown") <= value(line, "painted"), "{line:?}");
        assert!(value(line, "painted") >= 89.0, "three seconds at 30 a second: {line:?}");
        let runs = out.join("runs").join(format!("vga-{}-1", line["system"]));
        let pictures = table(&runs.join("pictures.csv"));
        assert!(pictures.len() as f64 >= value(line, "shown"), "{line:?}");
    }
    let page = std::fs::read_to_string(out.join("report.html")).expect("a page");
    assert_eq!(page.matches("<svg").count(), 1, "the curve of one case");
}

#[test]
fn pictures_that_go_through_a_program_are_read_whole_and_in_order() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = definition(folder.path(), "sender = \"cat\"");
    let out = folder.path().join("out").display().to_string();
    let (code, said) = lab(&["run", &file, "--quick", "--only", "pipe", "--out", &out]);
    assert_eq!(code, Some(0), "{said}");
    let lines = table(&Path::new(&out).join("table.csv"));
    assert_eq!(lines.len(), 2, "{said}");
    for line in &lines {
        assert!(value(line, "p50_ms") > 0.0 && value(line, "cpu_us") > 0.0, "{line:?}");
        assert_eq!(line["net_p50_ms"], "", "nothing is left of the pipe itself: {line:?}");
        assert_eq!(line["unreadable"], "", "every picture has a clock: {line:?}");
        let runs = Path::new(&out).join("runs").join(format!("{}-pipe-1", line["case"]));
        let numbers = table(&runs.join("pictures.csv"))
            .into_iter()
            .map(|row| value(&row, "picture"));
        let numbers: Vec<f64> = numbers.collect();
        assert!(numbers.windows(2).all(|pair| pair[0] < pair[1]), "{numbers:?}");
    }
}

#[test]
fn a_program_that_ends_or_is_missing_is_named_with_its_words() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = definition(folder.path(), "sender = \"ls --no-such-option\"");
    let (_, said) = lab(&["run", &file, "--quick", "--only", "vga,pipe"]);
    assert!(
        said.contains("ended before the first picture") && said.contains("ls --help"),
        "{said}"
    );

    let file = definition(folder.path(), "sender = \"{gst} ! {picture-in}\"");
    let (code, said) = lab(&["run", &file, "--quick", "--only", "vga,pipe"]);
    assert_eq!(code, Some(2), "{said}");
    assert!(
        said.contains("`{picture-in}`") && said.contains("pictures-in"),
        "{said}"
    );

    let text = std::fs::read_to_string(&file).expect("a file");
    let text = text
        .replace("{picture-in}", "{pictures-in}")
        .replace("[\"true\"]", "[\"no-such-program -v\"]");
    std::fs::write(&file, text).expect("a file");
    let (code, said) = lab(&["run", &file, "--quick", "--only", "vga,pipe"]);
    assert_eq!(code, Some(2), "{said}");
    assert!(
        said.contains("no-such-program") && said.contains("apt-get install"),
        "{said}"
    );
}
