//! Reasons for which a member takes no frame, and a viewer of a relay no object.

use crate::group::{SheetRefusal, TermsRefusal};
use crate::seal::Refusal;
use crate::sign::{CertificateError, FrameRefusal, GopRefusal, NoSignMode, SignMode};

/// Reason why a record, or the frame that it completes, was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GroupRefusal {
    /// The record.
    #[error("{0}")]
    Record(#[from] Refusal),
    /// The frame: whoever in the group sealed it, it is not what the camera signed.
    #[error("{0}")]
    Frame(#[from] FrameRefusal),
    /// The packet of sound, likewise.
    #[error("{0}")]
    Sound(FrameRefusal),
    /// No certificate has come of the key that signs groups of pictures, on which the viewer insists.
    #[error("no certificate of the key that signs groups of pictures has come")]
    Uncertified,
    /// The frame is the camera's, and older than what the viewer had before it started.
    #[error("older than what was shown before")]
    Rewound,
}

impl GroupRefusal {
    /// The same of sound.
    pub(super) fn of_sound(self) -> Self {
        match self {
            Self::Frame(reason) => Self::Sound(reason),
            other => other,
        }
    }
}

/// Reason why an object of a relay was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RelayRefusal {
    /// It is not of the track that it came on, or cut off.
    #[error("an object of the relay is malformed")]
    Malformed,
    /// The terms.
    #[error("the terms of the group were refused: {0}")]
    Terms(TermsRefusal),
    /// Less is signed than this end asks for.
    #[error("the camera signs {signed}, and this viewer asks for {least}")]
    Sign {
        /// Signatures of the camera.
        signed: SignMode,
        /// Least mode that this end asks for.
        least: SignMode,
    },
    /// The camera's mode of signing is none of this version.
    #[error("the camera's signatures are none that this viewer knows: {0}")]
    Mode(NoSignMode),
    /// It came before the camera's terms.
    #[error("the relay does not give the camera's terms")]
    Early,
    /// The sheet.
    #[error("a key sheet was refused: {0}")]
    Sheet(SheetRefusal),
    /// The certificate of the key that signs groups of pictures.
    #[error("{0}")]
    Certificate(CertificateError),
    /// The signature of a group of pictures.
    #[error("the signature of a group of pictures was refused: {0:?}")]
    Signature(GopRefusal),
}

impl RelayRefusal {
    pub(super) fn terms(refusal: TermsRefusal) -> Self {
        match refusal {
            TermsRefusal::Sign(mode) => Self::Mode(mode),
            other => Self::Terms(other),
        }
    }
}
