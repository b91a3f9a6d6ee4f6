//! Source URLs as users type them. A password must not appear in an error.
#![no_main]

use libfuzzer_sys::fuzz_target;
use sealcast::source::SourceUrl;

const PASSWORD: &str = "hunter2secret";

fuzz_target!(|text: &str| {
    let _ = text.parse::<SourceUrl>();
    let with_password = format!("rtsp://admin:{PASSWORD}@{text}");
    if let Err(failure) = with_password.parse::<SourceUrl>() {
        assert!(!format!("{failure} {failure:?}").contains(PASSWORD), "{failure}");
    }
});
