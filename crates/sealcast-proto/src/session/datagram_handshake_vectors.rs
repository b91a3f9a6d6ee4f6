//! `vectors/datagrams.json`: sequences of received fragments, and the result of each fragment.

use serde::Deserialize;

use super::*;
use sealcast_testkit::vectors::{Hex, load};

#[derive(Deserialize)]
struct File {
    reassemblies: Vec<Case>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    name: String,
    expect: String,
    #[serde(rename = "why")]
    _why: String,
    cookie: Hex,
    steps: Vec<Step>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Step {
    /// Milliseconds since the first step.
    at: u64,
    message: Hex,
    expect: String,
    whole: Option<Hex>,
}

#[test]
fn fragments_are_put_together_as_by_the_reference() {
    let cases = load::<File>("datagrams").reassemblies;
    assert_eq!(cases.len(), 18);
    for case in cases {
        assert_eq!(case.expect, "mixed");
        let entry = Entry::Shown {
            connection: 1,
            cookie: case.cookie.array(),
        };
        let mut datagram_handshake = DatagramHandshake::new(entry, TicketMac::new(&[1; 32]), Duration::ZERO);
        for (number, step) in case.steps.iter().enumerate() {
            let now = Duration::from_millis(step.at);
            let (passed, answers) = datagram_handshake.take(now, &step.message.0);
            assert!(answers.is_empty(), "{}, step {number}", case.name);
            let (outcome, whole) = match passed {
                Passed::Message(message) => {
                    datagram_handshake.accepted();
                    ("complete", Some(message))
                }
                Passed::Repeated => ("repeated", None),
                Passed::Differs(_) => ("differs", None),
                Passed::Forgotten => ("forgotten", None),
                Passed::Nothing => ("nothing", None),
            };
            let expected = (step.expect.as_str(), step.whole.as_ref().map(|whole| whole.0.clone()));
            assert_eq!((outcome, whole), expected, "{}, step {number}", case.name);
        }
    }
}
