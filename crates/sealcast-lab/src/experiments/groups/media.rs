//! Frames for many viewers: sealed once or for each, and what signing them adds.

use std::sync::Arc;
use std::time::Duration;

use aws_lc_rs::signature::{ML_DSA_65_SIGNING, PqdsaKeyPair};
use sealcast::failure::Result;
use sealcast::meter::resources::thread_cpu_time;
use sealcast_proto::group::MemberId;
use sealcast_proto::group_media::{GroupOpener, GroupSealer, SealedFrame};
use sealcast_proto::keys::Mechanism;
use sealcast_proto::session::{Output, Session};
use sealcast_proto::sign::{GOP_SIGNATURE_LEN, SignMode, UnsignedPart, gop_seed};
use serde::Deserialize;

use super::cast::{self, at, broken};
use crate::experiments::handshake::ends::publisher;
use crate::harness::Sample;

/// Frames of a group of pictures: two seconds at 25 frames a second.
const GROUP: u64 = 50;
const FRAME: Duration = Duration::from_millis(40);

/// Number of times that a frame is sealed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Sealing {
    /// Once, under the group's key; each viewer's buffer gets a copy.
    Once,
    /// By the session of each viewer, straight into its buffer.
    Each,
}

/// Number of frames that are measured in a turn, and the bytes of each.
#[derive(Clone, Copy, Debug)]
pub(super) struct Amount {
    pub(super) frames: u64,
    pub(super) bytes: usize,
}

/// Fills the outgoing buffers of `viewers` with frames.
///
/// # Errors
/// A frame was not sealed.
pub(super) fn fan_out(
    sealing: Sealing,
    viewers: usize,
    mechanism: &Arc<dyn Mechanism>,
    amount: Amount,
) -> Result<Sample> {
    let mut out = vec![Vec::new(); viewers];
    let spent = match sealing {
        Sealing::Once => {
            let mut camera = Camera::new(SignMode::Off, amount)?;
            spent(amount.frames, |number| {
                let sealed = camera.seal(number)?;
                for out in &mut out {
                    out.clear();
                    out.extend_from_slice(&sealed.bytes);
                }
                Ok(())
            })?
        }
        Sealing::Each => {
            let sessions = (0..viewers).map(|_| publisher(mechanism));
            let mut sessions = sessions.collect::<Result<Vec<_>>>()?;
            let data = vec![0x5A; amount.bytes];
            spent(amount.frames, |number| {
                for (session, out) in sessions.iter_mut().zip(&mut out) {
                    out.clear();
                    seal(session, number, &data, out)?;
                }
                Ok(())
            })?
        }
    };
    let micros = spent.as_secs_f64() * 1e6 / amount.frames as f64;
    Ok(Sample::default()
        .with("fan_out_us", micros)
        .with("viewer_us_of_fan_out", micros / viewers as f64)
        .with("wire_bytes", out[0].len() as f64))
}

/// Processor time of handling frames, after one that does not count.
fn spent(frames: u64, mut handle: impl FnMut(u64) -> Result<()>) -> Result<Duration> {
    handle(0)?;
    let before = thread_cpu_time();
    for number in 1..=frames {
        handle(number)?;
    }
    Ok(thread_cpu_time().saturating_sub(before))
}

fn seal(session: &mut Session, number: u64, data: &[u8], out: &mut Vec<u8>) -> Result<()> {
    let frame = cast::frame(number, number.is_multiple_of(GROUP), data);
    let sealed = session.seal_frame(at(FRAME * number as u32), &frame, out);
    sealed.map_err(|error| broken(&error))?;
    while !matches!(session.poll(), Output::Timeout(_)) {}
    Ok(())
}

/// Seals, signs, opens and verifies frames.
///
/// # Errors
/// A frame was not sealed, or not released.
pub(super) fn signing(mode: SignMode, amount: Amount) -> Result<Sample> {
    let mut camera = Camera::new(mode, amount)?;
    let mut viewer = camera.viewer()?;
    let (mut sealing, mut opening, mut signing) = (Duration::ZERO, Duration::ZERO, Duration::ZERO);
    let (mut bytes, mut signed, mut parts) = (0, 0, 0_u32);
    for number in 0..amount.frames {
        let before = thread_cpu_time();
        let sealed = camera.seal(number)?;
        sealing += thread_cpu_time().saturating_sub(before);
        bytes += sealed.bytes.len();
        opening += open(&mut viewer, number, &sealed)?;
        if let Some(part) = camera.part.take() {
            let before = thread_cpu_time();
            signed += camera.sign(part)?;
            signing += thread_cpu_time().saturating_sub(before);
            parts += 1;
        }
    }
    let frames = amount.frames as f64;
    let micros = |time: Duration| time.as_secs_f64() * 1e6 / frames;
    let each = signing.checked_div(parts).map(|time| time.as_secs_f64() * 1e6);
    let each_bytes = if parts == 0 {
        0.0
    } else {
        signed as f64 / f64::from(parts)
    };
    Ok(Sample::default()
        .with("seal_us", micros(sealing))
        .with("open_us", micros(opening))
        .with_some("gop_sign_us", each)
        .with("frame_bytes", bytes as f64 / frames)
        .with("gop_bytes", each_bytes))
}

/// Opens a frame. Returns what that took.
fn open(viewer: &mut GroupOpener, number: u64, sealed: &SealedFrame) -> Result<Duration> {
    let mut records = cast::records(sealed);
    let now = at(FRAME * number as u32).monotonic;
    let before = thread_cpu_time();
    for record in &mut records {
        viewer.open(now, record).map_err(|refusal| broken(&refusal))?;
    }
    let mut released = 0;
    while viewer.next_media().is_some() {
        released += 1;
    }
    let spent = thread_cpu_time().saturating_sub(before);
    if released == 0 {
        return Err(broken(&"a frame was not released"));
    }
    Ok(spent)
}

/// A camera whose time goes on with its frames.
struct Camera {
    sealer: GroupSealer,
    pair: PqdsaKeyPair,
    data: Vec<u8>,
    /// The part that waits for the signature of groups of pictures.
    part: Option<UnsignedPart>,
}

impl Camera {
    fn new(mode: SignMode, amount: Amount) -> Result<Self> {
        let seed = gop_seed(&cast::identity());
        Ok(Self {
            sealer: cast::sealer(mode).map_err(|error| broken(&error))?,
            pair: PqdsaKeyPair::from_seed(&ML_DSA_65_SIGNING, seed.as_ref()).map_err(|error| broken(&error))?,
            data: vec![0x5A; amount.bytes],
            part: None,
        })
    }

    /// A member of the group.
    fn viewer(&mut self) -> Result<GroupOpener> {
        let admitted = self.sealer.admit(at(Duration::ZERO), MemberId(0), cast::member_key(0));
        admitted.map_err(|error| broken(&error))?;
        let announced = self.sealer.announce(at(Duration::ZERO), &[1; 32]);
        announced.map_err(|error| broken(&error))?;
        let sheet = self.sealer.path_sheet(MemberId(0));
        let sheet = sheet.ok_or_else(|| broken(&"no member"))?;
        let mut viewer = cast::opener(0, &self.sealer)?;
        viewer.take_sheet(&sheet).map_err(|refusal| broken(&refusal))?;
        Ok(viewer)
    }

    fn seal(&mut self, number: u64) -> Result<SealedFrame> {
        let frame = cast::frame(number, number.is_multiple_of(GROUP), &self.data);
        let sealed = self.sealer.seal(at(FRAME * number as u32), &cast::info(), &frame);
        let sealed = sealed.map_err(|error| broken(&error))?;
        let sealed = sealed.ok_or_else(|| broken(&"a stream begins with a keyframe"))?;
        self.part = sealed.part;
        Ok(sealed.frame)
    }

    /// Signs a group of pictures; returns the length of the message for the viewers.
    fn sign(&self, part: UnsignedPart) -> Result<usize> {
        let mut signature = [0; GOP_SIGNATURE_LEN];
        let signed = self.pair.sign(part.content(), &mut signature);
        signed.map_err(|error| broken(&error))?;
        Ok(part.signed(&signature).to_bytes().len())
    }
}

#[cfg(test)]
mod tests {
    use sealcast::keys::mechanism;

    use super::*;

    const AMOUNT: Amount = Amount {
        frames: 120,
        bytes: 2000,
    };

    #[test]
    fn each_viewers_buffer_is_filled_whoever_seals() {
        let mechanism = mechanism::by_name("x25519").expect("a known name");
        let bytes = [Sealing::Once, Sealing::Each].map(|sealing| {
            let sample = fan_out(sealing, 3, &mechanism, AMOUNT).expect("frames are sealed");
            sample.value("wire_bytes").expect("bytes")
        });
        assert_eq!(bytes[0], bytes[1], "the same records");
    }

    #[test]
    fn signatures_add_the_bytes_that_their_page_says() {
        let off = signing(SignMode::Off, AMOUNT).expect("frames are released");
        let both = signing(SignMode::Both, AMOUNT).expect("frames are released");
        let more = both.value("frame_bytes").expect("bytes") - off.value("frame_bytes").expect("bytes");
        // A record with a proof of 102 bytes: length, header, tag.
        assert_eq!(more, 102.0 + 4.0 + 24.0 + 16.0);
        assert!(both.value("gop_bytes").expect("bytes") > 3309.0 && off.value("gop_sign_us").is_none());
    }
}
