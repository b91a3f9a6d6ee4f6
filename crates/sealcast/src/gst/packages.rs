//! Which Debian package has an element.

/// Elements by the beginnings of their names, the longer ones first where one begins another.
const PACKAGES: [(&str, &[&str]); 12] = [
    ("gstreamer1.0-libcamera", &["libcamera"]),
    ("gstreamer1.0-libav", &["avdec_", "avenc_", "avdemux_", "avmux_"]),
    ("gstreamer1.0-vaapi", &["vaapi"]),
    ("gstreamer1.0-plugins-ugly", &["x264enc", "mpeg2dec", "asfdemux"]),
    ("gstreamer1.0-gl", &["gl"]),
    ("gstreamer1.0-x", &["ximagesink", "xvimagesink"]),
    ("gstreamer1.0-gtk3", &["gtk"]),
    ("gstreamer1.0-rtsp", &["rtspclientsink"]),
    (
        "gstreamer1.0-plugins-bad",
        &[
            "v4l2sl",
            "h264parse",
            "h265parse",
            "jpegparse",
            "openh264",
            "openjpeg",
            "srt",
            "rist",
            "rtmp2",
            "va",
            "nv",
            "msdk",
            "qsv",
            "kmssink",
            "waylandsink",
            "webrtc",
            "tsdemux",
            "tsparse",
            "mpegts",
            "uvch264",
            "x265enc",
            "svt",
            "av1",
            "dash",
            "hls",
            "decklink",
            "ipcpipeline",
            "shm",
            "fbdevsink",
            "y4mdec",
            "camerabin",
        ],
    ),
    (
        "gstreamer1.0-plugins-good",
        &[
            "v4l2",
            "jpegenc",
            "jpegdec",
            "pngenc",
            "pngdec",
            "rtsp",
            "rtp",
            "udp",
            "matroska",
            "qtdemux",
            "qtmux",
            "mp4mux",
            "isomp4",
            "autovideo",
            "multifile",
            "splitmux",
            "avidemux",
            "avimux",
            "flv",
            "multipart",
            "souphttp",
            "ximagesrc",
            "vp8",
            "vp9",
            "y4menc",
            "videocrop",
            "videoflip",
            "videobox",
            "deinterlace",
            "dv",
            "imagefreeze",
        ],
    ),
    (
        "gstreamer1.0-plugins-base",
        &[
            "video",
            "decodebin",
            "uridecodebin",
            "playbin",
            "parsebin",
            "app",
            "tcp",
            "ogg",
            "theora",
            "overlay",
            "textoverlay",
            "timeoverlay",
            "clockoverlay",
            "compositor",
            "encodebin",
            "gio",
        ],
    ),
    (
        "libgstreamer1.0-0",
        &[
            "file",
            "fake",
            "fd",
            "queue",
            "tee",
            "identity",
            "caps",
            "typefind",
            "valve",
            "input-selector",
            "multiqueue",
        ],
    ),
];

/// The Debian package that has `element`, where that is known.
pub(super) fn package_of(element: &str) -> Option<&'static str> {
    let known = |names: &[&str]| names.iter().any(|name| element.starts_with(name));
    PACKAGES
        .iter()
        .find(|(_, names)| known(names))
        .map(|(package, _)| *package)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn usual_elements_have_their_package() {
        for (element, package) in [
            ("x264enc", "gstreamer1.0-plugins-ugly"),
            ("libcamerasrc", "gstreamer1.0-libcamera"),
            ("v4l2h264enc", "gstreamer1.0-plugins-good"),
            ("v4l2slh264dec", "gstreamer1.0-plugins-bad"),
            ("vaapih264enc", "gstreamer1.0-vaapi"),
            ("vah264enc", "gstreamer1.0-plugins-bad"),
            ("avdec_h264", "gstreamer1.0-libav"),
            ("videoconvert", "gstreamer1.0-plugins-base"),
            ("ximagesrc", "gstreamer1.0-plugins-good"),
            ("ximagesink", "gstreamer1.0-x"),
            ("fakesink", "libgstreamer1.0-0"),
        ] {
            assert_eq!(package_of(element), Some(package), "{element}");
        }
        assert_eq!(package_of("nosuchelement"), None);
    }
}
