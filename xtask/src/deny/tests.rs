//! Each rule is broken once.

use super::*;
use crate::metadata::Package;

const TEXT: &str = include_str!("../../../deny.toml");

fn package(fields: &str) -> Package {
    let text = format!(
        r#"{{"id": "x", "name": "example", "version": "1.0.0", "license": "MIT", "dependencies": [],
            "manifest_path": "Cargo.toml",
            "source": "registry+https://github.com/rust-lang/crates.io-index"{fields}}}"#
    );
    let mut fields: serde_json::Map<String, serde_json::Value> = serde_json::Map::new();
    // Later fields replace earlier ones.
    for (key, value) in serde_json::from_str::<serde_json::Value>(&text)
        .unwrap()
        .as_object()
        .unwrap()
    {
        fields.insert(key.clone(), value.clone());
    }
    serde_json::from_value(fields.into()).unwrap()
}

fn broken(fields: &str) -> Vec<String> {
    Rules::read(TEXT).unwrap().broken_by(&package(fields))
}

#[test]
fn a_crate_within_the_rules_breaks_none() {
    assert_eq!(broken(""), Vec::<String>::new());
    assert_eq!(broken(r#", "license": "GPL-3.0 OR MIT""#), Vec::<String>::new());
    assert_eq!(broken(r#", "license": "MIT/Apache-2.0""#), Vec::<String>::new());
}

#[test]
fn a_licence_that_is_not_allowed_is_named() {
    for licence in ["GPL-3.0", "MIT AND GPL-3.0", "IJG"] {
        let found = broken(&format!(r#", "license": "{licence}""#));
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].contains(licence), "{found:?}");
    }
    assert!(broken(r#", "name": "jpeg-encoder", "license": "(MIT OR Apache-2.0) AND IJG""#).is_empty());
    assert!(broken(r#", "license": null"#)[0].contains("names no licence"));
}

#[test]
fn a_banned_crate_is_named_with_the_reason() {
    let found = broken(r#", "name": "ring""#);
    assert!(found[0].contains("one cryptographic library"), "{found:?}");
}

#[test]
fn another_registry_and_a_repository_are_refused() {
    for source in [
        "registry+https://example.org/index",
        "git+https://example.org/x?rev=1#1",
    ] {
        let found = broken(&format!(r#", "source": "{source}""#));
        assert!(found[0].contains("not allowed"), "{found:?}");
    }
}

#[test]
fn a_wildcard_of_our_own_needs_a_path() {
    let with = |path: &str| {
        broken(&format!(
            r#", "source": null, "publish": [], "dependencies": [{{"name": "y", "req": "*", "path": {path}}}]"#
        ))
    };
    assert!(with("null")[0].contains("any version of y"));
    assert!(with(r#""/somewhere""#).is_empty());
}

#[test]
fn a_rule_that_only_the_tool_knows_is_not_passed_over() {
    let text = TEXT.replace("wildcards = \"deny\"", "wildcards = \"deny\"\nhighlight = \"all\"");
    assert!(Rules::read(&text).is_err_and(|reason| reason.contains("highlight")));
}
