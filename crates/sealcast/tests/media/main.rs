//! Sources and sinks, checked with ffmpeg, a browser and third-party cameras.

mod bad_files;
mod codecs;
mod fence;
mod files;
mod h264_slices;
mod http_sink;
mod late_sound;
mod pipe_formats;
mod recordings;
mod rtp_senders;
mod rtp_to_port;
mod rtsp_cameras;
mod rtsp_sound;
mod rtsps_cameras;
mod test_card;
mod ts_senders;
