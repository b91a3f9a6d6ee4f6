//! Where the wishes of all who watch one camera become one voice. Both gateways have one for each camera.

use std::collections::VecDeque;
use std::sync::Arc;

use sealcast_proto::rtsp::{CarriedHeader, CarriedStatus, Channel, Parameters, Verb};

use super::MAX_WISHES;
use super::audience::{Audience, News, Outcome, Watcher};

/// What a watcher wants to know or have done.
pub(super) enum What {
    /// The camera's description.
    Describe,
    /// A command.
    Command(Verb, Parameters),
}

/// A question, and who asks it.
pub(super) struct Ask {
    pub(super) watcher: Watcher,
    /// The watcher's number for it.
    pub(super) request: u32,
    pub(super) what: What,
}

impl Ask {
    /// Answer it without the camera.
    pub(super) fn settle(self, status: CarriedStatus) {
        answer(&self.watcher, self.request, status, Parameters::default());
    }
}

/// What comes to a camera's desk.
pub(super) enum Wish {
    Ask(Ask),
    /// An RTCP packet for the camera.
    Rtcp(Channel, Vec<u8>),
    /// A watcher is gone.
    Leave(Watcher),
}

/// What must be said to the camera.
pub(super) enum Order {
    Describe,
    Command(Verb, Parameters),
}

/// What the camera has been told and has not answered.
struct Told {
    /// Nobody, where a watcher left.
    asker: Option<(Watcher, u32)>,
    /// `None` for a description.
    verb: Option<Verb>,
    /// It was said on behalf of all who watch together.
    for_all: bool,
}

/// One camera's desk. It asks one thing at a time: who comes while something is being asked waits for its turn.
#[derive(Default)]
pub(super) struct Desk {
    pub(super) audience: Arc<Audience>,
    waiting: VecDeque<Ask>,
    left: Vec<Watcher>,
    told: Option<Told>,
}

impl Desk {
    /// A question has come. One too many is answered with 503.
    pub(super) fn ask(&mut self, ask: Ask) {
        if self.waiting.len() < MAX_WISHES {
            self.waiting.push_back(ask);
        } else {
            ask.settle(CarriedStatus::of_camera(503));
        }
    }

    /// A watcher is gone: what it asked needs no answer, and its seat is free.
    pub(super) fn leave(&mut self, watcher: Watcher) {
        self.waiting.retain(|ask| ask.watcher.id != watcher.id);
        self.left.push(watcher);
    }

    /// Another desk turned out to be the same camera's: nobody watches there yet.
    pub(super) fn take_over(&mut self, other: Self) {
        for ask in other.waiting {
            self.ask(ask);
        }
        self.left.extend(other.left);
    }

    /// What to tell the camera now, if anything; its answer goes to [`answered`](Self::answered).
    pub(super) fn next_order(&mut self) -> Option<Order> {
        while self.told.is_none() {
            let (asker, what) = if let Some(watcher) = self.left.pop() {
                let teardown = What::Command(Verb::Teardown, Parameters::default());
                ((watcher, None), teardown)
            } else {
                let ask = self.waiting.pop_front()?;
                ((ask.watcher, Some(ask.request)), ask.what)
            };
            let (watcher, request) = asker;
            let order = match what {
                What::Describe => Some((Order::Describe, false)),
                What::Command(verb, with) => self.decide(&watcher, verb, with),
            };
            match (order, request) {
                (Some((order, for_all)), request) => {
                    let asker = request.map(|request| (watcher, request));
                    return Some(self.tell(order, asker, for_all));
                }
                (None, Some(request)) => answer(&watcher, request, CarriedStatus::OK, Parameters::default()),
                (None, None) => {}
            }
        }
        None
    }

    fn decide(&self, watcher: &Watcher, verb: Verb, with: Parameters) -> Option<(Order, bool)> {
        match self.audience.wish(watcher, verb) {
            Outcome::Granted => None,
            Outcome::Tell(told) => Some((Order::Command(told, with), false)),
            Outcome::TellForAll(told) => Some((Order::Command(told, Parameters::default()), true)),
        }
    }

    fn tell(&mut self, order: Order, asker: Option<(Watcher, u32)>, for_all: bool) -> Order {
        let verb = match &order {
            Order::Describe => None,
            Order::Command(verb, _) => Some(*verb),
        };
        self.told = Some(Told { asker, verb, for_all });
        order
    }

    /// The camera has answered the last order, or will not. The verb it was told, if it was a command.
    pub(super) fn answered(&mut self, status: CarriedStatus, mut with: Parameters) -> Option<Verb> {
        let told = self.told.take()?;
        if told.verb.is_none() && status.is_ok() {
            self.audience.described(&with.body);
        }
        if told.for_all {
            // Where others' packets are in the stream is not where the asker's begin.
            with.remove(CarriedHeader::RtpInfo);
        }
        if let Some((watcher, request)) = told.asker {
            if matches!(told.verb, Some(Verb::Play(_))) && !status.is_ok() {
                self.audience.refuse(watcher.id);
            }
            answer(&watcher, request, status, with);
        }
        told.verb
    }

    /// The camera is away: what it was told is not done, and who leaves or has left needs no word of it.
    pub(super) fn away(&mut self) {
        self.answered(CarriedStatus::BAD_GATEWAY, Parameters::default());
        for watcher in self.left.drain(..) {
            self.audience.wish(&watcher, Verb::Teardown);
        }
        let leaves = |ask: &Ask| matches!(ask.what, What::Command(Verb::Teardown, _));
        let (leaving, waiting) = self.waiting.drain(..).partition::<VecDeque<Ask>, _>(leaves);
        self.waiting = waiting;
        for ask in leaving {
            self.audience.wish(&ask.watcher, Verb::Teardown);
            ask.settle(CarriedStatus::OK);
        }
    }

    /// The camera is back: what to tell it for those who watched it before, if anybody did.
    pub(super) fn go_on(&mut self) -> Option<Order> {
        let play = Some(self.audience.receives()).filter(|tracks| !tracks.is_empty())?;
        let order = Order::Command(Verb::Play(play), Parameters::default());
        Some(self.tell(order, None, true))
    }

    /// Whether nobody watches, asks or waits.
    pub(super) fn is_idle(&self) -> bool {
        self.told.is_none() && self.waiting.is_empty() && self.left.is_empty() && self.audience.is_empty()
    }

    /// The camera is gone: who watches it or asks for something is told.
    pub(super) fn end(&mut self, status: CarriedStatus) {
        self.left.clear();
        self.answered(status, Parameters::default());
        for ask in self.waiting.drain(..) {
            ask.settle(status);
        }
        self.audience.end(status);
    }
}

fn answer(watcher: &Watcher, request: u32, status: CarriedStatus, with: Parameters) {
    watcher.tell(News::Answer {
        request,
        slot: watcher.slot,
        status,
        with,
    });
}
