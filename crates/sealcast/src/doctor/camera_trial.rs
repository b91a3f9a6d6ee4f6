//! Offer and behaviour of a camera, over TCP and UDP, fit to be pasted into a report: of addresses there is only their
//! shape, and no text that the camera chose is in it.

use std::time::Duration;

use sealcast_proto::rtp::{MediaKind, Medium};

use super::finding::{Finding, Report};
use crate::failure::{Failure, FailureKind};
use crate::media::Codec;
use crate::rtsp::{RtspOptions, Transport};
use crate::source::rtp::Facts;
use crate::source::rtsp::{Trial, trial, without_address};

/// Time for which the camera is played over each transport.
const TRIAL: Duration = Duration::from_secs(6);
/// Longest time between keyframes without a warning.
const KEYFRAMES: Duration = Duration::from_secs(4);
/// Longest time without a picture that is not told.
const SILENCE: Duration = Duration::from_secs(2);
/// Most that the camera's clock may differ from ours without a word: the inaccuracy of some seconds.
const CLOCK: f64 = 0.02;

/// Encodings that are called by their names. All others are a camera's own words.
const ENCODINGS: [&str; 18] = [
    "h264",
    "h265",
    "jpeg",
    "av1",
    "vp8",
    "vp9",
    "mp4v-es",
    "mpeg4-generic",
    "mp4a-latm",
    "opus",
    "pcmu",
    "pcma",
    "l16",
    "g722",
    "g726-16",
    "g726-32",
    "mpa",
    "vnd.onvif.metadata",
];

/// Tries a camera and tells what it does. Takes some seconds for each transport.
pub async fn try_camera(options: &RtspOptions) -> Report {
    let mut findings = vec![Finding::ok("address", shape(options))];
    let transports: &[Transport] = match (options.url().tls, options.transport) {
        (true, _) | (false, Transport::Tcp) => &[Transport::Tcp],
        (false, Transport::Udp) => &[Transport::Udp],
        (false, Transport::Auto) => &[Transport::Tcp, Transport::Udp],
    };
    let mut described = false;
    for &transport in transports {
        let name = match transport {
            Transport::Udp => "udp",
            Transport::Auto | Transport::Tcp => "tcp",
        };
        let mut by = options.clone();
        (by.transport, by.one_transport) = (transport, true);
        match trial(&by, TRIAL).await {
            Ok(trial) => {
                if !std::mem::replace(&mut described, true) {
                    findings.extend(offers(&trial));
                }
                findings.extend(judge(name, &trial));
            }
            Err(failure) => {
                findings.push(refused(name, options, &failure));
                // What concerns the login or the address is the same by the other transport.
                if failure.kind != FailureKind::Source {
                    break;
                }
            }
        }
    }
    Report { findings }
}

/// The shape of a camera's address: `rtsp://HOST:554/…/…?…=…`.
fn shape(options: &RtspOptions) -> String {
    let url = options.url();
    let after = url.as_str().split_once("://").map_or("", |(_, after)| after);
    let rest = after.split_once('/').map_or("", |(_, rest)| rest);
    let (path, query) = rest.split_once('?').unwrap_or((rest, ""));
    let parts = path
        .split('/')
        .filter(|part| !part.is_empty())
        .map(|_| "/…")
        .collect::<String>();
    let options_of_it = query.split('&').filter(|option| !option.is_empty()).count();
    let query = match options_of_it {
        0 => String::new(),
        count => format!("?{}", vec!["…=…"; count].join("&")),
    };
    let login = if options.credentials.is_some() {
        "USER:PASSWORD@"
    } else {
        ""
    };
    let scheme = if url.tls { "rtsps" } else { "rtsp" };
    format!("{scheme}://{login}HOST:{}{parts}{query}", url.port)
}

fn refused(check: &'static str, options: &RtspOptions, failure: &Failure) -> Finding {
    let what = without_address(options, &failure.what);
    Finding::wrong(check, failure.kind, what, without_address(options, &failure.hint))
}

/// One finding for each track that the camera offers.
fn offers(trial: &Trial) -> Vec<Finding> {
    let media = &trial.description.media;
    media
        .iter()
        .enumerate()
        .map(|(number, medium)| offer(number, medium))
        .collect()
}

fn offer(number: usize, medium: &Medium) -> Finding {
    let kind = match &medium.kind {
        MediaKind::Video => "video",
        MediaKind::Audio => "audio",
        MediaKind::Other(_) => "other data",
    };
    let formats = medium.formats.iter().map(|format| {
        let known = ENCODINGS.iter().find(|name| **name == format.encoding);
        let name = known.copied().unwrap_or("an encoding unknown here");
        format!(
            "{name} at {} ticks/s (payload type {})",
            format.clock_rate, format.payload_type
        )
    });
    let mut saw = format!("track {number}: {kind}, {}", formats.collect::<Vec<_>>().join(", "));
    if let Some((width, height)) = medium.size {
        saw += &format!(", said to be {width}x{height}");
    }
    for (holds, words) in [
        (medium.back_channel, ", towards the camera"),
        (medium.encrypted, ", encrypted by the camera itself"),
    ] {
        if holds {
            saw += words;
        }
    }
    Finding::ok("offers", saw)
}

/// Findings about what came over one transport.
fn judge(check: &'static str, trial: &Trial) -> Vec<Finding> {
    let facts = &trial.facts;
    let mut findings = Vec::new();
    match &trial.trouble {
        Some(trouble) => {
            let saw = format!("{trouble}; before that {}", came(facts));
            let advice = "sealcast publishes nothing this way: send this report with `publish -v`'s log";
            findings.push(Finding::wrong(check, FailureKind::Source, saw, advice));
        }
        None => findings.push(Finding::ok(check, format!("{}; {}", came(facts), made_of_it(trial)))),
    }
    if facts.pictures > 0 && facts.keyframes == 0 {
        let saw = format!("none in {:.0} s", facts.length().as_secs_f64());
        findings.push(Finding::warning(
            "keyframes",
            saw,
            "viewers wait for one: set its interval to 1 or 2 s",
        ));
    } else if let Some(interval) = facts.keyframe_interval().filter(|interval| *interval > KEYFRAMES) {
        let saw = format!("one each {:.1} s", interval.as_secs_f64());
        findings.push(Finding::warning(
            "keyframes",
            saw,
            "who joins sees nothing for as long: set the camera's keyframe interval to 1 or 2 s",
        ));
    }
    if trial.quiet > SILENCE {
        let saw = format!("no picture came in the last {:.0} s", trial.quiet.as_secs_f64());
        findings.push(Finding::warning(
            "silence",
            saw,
            "publish calls such a camera again: look whether it stops for others too",
        ));
    }
    if facts.damaged > 0 {
        let saw = format!("{} pictures came damaged", facts.damaged);
        findings.push(Finding::warning(
            "damaged",
            saw,
            "take a lower bit rate of the camera, or transport=tcp",
        ));
    }
    findings.extend(oddities(trial).map(|saw| Finding::ok("odd", saw)));
    if let Some(ratio) = facts.clock_ratio().filter(|ratio| (ratio - 1.0).abs() > CLOCK) {
        let saw = format!("by the camera's stamps {ratio:.2} s pass in a second");
        findings.push(Finding::warning(
            "clock",
            saw,
            "stamps that leave the time in which pictures come are replaced by it",
        ));
    }
    findings
}

/// Deviations of the camera from the standard, and what is made of them.
fn oddities(trial: &Trial) -> impl Iterator<Item = String> {
    let passed = &trial.facts.passed_over;
    let counted = [
        (
            trial.facts.sources,
            "times the source of the packets changed: each change is followed",
        ),
        (passed.duplicates, "packets came twice: each counts once"),
        (passed.late, "packets came too late: those behind them had been taken"),
        (
            passed.foreign_types,
            "packets have a payload type that counts not: they are left out",
        ),
        (
            passed.foreign_sources,
            "packets are of a second source: those of the first count",
        ),
        (passed.strays, "packets have a number of no sequence: they are left out"),
        (passed.malformed, "packets are no RTP: they are left out"),
        (passed.lost, "packets are missing"),
    ];
    let counted = counted.into_iter().filter(|(count, _)| *count > 0);
    let counted = counted.map(|(count, words)| format!("{count} {words}"));
    let spoken = trial.oddities.iter().map(|oddity| oddity.to_string());
    spoken.chain(counted)
}

/// Describes what came, in figures.
fn came(facts: &Facts) -> String {
    let rate = facts
        .rate()
        .map_or(String::new(), |rate| format!(" ({rate:.1} a second)"));
    let seconds = facts.length().as_secs_f64();
    let bits = match seconds > 0.0 {
        true => format!(", {:.2} Mbit/s", facts.bytes as f64 * 8.0 / 1e6 / seconds),
        false => String::new(),
    };
    let interval = facts.keyframe_interval().map_or(String::new(), |interval| {
        format!(" each {:.1} s", interval.as_secs_f64())
    });
    format!(
        "{} pictures{rate}{bits}, {} keyframes{interval}, {} packets, the largest picture {} kB, {} packets of sound, \
         {} reports",
        facts.pictures,
        facts.keyframes,
        facts.packets,
        facts.largest / 1000,
        facts.sound,
        facts.reports
    )
}

/// Describes what viewers would get.
fn made_of_it(trial: &Trial) -> String {
    let picture = &trial.picture;
    let codec = match picture.codec {
        Codec::H264 => "H.264",
        Codec::H265 => "H.265",
        Codec::Av1 => "AV1",
        Codec::Mjpeg => "Motion JPEG",
    };
    let sound = trial.sound.as_ref().map_or("without sound".to_owned(), |sound| {
        format!("with {} at {} Hz", sound.codec.name(), sound.samples_per_second)
    });
    format!("published as {codec} {}x{} {sound}", picture.width, picture.height)
}

#[cfg(test)]
mod tests {
    use sealcast_proto::rtp::MediaDescription;
    use sealcast_proto::rtsp::Oddities;

    use super::*;
    use crate::media::{FrameRate, StreamInfo};

    #[test]
    fn an_address_is_told_by_its_shape_alone() {
        let shape_of = |url: &str| shape(&RtspOptions::parse(url).expect("a URL"));
        assert_eq!(
            shape_of("rtsp://admin:secret@cam.example:8554/Streaming/Channels/101?serial=77&x=1"),
            "rtsp://USER:PASSWORD@HOST:8554/…/…/…?…=…&…=…"
        );
        assert_eq!(shape_of("rtsps://192.0.2.7"), "rtsps://HOST:322");
    }

    #[test]
    fn no_word_that_the_camera_or_its_user_chose_is_in_a_report() {
        const WORD: &str = "hunter2";
        let url = "rtsp://hunter2:hunter2@hunter2.example:554/hunter2/hunter2?hunter2=hunter2";
        let options = RtspOptions::parse(url).expect("a URL");
        let sdp = "v=0\r\no=hunter2 1 1 IN IP4 hunter2\r\ns=hunter2\r\ni=hunter2\r\nu=http://hunter2/\r\ne=hunter2\r\n\
            a=tool:hunter2\r\nm=video 0 RTP/AVP 96\r\na=rtpmap:96 hunter2/90000\r\n\
            a=fmtp:96 sprop-parameter-sets=hunter2\r\n\
            a=control:hunter2\r\na=hunter2:hunter2\r\nm=hunter2 0 RTP/AVP 97\r\na=rtpmap:97 hunter2/1\r\n\
            m=audio 0 hunter2 hunter2\r\na=control:hunter2\r\n";
        let lost = format!("{} failed: the camera closed the connection", options.shown());
        let trial = Trial {
            description: MediaDescription::parse(sdp.as_bytes()),
            picture: StreamInfo {
                codec: Codec::H264,
                width: 0,
                height: 0,
                rate: FrameRate {
                    numerator: 25,
                    denominator: 1,
                },
                parameters: WORD.into(),
            },
            sound: None,
            facts: Facts::default(),
            oddities: Oddities::default(),
            quiet: Duration::ZERO,
            trouble: Some(without_address(&options, &lost)),
        };
        let mut findings = vec![Finding::ok("address", shape(&options))];
        findings.extend(offers(&trial));
        findings.extend(judge("tcp", &trial));
        let failure = Failure::new(
            FailureKind::Source,
            format!("cannot reach {}", options.url().host),
            lost,
        );
        findings.push(refused("udp", &options, &failure));
        let report = Report { findings };
        let text = report.to_lines() + &report.to_json();
        assert!(!text.contains(WORD), "{text}");
        assert!(text.contains("track 2") && text.contains("unknown here"), "{text}");
    }
}
