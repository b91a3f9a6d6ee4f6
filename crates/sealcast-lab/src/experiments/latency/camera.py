"""A camera: encodes raw pictures from standard input as they come, and serves them by RTSP.

camera.py ADDRESS WIDTH HEIGHT RATE ENCODER PAYLOADER

Prints "port N" once it listens; the camera is at rtsp://ADDRESS:N/cam. Pictures that come while nobody watches, or
while the encoder is busy with the one before the last, are dropped, as a camera does. Ends with its standard input.
"""

import sys
import threading

import gi

gi.require_version("Gst", "1.0")
gi.require_version("GstRtspServer", "1.0")
from gi.repository import GLib, Gst, GstRtspServer  # noqa: E402


class Camera:
    """The picture source of the media that is being served, if any is."""

    def __init__(self, size):
        self.size = size
        self.source = None

    def configure(self, _factory, media):
        self.source = media.get_element().get_child_by_name("source")
        media.connect("unprepared", self.unprepared)

    def unprepared(self, _media):
        self.source = None

    def read(self, loop):
        while len(picture := sys.stdin.buffer.read(self.size)) == self.size:
            source = self.source
            if source is not None:
                source.emit("push-buffer", Gst.Buffer.new_wrapped(picture))
        loop.quit()


def main():
    address = sys.argv[1]
    width, height, rate = (int(number) for number in sys.argv[2:5])
    encoder, payloader = sys.argv[5:7]
    Gst.init(None)
    camera = Camera(width * height * 3 // 2)
    factory = GstRtspServer.RTSPMediaFactory()
    factory.set_shared(True)
    caps = f"video/x-raw,format=I420,width={width},height={height},framerate={rate}/1"
    source = (
        f"appsrc name=source caps={caps} format=time is-live=true do-timestamp=true max-buffers=1 leaky-type=downstream"
    )
    factory.set_launch(f"( {source} ! {encoder} ! {payloader} name=pay0 )")
    factory.connect("media-configure", camera.configure)

    def connected(_server, client):
        # Without this, it drops data that a client on a busy machine does not read at once, even over TCP.
        client.set_property("drop-backlog", False)

    server = GstRtspServer.RTSPServer()
    server.set_address(address)
    server.set_service("0")
    server.connect("client-connected", connected)
    server.get_mount_points().add_factory("/cam", factory)
    if server.attach(None) == 0:
        sys.exit("no port is free")
    print(f"port {server.get_bound_port()}", flush=True)
    loop = GLib.MainLoop()
    threading.Thread(target=camera.read, args=(loop,), daemon=True).start()
    loop.run()


main()
