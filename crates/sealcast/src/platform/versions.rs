//! Versions of the libraries that measurements and behaviour depend on.

/// Name and version of each library as in `Cargo.lock`; a test compares the two.
pub const LIBRARIES: &[(&str, &str)] = &[("aws-lc-rs", "1.19.0"), ("aws-lc-sys", "0.47.0"), ("openh264", "0.9.9")];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_those_of_the_lock_file() {
        let lock = concat!(env!("CARGO_MANIFEST_DIR"), "/../../Cargo.lock");
        let lock: toml::Table = std::fs::read_to_string(lock).unwrap().parse().unwrap();
        let packages = lock["package"].as_array().unwrap();
        for (name, version) in LIBRARIES {
            let locked: Vec<_> = packages
                .iter()
                .filter(|package| package["name"].as_str() == Some(name))
                .collect();
            assert_eq!(locked.len(), 1, "{name}");
            assert_eq!(
                locked[0]["version"].as_str(),
                Some(*version),
                "{name}: update the list above"
            );
        }
    }
}
