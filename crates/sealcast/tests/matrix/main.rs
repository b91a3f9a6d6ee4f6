//! Cameras that do what they should not, through `publish rtsp://` with a viewer and through a pair of gateways with a
//! player.
//!
//! A row is an oddity: its name, what the camera does otherwise than it should, and what comes out. Each stands in
//! public reports of people with such a camera. The next oddity is one more row in a table below; what it needs of the
//! camera is a deviation or a clip of the testkit. The same tables are `docs/cameras-matrix.md`.

mod answers;
mod carried;
mod descriptions;
mod keep_alives;
mod logins;
mod packets;
mod page;
mod pictures;
mod play_answers;
mod published;
mod redirects;
mod row;
mod sessions;
mod sounds;
mod stream;
mod times;
mod transports;

use row::{Table, check};

/// All tables, in the order of the page.
const TABLES: &[&Table] = &[
    &answers::TABLE,
    &sessions::TABLE,
    &transports::TABLE,
    &keep_alives::TABLE,
    &logins::TABLE,
    &redirects::TABLE,
    &descriptions::TABLE,
    &play_answers::TABLE,
    &packets::TABLE,
    &pictures::TABLE,
    &sounds::TABLE,
    &times::TABLE,
];

macro_rules! tables {
    ($($test:ident: $table:ident),* $(,)?) => {
        $(#[test]
        fn $test() {
            check(&$table::TABLE);
        })*
    };
}

tables! {
    answers_are_read_however_they_are_written: answers,
    sessions_are_followed_in_all_forms: sessions,
    transports_are_taken_as_they_are_meant: transports,
    a_camera_that_sends_packets_lives_whatever_it_makes_of_keep_alives: keep_alives,
    a_login_is_tried_in_each_way_that_is_offered: logins,
    redirects_are_followed_a_few_times: redirects,
    descriptions_are_read_for_what_they_say_of_the_picture: descriptions,
    what_the_answer_to_play_announces_is_a_hint: play_answers,
    packets_are_judged_by_themselves: packets,
    pictures_are_put_together_however_they_are_cut: pictures,
    no_sound_keeps_the_picture_away: sounds,
    stamps_that_cannot_be_right_cost_no_picture: times,
}
