//! The cameras to which an invite, and who is enrolled by it, is limited.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

use crate::failure::{Failure, FailureKind, Result};

/// Maximum number of cameras that a limit names.
const MAX_NAMED: usize = 8;
/// Maximum length of a camera's name in bytes.
const MAX_NAME: usize = 64;

/// Check the name of a publisher's camera.
///
/// # Errors
/// Kind `Usage`: it is empty or longer than 64 bytes, has other characters than letters, digits and `.-_`, or does not
/// begin with a letter or a digit.
pub fn check_camera_name(name: &str) -> Result<()> {
    let fits = |c: char| c.is_ascii_alphanumeric() || ".-_".contains(c);
    let begins = name.starts_with(|c: char| c.is_ascii_alphanumeric());
    if begins && name.len() <= MAX_NAME && name.chars().all(fits) {
        return Ok(());
    }
    let what = format!("\"{}\" is no name of a camera", sealcast_proto::words::plain(name));
    let hint = "a name has 1 to 64 letters, digits and .-_, and begins with a letter or a digit";
    Err(Failure::new(FailureKind::Usage, what, hint))
}

/// The cameras that may be watched: some, or all but some. Its text is `front,yard`, or `-front` for all but that one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CameraLimit {
    /// These alone; `None` for all.
    only: Option<BTreeSet<String>>,
    /// None of these.
    not: BTreeSet<String>,
}

impl CameraLimit {
    /// Limited to these cameras; to none of them if the list is empty: then all may be watched.
    ///
    /// # Errors
    /// Kind `Usage`: a name is none, or there are more than 8.
    pub fn to(names: &[String]) -> Result<Self> {
        names.iter().try_for_each(|name| check_camera_name(name))?;
        let only: BTreeSet<String> = names.iter().cloned().collect();
        if only.len() > MAX_NAMED {
            let what = format!("an invite names at most {MAX_NAMED} cameras");
            return Err(Failure::new(
                FailureKind::Usage,
                what,
                "make another one for the others",
            ));
        }
        Ok(Self {
            only: (!only.is_empty()).then_some(only),
            not: BTreeSet::new(),
        })
    }

    /// True if all cameras may be watched.
    pub fn is_none(&self) -> bool {
        self.only.is_none() && self.not.is_empty()
    }

    /// True if this camera may be watched; a camera without a name only without a limit.
    pub fn allows(&self, name: Option<&str>) -> bool {
        match name {
            Some(name) => self.only.as_ref().is_none_or(|only| only.contains(name)) && !self.not.contains(name),
            None => self.is_none(),
        }
    }

    /// True if no further camera can be taken away: so many cannot be written.
    pub fn is_full(&self) -> bool {
        self.only.is_none() && self.not.len() >= MAX_NAMED
    }

    /// The cameras that it names.
    pub fn named(&self) -> impl Iterator<Item = &str> {
        self.only.iter().flatten().chain(&self.not).map(String::as_str)
    }

    /// The limit that is left without this camera; `None` if that is nothing, or if it [is full](Self::is_full).
    pub fn without(mut self, name: &str) -> Option<Self> {
        match &mut self.only {
            Some(only) => {
                only.remove(name);
                (!only.is_empty()).then_some(self)
            }
            None => {
                self.not.insert(name.to_owned());
                (self.not.len() <= MAX_NAMED).then_some(self)
            }
        }
    }

    /// Limit of a peer that was limited so and is invited again under another limit: both, as far as they can be
    /// written.
    pub fn and(self, other: &Self) -> Self {
        let allowed = |limit: &Self, name: &String| limit.allows(Some(name));
        match (self.only, &other.only) {
            (Some(only), Some(more)) => {
                let all = more.iter().cloned().chain(only);
                Self {
                    only: Some(all.take(MAX_NAMED).collect()),
                    not: BTreeSet::new(),
                }
            }
            (only, more) => {
                let some = Self {
                    only: only.or_else(|| more.clone()),
                    not: BTreeSet::new(),
                };
                let not = self.not.into_iter().chain(other.not.iter().cloned());
                Self {
                    only: None,
                    not: not
                        .filter(|name| some.only.is_none() || !allowed(&some, name))
                        .collect(),
                }
            }
        }
    }
}

impl fmt::Display for CameraLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let only = self.only.iter().flatten().cloned();
        let not = self.not.iter().map(|name| format!("-{name}"));
        let all: Vec<String> = only.chain(not).collect();
        f.write_str(&all.join(","))
    }
}

impl FromStr for CameraLimit {
    type Err = Failure;

    fn from_str(text: &str) -> Result<Self> {
        let (mut only, mut not) = (Vec::new(), BTreeSet::new());
        for name in text.split(',').filter(|name| !name.is_empty()) {
            match name.strip_prefix('-') {
                Some(name) => {
                    check_camera_name(name)?;
                    not.insert(name.to_owned());
                }
                None => only.push(name.to_owned()),
            }
        }
        not = not.into_iter().take(MAX_NAMED).collect();
        Ok(Self {
            not,
            ..Self::to(&only)?
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limit(text: &str) -> CameraLimit {
        text.parse().expect(text)
    }

    #[test]
    fn a_limit_is_what_its_text_says() {
        for (text, front, yard, unnamed) in [
            ("", true, true, true),
            ("front", true, false, false),
            ("front,yard", true, true, false),
            ("-front", false, true, false),
            ("-back,-front", false, true, false),
        ] {
            let limit = limit(text);
            assert_eq!(limit.to_string(), text);
            let seen = [Some("front"), Some("yard"), None].map(|name| limit.allows(name));
            assert_eq!(seen, [front, yard, unnamed], "{text}");
        }
        for wrong in ["a b", "-", "a,.b", "a,é", "1,2,3,4,5,6,7,8,9", &"x".repeat(65)] {
            assert!(wrong.parse::<CameraLimit>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_camera_is_taken_away_and_another_invite_gives_it_back() {
        for (before, taken, after) in [
            ("", "front", Some("-front")),
            ("front,yard", "front", Some("yard")),
            ("front", "front", None),
            ("front", "yard", Some("front")),
            ("-a", "b", Some("-a,-b")),
            ("-1,-2,-3,-4,-5,-6,-7,-8", "9", None),
        ] {
            let left = limit(before).without(taken).map(|limit| limit.to_string());
            assert_eq!(left.as_deref(), after, "{before} without {taken}");
        }
        for (before, again, after) in [
            ("front", "yard", "front,yard"),
            ("front", "", ""),
            ("", "front", ""),
            ("-front", "front", ""),
            ("-front,-yard", "front", "-yard"),
            ("-front", "", "-front"),
            ("1,2,3,4,5", "6,7,8,9", "1,2,3,4,6,7,8,9"),
        ] {
            assert_eq!(
                limit(before).and(&limit(again)).to_string(),
                after,
                "{before} and {again}"
            );
        }
    }
}
