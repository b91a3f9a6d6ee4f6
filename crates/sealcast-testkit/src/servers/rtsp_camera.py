#!/usr/bin/env python3
"""A camera for tests: GStreamer's RTSP server playing a file.

rtsp_camera.py FILE [--port N] [--udp FIRST LAST] [--audio] [--law LAW]
               [--user U --password P --method basic|digest] [--tls PEM]

Serves H.264 from MP4 (with --audio its AAC as well), H.265 from FILE.h265.mp4, Motion JPEG from AVI and G.711 from WAV
at rtsp://127.0.0.1:PORT/cam; with --law pcmu, pcma, aac, opus or g722 a tone beside it. With --tls, a file with a
certificate and its key, it serves rtsps:// only. Prints "port N" once it listens, and "TEARDOWN" for each TEARDOWN of a
client.
"""

import argparse
import sys

import gi

gi.require_version("Gst", "1.0")
gi.require_version("GstRtsp", "1.0")
gi.require_version("GstRtspServer", "1.0")
from gi.repository import Gio, GLib, Gst, GstRtsp, GstRtspServer  # noqa: E402


def say(text):
    print(text, flush=True)

TONES = {
    "pcmu": "audio/x-raw,rate=8000,channels=1 ! mulawenc ! rtppcmupay name=pay1 pt=0 ptime-multiple=20000000",
    "pcma": "audio/x-raw,rate=8000,channels=1 ! alawenc ! rtppcmapay name=pay1 pt=8 ptime-multiple=20000000",
    "aac": "audio/x-raw,rate=48000,channels=2 ! avenc_aac ! aacparse ! rtpmp4gpay name=pay1 pt=97",
    "opus": "audio/x-raw,rate=48000,channels=2 ! opusenc ! rtpopuspay name=pay1 pt=97",
    "g722": "audio/x-raw,rate=16000,channels=1 ! avenc_g722 ! rtpg722pay name=pay1 pt=9",
}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("file")
    parser.add_argument("--port", default="0")
    parser.add_argument("--udp", type=int, nargs=2, help="ports that RTP over UDP is sent from")
    parser.add_argument("--audio", action="store_true")
    parser.add_argument("--law", choices=sorted(TONES))
    parser.add_argument("--user")
    parser.add_argument("--password")
    parser.add_argument("--method", choices=["basic", "digest"], default="digest")
    parser.add_argument("--tls")
    args = parser.parse_args()
    Gst.init(None)

    server = GstRtspServer.RTSPServer()
    server.set_address("127.0.0.1")
    server.set_service(args.port)
    factory = GstRtspServer.RTSPMediaFactory()
    if args.file.endswith(".avi"):
        chain = "avidemux ! jpegparse ! rtpjpegpay name=pay0 pt=26"
    elif args.file.endswith(".wav"):
        chain = "wavparse ! rtppcmupay name=pay0 pt=0"
    elif args.file.endswith(".h265.mp4"):
        chain = "qtdemux ! h265parse ! rtph265pay name=pay0 pt=96 config-interval=-1"
    elif args.audio:
        chain = (
            "qtdemux name=d d.video_0 ! queue ! h264parse ! rtph264pay name=pay0 pt=96 config-interval=0 "
            "d.audio_0 ! queue ! aacparse ! rtpmp4gpay name=pay1 pt=97"
        )
    else:
        chain = "qtdemux ! h264parse ! rtph264pay name=pay0 pt=96 config-interval=0"
    chain += f" audiotestsrc samplesperbuffer=160 ! {TONES[args.law]}" if args.law else ""
    factory.set_launch(f'( filesrc location="{args.file}" ! {chain} )')

    if args.udp:
        pool = GstRtspServer.RTSPAddressPool()
        pool.add_range("0.0.0.0", "0.0.0.0", *args.udp, 0)
        factory.set_address_pool(pool)

    if args.user or args.tls:
        auth = GstRtspServer.RTSPAuth()
        role = args.user or "anybody"
        token = GstRtspServer.RTSPToken()
        token.set_string("media.factory.role", role)
        if not args.user:
            auth.set_default_token(token)
        elif args.method == "digest":
            auth.set_supported_methods(GstRtsp.RTSPAuthMethod.DIGEST)
            auth.add_digest(args.user, args.password, token)
        else:
            auth.add_basic(GstRtspServer.RTSPAuth.make_basic(args.user, args.password), token)
        if args.tls:
            auth.set_tls_certificate(Gio.TlsCertificate.new_from_file(args.tls))
        server.set_auth(auth)
        rights = GstRtspServer.RTSPPermissions()
        rights.add_permission_for_role(role, "media.factory.access", True)
        rights.add_permission_for_role(role, "media.factory.construct", True)
        factory.set_permissions(rights)

    def connected(_server, client):
        # Without this, it drops data that a client on a busy machine does not read at once, even over TCP.
        client.set_property("drop-backlog", False)
        client.connect("teardown-request", lambda *_: say("TEARDOWN"))

    server.connect("client-connected", connected)
    server.get_mount_points().add_factory("/cam", factory)
    if server.attach(None) == 0:
        sys.exit("the port is taken")
    say(f"port {server.get_bound_port()}")
    GLib.MainLoop().run()


main()
