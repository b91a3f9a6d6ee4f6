//! The encoder in a user's pipeline, as far as it can be told what to do.

use gstreamer::Element;
use gstreamer::prelude::*;
use gstreamer_video::VideoEncoder;

use crate::source::MIN_BITRATE;

/// Most elements that are looked at on the way from the end of the pipeline to its encoder.
const MAX_ELEMENTS: usize = 64;

/// Changes of the bit rate by less than one part of so many are not passed on.
const PARTS: u64 = 20;

/// Encoders whose property `bitrate` may change while they run, and how many bits per second its unit is.
const UNITS: [(&str, u64); 19] = [
    ("x264enc", 1000),
    ("openh264enc", 1),
    ("nvh264enc", 1000),
    ("vah264enc", 1000),
    ("vah264lpenc", 1000),
    ("vaapih264enc", 1000),
    ("qsvh264enc", 1000),
    ("msdkh264enc", 1000),
    ("amfh264enc", 1000),
    ("x265enc", 1000),
    ("nvh265enc", 1000),
    ("vah265enc", 1000),
    ("vah265lpenc", 1000),
    ("vaapih265enc", 1000),
    ("qsvh265enc", 1000),
    ("msdkh265enc", 1000),
    ("amfh265enc", 1000),
    ("qsvav1enc", 1000),
    ("amfav1enc", 1000),
];

/// An encoder of the pipeline.
pub(super) struct PipelineEncoder {
    element: Element,
    rate: Option<Rate>,
}

/// Unit, limit and present value of its bit rate.
struct Rate {
    /// Bits per second that a unit of the property stands for.
    unit: u64,
    /// Bits per second that the user's pipeline asks for, which are never exceeded.
    most: u64,
    /// Bits per second in force.
    current: u64,
}

impl PipelineEncoder {
    /// The encoder from which `sink` gets its frames; `None` if the pipeline has them encoded.
    pub(super) fn before(sink: &Element) -> Option<Self> {
        let mut ahead = vec![sink.clone()];
        for _ in 0..MAX_ELEMENTS {
            for pad in ahead.pop()?.sink_pads() {
                // Across the border of a bin.
                let mut peer = pad.peer();
                while let Some(target) = peer
                    .as_ref()
                    .and_then(|peer| peer.downcast_ref::<gstreamer::GhostPad>())
                {
                    peer = target.target();
                }
                let Some(element) = peer.and_then(|peer| peer.parent_element()) else {
                    continue;
                };
                if element.is::<VideoEncoder>() {
                    return Some(Self {
                        rate: Rate::of(&element),
                        element,
                    });
                }
                ahead.push(element);
            }
        }
        None
    }

    /// Name of its factory.
    pub(super) fn name(&self) -> String {
        self.element
            .factory()
            .map(|factory| factory.name().to_string())
            .unwrap_or_default()
    }

    /// True if its bit rate follows.
    pub(super) fn follows(&self) -> bool {
        self.rate.is_some()
    }

    /// Asks for that many bits per second; returns true if it follows.
    pub(super) fn set_bitrate(&mut self, bits_per_second: u64) -> bool {
        let Some(rate) = &mut self.rate else { return false };
        let wanted = bits_per_second.clamp(u64::from(MIN_BITRATE).min(rate.most), rate.most);
        let small = wanted.abs_diff(rate.current) < rate.current / PARTS && wanted != rate.most;
        if wanted != rate.current && !small {
            let value = (wanted / rate.unit).max(1);
            self.element.set_property_from_str("bitrate", &value.to_string());
            rate.current = wanted;
        }
        true
    }
}

impl Rate {
    fn of(element: &Element) -> Option<Self> {
        let factory = element.factory()?.name();
        let unit = UNITS.iter().find(|(name, _)| *name == factory).map(|(_, unit)| *unit)?;
        element.find_property("bitrate")?;
        // The types of the property differ between encoders.
        let value = element.property_value("bitrate").transform::<u64>().ok()?;
        let most = value.get::<u64>().ok()?.checked_mul(unit)?;
        // 0 lets the encoder choose.
        (most > 0).then_some(Self {
            unit,
            most,
            current: most,
        })
    }
}
