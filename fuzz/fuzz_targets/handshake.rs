//! A handshake in which the network alters or replaces messages: both ends finish only if it did neither.
#![no_main]

use libfuzzer_sys::arbitrary::{self, Arbitrary};
use libfuzzer_sys::fuzz_target;
use sealcast_fuzz::{Edit, Ends, RANDOM_INITIATOR, RANDOM_RESPONDER};
use sealcast_proto::keys::{Initiator, InitiatorStep, Responder, ResponderStep};
use sealcast_proto::session::Carrier;

#[derive(Debug, Arbitrary)]
struct Plan {
    publishes: bool,
    cookie: bool,
    network: Vec<Act>,
}

/// The network's action on the next message.
#[derive(Debug, Arbitrary)]
enum Act {
    Pass,
    Edit(Edit),
    Replace(Vec<u8>),
}

struct Network {
    acts: std::vec::IntoIter<Act>,
    touched: bool,
}

impl Network {
    fn carry(&mut self, message: &[u8]) -> Vec<u8> {
        let mut arrived = message.to_vec();
        match self.acts.next() {
            None | Some(Act::Pass) => {}
            Some(Act::Edit(edit)) => edit.apply(&mut arrived),
            Some(Act::Replace(other)) => arrived = other,
        }
        self.touched |= arrived != message;
        arrived
    }
}

fuzz_target!(|plan: Plan| {
    let ends = Ends::new(plan.publishes, Carrier::Stream);
    let cookie = if plan.cookie { vec![1; 64] } else { Vec::new() };
    let (mut initiator, hello) =
        Initiator::new(ends.initiator.handshake.clone(), RANDOM_INITIATOR).expect("the configuration is complete");
    let mut responder = Responder::new(ends.responder.handshake.clone(), RANDOM_RESPONDER, cookie);
    let mut network = Network {
        acts: plan.network.into_iter(),
        touched: false,
    };

    let mut to_responder = hello;
    let mut initiator_done = None;
    let mut responder_done = None;
    // Hello, retry, hello, reply, finish: there are no other messages.
    for _ in 0..3 {
        match responder.handle(&network.carry(&to_responder)) {
            Ok(ResponderStep::Send(answer)) => match initiator.handle(&network.carry(&answer)) {
                Ok(InitiatorStep::Send(hello)) => to_responder = hello,
                Ok(InitiatorStep::Done(finish, agreed)) => {
                    initiator_done = Some(agreed);
                    to_responder = finish;
                }
                Err(_) => break,
            },
            Ok(ResponderStep::Done(agreed)) => {
                responder_done = Some(agreed);
                break;
            }
            Err(_) => break,
        }
    }

    match (initiator_done, responder_done) {
        (Some(initiator), Some(responder)) => {
            assert!(!network.touched, "both ends finished what the network had altered");
            assert_eq!(initiator.session_id, responder.session_id);
            assert!(responder.peer.psk.is_some());
        }
        _ => assert!(network.touched, "the ends failed undisturbed"),
    }
});
