//! Formats of a track.

/// One format of a track, from its `m=` line and the attributes for its payload type.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Format {
    /// Payload type.
    pub payload_type: u8,
    /// Name of the encoding in lower case: `h264`, `mpeg4-generic`; empty if nothing names it.
    pub encoding: String,
    /// Ticks a second of the timestamps; never 0.
    pub clock_rate: u32,
    /// Channels of sound; 1 if nothing is said.
    pub channels: u8,
    /// Value of `a=fmtp:` behind the payload type; empty if there is none.
    pub parameters: String,
}

impl Format {
    /// Value of a parameter of `a=fmtp:`, whose name is compared without case.
    pub fn parameter(&self, name: &str) -> Option<&str> {
        self.parameters.split(';').find_map(|parameter| {
            let (found, value) = parameter.split_once('=')?;
            found.trim().eq_ignore_ascii_case(name).then_some(value.trim())
        })
    }
}
