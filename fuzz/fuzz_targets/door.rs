//! A handshake over datagrams that are lost, repeated, altered and forged: nothing unauthenticated ends it, and a
//! network that finally delivers datagrams gets a session.
#![no_main]

use std::time::Duration;

use libfuzzer_sys::arbitrary::{self, Arbitrary};
use libfuzzer_sys::fuzz_target;
use sealcast_fuzz::{Act, CONNECTION, Ends, START, cookies, fragment, judge};
use sealcast_proto::session::SessionError;
use sealcast_proto::sim::{Direction, LinkProfile, WORLD_ADDRESS};
use sealcast_proto::wire::{COOKIE_LEN, Unconnected};

/// Each drop costs at most one wait of half a second, and a handshake has five seconds.
const FEW_DROPS: usize = 6;
/// A handshake continues at least this long after the first refused message.
const DOUBT: Duration = Duration::from_secs(1);

#[derive(Debug, Arbitrary)]
struct Plan {
    publishes: bool,
    jitter: u8,
    seed: u64,
    network: Vec<Act>,
    inventions: Vec<(u8, bool, Invention)>,
}

#[derive(Debug, Arbitrary)]
enum Invention {
    Fragment {
        cookie: Option<[u8; COOKIE_LEN]>,
        message: u8,
        index: u8,
        count: u8,
        part: Vec<u8>,
    },
    /// A datagram with our connection's number and arbitrary content.
    Bare(Vec<u8>),
    Raw(Vec<u8>),
}

impl Invention {
    fn bytes(&self, cookie: &[u8; COOKIE_LEN]) -> Vec<u8> {
        match self {
            Self::Fragment {
                cookie: other,
                message,
                index,
                count,
                part,
            } => fragment(other.as_ref().unwrap_or(cookie), *message, *index, *count, part),
            Self::Bare(message) => [&CONNECTION.to_be_bytes()[..], message].concat(),
            Self::Raw(bytes) => bytes.clone(),
        }
    }
}

fuzz_target!(|plan: Plan| {
    let (cookies, cookie) = cookies();
    let profile = LinkProfile {
        delay: Duration::from_millis(20),
        jitter: Duration::from_millis(u64::from(plan.jitter % 20)),
        ..LinkProfile::default()
    };
    let mut world = Ends::on_datagrams(plan.publishes).world(&profile, plan.seed);
    let drops = plan.network.iter().filter(|act| matches!(act, Act::Drop)).count();
    let mut honest = drops <= FEW_DROPS && !plan.network.iter().any(|act| matches!(act, Act::Edit(_)));
    let mut judge = judge(0, plan.network);
    for (wait, to_initiator, invention) in plan.inventions.iter().take(64) {
        world.run(Duration::from_millis(u64::from(*wait) % 100), &mut judge);
        let datagram = invention.bytes(&cookie);
        // A network that sees the cookies can take part.
        honest &= !datagram.windows(COOKIE_LEN).any(|window| *window == cookie) && !matches!(datagram.get(4), Some(8));
        let greeting = cookies.judge(&WORLD_ADDRESS, &datagram);
        if let Unconnected::Retry(answer) = &greeting {
            assert!(answer.len() <= datagram.len(), "a stranger gets no more than it sent");
        }
        if let Unconnected::Begin { cookie: shown, .. } = greeting {
            assert_eq!(shown, cookie, "only who receives here begins a session");
        }
        let towards = if *to_initiator {
            Direction::ToInitiator
        } else {
            Direction::ToResponder
        };
        world.send(towards, datagram);
        for end in [&world.initiator, &world.responder] {
            let early = world.now.monotonic < START.monotonic + DOUBT;
            assert!(end.error.is_none() || !early, "{:?}", end.error);
        }
    }
    world.run(Duration::from_secs(5), &mut judge);
    for end in [&world.initiator, &world.responder] {
        let only_time = matches!(end.error, None | Some(SessionError::Handshake(_)));
        assert!(only_time, "what is not authenticated ends nothing: {:?}", end.error);
        assert!(!honest || end.session.is_established(), "{:?}", end.error);
    }
});
