//! The implementations that an experiment measures, and their names and properties in its definition.

use std::time::Duration;

use sealcast::failure::{Failure, FailureKind, Result};

use super::External;
use super::catalogue;
use super::external;
use super::implementation::{DEFINITION, Implementation};
use super::library::VERSIONS;
use super::nature;
use crate::harness::{Definition, Entry};

/// The field of a system that runs in a process of its own: its [`External`] as text.
const EXTERNAL: &str = "external";

/// The implementations with these names, our own and those of libraries; all if no name is given.
///
/// # Errors
/// A name belongs to neither a cipher nor an implementation.
pub(crate) fn chosen(only: &[String]) -> Result<Vec<Implementation>> {
    let all = catalogue::all();
    let is = |one: &Implementation, name: &String| one.cipher == *name || one.name() == *name;
    if let Some(unknown) = only.iter().find(|name| !all.iter().any(|one| is(one, name))) {
        return Err(nowhere(unknown));
    }
    let asked_for = |one: &Implementation| only.is_empty() || only.iter().any(|name| is(one, name));
    Ok(all.into_iter().filter(asked_for).collect())
}

fn nowhere(unknown: &str) -> Failure {
    let all = catalogue::all();
    let mut names: Vec<&str> = all.iter().map(|one| one.cipher.as_str()).collect();
    names.dedup();
    let hint = format!(
        "choose among {}, or one of their implementations, such as trivium/words",
        names.join(", ")
    );
    Failure::new(FailureKind::Usage, format!("there is no cipher `{unknown}`"), hint)
}

/// For each cipher the implementation with the shortest `time`, in the order of the ciphers. A definition is written
/// for readability, and is chosen only if its cipher has no other implementation.
///
/// # Errors
/// An implementation cannot be timed.
pub(crate) fn fastest(
    among: Vec<Implementation>,
    mut time: impl FnMut(&Implementation) -> Result<Duration>,
) -> Result<Vec<Implementation>> {
    let mut fastest: Vec<(Duration, Implementation)> = Vec::new();
    for one in among {
        let time = if one.implementation == DEFINITION {
            Duration::MAX
        } else {
            time(&one)?
        };
        match fastest.iter_mut().find(|(_, known)| known.cipher == one.cipher) {
            Some(known) if time < known.0 => *known = (time, one),
            Some(_) => {}
            None => fastest.push((time, one)),
        }
    }
    Ok(fastest.into_iter().map(|(_, one)| one).collect())
}

/// Completes the systems of a definition: all implementations if it names none, and the properties of each.
///
/// # Errors
/// A system is not an implementation, or its library cannot be read.
pub(crate) fn complete(definition: &mut Definition) -> Result<()> {
    let all = catalogue::all();
    if definition.systems.is_empty() {
        definition.systems = all.iter().map(entry).collect();
    }
    for system in &mut definition.systems {
        let known = match external_of(system)? {
            Some(external) => external_entry(&external)?,
            None => match all.iter().find(|one| one.name() == system.name) {
                Some(one) => entry(one),
                None => return Err(nowhere(&system.name)),
            },
        };
        if known.name != system.name {
            let what = format!("the system `{}` is the library `{}`", system.name, known.name);
            return Err(Failure::new(
                FailureKind::Usage,
                what,
                "give it that name in the definition",
            ));
        }
        if system.words.is_empty() {
            system.words = known.words;
        }
        for (name, value) in known.fields {
            system.fields.entry(name).or_insert(value);
        }
    }
    Ok(())
}

/// Adds systems that run in a process of their own.
///
/// # Errors
/// A library cannot be read, or two libraries have the same name.
pub(crate) fn add_external(definition: &mut Definition, named: &[External]) -> Result<()> {
    for one in named {
        let system = external_entry(one)?;
        if definition.systems.iter().any(|other| other.name == system.name) {
            let what = format!("--external {} is there twice", system.name);
            let hint = "give one of them another name, or its file";
            return Err(Failure::new(FailureKind::Usage, what, hint));
        }
        definition.systems.push(system);
    }
    Ok(())
}

/// The implementations of the systems of a definition, in its order.
///
/// # Errors
/// A system is not an implementation, or its library cannot be read.
pub(crate) fn of_systems<'a>(systems: impl Iterator<Item = &'a Entry>) -> Result<Vec<Implementation>> {
    let mut all = catalogue::all();
    let host = external::Host::shared();
    let mut found = Vec::new();
    for system in systems {
        found.push(match external_of(system)? {
            Some(external) => external::implementation(&external, &host)?,
            None => match all.iter().position(|one| one.name() == system.name) {
                Some(at) => all.swap_remove(at),
                None => return Err(nowhere(&system.name)),
            },
        });
    }
    Ok(found)
}

fn external_of(system: &Entry) -> Result<Option<External>> {
    let Some(text) = system.fields.get(EXTERNAL).and_then(toml::Value::as_str) else {
        return Ok(None);
    };
    let external = text.parse::<External>().map_err(|error| {
        let what = format!("`{}`: external = \"{text}\": {error}", system.name);
        Failure::new(FailureKind::Usage, what, "write NAME=FILE, such as rabbit=./rabbit.so")
    })?;
    Ok(Some(external))
}

/// The system that stands for an implementation.
pub(crate) fn entry(one: &Implementation) -> Entry {
    let version = VERSIONS.iter().find(|(library, _)| *library == one.implementation);
    let version = version.map(|(library, version)| format!("{library} {version}"));
    let library = version.clone().map(|version| ("library", toml::Value::from(version)));
    let fields = [
        ("cipher", toml::Value::from(one.cipher.as_str())),
        ("implementation", one.implementation.as_str().into()),
    ];
    let sizes = [one.key_bytes, one.iv_bytes, one.tag_bytes];
    let mut entry = described(one.name(), &one.cipher, sizes, fields.into_iter().chain(library));
    if let Some(version) = version {
        entry.words.push_str(&format!("; {version}"));
    }
    entry
}

fn external_entry(one: &External) -> Result<Entry> {
    let (file_name, [key_bytes, iv_bytes], sha256) = external::known(one)?;
    let fields = [
        ("cipher", toml::Value::from(one.name())),
        ("implementation", file_name.as_str().into()),
        (EXTERNAL, one.to_string().into()),
        ("sha256", sha256.into()),
    ];
    let name = format!("{}/{file_name}", one.name());
    Ok(described(
        name,
        one.name(),
        [key_bytes, iv_bytes, 0],
        fields.into_iter(),
    ))
}

/// `sizes`: bytes of key, IV and tag.
fn described(
    name: String,
    cipher: &str,
    sizes: [usize; 3],
    fields: impl Iterator<Item = (&'static str, toml::Value)>,
) -> Entry {
    let [key_bits, iv_bits, tag_bits] = sizes.map(|bytes| 8 * bytes as i64);
    let sizes = [("key_bits", key_bits), ("iv_bits", iv_bits), ("tag_bits", tag_bits)];
    let sizes = sizes.map(|(name, bits)| (name, toml::Value::from(bits)));
    let tag = match tag_bits {
        0 => "no tag".to_owned(),
        bits => format!("tag of {bits}"),
    };
    let form = nature::of(cipher).form;
    let form_field = ("form", toml::Value::from(form));
    Entry {
        name,
        words: format!("{form}; key of {key_bits} bits, IV of {iv_bits}, {tag}"),
        fields: fields
            .chain([form_field])
            .chain(sizes)
            .map(|(name, value)| (name.to_owned(), value))
            .collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_implementation_is_a_system_and_the_other_way_round() {
        let all = catalogue::all();
        let entries: Vec<Entry> = all.iter().map(entry).collect();
        let found = of_systems(entries.iter()).expect("all are there");
        let names = |all: &[Implementation]| all.iter().map(Implementation::name).collect::<Vec<_>>();
        assert_eq!(names(&found), names(&all));
        let aegis = entries
            .iter()
            .find(|entry| entry.name == "aegis-128l/aegis")
            .expect("it is there");
        assert_eq!(aegis.fields["library"].as_str(), Some("aegis 0.9.20"));
        assert_eq!(
            aegis.words,
            "stream of blocks, tag; key of 128 bits, IV of 128, tag of 128; aegis 0.9.20"
        );
    }

    #[test]
    fn an_implementation_that_does_not_exist_is_named_with_the_ciphers() {
        let mut wrong = entry(&catalogue::all()[0]);
        wrong.name = "rot13/words".to_owned();
        let refused = of_systems([wrong].iter()).err().expect("there is none");
        assert!(
            refused.what.contains("rot13/words") && refused.hint.contains("mickey-v2"),
            "{refused}"
        );
    }
}
