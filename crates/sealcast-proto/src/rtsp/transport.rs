//! The Transport header (RFC 2326 §12.39): how the packets of a track are carried between a gateway and a camera or
//! player.

use std::fmt;

/// Maximum number of offers that are parsed from one header.
const MAX_OFFERS: usize = 8;

/// The two UDP ports of one track.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PortPair {
    /// RTP port.
    pub rtp: u16,
    /// RTCP port.
    pub rtcp: u16,
}

/// A transport that a client offers for a track.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Offer {
    /// On the RTSP connection, in these channels (RTP, RTCP), or in channels of the server's choice.
    Interleaved(Option<(u8, u8)>),
    /// Over UDP, to these ports of the client.
    Udp(PortPair),
}

/// The transport that a server granted for a track.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Granted {
    /// On the RTSP connection, in these channels.
    Interleaved {
        /// RTP channel.
        rtp: u8,
        /// RTCP channel.
        rtcp: u8,
    },
    /// Over UDP.
    Udp {
        /// The client's ports.
        client: PortPair,
        /// The server's ports, if it named them.
        server: Option<PortPair>,
    },
}

/// The path of a packet to the other side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Route {
    /// On the RTSP connection, in this channel; see [`put_data`](super::put_data).
    Interleaved(u8),
    /// Over UDP from the track's socket to this port of the other side.
    Udp {
        /// The port.
        port: u16,
    },
}

/// Parses the offers in a Transport header, in the client's order. Unsupported ones are left out: multicast, recording,
/// and profiles other than RTP/AVP. A `destination` is ignored: packets go only to the client that asked for them.
pub fn parse_offers(value: &str) -> Vec<Offer> {
    value.split(',').take(MAX_OFFERS).filter_map(parse_offer).collect()
}

fn parse_offer(spec: &str) -> Option<Offer> {
    let mut parameters = spec.split(';').map(str::trim);
    let profile = parameters.next()?;
    let tcp = profile.eq_ignore_ascii_case("RTP/AVP/TCP");
    let udp = ["RTP/AVP", "RTP/AVP/UDP"]
        .iter()
        .any(|known| profile.eq_ignore_ascii_case(known));
    let mut channels = None;
    let mut ports = None;
    for parameter in parameters {
        let (name, value) = parameter.split_once('=').unwrap_or((parameter, ""));
        match name.to_ascii_lowercase().as_str() {
            "multicast" => return None,
            "mode" if !value.trim_matches('"').eq_ignore_ascii_case("play") => return None,
            "interleaved" => channels = Some(parse_pair(value)?),
            "client_port" => ports = Some(parse_ports(value)?),
            _ => {}
        }
    }
    match (tcp, udp) {
        (true, _) => Some(Offer::Interleaved(channels)),
        (_, true) => ports.map(Offer::Udp),
        _ => None,
    }
}

/// Parses a camera's answer to a SETUP that offered `offer`; empty if it has no Transport header. Returns `None` if the
/// camera chose a transport that was not offered, and cannot be received. Cameras order the parameters as they like,
/// leave out those that they accepted unchanged, and write SSRCs in several ways, so what cannot be read counts as what
/// was offered. The server's ports are hints.
pub fn parse_granted(value: &str, offer: Offer) -> Option<Granted> {
    let parameter = |wanted: &str| {
        value.split([';', ',']).find_map(|parameter| {
            let (name, value) = parameter.split_once('=')?;
            let value = value.trim_matches([' ', '\t', '"']);
            name.trim().eq_ignore_ascii_case(wanted).then_some(value)
        })
    };
    let says = |word: &str| value.to_ascii_uppercase().contains(word);
    if let Some((rtp, rtcp)) = parameter("interleaved").and_then(parse_channels) {
        return Some(Granted::Interleaved { rtp, rtcp });
    }
    let ports = ["client_port", "server_port"].into_iter().find_map(parameter);
    match offer {
        Offer::Interleaved(_) if !says("TCP") && (ports.is_some() || says("MULTICAST")) => None,
        Offer::Interleaved(offered) => offered.map(|(rtp, rtcp)| Granted::Interleaved { rtp, rtcp }),
        Offer::Udp(_) if says("/TCP") || says("MULTICAST") => None,
        Offer::Udp(client) => Some(Granted::Udp {
            client,
            server: parameter("server_port").and_then(parse_ports),
        }),
    }
}

/// Parses the channels of a camera's answer. Two equal numbers are a careless way to write one.
fn parse_channels(value: &str) -> Option<(u8, u8)> {
    let (rtp, rtcp): (u8, u8) = parse_pair(value)?;
    let rtcp = if rtp == rtcp { rtp.checked_add(1)? } else { rtcp };
    Some((rtp, rtcp))
}

/// Parses `N-M`, or `N` alone, which means N and N + 1.
fn parse_pair<T: std::str::FromStr + Into<u32> + Copy + TryFrom<u32>>(value: &str) -> Option<(T, T)> {
    let number = |text: &str| {
        text.bytes()
            .all(|byte| byte.is_ascii_digit())
            .then(|| text.parse().ok())?
    };
    match value.split_once('-') {
        Some((first, second)) => Some((number(first.trim())?, number(second.trim())?)),
        None => {
            let first: T = number(value.trim())?;
            Some((first, T::try_from(first.into() + 1).ok()?))
        }
    }
}

fn parse_ports(value: &str) -> Option<PortPair> {
    let (rtp, rtcp) = parse_pair(value)?;
    (rtp != 0 && rtcp != 0 && rtp != rtcp).then_some(PortPair { rtp, rtcp })
}

impl fmt::Display for PortPair {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.rtp, self.rtcp)
    }
}

impl fmt::Display for Offer {
    /// Writes the offer as in a SETUP request.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Interleaved(Some((rtp, rtcp))) => write!(f, "RTP/AVP/TCP;unicast;interleaved={rtp}-{rtcp}"),
            Self::Interleaved(None) => f.write_str("RTP/AVP/TCP;unicast"),
            Self::Udp(client) => write!(f, "RTP/AVP;unicast;client_port={client}"),
        }
    }
}

impl fmt::Display for Granted {
    /// Writes the transport as in the response to a SETUP.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Interleaved { rtp, rtcp } => write!(f, "RTP/AVP/TCP;unicast;interleaved={rtp}-{rtcp}"),
            Self::Udp { client, server } => {
                write!(f, "RTP/AVP;unicast;client_port={client}")?;
                server.map_or(Ok(()), |server| write!(f, ";server_port={server}"))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const UDP: PortPair = PortPair {
        rtp: 10290,
        rtcp: 10291,
    };

    #[test]
    fn players_offers_are_understood() {
        let offers = [
            ("RTP/AVP/UDP;unicast;client_port=10290-10291", vec![Offer::Udp(UDP)]),
            ("RTP/AVP;unicast;client_port=10290", vec![Offer::Udp(UDP)]),
            (
                "RTP/AVP/TCP;unicast;interleaved=0-1",
                vec![Offer::Interleaved(Some((0, 1)))],
            ),
            ("rtp/avp/tcp;unicast;mode=\"PLAY\"", vec![Offer::Interleaved(None)]),
            (
                "RTP/AVP;multicast, RTP/AVP;unicast;client_port=10290-10291,RTP/AVP/TCP;interleaved=2-3",
                vec![Offer::Udp(UDP), Offer::Interleaved(Some((2, 3)))],
            ),
            (
                "RTP/AVP;unicast;destination=203.0.113.9;client_port=10290-10291",
                vec![Offer::Udp(UDP)],
            ),
        ];
        for (value, offers) in offers {
            assert_eq!(parse_offers(value), offers, "{value}");
        }
    }

    #[test]
    fn offers_of_something_else_are_none() {
        for value in [
            "",
            "RTP/AVP;unicast",
            "RTP/SAVP;unicast;client_port=1-2",
            "RTP/AVP;multicast;port=5000-5001;ttl=16",
            "RTP/AVP/TCP;unicast;interleaved=0-1;mode=record",
            "RTP/AVP/TCP;interleaved=255",
            "RTP/AVP/TCP;interleaved=+1-2",
            "RTP/AVP;unicast;client_port=65535",
            "RTP/AVP;unicast;client_port=0-1",
            "RTP/AVP;unicast;client_port=70000-70001",
        ] {
            assert_eq!(parse_offers(value), [], "{value}");
        }
        assert!(parse_offers(&"RTP/AVP/TCP,".repeat(1000)).len() <= MAX_OFFERS);
    }

    #[test]
    fn cameras_answers_are_understood() {
        let tcp = Offer::Interleaved(Some((2, 3)));
        let server = PortPair {
            rtp: 49152,
            rtcp: 49153,
        };
        let udp = |server| Some(Granted::Udp { client: UDP, server });
        let channels = |rtp, rtcp| Some(Granted::Interleaved { rtp, rtcp });
        let answers = [
            (
                "RTP/AVP/TCP;unicast;interleaved=0-1;ssrc= d6d6627",
                tcp,
                Some(Granted::Interleaved { rtp: 0, rtcp: 1 }),
            ),
            (
                "RTP/AVP/TCP;unicast",
                tcp,
                Some(Granted::Interleaved { rtp: 2, rtcp: 3 }),
            ),
            (
                "RTP/AVP;ssrc=22345685;unicast;client_port=54060-54061;server_port=49152-49153",
                Offer::Udp(UDP),
                udp(Some(server)),
            ),
            ("RTP/AVP;unicast;server_port=49152", Offer::Udp(UDP), udp(Some(server))),
            ("RTP/AVP;unicast", Offer::Udp(UDP), udp(None)),
            ("RTP/AVP;unicast;server_port=1-2", tcp, None),
            ("RTP/AVP;multicast;destination=239.1.2.3;port=5000", tcp, None),
            (
                "RTP/AVP;multicast;destination=239.1.2.3;port=5000",
                Offer::Udp(UDP),
                None,
            ),
            ("RTP/AVP/TCP;unicast", Offer::Udp(UDP), None),
            ("RTP/AVP/TCP;interleaved=0-1", Offer::Udp(UDP), channels(0, 1)),
            ("", tcp, channels(2, 3)),
            ("", Offer::Udp(UDP), udp(None)),
            ("nonsense", tcp, channels(2, 3)),
            ("RTP/AVP/UDP;unicast", tcp, channels(2, 3)),
            ("RTP/AVP/TCP; unicast; interleaved = 4-5", tcp, channels(4, 5)),
            ("RTP/AVP/TCP;unicast;interleaved=4", tcp, channels(4, 5)),
            ("RTP/AVP/TCP;unicast;interleaved=4-4", tcp, channels(4, 5)),
            ("RTP/AVP/TCP;unicast;interleaved=255-255", tcp, channels(2, 3)),
            ("RTP/AVP/TCP;unicast;interleaved=x", tcp, channels(2, 3)),
            (
                "RTP/AVP/UDP; unicast; source=camera.example; client_port=10290-10291; server_port=49152-49153",
                Offer::Udp(UDP),
                udp(Some(server)),
            ),
            ("RTP/AVP;unicast;server_port=0-0", Offer::Udp(UDP), udp(None)),
            ("RTP/AVP;unicast;server_port=49152-", Offer::Udp(UDP), udp(None)),
        ];
        for (value, offer, granted) in answers {
            assert_eq!(parse_granted(value, offer), granted, "{value}");
        }
    }

    #[test]
    fn what_is_offered_is_what_is_read() {
        for offer in [
            Offer::Udp(UDP),
            Offer::Interleaved(Some((4, 5))),
            Offer::Interleaved(None),
        ] {
            assert_eq!(parse_offers(&offer.to_string()), [offer]);
        }
        let granted = Granted::Udp {
            client: UDP,
            server: Some(PortPair { rtp: 6970, rtcp: 6971 }),
        };
        assert_eq!(parse_granted(&granted.to_string(), Offer::Udp(UDP)), Some(granted));
    }
}
