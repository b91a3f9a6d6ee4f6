//! Texts that users paste: tickets, peer ids, invites, identity files. Each has exactly one spelling.
#![no_main]

use libfuzzer_sys::fuzz_target;
use sealcast_proto::keys::{Identity, Invite, PeerId};
use sealcast_proto::wire::Ticket;

fuzz_target!(|text: &str| {
    if let Ok(ticket) = text.parse::<Ticket>() {
        let revealed = ticket.reveal();
        let short = match ticket.others.is_empty() {
            true => text.replacen("?transport=tcp", "", 1),
            false => text.to_owned(),
        };
        assert_eq!(short, revealed, "a ticket has one spelling");
        let again = revealed.parse::<Ticket>();
        assert!(again.is_ok_and(|again| again == ticket), "a ticket can be read again");
    }
    if let Some(peer) = PeerId::parse(text) {
        assert_eq!(peer.to_string(), text);
    }
    if let Some(invite) = Invite::parse(text) {
        assert_eq!(invite.reveal(), text);
    }
    if let Ok(identity) = Identity::from_file_text(text) {
        assert_eq!(*identity.reveal_file_text(), text);
    }
});
