//! The Debian packages whose libraries a program needs.

use std::collections::BTreeMap;
use std::path::Path;

use crate::elf::read_elf;

/// Libraries that the program may need, the Debian package of each, and the words before the versions of its symbols
/// that become versions of the package. Those of the C++ library are numbered apart: the package of Debian 12 has them.
const LIBRARIES: [(&str, &str, Option<&str>); 6] = [
    ("libc.so.6", "libc6", Some("GLIBC_")),
    ("libm.so.6", "libc6", Some("GLIBC_")),
    ("ld-linux-x86-64.so.2", "libc6", Some("GLIBC_")),
    ("ld-linux-aarch64.so.1", "libc6", Some("GLIBC_")),
    ("libgcc_s.so.1", "libgcc-s1", None),
    ("libstdc++.so.6", "libstdc++6", None),
];

/// The packages that it needs, as `Depends` has them.
pub(super) fn needs(program: &Path) -> Result<String, String> {
    depends(
        &read_elf(&["--dynamic"], program)?,
        &read_elf(&["--version-info"], program)?,
    )
}

fn depends(dynamic: &str, versions: &str) -> Result<String, String> {
    let needed = dynamic.lines().filter(|line| line.contains("(NEEDED)"));
    let mut packages: BTreeMap<&str, Vec<u32>> = BTreeMap::new();
    for line in needed {
        let name = line
            .split('[')
            .nth(1)
            .and_then(|rest| rest.split(']').next())
            .unwrap_or_default();
        let found = LIBRARIES.iter().find(|library| library.0 == name);
        let (_, package, words) = found.ok_or_else(|| format!("no package is known that has {name}"))?;
        let newest = words.and_then(|words| newest(versions, words)).unwrap_or_default();
        let version = packages.entry(package).or_default();
        *version = version.clone().max(newest);
    }
    let shown = packages.iter().map(|(package, version)| match version.is_empty() {
        true => (*package).to_owned(),
        false => {
            let numbers: Vec<String> = version.iter().map(u32::to_string).collect();
            format!("{package} (>= {})", numbers.join("."))
        }
    });
    Ok(shown.collect::<Vec<_>>().join(", "))
}

/// The newest version of symbols whose names begin so.
fn newest(versions: &str, begin: &str) -> Option<Vec<u32>> {
    let words = versions.split_whitespace().filter_map(|word| word.strip_prefix(begin));
    words
        .filter_map(|version| version.split('.').map(|number| number.parse().ok()).collect())
        .max()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packages_are_those_of_the_libraries_with_the_newest_version_of_their_symbols() {
        let dynamic = " 0x1 (NEEDED)  Shared library: [libstdc++.so.6]\n 0x1 (NEEDED) Shared library: [libc.so.6]\n";
        let versions = "Name: GLIBC_2.9  Flags\n Name: GLIBC_2.34 Flags\n Name: GLIBCXX_3.4.29\n GLIBC_PRIVATE";
        assert_eq!(depends(dynamic, versions).unwrap(), "libc6 (>= 2.34), libstdc++6");
        let foreign = " 0x1 (NEEDED) Shared library: [libssl.so.3]\n";
        assert!(depends(foreign, "").unwrap_err().contains("libssl.so.3"));
        assert_eq!(depends("", "").unwrap(), "");
    }
}
