//! Sources and sinks, with ffmpeg, a browser and foreign cameras as judges.

mod bad_files;
mod files;
mod http_sink;
mod rtsp_cameras;
mod test_card;
