//! The workspace's tests on aarch64, in an emulator: results are right, times say nothing.

use super::{Target, emulated, target};
use crate::shell::run;
use crate::summary::Outcome;
use crate::test_programs::{self, Crowd, LeftOut, Manner};

/// Published values, and each kernel compared with its definition; folders of vectors would take minutes here. NEON
/// kernels run on no other machine.
const CIPHERS: [&str; 4] = ["test", "--release", "--package=sealcast-cipher", "--lib"];

/// With what the step `cross` has compiled: dependencies, which do most of the work, are optimised as in a release. Our
/// own program is optimised slightly and checked as it runs, as in other tests.
const BUILD: [&str; 6] = [
    "test",
    "--workspace",
    "--exclude=xtask",
    "--no-run",
    "--release",
    "--lib",
];
const SETTINGS: [&str; 3] = [
    "package.sealcast.opt-level=1",
    "package.sealcast.debug-assertions=true",
    "package.sealcast-testkit.opt-level=1",
];
/// Test programs of ciphers, of the protocol, and of the program with all its parts, beside the tests of all libraries.
/// Those of the laboratory measure this machine, and make networks that the emulator's namespace may not make.
const PROGRAMS: [&str; 11] = [
    "attack",
    "ciphers",
    "gateway",
    "h264",
    "matrix",
    "media",
    "program",
    "sessions",
    "udp",
    "udp_flood",
    "vectors",
];
/// Each process takes several times as long as on its own machine, and sessions wait as long as anywhere: with more at
/// once, handshakes do not end within their 5 s.
const CROWD: Crowd = Crowd { programs: 1, tests: 2 };

const BROWSER: &str = "it starts a browser";
const SECCOMP: &str = "the emulator has no seccomp";
const CAPTURE: &str = "the emulator's namespace may not capture what passes through the machine's network";
const MULTICAST: &str = "the emulator lacks a socket option of multicast groups";
const VLC: &str = "VLC refuses to run as root, and the emulator's namespace has no other user";

/// Tests that do not run in the emulator.
const LEFT_OUT: &[LeftOut] = &[
    LeftOut {
        program: "program",
        why: BROWSER,
        tests: &[
            "demo::a_browser_shows_the_demos_pictures_and_figures",
            "demo_page::a_browser_fills_the_page_in",
            "latency::what_a_browser_draws_is_read_back_and_what_it_reports_reaches_who_has_the_ticket",
        ],
    },
    LeftOut {
        program: "program",
        why: SECCOMP,
        tests: &[
            "decoder::pictures_are_decoded_in_a_process_that_can_do_nothing_else",
            // It wants no warning, and one says that the fence is incomplete.
            "reports::a_run_leaves_figures_behind_and_no_secrets",
        ],
    },
    LeftOut {
        program: "program",
        why: VLC,
        tests: &["cameras::a_vlc_camera_arrives_picture_by_picture"],
    },
    LeftOut {
        program: "program",
        why: CAPTURE,
        tests: &[
            "capture::no_datagram_is_a_fragment_or_may_become_one",
            "capture::nothing_of_a_motion_jpeg_stream_shows_on_the_network",
            "capture::nothing_of_an_h264_stream_shows_on_the_network",
        ],
    },
    LeftOut {
        program: "program",
        why: MULTICAST,
        tests: &[
            "multicast::a_viewer_that_cannot_join_the_group_is_sent_all_over_its_session",
            "multicast::two_viewers_hear_each_record_once_and_one_over_tcp_is_sent_its_own",
        ],
    },
    LeftOut {
        program: "gateway",
        why: CAPTURE,
        tests: &[
            "players::ffmpeg_shows_of_a_motion_jpeg_camera_what_it_shows_without_gateways",
            "players::ffmpeg_shows_of_an_h264_camera_what_it_shows_without_gateways",
            "players::gstreamer_writes_the_same_stream_as_without_gateways",
            "players::picture_and_sound_come_through_together",
            "players::sealcast_receives_the_same_frames_as_without_gateways",
            "proof::g711_comes_through_bit_for_bit_and_unseen",
            "proof::h264_comes_through_bit_for_bit_and_unseen",
            "proof::h264_with_aac_comes_through_bit_for_bit_and_unseen",
            "proof::h265_comes_through_bit_for_bit_and_unseen",
            "proof::motion_jpeg_comes_through_bit_for_bit_and_unseen",
        ],
    },
    LeftOut {
        program: "gateway",
        why: VLC,
        tests: &["players::vlc_as_a_camera_is_carried_as_well"],
    },
    LeftOut {
        program: "attack",
        why: "the memory of a process is the emulator's as well",
        tests: &["quic_port::a_stranger_costs_little_memory"],
    },
    LeftOut {
        program: "udp",
        why: "the emulator lacks the socket option IPV6_DONTFRAG",
        tests: &["sockets::fragments_are_forbidden_in_both_families"],
    },
    LeftOut {
        program: "media",
        why: BROWSER,
        tests: &["http_sink::a_browser_shows_the_picture_and_says_what_it_is"],
    },
    LeftOut {
        program: "media",
        why: SECCOMP,
        tests: &[
            "fence::memory_may_be_used_behind_the_fence_up_to_its_bound",
            "fence::who_tries_files_sockets_or_processes_behind_the_fence_is_killed",
        ],
    },
    LeftOut {
        program: "media",
        why: VLC,
        tests: &["rtsp_cameras::vlc_h264_comes_bit_for_bit_by_the_transport_it_has"],
    },
    LeftOut {
        program: "media",
        why: "in the emulator a program that does not exist starts, and ends with 127",
        tests: &["fence::a_process_that_is_no_decoder_is_refused_in_words"],
    },
    LeftOut {
        program: "sealcast",
        why: "the emulator does not know the request TCGETS2, by which a serial line is set",
        tests: &[
            "board_tests::a_board_that_goes_silent_is_an_error_after_two_seconds",
            "board_tests::a_board_that_is_unplugged_or_begins_anew_is_an_error",
            "board_tests::a_line_at_another_speed_is_told_from_a_board",
            "board_tests::garbage_and_cut_lines_cost_their_sample_and_nothing_else",
            "board_tests::the_boards_clock_may_wrap_around",
            "board_tests::the_power_that_a_board_sends_is_what_was_drawn_and_it_hears_of_what",
            "board_tests::what_a_board_sent_before_a_measurement_is_no_part_of_it",
        ],
    },
    LeftOut {
        program: "sealcast",
        why: "in the emulator requests that a file does not know fail as if the system had none",
        tests: &["device::tests::what_is_no_camera_is_not_opened"],
    },
    LeftOut {
        program: "sealcast",
        why: MULTICAST,
        tests: &[
            "multicast::tests::no_router_passes_on_what_is_sent_to_a_group",
            "multicast::tests::what_is_sent_to_a_group_is_heard_by_all_who_listen_and_strangers_are_passed_over",
        ],
    },
];

/// Runs all tests but those left out.
pub(crate) fn step() -> Outcome {
    if cfg!(target_arch = "aarch64") {
        return Outcome::Skipped("this machine is aarch64: the step `tests` has run them".to_owned());
    }
    let Some(aarch64) = target("aarch64") else {
        return Outcome::Failed("there is no target aarch64".to_owned());
    };
    if let Some(missing) = aarch64.missing() {
        return Outcome::Skipped(missing);
    }
    match emulated::prefix(aarch64.emulator) {
        Ok(prefix) => programs(aarch64, &prefix),
        Err(missing) => match ciphers(aarch64) {
            Ok(()) => Outcome::Skipped(format!("only the cipher crate's own tests; NOT RUN: {missing}")),
            Err(reason) => Outcome::Failed(reason),
        },
    }
}

fn ciphers(aarch64: &Target) -> Result<(), String> {
    let (emulator, libraries) = aarch64.emulator;
    let runner = aarch64.variable("RUNNER");
    let mut tests = aarch64.cargo(&CIPHERS);
    run(tests.env(runner, format!("{emulator} -L {libraries}")))
}

fn programs(aarch64: &Target, prefix: &[String]) -> Outcome {
    let prefix: Vec<&str> = prefix.iter().map(String::as_str).collect();
    let mut build = aarch64.cargo(&BUILD);
    build.args(PROGRAMS.iter().flat_map(|program| ["--test", *program]));
    for setting in SETTINGS {
        build.args(["--config", &format!("profile.release.{setting}")]);
    }
    let manner = Manner {
        prefix: &prefix,
        crowd: CROWD,
        left_out: LEFT_OUT,
        ..Manner::USUAL
    };
    match test_programs::run_built(build, manner) {
        Ok(ran) => Outcome::Ok(ran.note()),
        Err(reason) => Outcome::Failed(reason),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_test_that_is_left_out_exists() {
        LEFT_OUT.iter().for_each(LeftOut::check);
    }
}
