//! Multiplexes the RTSP requests of all subscribers of a camera onto its single RTSP session. Both gateways have one
//! multiplexer per camera.

use std::collections::VecDeque;
use std::sync::Arc;

use sealcast_proto::rtsp::{CarriedHeader, CarriedStatus, Channel, Parameters, TrackSet, Verb};

use super::MAX_REQUESTS;
use super::subscribers::{Outcome, Subscriber, SubscriberEvent, Subscribers};

/// An RTSP request for a camera.
pub(super) enum Action {
    /// A request for the camera's description.
    Describe,
    Command(Verb, Parameters),
}

/// A subscriber's request that needs an answer.
pub(super) struct Question {
    pub(super) subscriber: Subscriber,
    /// The subscriber's number for the request.
    pub(super) request: u32,
    pub(super) action: Action,
}

impl Question {
    /// Answer the request without asking the camera.
    pub(super) fn settle(self, status: CarriedStatus) {
        answer(
            &self.subscriber,
            self.request,
            status,
            Parameters::default(),
            TrackSet::default(),
        );
    }
}

/// A message from a subscriber to its camera's [`RequestMux`].
pub(super) enum Request {
    Question(Question),
    /// An RTCP packet for the camera.
    Rtcp(Channel, Vec<u8>),
    /// The subscriber has left.
    Leave(Subscriber),
}

/// A request sent to the camera and not yet answered.
struct Pending {
    /// The subscriber to answer and its number for the request. None if no subscriber waits for the answer.
    asker: Option<(Subscriber, u32)>,
    /// `None` for a description request.
    verb: Option<Verb>,
    /// True if it was sent on behalf of all subscribers.
    for_all: bool,
}

/// The requests of one camera's subscribers. One request is pending at a time; the others wait.
#[derive(Default)]
pub(super) struct RequestMux {
    pub(super) subscribers: Arc<Subscribers>,
    waiting: VecDeque<Question>,
    left: Vec<Subscriber>,
    pending: Option<Pending>,
    /// The tracks whose packets come over a connection at the camera, and so in order.
    in_order: TrackSet,
}

impl RequestMux {
    /// For these subscribers.
    pub(super) fn of(subscribers: Arc<Subscribers>) -> Self {
        Self {
            subscribers,
            ..Self::default()
        }
    }

    /// True if requests wait.
    pub(super) fn has_requests(&self) -> bool {
        !self.waiting.is_empty() || !self.left.is_empty()
    }

    /// Queue a request. If more than [`MAX_REQUESTS`] wait, it is answered with 503.
    pub(super) fn ask(&mut self, question: Question) {
        if self.waiting.len() < MAX_REQUESTS {
            self.waiting.push_back(question);
        } else {
            question.settle(CarriedStatus::of_camera(503));
        }
    }

    /// A subscriber has left: drop its requests unanswered and end its subscription.
    pub(super) fn leave(&mut self, subscriber: Subscriber) {
        self.waiting.retain(|question| question.subscriber.id != subscriber.id);
        self.left.push(subscriber);
    }

    /// Take the requests of another multiplexer that turned out to serve the same camera. It has no subscriptions
    /// yet.
    pub(super) fn take_over(&mut self, other: Self) {
        for ask in other.waiting {
            self.ask(ask);
        }
        self.left.extend(other.left);
    }

    /// The next request to send to the camera, if none is pending. Pass its answer to [`answered`](Self::answered).
    pub(super) fn next_action(&mut self) -> Option<Action> {
        while self.pending.is_none() {
            let (asker, action) = if let Some(subscriber) = self.left.pop() {
                let teardown = Action::Command(Verb::Teardown, Parameters::default());
                ((subscriber, None), teardown)
            } else {
                let ask = self.waiting.pop_front()?;
                ((ask.subscriber, Some(ask.request)), ask.action)
            };
            let (subscriber, request) = asker;
            let action = match action {
                Action::Describe => Some((Action::Describe, false)),
                Action::Command(verb, with) => self.decide(&subscriber, verb, with),
            };
            match (action, request) {
                (Some((action, for_all)), request) => {
                    let asker = request.map(|request| (subscriber, request));
                    return Some(self.send(action, asker, for_all));
                }
                (None, Some(request)) => {
                    let nothing = Parameters::default();
                    answer(&subscriber, request, CarriedStatus::OK, nothing, self.in_order);
                }
                (None, None) => {}
            }
        }
        None
    }

    fn decide(&self, subscriber: &Subscriber, verb: Verb, with: Parameters) -> Option<(Action, bool)> {
        match self.subscribers.request(subscriber, verb) {
            Outcome::Done => None,
            Outcome::Forward(verb) => Some((Action::Command(verb, with), false)),
            Outcome::ForwardForAll(verb) => Some((Action::Command(verb, Parameters::default()), true)),
        }
    }

    fn send(&mut self, action: Action, asker: Option<(Subscriber, u32)>, for_all: bool) -> Action {
        let verb = match &action {
            Action::Describe => None,
            Action::Command(verb, _) => Some(*verb),
        };
        self.pending = Some(Pending { asker, verb, for_all });
        action
    }

    /// Finish the pending request with the camera's answer, or with an error status if there will be none. Returns
    /// its verb, if it was a command.
    pub(super) fn answered(&mut self, status: CarriedStatus, mut with: Parameters) -> Option<Verb> {
        let pending = self.pending.take()?;
        if pending.verb.is_none() && status.is_ok() {
            self.subscribers.described(&with.body);
        }
        if pending.for_all {
            // RTP-Info describes the position of the shared stream, which is not where this subscriber's packets
            // begin.
            with.remove(CarriedHeader::RtpInfo);
        }
        if let Some((subscriber, request)) = pending.asker {
            if matches!(pending.verb, Some(Verb::Play(_))) && !status.is_ok() {
                self.subscribers.refuse(subscriber.id);
            }
            answer(&subscriber, request, status, with, self.in_order);
        }
        pending.verb
    }

    /// The packets of these tracks come in order from now on, those of others need not.
    pub(super) fn come_in_order(&mut self, tracks: TrackSet) {
        if self.in_order != tracks {
            self.in_order = tracks;
            self.subscribers.tell_in_order(tracks);
        }
    }

    /// The camera is away. Fail the pending request, and end the subscriptions of leaving subscribers without asking
    /// the camera.
    pub(super) fn away(&mut self) {
        self.answered(CarriedStatus::BAD_GATEWAY, Parameters::default());
        for subscriber in self.left.drain(..) {
            self.subscribers.request(&subscriber, Verb::Teardown);
        }
        let leaves = |ask: &Question| matches!(ask.action, Action::Command(Verb::Teardown, _));
        let (leaving, waiting) = self.waiting.drain(..).partition::<VecDeque<Question>, _>(leaves);
        self.waiting = waiting;
        for ask in leaving {
            self.subscribers.request(&ask.subscriber, Verb::Teardown);
            ask.settle(CarriedStatus::OK);
        }
    }

    /// The camera is back. Returns the PLAY request for the tracks that subscribers still receive, if there are any.
    pub(super) fn go_on(&mut self) -> Option<Action> {
        self.subscribers.resume();
        let play = Some(self.subscribers.receives()).filter(|tracks| !tracks.is_empty())?;
        let action = Action::Command(Verb::Play(play), Parameters::default());
        Some(self.send(action, None, true))
    }

    /// True if there are no subscribers and no requests.
    pub(super) fn is_idle(&self) -> bool {
        self.pending.is_none() && self.waiting.is_empty() && self.left.is_empty() && self.subscribers.is_empty()
    }

    /// The camera is gone: answer all requests with `status` and notify all subscribers.
    pub(super) fn end(&mut self, status: CarriedStatus) {
        self.left.clear();
        self.answered(status, Parameters::default());
        for ask in self.waiting.drain(..) {
            ask.settle(status);
        }
        self.subscribers.end(status);
    }
}

fn answer(subscriber: &Subscriber, request: u32, status: CarriedStatus, with: Parameters, in_order: TrackSet) {
    subscriber.notify(SubscriberEvent::Answer {
        request,
        slot: subscriber.slot,
        status,
        with,
        in_order,
    });
}
