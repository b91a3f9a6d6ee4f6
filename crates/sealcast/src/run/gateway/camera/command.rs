//! Which commands of players reach a camera. All players share one session with it, so a command of one of them is
//! felt by all, and SET_PARAMETER may change the camera itself.

use sealcast_proto::rtsp::{CarriedHeader, CarriedStatus, Parameters, Verb};

/// Answer to a player whose command needs the right to control the camera.
const NO_CONTROL: &str = "The camera gateway lets these players change nothing at this camera: its owner must name \
    their viewer gateway in the camera's list `control`.\r\n";

/// Verdict on a command.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Judged {
    /// Forward it with these headers and body.
    Forward(Parameters),
    /// Answer it without the camera.
    Answer(CarriedStatus, Parameters),
}

/// Judge a command of a viewer gateway. `controls`: whether it may control the camera. Without that right PLAY and
/// PAUSE go on without their headers: players send a Range with every PLAY, and a refusal would keep them from
/// watching.
pub(super) fn judge(verb: Verb, with: Parameters, controls: bool) -> Judged {
    match verb {
        // A keep-alive.
        Verb::GetParameter | Verb::SetParameter if with.body.is_empty() => {
            Judged::Answer(CarriedStatus::OK, Parameters::default())
        }
        Verb::GetParameter => Judged::Forward(with),
        _ if controls => Judged::Forward(with),
        Verb::SetParameter => {
            let mut words = Parameters::of_body(NO_CONTROL.into());
            words.set(CarriedHeader::ContentType, "text/plain".to_owned());
            Judged::Answer(CarriedStatus::of_camera(403), words)
        }
        Verb::Play(_) | Verb::Pause | Verb::Teardown => Judged::Forward(Parameters::default()),
    }
}

#[cfg(test)]
mod tests {
    use sealcast_proto::rtsp::TrackSet;

    use super::*;

    fn play() -> Verb {
        Verb::Play(TrackSet::from_bits(1))
    }

    fn with(header: CarriedHeader, value: &str, body: &[u8]) -> Parameters {
        let mut with = Parameters::of_body(body.to_vec());
        with.set(header, value.to_owned());
        with
    }

    #[test]
    fn who_may_control_a_camera_is_forwarded_as_it_is() {
        for verb in [play(), Verb::Pause, Verb::GetParameter, Verb::SetParameter] {
            let asked = with(CarriedHeader::Scale, "2.0", b"brightness: 3\r\n");
            assert_eq!(judge(verb, asked.clone(), true), Judged::Forward(asked));
        }
    }

    #[test]
    fn without_that_right_nothing_is_set_and_the_player_is_told_why() {
        let asked = with(CarriedHeader::ContentType, "text/parameters", b"reboot: yes\r\n");
        let Judged::Answer(status, words) = judge(Verb::SetParameter, asked, false) else {
            panic!("it was forwarded");
        };
        assert_eq!(status.code(), 403);
        assert_eq!(words.get(CarriedHeader::ContentType), Some("text/plain"));
        assert!(String::from_utf8(words.body).unwrap().contains("`control`"));
    }

    #[test]
    fn without_that_right_the_shared_stream_is_played_as_it_is() {
        for header in [
            CarriedHeader::Range,
            CarriedHeader::Scale,
            CarriedHeader::Speed,
            CarriedHeader::Frames,
        ] {
            for verb in [play(), Verb::Pause] {
                let judged = judge(verb, with(header, "0.1", b"x"), false);
                assert_eq!(judged, Judged::Forward(Parameters::default()));
            }
        }
    }

    #[test]
    fn a_keep_alive_never_reaches_the_camera_and_a_question_does() {
        for controls in [false, true] {
            for verb in [Verb::GetParameter, Verb::SetParameter] {
                let asked = with(CarriedHeader::Scale, "2.0", b"");
                let told = Judged::Answer(CarriedStatus::OK, Parameters::default());
                assert_eq!(judge(verb, asked, controls), told);
            }
            let asked = Parameters::of_body(b"packets_received\r\n".to_vec());
            assert_eq!(
                judge(Verb::GetParameter, asked.clone(), controls),
                Judged::Forward(asked)
            );
        }
    }
}
