"""An RTSP server that serves a camera again, over TLS.

rtsps.py CAMERA_URL CERTIFICATE KEY

Prints "port N" once it listens. The camera is at rtsps://127.0.0.1:N/camera, without a password.
"""

import sys

import gi

gi.require_version("Gst", "1.0")
gi.require_version("GstRtspServer", "1.0")
from gi.repository import Gio, GLib, Gst, GstRtspServer  # noqa: E402


def main():
    camera, certificate, key = sys.argv[1:]
    Gst.init(None)
    token = GstRtspServer.RTSPToken()
    token.set_string("media.factory.role", "anybody")
    auth = GstRtspServer.RTSPAuth()
    auth.set_default_token(token)
    auth.set_tls_certificate(Gio.TlsCertificate.new_from_files(certificate, key))

    rights = GstRtspServer.RTSPPermissions()
    rights.add_permission_for_role("anybody", "media.factory.access", True)
    rights.add_permission_for_role("anybody", "media.factory.construct", True)
    factory = GstRtspServer.RTSPMediaFactory()
    factory.set_permissions(rights)
    factory.set_latency(0)
    # Send packets as long as the camera's.
    factory.set_launch(
        f"( rtspsrc location={camera} protocols=tcp latency=0 ! rtph264depay ! rtph264pay name=pay0 pt=96 mtu=1200 )"
    )

    server = GstRtspServer.RTSPServer()
    server.set_address("127.0.0.1")
    server.set_service("0")
    server.set_auth(auth)
    server.get_mount_points().add_factory("/camera", factory)
    if server.attach(None) == 0:
        sys.exit("there is no port")
    print(f"port {server.get_bound_port()}", flush=True)
    GLib.MainLoop().run()


main()
