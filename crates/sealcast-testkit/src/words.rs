//! Words that the program's messages have, and must not have.

/// Beginnings of words that accuse somebody of an attack.
const ACCUSING: [&str; 10] = [
    "altere", "altering", "attack", "forge", "impostor", "interfer", "intru", "manipul", "somebody", "tamper",
];

/// The accusing word in a message, if there is one. Such words belong to refused tags and replays: said of a lost link
/// or of a foreign server they teach their reader to pass over the true alarm.
pub fn accusation(said: &str) -> Option<&'static str> {
    let said = without_fingerprints(&said.to_lowercase());
    ACCUSING.into_iter().find(|word| said.contains(word))
}

/// A log without the words of fingerprints: they follow from keys, and "attack" is one of the list.
fn without_fingerprints(said: &str) -> String {
    let mut pieces = said.split("fingerprint=\"");
    let mut kept = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        kept += piece.split_once('"').map_or("", |(_, rest)| rest);
    }
    kept
}
