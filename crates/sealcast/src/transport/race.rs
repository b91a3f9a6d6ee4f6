//! Several addresses of one end, of which the first at which a connection stands is taken (protocol.md §6, after
//! RFC 8305).

use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;
use sealcast_proto::wire::{Address, Host};
use tokio::net::lookup_host;
use tokio::time::{sleep, timeout};

use crate::platform::addresses::is_for_others;

/// Time between two attempts, unless one fails before.
const STAGGER: Duration = Duration::from_millis(250);
/// Time limit for an attempt, and for finding a name.
pub(super) const PATIENCE: Duration = Duration::from_secs(5);
/// Time that is left for finding names once an address is known.
const NAME_PATIENCE: Duration = Duration::from_secs(1);
/// Maximum number of addresses of one name.
const MAX_OF_NAME: usize = 4;
/// Maximum number of addresses that are tried together.
pub(super) const MAX_TRIED: usize = 12;

/// An address as it was given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Given {
    pub(super) address: Address,
    /// True if the other end told it. Then it must be one that means another machine to this one as well.
    pub(super) told: bool,
}

/// A place to connect to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) at: SocketAddr,
    /// As it was given.
    pub(super) address: Address,
}

impl Place {
    /// That of an address which was given as it is.
    pub(super) fn of(at: SocketAddr) -> Self {
        let host = match at.ip() {
            IpAddr::V4(ip) => Host::V4(ip),
            IpAddr::V6(ip) => Host::V6(ip),
        };
        let address = Address { host, port: at.port() };
        Self { at, address }
    }
}

/// The place at which a connection stood: over UDP it is known when the first answer comes.
pub(super) type Stood = Arc<OnceLock<Place>>;

/// The places of these addresses, in their order and each once.
///
/// # Errors
/// There is none; in words, for each address.
pub(super) async fn places(given: &[Given]) -> Result<Vec<Place>, Vec<String>> {
    let mut found: Vec<Vec<SocketAddr>> = vec![Vec::new(); given.len()];
    let mut failed = Vec::new();
    let mut lookups = FuturesUnordered::new();
    for (nth, Given { address, .. }) in given.iter().enumerate() {
        let port = address.port;
        match &address.host {
            Host::V4(ip) => found[nth].push((*ip, port).into()),
            Host::V6(ip) => found[nth].push((*ip, port).into()),
            Host::Name(name) => lookups.push(async move { (nth, lookup(name, port).await) }),
        }
    }
    let mut known = found.iter().any(|found| !found.is_empty());
    let late = sleep(NAME_PATIENCE);
    tokio::pin!(late);
    while !lookups.is_empty() {
        tokio::select! {
            Some((nth, looked_up)) = lookups.next() => match looked_up {
                Ok(addresses) => {
                    known = true;
                    found[nth] = addresses;
                }
                Err(why) => failed.push(format!("{}: {why}", given[nth].address.host)),
            },
            () = &mut late, if known => break,
        }
    }
    let mut places: Vec<Place> = Vec::new();
    for (Given { address, told }, found) in given.iter().zip(found) {
        for at in found {
            let usable = !told || is_for_others(at.ip());
            if usable && !places.iter().any(|place| place.at == at) {
                let address = address.clone();
                places.push(Place { at, address });
            }
        }
    }
    match places.is_empty() {
        true => Err(failed),
        false => Ok(places),
    }
}

/// The first addresses of a name, of both families by turns. A name may also be an address without brackets.
///
/// # Errors
/// There is none, in words.
pub(super) async fn lookup(name: &str, port: u16) -> Result<Vec<SocketAddr>, String> {
    let found = timeout(PATIENCE, lookup_host((name, port))).await;
    let late = |_| format!("the name was not found within {} s", PATIENCE.as_secs());
    let found = found.map_err(late)?.map_err(|error| error.to_string())?;
    let found = by_turns(found);
    match found.is_empty() {
        true => Err("the name has no address".to_owned()),
        false => Ok(found),
    }
}

/// The first of these addresses: those of the family that comes first and of the other one by turns.
fn by_turns(addresses: impl Iterator<Item = SocketAddr>) -> Vec<SocketAddr> {
    let mut addresses = addresses.peekable();
    let first = addresses.peek().is_some_and(SocketAddr::is_ipv6);
    let (mut ours, mut others): (Vec<_>, Vec<_>) = addresses.partition(|address| address.is_ipv6() == first);
    let spare = MAX_OF_NAME.saturating_sub(others.len()).max(MAX_OF_NAME / 2);
    ours.truncate(spare);
    others.truncate(MAX_OF_NAME - ours.len());
    let mut turns = Vec::new();
    let (mut ours, mut others) = (ours.into_iter(), others.into_iter());
    loop {
        match (ours.next(), others.next()) {
            (None, None) => return turns,
            (one, other) => turns.extend(one.into_iter().chain(other)),
        }
    }
}

/// A place to which an attempt goes.
pub(super) trait Target: Clone {
    fn at(&self) -> SocketAddr;
}

impl Target for SocketAddr {
    fn at(&self) -> SocketAddr {
        *self
    }
}

impl Target for Place {
    fn at(&self) -> SocketAddr {
        self.at
    }
}

/// Connects to the first place at which that succeeds, and drops the other attempts. They begin in the order of the
/// places, one 250 ms after another, or as soon as one fails.
///
/// # Errors
/// None succeeded; in words, for each place that was tried.
pub(super) async fn first<P: Target, T, F>(places: Vec<P>, connect: impl Fn(P) -> F) -> Result<(P, T), Vec<String>>
where
    F: Future<Output = Result<T, String>>,
{
    let (alone, mut failed) = (places.len() == 1, Vec::new());
    let (mut waiting, mut running) = (places.into_iter(), FuturesUnordered::new());
    loop {
        if let Some(place) = waiting.next() {
            let connecting = timeout(PATIENCE, connect(place.clone()));
            running.push(async move { (place, connecting.await) });
        }
        tokio::select! {
            Some((place, outcome)) = running.next() => {
                let why = match outcome {
                    Ok(Ok(connection)) => return Ok((place, connection)),
                    Ok(Err(why)) => why,
                    Err(_) => format!("no answer within {} s", PATIENCE.as_secs()),
                };
                failed.push(if alone { why } else { format!("{}: {why}", place.at()) });
            }
            () = sleep(STAGGER), if waiting.len() > 0 => {}
            else => return Err(failed),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    fn at(text: &str) -> SocketAddr {
        text.parse().expect("an address")
    }

    fn given(text: &str, told: bool) -> Given {
        let address = text.parse().expect("an address");
        Given { address, told }
    }

    #[test]
    fn the_families_of_a_name_are_tried_by_turns_and_none_is_crowded_out() {
        let six = |nth: u16| format!("[2001:db8::{nth}]:9");
        let four = |nth: u16| format!("192.0.2.{nth}:9");
        for (found, expected) in [
            (vec![], vec![]),
            (vec![four(1)], vec![four(1)]),
            ((1..7).map(six).collect(), (1..5).map(six).collect()),
            (vec![six(1), six(2), four(1)], vec![six(1), four(1), six(2)]),
            (
                vec![six(1), six(2), six(3), six(4), six(5), four(1)],
                vec![six(1), four(1), six(2), six(3)],
            ),
            (
                vec![four(1), four(2), four(3), six(1), six(2), six(3)],
                vec![four(1), six(1), four(2), six(2)],
            ),
        ] {
            let turns = by_turns(found.iter().map(|text: &String| at(text)));
            assert_eq!(turns, expected.iter().map(|text| at(text)).collect::<Vec<_>>());
        }
    }

    #[tokio::test]
    async fn places_are_in_their_order_each_once_and_what_was_told_means_no_own_machine() {
        let all = [
            given("192.0.2.7:9", false),
            given("127.0.0.1:9", false),
            given("127.0.0.1:10", true),
            given("[::1]:9", true),
            given("[fe80::1]:9", true),
            given("224.0.0.1:9", true),
            given("0.0.0.0:9", true),
            given("localhost:11", true),
            given("192.0.2.7:9", true),
            given("[2001:db8::7]:9", true),
        ];
        let found = places(&all).await.expect("some are addresses");
        let found: Vec<String> = found.iter().map(|place| place.at.to_string()).collect();
        assert_eq!(found, ["192.0.2.7:9", "127.0.0.1:9", "[2001:db8::7]:9"]);
        let nothing = places(&[given("127.0.0.1:10", true)]).await;
        assert!(nothing.is_err());
    }

    #[tokio::test]
    async fn where_no_name_is_looked_up_nothing_is_waited_for() {
        let all = [given("192.0.2.7:9", false), given("[2001:db8::7]:9", false)];
        let found = tokio::select! {
            biased;
            found = places(&all) => found,
            () = std::future::ready(()) => panic!("it waits"),
        };
        assert_eq!(found.expect("they are addresses").len(), 2);
    }

    #[tokio::test]
    async fn the_first_that_stands_is_taken_and_the_others_are_dropped() {
        let [silent, stands] = ["192.0.2.1:9", "192.0.2.2:9"].map(at);
        let begun = Arc::new(());
        let connect = |place: SocketAddr| {
            let begun = Arc::clone(&begun);
            async move {
                if place == silent {
                    std::future::pending::<()>().await;
                }
                drop(begun);
                Ok(place.port())
            }
        };
        assert_eq!(first(vec![silent, stands], connect).await, Ok((stands, 9)));
        assert_eq!(Arc::strong_count(&begun), 1, "nobody connects any more");
    }

    #[tokio::test]
    async fn where_nothing_stands_each_place_says_why() {
        let connect = |place: SocketAddr| async move {
            match place.port() {
                1 => Err::<(), _>("refused".to_owned()),
                _ => Err("no route".to_owned()),
            }
        };
        let failed = first(vec![at("192.0.2.1:1"), at("192.0.2.2:2")], connect).await;
        let expected = ["192.0.2.1:1: refused", "192.0.2.2:2: no route"].map(str::to_owned);
        assert_eq!(failed, Err(expected.to_vec()));
        let alone = first(vec![at("192.0.2.1:1")], connect).await;
        assert_eq!(alone, Err(vec!["refused".to_owned()]));
    }
}
