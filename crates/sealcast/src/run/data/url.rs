//! `--data NAME=udp:ADDRESS:PORT`: a data channel, and where its datagrams come from and go at this machine.

use std::net::{IpAddr, SocketAddr};

use sealcast_proto::wire::{DataName, DataOrder, MAX_DATA_CHANNELS};

use crate::failure::{Failure, FailureKind, Result};
use crate::source::Options;
use crate::source::rtp::options::sender;

/// Form of the option, for hints.
const FORM: &str = "write NAME=udp:ADDRESS:PORT, as in mavlink=udp:127.0.0.1:14550";

/// This end's place among the programs of this machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Local {
    /// Programs send to this address, and are answered where they sent from. Only those at `from`, if that is given.
    Listens(SocketAddr, Option<IpAddr>),
    /// Datagrams are sent to this address, and only what comes from there counts.
    SendsTo(SocketAddr),
}

/// A data channel, as the user declares it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DataUrl {
    /// Its name.
    pub name: DataName,
    /// Order in which this end sends on it.
    pub order: DataOrder,
    /// Its place at this machine.
    pub local: Local,
    /// Publisher: true if several viewers may send on it at once.
    pub shared: bool,
    /// Viewer: true if it does not ask to send on it.
    pub hears: bool,
}

impl DataUrl {
    /// Parses the channels of an end, which `listens` unless they say otherwise: a publisher does, whose vehicle sends
    /// to it, and a viewer sends to the ground station that waits.
    ///
    /// # Errors
    /// Kind `Usage`.
    pub fn parse_all(texts: &[String], listens: bool) -> Result<Vec<Self>> {
        let all: Vec<Self> = texts
            .iter()
            .map(|text| Self::parse(text, listens))
            .collect::<Result<_>>()?;
        if all.len() > MAX_DATA_CHANNELS {
            let what = format!("{} data channels are too many", all.len());
            return Err(usage(what, "a session has at most 8"));
        }
        for (at, url) in all.iter().enumerate() {
            if all[..at].iter().any(|other| other.name == url.name) {
                let what = format!("two data channels have the name {}", url.name.as_str());
                return Err(usage(what, "each has a name of its own, the same at both ends"));
            }
        }
        Ok(all)
    }

    fn parse(text: &str, listens: bool) -> Result<Self> {
        let (name, place) = text
            .split_once('=')
            .ok_or_else(|| usage(format!("\"{text}\" is no data channel"), FORM))?;
        let name = DataName::new(name).ok_or_else(|| {
            let what = format!("\"{name}\" is no name of a data channel");
            usage(what, "it has 1 to 32 letters, digits and .-_")
        })?;
        let rest = place
            .strip_prefix("udp:")
            .map(|rest| rest.trim_start_matches('/'))
            .ok_or_else(|| usage(format!("\"{place}\" is no place of a data channel"), FORM))?;
        let (address, mut options) = Options::split(rest);
        let address = address
            .parse()
            .ok()
            .filter(|address: &SocketAddr| address.port() > 0 && !address.ip().is_multicast())
            .ok_or_else(|| usage(format!("\"{address}\" is no address and port"), FORM))?;
        let order = match options.flag("newest") {
            true => DataOrder::Newest,
            false => DataOrder::Ordered,
        };
        let (shared, listen, to) = (options.flag("shared"), options.flag("listen"), options.flag("to"));
        let hears = options.flag("hear");
        let (from, in_clear) = (sender(&mut options)?, options.flag("in-clear"));
        options.finish("newest, shared, hear, listen, to, from=ADDRESS and in-clear")?;
        if listen && to {
            let hint = "listen waits for programs that send there, and to sends to one that waits";
            return Err(usage("listen and to exclude each other".to_owned(), hint));
        }
        let local = if listen || (listens && !to) {
            listening(address, from)?
        } else {
            sending(address, in_clear)?
        };
        Ok(Self {
            name,
            order,
            local,
            shared,
            hears,
        })
    }
}

/// A place of this machine at which programs send. Not everybody on a network may.
fn listening(address: SocketAddr, from: Option<IpAddr>) -> Result<Local> {
    if !address.ip().is_loopback() && from.is_none() {
        let what = format!("whoever reaches {address} could send on the channel");
        return Err(usage(what, "say who sends: add ?from=ADDRESS"));
    }
    Ok(Local::Listens(address, from))
}

/// A place to which datagrams are sent. Beyond this machine anybody on the path can read and alter them.
fn sending(address: SocketAddr, in_clear: bool) -> Result<Local> {
    if !address.ip().is_loopback() && !in_clear {
        let what = format!("datagrams to {address} leave this machine in clear");
        return Err(usage(
            what,
            "run this end beside that program, or add ?in-clear if you mean it",
        ));
    }
    Ok(Local::SendsTo(address))
}

fn usage(what: String, hint: &str) -> Failure {
    Failure::new(FailureKind::Usage, what, hint)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str, listens: bool) -> Result<DataUrl> {
        DataUrl::parse_all(&[text.to_owned()], listens).map(|mut all| all.remove(0))
    }

    #[test]
    fn a_publisher_listens_and_a_viewer_sends_unless_they_say_otherwise() {
        let address: SocketAddr = "127.0.0.1:14550".parse().expect("an address");
        let text = "mavlink=udp:127.0.0.1:14550";
        let publisher = parse(text, true).expect("a channel");
        assert_eq!(publisher.local, Local::Listens(address, None));
        assert_eq!(
            (publisher.name.as_str(), publisher.order),
            ("mavlink", DataOrder::Ordered)
        );
        assert!(!publisher.shared);
        assert_eq!(parse(text, false).expect("a channel").local, Local::SendsTo(address));
        let with = |options| parse(&format!("{text}?{options}"), true).expect(options);
        assert_eq!(with("to").local, Local::SendsTo(address));
        assert_eq!(
            (with("newest").order, with("newest&shared").shared),
            (DataOrder::Newest, true)
        );
        let viewer = parse("stick=udp://[::1]:9?listen", false).expect("a channel");
        assert_eq!(
            viewer.local,
            Local::Listens("[::1]:9".parse().expect("an address"), None)
        );
    }

    #[test]
    fn beyond_this_machine_it_must_be_said_so() {
        let from = Some("192.0.2.7".parse().expect("an address"));
        let any = parse("a=udp:0.0.0.0:9?from=192.0.2.7", true).expect("a channel");
        assert_eq!(
            any.local,
            Local::Listens("0.0.0.0:9".parse().expect("an address"), from)
        );
        assert!(parse("a=udp:192.0.2.7:9?in-clear", false).is_ok());
        for (text, listens, words) in [
            ("a=udp:0.0.0.0:9", true, "add ?from=ADDRESS"),
            ("a=udp:192.0.2.7:9", false, "in clear"),
            ("a=udp:127.0.0.1:9?from=host", true, "no"),
        ] {
            let failure = parse(text, listens).expect_err(text);
            assert_eq!(failure.kind, FailureKind::Usage);
            assert!(failure.to_string().contains(words), "{text}: {failure}");
        }
    }

    #[test]
    fn what_is_no_channel_is_refused_in_words() {
        for (text, words) in [
            ("udp:127.0.0.1:9", "is no data channel"),
            ("a b=udp:127.0.0.1:9", "is no name"),
            ("=udp:127.0.0.1:9", "is no name"),
            ("a=tcp:127.0.0.1:9", "is no place"),
            ("a=udp:localhost:9", "is no address and port"),
            ("a=udp:127.0.0.1:0", "is no address and port"),
            ("a=udp:239.1.2.3:9", "is no address and port"),
            ("a=udp:127.0.0.1:9?latest", "there is no option"),
            ("a=udp:127.0.0.1:9?listen&to", "exclude each other"),
        ] {
            let failure = parse(text, true).expect_err(text);
            assert!(failure.to_string().contains(words), "{text}: {failure}");
        }
        let many: Vec<String> = (1..=9)
            .map(|number| format!("c{number}=udp:127.0.0.1:{number}"))
            .collect();
        assert!(DataUrl::parse_all(&many[..8], true).is_ok());
        assert!(DataUrl::parse_all(&many, true).is_err(), "8 are the most");
        assert!(
            DataUrl::parse_all(&[many[0].clone(), many[0].clone()], true).is_err(),
            "one name twice"
        );
    }
}
