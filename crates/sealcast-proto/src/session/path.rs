//! Proof of a peer's new address, before anything but the challenge is sent there (protocol.md §7, Addresses).

use std::time::Duration;

use crate::wire::AddressBytes;

/// Minimum time between two challenges.
const CHALLENGE_INTERVAL: Duration = Duration::from_millis(250);

/// Origin of a message, if that is not the address to which messages are sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Elsewhere {
    /// The address.
    pub address: AddressBytes,
    /// 8 fresh random bytes, for a challenge.
    pub random: [u8; 8],
}

/// The address that is being challenged.
#[derive(Default)]
pub(super) struct PathValidation {
    pending: Option<Pending>,
}

struct Pending {
    address: AddressBytes,
    token: [u8; 8],
    next: Duration,
}

impl PathValidation {
    /// The newest record came from `elsewhere`. Returns the token of a challenge, if one is to be sent there.
    pub(super) fn heard(&mut self, now: Duration, elsewhere: Elsewhere) -> Option<[u8; 8]> {
        let Elsewhere { address, random } = elsewhere;
        let pending = self.pending.take_if(|pending| now >= pending.next);
        if self.pending.is_some() {
            return None;
        }
        // An address keeps its token, so that an answer that takes longer than the interval counts.
        let again = pending.filter(|pending| pending.address == address);
        let token = again.map_or(random, |pending| pending.token);
        self.pending = Some(Pending {
            address,
            token,
            next: now + CHALLENGE_INTERVAL,
        });
        Some(token)
    }

    /// Returns true if this answer proves the address that it came from.
    pub(super) fn proves(&mut self, address: &AddressBytes, token: &[u8; 8]) -> bool {
        let proved = |pending: &mut Pending| pending.address == *address && pending.token == *token;
        self.pending.take_if(proved).is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: Duration = Duration::from_secs(1);

    fn from(address: u8, random: u8) -> Elsewhere {
        Elsewhere {
            address: [address; 18],
            random: [random; 8],
        }
    }

    #[test]
    fn an_address_is_proved_by_the_token_that_was_sent_there_and_from_there() {
        let mut path = PathValidation::default();
        assert_eq!(path.heard(S, from(1, 7)), Some([7; 8]));
        assert!(!path.proves(&[2; 18], &[7; 8]), "from another address");
        assert!(!path.proves(&[1; 18], &[8; 8]), "another token");
        assert!(path.proves(&[1; 18], &[7; 8]));
        assert!(!path.proves(&[1; 18], &[7; 8]), "only once");
    }

    #[test]
    fn challenges_are_few_and_an_address_keeps_its_token() {
        let mut path = PathValidation::default();
        assert_eq!(path.heard(S, from(1, 7)), Some([7; 8]));
        let sent = (1..1000).filter(|&millisecond| {
            let now = S + Duration::from_millis(millisecond);
            path.heard(now, from(1, millisecond as u8)) == Some([7; 8])
        });
        assert_eq!(sent.count(), 3);
        assert_eq!(
            path.heard(S * 2, from(2, 9)),
            Some([9; 8]),
            "another address, another token"
        );
        assert_eq!(path.heard(S * 2, from(1, 3)), None, "not both at once");
        assert!(!path.proves(&[1; 18], &[7; 8]), "the newer address is in question");
    }
}
