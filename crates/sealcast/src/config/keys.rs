//! Every key of the configuration, for the environment, for suggestions and for `config check`.

/// What a value looks like in the environment, where everything is text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Taken as it is.
    Text,
    /// `true` or `false`.
    Switch,
    /// A whole number.
    Number,
    /// Names separated by commas.
    List,
    /// Tables, which the environment cannot hold.
    Tables,
}

/// One key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Key {
    /// Section, without brackets.
    pub section: &'static str,
    /// Name within the section.
    pub name: &'static str,
    /// Form of its value.
    pub kind: Kind,
}

const fn key(section: &'static str, name: &'static str, kind: Kind) -> Key {
    Key { section, name, kind }
}

/// Every key, in the order of the example file. A test holds this to the sections of [`FileConfig`](super::FileConfig).
pub const KEYS: &[Key] = &[
    key("publish", "source", Kind::Text),
    key("publish", "source_file", Kind::Text),
    key("publish", "listen", Kind::Text),
    key("publish", "to", Kind::Text),
    key("publish", "suites", Kind::List),
    key("publish", "mechanisms", Kind::List),
    key("publish", "allow", Kind::Text),
    key("publish", "open", Kind::Switch),
    key("publish", "invite", Kind::Switch),
    key("publish", "ticket_file", Kind::Text),
    key("publish", "max_viewers", Kind::Number),
    key("publish", "queue_frames", Kind::Number),
    key("publish", "rekey_seconds", Kind::Number),
    key("publish", "rekey_records", Kind::Number),
    key("publish", "encrypt", Kind::Text),
    key("publish", "encrypt_seed", Kind::Number),
    key("publish", "unit", Kind::Text),
    key("publish", "control", Kind::Text),
    key("publish", "bitrate", Kind::Number),
    key("publish", "bitrate_min", Kind::Number),
    key("publish", "bitrate_max", Kind::Number),
    key("watch", "ticket", Kind::Text),
    key("watch", "ticket_file", Kind::Text),
    key("watch", "to", Kind::Text),
    key("watch", "reconnect", Kind::Switch),
    key("demo", "source", Kind::Text),
    key("demo", "seconds", Kind::Number),
    key("demo", "headless", Kind::Switch),
    key("gateway", "camera", Kind::Tables),
    key("gateway", "camera_file", Kind::Text),
    key("gateway", "peer", Kind::Text),
    key("gateway", "peer_file", Kind::Text),
    key("gateway", "rtsp", Kind::Text),
    key("gateway", "rtsp_user", Kind::Text),
    key("gateway", "rtsp_password_file", Kind::Text),
    key("identity", "file", Kind::Text),
    key("observe", "report", Kind::Text),
    key("observe", "log_dir", Kind::Text),
    key("observe", "metrics", Kind::Text),
    key("observe", "meter", Kind::Text),
];

impl Key {
    /// The environment variable that sets it, such as `SEALCAST_PUBLISH_LISTEN`.
    pub fn variable(&self) -> String {
        format!("SEALCAST_{}_{}", self.section, self.name).to_uppercase()
    }

    /// `section.name`.
    pub fn path(&self) -> String {
        format!("{}.{}", self.section, self.name)
    }
}

/// Of `valid`, the word that `wrong` was probably meant to be, if any is near enough.
pub fn nearest<'a>(wrong: &str, valid: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let plain = |word: &str| word.to_lowercase().replace('-', "_");
    let wrong = plain(wrong);
    let scored = valid
        .into_iter()
        .map(|word| (strsim::damerau_levenshtein(&wrong, &plain(word)), word));
    let (distance, word) = scored.min_by_key(|(distance, _)| *distance)?;
    (distance <= (word.len() / 3).max(1)).then_some(word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_misspelt_word_finds_its_neighbour_and_a_foreign_one_does_not() {
        let valid = ["listen", "suites", "rekey_seconds", "to"];
        assert_eq!(nearest("lisen", valid), Some("listen"));
        assert_eq!(nearest("rekey-second", valid), Some("rekey_seconds"));
        assert_eq!(nearest("Suite", valid), Some("suites"));
        assert_eq!(nearest("colour", valid), None);
        assert_eq!(nearest("listen", []), None);
    }

    #[test]
    fn variables_are_upper_case() {
        assert_eq!(KEYS[2].variable(), "SEALCAST_PUBLISH_LISTEN");
        assert_eq!(KEYS[2].path(), "publish.listen");
    }
}
