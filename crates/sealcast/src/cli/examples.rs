//! The examples that the help of each command ends with. A test parses them.

pub(super) const ALL: &str = "Examples:
  sealcast demo                                  # everything on this machine, on a page
  sealcast publish rtsp://camera.example/front   # prints the line that a viewer types
  sealcast watch @ticket.txt --to window:

Exit codes: 0 done, 1 defect, 2 usage, 3 source, 4 output, 5 network, 6 refused, 7 keys, 8 configuration, 9 key limit,
10 alarm.";

pub(super) const DEMO: &str = "Examples:
  sealcast demo
  sealcast demo rtsp://camera.example/front
  sealcast demo --headless --seconds 10";

pub(super) const PUBLISH: &str = "Examples:
  sealcast publish v4l2:/dev/video0              # prints the line that a viewer types
  sealcast publish rtsp://camera.example/front --listen udp://0.0.0.0:9553 --retry
  sealcast publish front=rtsp://192.0.2.10/1 yard=rtsp://192.0.2.11/1 --web https://0.0.0.0:9443";

pub(super) const WATCH: &str = "Examples:
  sealcast watch @ticket.txt                     # a page; its address is printed
  sealcast watch @ticket.txt --to window:
  sealcast watch @ticket.txt --to file:out.mp4";

pub(super) const CAMERAS: &str = "Examples:
  sealcast cameras @ticket.txt
  sealcast watch @ticket.txt --camera front --to window:";

pub(super) const GATEWAY: &str = "Examples:
  sealcast gateway camera --camera rtsp://camera.example/front
  sealcast gateway viewer --peer @ticket.txt     # prints the URL for players";

pub(super) const GATEWAY_CAMERA: &str = "Examples:
  sealcast gateway camera --camera rtsp://camera.example/front
  sealcast gateway camera --camera front=rtsp://192.0.2.10/1 --camera yard=rtsp://192.0.2.11/1
  sealcast gateway camera --camera-file cameras --listen udp://0.0.0.0:9553";

pub(super) const GATEWAY_VIEWER: &str = "Examples:
  sealcast gateway viewer --peer @ticket.txt     # prints the URL for players
  sealcast gateway viewer --peer @ticket.txt --rtsp 0.0.0.0:9554
  sealcast gateway viewer --peer @ticket.txt --rtsp-user vlc --rtsp-password-file password";

pub(super) const INVITE: &str = "Examples:
  sealcast invite --label grandma                # prints the line or link to give away
  sealcast invite --label plumber --camera yard  # for that camera alone
  sealcast invite --uses 5 --expires 7d --ticket-file family.ticket
  sealcast invite --name front --qr              # draws the link for a phone";

pub(super) const STATUS: &str = "Examples:
  sealcast status
  sealcast status --name front --watch           # again each second
  sealcast status --json";

pub(super) const PEERS: &str = "Examples:
  sealcast peers list
  sealcast peers remove grandma                  # or: remove mfrggzdfmz
  sealcast peers --name front withdraw all";

pub(super) const CONTROL: &str = "Examples:
  sealcast control status
  sealcast control --name front keyframe
  sealcast control peers list";

pub(super) const CLOCK: &str = "Examples:
  sealcast clock --ticket-file events.ticket
  sealcast clock --window --ticket-file events.ticket
  sealcast clock --page http://0.0.0.0:9882?public --ticket-file events.ticket";

pub(super) const PROBE: &str = "Examples:
  sealcast probe @ticket.txt --events @events.ticket
  sealcast probe rtsp://camera.example/front --events @events.ticket
  sealcast probe @ticket.txt --seconds 60 --log-dir logs
  sealcast probe rtsp://camera.example/front --beside rtsp://gateway.example:9554/front --seconds 60";

pub(super) const COMPLETIONS: &str = "Examples:
  sealcast completions bash > ~/.local/share/bash-completion/completions/sealcast
  sealcast completions zsh > ~/.zfunc/_sealcast
  sealcast completions fish > ~/.config/fish/completions/sealcast.fish";

pub(super) const RECORD: &str = "Examples:
  sealcast archive record @ticket.txt recordings
  sealcast archive record @ticket.txt 'recordings?keep=7d&max=20GB'";

pub(super) const REPLAY: &str = "Examples:
  sealcast replay recordings --identity archive.key --into http://127.0.0.1:9880
  sealcast replay recordings --identity archive.key --from -10m --into file:last.mp4 --fast";

pub(super) const DOCTOR: &str = "Examples:
  sealcast doctor
  sealcast doctor rtsp://camera.example/front
  sealcast doctor --config /etc/sealcast/publish.toml";
