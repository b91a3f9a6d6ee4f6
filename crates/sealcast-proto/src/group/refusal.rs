//! Reasons why a member refuses a group's terms, or a key sheet (groups.md §6).

use crate::sign::NoSignMode;

/// Reason why terms were refused, in the order of the checks. Refused terms change nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TermsRefusal {
    /// They do not have the form of terms: their sender's fault.
    #[error("malformed")]
    Malformed,
    /// They are of another camera than the one that this member watches: who delivered them is at fault.
    #[error("wrong-camera")]
    WrongCamera,
    /// They are of another stream of the camera: who delivered them is at fault.
    #[error("wrong-stream")]
    WrongStream,
    /// They are of another camera of the publisher than the one that this member asked for by its name.
    #[error("wrong-name")]
    WrongName,
    /// They were altered on the way, or made by somebody else than the camera.
    #[error("signature")]
    Signature,
    /// The camera signs as earlier versions did: it is of one.
    #[error("sign")]
    Sign(NoSignMode),
    /// The group's suite is not one that this member accepts.
    #[error("suite")]
    Suite,
    /// Others of the same run are known: the camera's fault.
    #[error("changed")]
    Changed,
}

/// Reason why a sheet was refused, in the order of the checks. A refused sheet changes nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
pub enum SheetRefusal {
    /// It does not have the form of a sheet: its sender's fault.
    #[error("malformed")]
    Malformed,
    /// It is of another camera than the one that this member watches: who delivered it is at fault.
    #[error("wrong-camera")]
    WrongCamera,
    /// It is of another stream of the camera: who delivered it is at fault.
    #[error("wrong-stream")]
    WrongStream,
    /// It was altered on the way, or made by somebody else than the camera.
    #[error("signature")]
    Signature,
    /// It is of a run of which this member has no terms.
    #[error("wrong-run")]
    WrongRun,
    /// Its suite is not that of the terms: the camera's fault.
    #[error("suite")]
    Suite,
    /// A sheet of this epoch or a later one was taken already: this one is late, or replayed.
    #[error("stale")]
    Stale,
    /// It takes effect before the sheet of an earlier epoch did: the camera's fault.
    #[error("backwards")]
    Backwards,
    /// It builds on a sheet that this member does not have: a full or a path sheet is needed.
    #[error("missed")]
    Missed,
    /// Nothing in it is for this member: the camera removed it, or made the sheet for another.
    #[error("no-slot")]
    NoSlot,
    /// A wrap for this member does not open, because it missed a sheet before: a full or a path sheet is needed.
    #[error("unopened")]
    Unopened,
}
