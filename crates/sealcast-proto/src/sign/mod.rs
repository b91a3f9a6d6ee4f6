//! Source signatures: which frames are the camera's, although all viewers have the key that seals them
//! (`docs/spec/signatures.md`).

mod certificate;
mod digest;
mod frame_refusal;
mod frame_signer;
mod frame_verifier;
mod gop_message;
mod gop_signer;
mod gop_verifier;
pub(crate) mod merkle;
mod mode;
mod statement;

pub use certificate::{
    CERTIFICATE_LEN, Certificate, CertificateError, GOP_KEY_LEN, GOP_SIGNATURE_LEN, GopKey, gop_key_id, gop_seed,
};
pub use digest::{FrameDigest, FrameHasher, MAX_FRAME_RECORDS, record_hash};
pub use frame_refusal::{FrameRefusal, FrameRefusalCounts};
pub use frame_signer::{FrameSigner, OutgoingStatement, SignError};
pub use frame_verifier::{FrameVerifier, ReceivedFrame, Verified};
pub use gop_message::{GopSignature, MAX_GOP_SIGNATURE, MAX_PART_FRAMES};
pub use gop_signer::{GopSigner, UnsignedPart};
pub use gop_verifier::{
    GopOutcome, GopRefusal, GopVerdict, GopVerifier, GopVerifiers, MAX_OPEN_PARTS, PROOF_DELAY, PROOF_PATIENCE,
    ProofCounts, ProofState, Taken,
};
pub use merkle::Hash;
pub use mode::{NoSignMode, SignMode};
pub use statement::{FrameProof, MAX_FRAME_PROOF, Statement};

#[cfg(test)]
mod frame_tests;
#[cfg(test)]
mod gop_tests;
#[cfg(test)]
mod insider_tests;
#[cfg(test)]
mod proof_tests;
#[cfg(test)]
pub(crate) mod test_camera;
