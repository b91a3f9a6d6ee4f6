//! `sealcast-lab delay`, and its two ends.

use std::process::ExitCode;

use sealcast::failure::Result;

use super::args::{DelayCommand, DelayEndArgs, DelaySendArgs};
use super::run::{built_in, measure};
use crate::experiments::delay::{self, DELAY, DelayEnd, Medium, NONE};
use crate::harness::{Definition, Entry};

pub(super) fn run(args: &DelayCommand) -> Result<ExitCode> {
    let mut definition = built_in(&DELAY, &args.common)?;
    only(&mut definition, &args.common.only)?;
    measure(definition, &args.common)
}

/// Keeps the named cases, and measures the named ciphers beside none: those of the definition or any others.
fn only(definition: &mut Definition, names: &[String]) -> Result<()> {
    let (cases, ciphers): (Vec<String>, Vec<String>) =
        names.iter().cloned().partition(|name| definition.case(name).is_some());
    definition.only(&cases)?;
    if ciphers.is_empty() {
        return Ok(());
    }
    delay::check(&ciphers)?;
    let mut systems: Vec<Entry> = Vec::new();
    for name in std::iter::once(NONE).chain(ciphers.iter().map(String::as_str)) {
        if systems.iter().all(|system| system.name != name) {
            let known = definition.systems.iter().find(|system| system.name == name);
            systems.push(known.cloned().unwrap_or_else(|| system(name)));
        }
    }
    // Findings are about the last cipher named, if those of the definition would be about none of them.
    if systems.iter().all(|system| system.name != definition.subject) {
        definition.subject = systems.last().map_or_else(String::new, |last| last.name.clone());
    }
    let rivals = systems.iter().map(|system| system.name.clone());
    definition.rivals = rivals.filter(|name| *name != definition.subject).collect();
    definition.systems = systems;
    Ok(())
}

/// A cipher or an implementation that the definition does not have.
fn system(name: &str) -> Entry {
    Entry {
        name: name.to_owned(),
        words: String::new(),
        fields: toml::Table::from_iter([("cipher".to_owned(), name.into())]),
    }
}

pub(super) fn send(args: &DelaySendArgs) -> Result<ExitCode> {
    delay::send(&end(&args.end)?, args.to, args.window).map(|()| ExitCode::SUCCESS)
}

pub(super) fn receive(args: &DelayEndArgs) -> Result<ExitCode> {
    delay::receive(&end(args)?).map(|()| ExitCode::SUCCESS)
}

fn end(args: &DelayEndArgs) -> Result<DelayEnd> {
    let medium = Medium {
        packets: args.packets,
        bytes: args.bytes,
    };
    Ok(DelayEnd {
        medium: medium.checked()?,
        cipher: args.cipher.clone(),
        token: args.token,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(names: &[&str]) -> Result<Definition> {
        let mut definition = Definition::parse(DELAY.definition)?;
        let names: Vec<String> = names.iter().map(|&name| name.to_owned()).collect();
        only(&mut definition, &names).map(|()| definition)
    }

    fn list(entries: &[Entry]) -> Vec<&str> {
        entries.iter().map(|entry| entry.name.as_str()).collect()
    }

    #[test]
    fn any_cipher_can_be_measured_beside_none() {
        let all = named(&[]).expect("all");
        assert_eq!((list(&all.cases).len(), list(&all.systems).len()), (3, 4));
        let text = named(&["text", "rc4"]).expect("both are there");
        assert_eq!(
            (list(&text.cases), list(&text.systems)),
            (vec!["text"], vec!["none", "rc4"])
        );
        let others = named(&["aes-128-gcm", "salsa20/definition", "none"]).expect("they are ciphers");
        assert_eq!(list(&others.systems), ["none", "aes-128-gcm", "salsa20/definition"]);
        assert_eq!(others.subject, "salsa20/definition");
        assert_eq!(others.rivals, ["none", "aes-128-gcm"]);
        assert!(named(&["rot13"]).is_err());
    }
}
