//! Evidence about a camera's frames beside the signature of each, at a member: how old the picture can be, and what the
//! signatures of groups of pictures prove.

use std::time::Duration;

use super::RelayRefusal;
use crate::group::GroupName;
use crate::live::{Answer, CHALLENGE_LEN, Challenge, LivenessState, PictureAge};
use crate::sign::{
    Certificate, GopKey, GopOutcome, GopRefusal, GopVerdict, GopVerifiers, ProofState, SignMode, Taken, Verified,
};
use crate::wire::Malformed;

/// State of it, from the camera's terms on.
pub(crate) struct Evidence {
    group: GroupName,
    sign: SignMode,
    age: PictureAge,
    /// Verifiers, if groups of pictures are signed.
    gops: Option<GopVerifiers>,
    /// The key of these signatures, once its certificate has come.
    key: Option<GopKey>,
    /// True if the viewer insists on these signatures.
    required: bool,
}

impl Evidence {
    /// Of a camera that signs this, where the viewer insists on `least`; nothing has come. `round_trip` is that of the
    /// viewer's session with the camera.
    pub(crate) fn new(group: GroupName, sign: SignMode, least: SignMode, round_trip: Duration) -> Self {
        Self {
            group,
            sign,
            age: PictureAge::new(round_trip),
            gops: sign.gops().then(|| GopVerifiers::new(group.stream as u16)),
            key: None,
            required: least.gops(),
        }
    }

    /// Mode in which the camera signs.
    pub(crate) fn sign(&self) -> SignMode {
        self.sign
    }

    /// True if frames may be released: where the viewer insists on signatures of groups of pictures, once the
    /// certificate of their key has come.
    pub(crate) fn may_release(&self) -> bool {
        !self.required || self.gops.as_ref().is_some_and(GopVerifiers::is_certified)
    }

    /// Takes the certificate of the key that signs groups of pictures.
    ///
    /// # Errors
    /// [`RelayRefusal`]: it is not the camera's; nothing has changed.
    pub(crate) fn certified(&mut self, certificate: &[u8]) -> Result<(), RelayRefusal> {
        let certificate = Certificate::parse(certificate).map_err(|Malformed| RelayRefusal::Malformed)?;
        let key = certificate.verify(&self.group.camera, None);
        let key = key.map_err(RelayRefusal::Certificate)?;
        self.gops.iter_mut().for_each(|gops| gops.certified(&key));
        self.key = Some(key);
        Ok(())
    }

    /// From here on, the camera signs this: a new run of it has begun.
    pub(crate) fn expect(&mut self, sign: SignMode) {
        if std::mem::replace(&mut self.sign, sign).gops() == sign.gops() {
            return;
        }
        self.gops = sign.gops().then(|| GopVerifiers::new(self.group.stream as u16));
        if let (Some(gops), Some(key)) = (&mut self.gops, &self.key) {
            gops.certified(key);
        }
    }

    /// Takes the signature of a group of pictures.
    ///
    /// # Errors
    /// [`GopRefusal`]; nothing has changed.
    pub(crate) fn verify(&mut self, signature: &[u8]) -> Result<GopVerdict, GopRefusal> {
        self.gops.as_mut().ok_or(GopRefusal::Key)?.verify(signature)
    }

    /// Notes a frame that was released. Returns what to say if its group's signature, which came before, does not cover
    /// it.
    pub(crate) fn released(&mut self, now: Duration, verified: &Verified) -> Option<GopVerdict> {
        let statement = verified.statement();
        if u32::from(statement.stream) == self.group.stream {
            self.age.verified(now, verified);
        }
        let taken = self.gops.as_mut()?.took(now, statement);
        (taken == Taken::Forged).then(|| GopVerdict {
            stream: statement.stream,
            group: statement.group,
            outcome: GopOutcome::Forged {
                forged: vec![statement.index],
            },
            follows: true,
        })
    }

    /// Takes an answer to a challenge.
    ///
    /// # Errors
    /// [`Malformed`].
    pub(crate) fn answered(&mut self, answer: &[u8]) -> Result<(), Malformed> {
        self.age.answer(&Answer::parse(answer)?);
        Ok(())
    }

    /// When the next challenge is due, if the camera signs frames.
    pub(crate) fn next_challenge(&self) -> Option<Duration> {
        self.sign.frames().then(|| self.age.next_challenge())
    }

    /// Makes a challenge, as [`PictureAge::challenge`]. None if the camera signs no frames.
    pub(crate) fn challenge(
        &mut self,
        now: Duration,
        random: [u8; CHALLENGE_LEN],
        round_trip: Duration,
    ) -> Option<Challenge> {
        let signs = self.sign.frames();
        signs.then(|| self.age.challenge(now, random, round_trip)).flatten()
    }

    /// Age that the picture can have, if the camera signs frames.
    pub(crate) fn picture_age(&self, now: Duration) -> Option<LivenessState> {
        self.sign.frames().then(|| self.age.state(now))
    }

    /// Progress of the signatures of groups of pictures, if the camera makes them.
    pub(crate) fn proofs(&self, now: Duration) -> Option<ProofState> {
        let gops = self.gops.as_ref()?;
        Some(ProofState {
            missing: gops.missing_at().is_some_and(|at| at <= now),
            counts: gops.counts(),
        })
    }

    /// When something becomes an alarm if nothing comes until then.
    pub(crate) fn next_alarm(&self, now: Duration) -> Option<Duration> {
        let old = self.sign.frames().then(|| self.age.next_alarm(now)).flatten();
        let missing = self.gops.as_ref().and_then(GopVerifiers::missing_at);
        let both = [old, missing.filter(|at| *at > now)];
        both.into_iter().flatten().min()
    }
}
