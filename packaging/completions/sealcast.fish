# Print an optspec for argparse to handle cmd's options that are independent of any subcommand.
function __fish_sealcast_global_optspecs
    string join \n v/verbose h/help V/version
end

function __fish_sealcast_needs_command
    # Figure out if the current invocation already has a command.
    set -l cmd (commandline -opc)
    set -e cmd[1]
    argparse -s (__fish_sealcast_global_optspecs) -- $cmd 2>/dev/null
    or return
    if set -q argv[1]
        # Also print the command, so this can be used to figure out what it is.
        echo $argv[1]
        return 1
    end
    return 0
end

function __fish_sealcast_using_subcommand
    set -l cmd (__fish_sealcast_needs_command)
    test -z "$cmd"
    and return 1
    contains -- $cmd[1] $argv
end

complete -c sealcast -n "__fish_sealcast_needs_command" -s v -l verbose -d 'Log more; -vv logs each picture, too'
complete -c sealcast -n "__fish_sealcast_needs_command" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c sealcast -n "__fish_sealcast_needs_command" -s V -l version -d 'Print version'
complete -c sealcast -n "__fish_sealcast_needs_command" -f -a "demo" -d 'Run camera, stream and viewer on this machine, and show what encryption costs'
complete -c sealcast -n "__fish_sealcast_needs_command" -f -a "keygen" -d 'Create an identity and print its peer id'
complete -c sealcast -n "__fish_sealcast_needs_command" -f -a "publish" -d 'Publish a camera or a file to viewers, and print the ticket that lets them in'
complete -c sealcast -n "__fish_sealcast_needs_command" -f -a "watch" -d 'Watch a publisher'
complete -c sealcast -n "__fish_sealcast_needs_command" -f -a "devices" -d 'List the cameras of this machine, and what they offer'
complete -c sealcast -n "__fish_sealcast_needs_command" -f -a "clock" -d 'Show events to a camera, and tell probes when it did'
complete -c sealcast -n "__fish_sealcast_needs_command" -f -a "probe" -d 'Measure the latency of video as a viewer sees it'
complete -c sealcast -n "__fish_sealcast_needs_command" -f -a "gateway" -d 'Connect RTSP cameras to RTSP players over an encrypted link'
complete -c sealcast -n "__fish_sealcast_needs_command" -f -a "cameras" -d 'List the cameras of a publisher that you may watch, for `watch --camera NAME`'
complete -c sealcast -n "__fish_sealcast_needs_command" -f -a "invite" -d 'Invite one more to what publishes or listens here, also while it runs'
complete -c sealcast -n "__fish_sealcast_needs_command" -f -a "status" -d 'Show how what runs here is: its cameras, who watches, and its keys'
complete -c sealcast -n "__fish_sealcast_needs_command" -f -a "peers" -d 'Show who is admitted, and change it'
complete -c sealcast -n "__fish_sealcast_needs_command" -f -a "control" -d 'Send a command to a running publisher or camera gateway'
complete -c sealcast -n "__fish_sealcast_needs_command" -f -a "print-config" -d 'Print versions, ciphers, key exchanges, and the processor features in use'
complete -c sealcast -n "__fish_sealcast_needs_command" -f -a "doctor" -d 'Look for what would keep a stream from running well here, and say what to do'
complete -c sealcast -n "__fish_sealcast_needs_command" -f -a "config" -d 'Check the configuration file, or print an example of it'
complete -c sealcast -n "__fish_sealcast_needs_command" -f -a "completions" -d 'Print what makes a shell complete commands and options'
complete -c sealcast -n "__fish_sealcast_needs_command" -f -a "archive" -d 'Make keys for archives, list what they have, and check them'
complete -c sealcast -n "__fish_sealcast_needs_command" -f -a "replay" -d 'Play an archive, or export it'
complete -c sealcast -n "__fish_sealcast_needs_command" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c sealcast -n "__fish_sealcast_using_subcommand demo" -l page -d 'Where to serve the page' -r
complete -c sealcast -n "__fish_sealcast_using_subcommand demo" -l shape -d 'What the sizes and times of records tell, as for `publish` [default: off]' -r -f
complete -c sealcast -n "__fish_sealcast_using_subcommand demo" -l suite -d 'Suites in order of preference [default: aes-256-gcm, aes-128-gcm, aegis-128x4, chacha20-poly1305]' -r -f -a "aes-256-gcm\t''
aes-128-gcm\t''
aegis-128x4\t''
chacha20-poly1305\t''"
complete -c sealcast -n "__fish_sealcast_using_subcommand demo" -l mech -d 'Key mechanisms in order of preference [default: x25519-mlkem768]' -r -f
complete -c sealcast -n "__fish_sealcast_using_subcommand demo" -l report -d 'Write a JSON summary at exit' -r -F
complete -c sealcast -n "__fish_sealcast_using_subcommand demo" -l log-dir -d 'Write CSV logs into this folder: handshake.csv, steady_stream.csv, frames_latency.csv and, at a viewer gateway, network_latency.csv and picture_latency.csv, from a probe probe_events.csv and probe_frames.csv, or with --beside probe_beside.csv alone' -r -f -a "(__fish_complete_directories)"
complete -c sealcast -n "__fish_sealcast_using_subcommand demo" -l metrics -d 'Serve Prometheus metrics, such as 127.0.0.1:9464' -r -f
complete -c sealcast -n "__fish_sealcast_using_subcommand demo" -l meter -d 'Energy meter: auto, none, rapl[:FOLDER], hwmon[:NAME], ina219:/dev/i2c-1@0x40[,shunt=0.1,amps=2] in ohms and amperes, or serial:/dev/ttyUSB0[,baud=115200]. docs/meters.md explains them [default: auto]' -r -f
complete -c sealcast -n "__fish_sealcast_using_subcommand demo" -l config -d 'Configuration file (TOML)' -r -F
complete -c sealcast -n "__fish_sealcast_using_subcommand demo" -l seconds -d 'Stop after so long, as in 90s or 10m; in seconds without a unit' -r
complete -c sealcast -n "__fish_sealcast_using_subcommand demo" -l insecure-study-suite -d 'Seal with this cipher of the laboratory instead of a suite: for measurements, never for secrets' -r
complete -c sealcast -n "__fish_sealcast_using_subcommand demo" -l headless -d 'Serve no page; print the figures at the end'
complete -c sealcast -n "__fish_sealcast_using_subcommand demo" -s v -l verbose -d 'Log more; -vv logs each picture, too'
complete -c sealcast -n "__fish_sealcast_using_subcommand demo" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c sealcast -n "__fish_sealcast_using_subcommand keygen" -l for -d 'Make the default identity of this end in ~/.config/sealcast' -r -f -a "publisher\t'`publish`'
viewer\t'`watch` and `probe`'
gateway-camera\t'`gateway camera`'
gateway-viewer\t'`gateway viewer`'
archive\t'`archive record`'"
complete -c sealcast -n "__fish_sealcast_using_subcommand keygen" -l name -d 'With --for publisher or gateway-camera: the identity of the one with this name' -r
complete -c sealcast -n "__fish_sealcast_using_subcommand keygen" -s v -l verbose -d 'Log more; -vv logs each picture, too'
complete -c sealcast -n "__fish_sealcast_using_subcommand keygen" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c sealcast -n "__fish_sealcast_using_subcommand publish" -l listen -d 'Where viewers connect, such as udp://0.0.0.0:9553 [default: tcp://[::]:9553]' -r -f
complete -c sealcast -n "__fish_sealcast_using_subcommand publish" -l also-listen -d 'Also listen here, for viewers over other carriers: tcp://, udp:// or quic://. The options of --listen hold here, too. The ticket for it is printed after that of --listen' -r -f
complete -c sealcast -n "__fish_sealcast_using_subcommand publish" -l web -d 'Also serve a page for browsers, such as https://0.0.0.0:9443' -r -f
complete -c sealcast -n "__fish_sealcast_using_subcommand publish" -l to -d 'Connect to a viewer that waits, instead of listening' -r -f
complete -c sealcast -n "__fish_sealcast_using_subcommand publish" -l advertise -d 'Addresses for the ticket, in place of this machine\'s' -r -f
complete -c sealcast -n "__fish_sealcast_using_subcommand publish" -l name -d 'Name of this publisher, if the account has several' -r -f
complete -c sealcast -n "__fish_sealcast_using_subcommand publish" -l allow -d 'File with the peer ids to admit, one per line. It is read again on SIGHUP' -r -F
complete -c sealcast -n "__fish_sealcast_using_subcommand publish" -l invite-uses -d 'How many viewers one ticket lets in [default: 1]' -r -f
complete -c sealcast -n "__fish_sealcast_using_subcommand publish" -l invite-hours -d 'How long the ticket lets new viewers in [default: 24h]' -r -f
complete -c sealcast -n "__fish_sealcast_using_subcommand publish" -l ticket-file -d 'Write the ticket to a file of its own; - is standard output' -r -F
complete -c sealcast -n "__fish_sealcast_using_subcommand publish" -l max-viewers -d 'How many may watch at once [default: 16]' -r -f
complete -c sealcast -n "__fish_sealcast_using_subcommand publish" -l queue-frames -d 'Maximum number of frames queued for a slow viewer, at least 1; when full, groups of pictures are dropped [default: 60]' -r -f
complete -c sealcast -n "__fish_sealcast_using_subcommand publish" -l rekey-seconds -d 'Begin a new epoch of keys after so long, 1s to 10m; in seconds without a unit [default: 10m]' -r -f
complete -c sealcast -n "__fish_sealcast_using_subcommand publish" -l rekey-records -d 'Begin a new epoch of keys after this many records, 16 to 1048576 [default: 1048576]' -r -f
complete -c sealcast -n "__fish_sealcast_using_subcommand publish" -l encrypt -d 'What to encrypt: all, none or rate:PERCENT; `publish` also takes keyframes, headers, headers+keyframes, and the levels of SECMPEG level:1 (headers), level:2 (and the begin of intra pictures), level:3 (and all intra macroblocks) and level:4 (everything). The rest is authenticated, but anybody on the network can see it: for measurements only [default: all]' -r -f -a "all\t''
none\t''
headers\t''
keyframes\t''
headers+keyframes\t''"
complete -c sealcast -n "__fish_sealcast_using_subcommand publish" -l shape -d 'What the sizes and times of records tell (docs/shaping.md): off; pad:BYTES (16 to 1048576) or pad:padme, which hide exact sizes and not activity; or constant:RATE (64kbit to 200mbit, over TCP and UDP), which shows only that there is a stream [default: off]' -r -f -a "off\t''
pad:padme\t''"
complete -c sealcast -n "__fish_sealcast_using_subcommand publish" -l relay -d 'Relays that are given what is sealed for the group (docs/relay.md): https://HOST:PORT/NAME, perhaps with ?jwt=TOKEN, and #sha256=HASH for a certificate of no public authority. Enrolled viewers can watch through them. It seals for a group, as --group does' -r -f
complete -c sealcast -n "__fish_sealcast_using_subcommand publish" -l archive-node -d 'Peer ids of archive\'s nodes (docs/archive.md): `archive record` gets everything sealed for the group, and no key. Needs --group and --archive-to' -r -f
complete -c sealcast -n "__fish_sealcast_using_subcommand publish" -l archive-to -d 'Who can open what archive\'s nodes record: age1pq1…, or @FILE with one a line' -r -f
complete -c sealcast -n "__fish_sealcast_using_subcommand publish" -l sign -d 'What the camera signs, with --group: frame (each frame, proved before it is shown), both (also each group of pictures, with ML-DSA-65, proved afterwards), or off, where every viewer of the group can forge the camera [default: frame]' -r -f -a "frame\t''
both\t''
off\t''"
complete -c sealcast -n "__fish_sealcast_using_subcommand publish" -l encrypt-seed -d 'Seed that makes the random choice of rate:PERCENT repeatable: a whole number from 0 to 9223372036854775807' -r -f
complete -c sealcast -n "__fish_sealcast_using_subcommand publish" -l unit -d 'The part of a frame that one record holds: frame, packet, or chunk:BYTES with 16 to 65535 bytes' -r -f -a "frame\t''
packet\t''"
complete -c sealcast -n "__fish_sealcast_using_subcommand publish" -l control -d 'Where to create the socket for `sealcast control`, `invite` and `peers`, which takes commands of you and root alone. Only if you give it, `control encrypt` can leave something in clear' -r -F
complete -c sealcast -n "__fish_sealcast_using_subcommand publish" -l data -d 'Data channels beside the picture, for MAVLink, joysticks and telemetry (docs/data.md): NAME=udp:127.0.0.1:14550, where a program of this machine sends and is answered. Options: ?newest, shared, to, from=ADDRESS' -r -f
complete -c sealcast -n "__fish_sealcast_using_subcommand publish" -l may-control -d 'Viewers that may send on data channels to this end, one at a time: peer ids, or @FILE with one a line. It is read again on SIGHUP. Without any, viewers only hear' -r -f
complete -c sealcast -n "__fish_sealcast_using_subcommand publish" -l suite -d 'Suites in order of preference [default: aes-256-gcm, aes-128-gcm, aegis-128x4, chacha20-poly1305]' -r -f -a "aes-256-gcm\t''
aes-128-gcm\t''
aegis-128x4\t''
chacha20-poly1305\t''"
complete -c sealcast -n "__fish_sealcast_using_subcommand publish" -l mech -d 'Key mechanisms in order of preference [default: x25519-mlkem768]' -r -f
complete -c sealcast -n "__fish_sealcast_using_subcommand publish" -l identity -d 'Identity file, which only you can read. Each end has a default file of its own, which is created if it is missing. Ends with the same identity refuse each other' -r -F
complete -c sealcast -n "__fish_sealcast_using_subcommand publish" -l report -d 'Write a JSON summary at exit' -r -F
complete -c sealcast -n "__fish_sealcast_using_subcommand publish" -l log-dir -d 'Write CSV logs into this folder: handshake.csv, steady_stream.csv, frames_latency.csv and, at a viewer gateway, network_latency.csv and picture_latency.csv, from a probe probe_events.csv and probe_frames.csv, or with --beside probe_beside.csv alone' -r -f -a "(__fish_complete_directories)"
complete -c sealcast -n "__fish_sealcast_using_subcommand publish" -l metrics -d 'Serve Prometheus metrics, such as 127.0.0.1:9464' -r -f
complete -c sealcast -n "__fish_sealcast_using_subcommand publish" -l meter -d 'Energy meter: auto, none, rapl[:FOLDER], hwmon[:NAME], ina219:/dev/i2c-1@0x40[,shunt=0.1,amps=2] in ohms and amperes, or serial:/dev/ttyUSB0[,baud=115200]. docs/meters.md explains them [default: auto]' -r -f
complete -c sealcast -n "__fish_sealcast_using_subcommand publish" -l config -d 'Configuration file (TOML)' -r -F
complete -c sealcast -n "__fish_sealcast_using_subcommand publish" -l seconds -d 'Stop after so long, as in 90s or 10m; in seconds without a unit' -r
complete -c sealcast -n "__fish_sealcast_using_subcommand publish" -l insecure-study-suite -d 'Seal with this cipher of the laboratory instead of a suite: for measurements, never for secrets' -r
complete -c sealcast -n "__fish_sealcast_using_subcommand publish" -l retry -d 'Wait for a camera that is off, and come back to it'
complete -c sealcast -n "__fish_sealcast_using_subcommand publish" -l no-sound -d 'Leave out the sound'
complete -c sealcast -n "__fish_sealcast_using_subcommand publish" -l open -d 'Admit every peer, whatever its identity: anybody who reaches this end can watch'
complete -c sealcast -n "__fish_sealcast_using_subcommand publish" -l no-invite -d 'Print a ticket without an invite: only listed viewers are admitted'
complete -c sealcast -n "__fish_sealcast_using_subcommand publish" -l group -d 'Encrypt each picture once for all viewers, for many of them'
complete -c sealcast -n "__fish_sealcast_using_subcommand publish" -s v -l verbose -d 'Log more; -vv logs each picture, too'
complete -c sealcast -n "__fish_sealcast_using_subcommand publish" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c sealcast -n "__fish_sealcast_using_subcommand watch" -l listen -d 'Wait for a publisher to connect, and print the ticket for `publish --to`' -r
complete -c sealcast -n "__fish_sealcast_using_subcommand watch" -l web -d 'Wait for a browser that publishes, on a page at https://ADDRESS:PORT' -r
complete -c sealcast -n "__fish_sealcast_using_subcommand watch" -l advertise -d 'Address for the ticket, with --listen or --web, in place of this machine\'s. May be given four times' -r
complete -c sealcast -n "__fish_sealcast_using_subcommand watch" -l ticket-file -d 'Write the ticket to a new file, or to standard output if FILE is -' -r -F
complete -c sealcast -n "__fish_sealcast_using_subcommand watch" -l publisher -d 'Admit only this publisher, with --listen or --web. The ticket then has no invite' -r
complete -c sealcast -n "__fish_sealcast_using_subcommand watch" -l name -d 'Name of the lists of publishers that were let in, with --listen or --web [default: made from the URL]' -r
complete -c sealcast -n "__fish_sealcast_using_subcommand watch" -l invite-hours -d 'How long the invite in the ticket lives, with --listen or --web: 1h to 365d, in hours without a unit' -r
complete -c sealcast -n "__fish_sealcast_using_subcommand watch" -l latency -d 'How long a picture may wait for what was lost: 0 to 10s, in milliseconds without a unit' -r
complete -c sealcast -n "__fish_sealcast_using_subcommand watch" -l camera -d 'Which camera, if the publisher has several' -r -f
complete -c sealcast -n "__fish_sealcast_using_subcommand watch" -l to -d 'window:, file:OUT.mp4, rtsp://127.0.0.1:8554/NAME for players, or http://127.0.0.1:9880 [default: http://127.0.0.1:9880]' -r -f
complete -c sealcast -n "__fish_sealcast_using_subcommand watch" -l require-sign -d 'Join a publisher\'s group only where at least this is signed: frame or off; else the publisher seals for this viewer alone. With both nothing is shown or recorded before the camera\'s certificate (ML-DSA-65) has come, and a publisher that does not sign so is refused [default: frame]' -r -f -a "frame\t''
both\t''
off\t''"
complete -c sealcast -n "__fish_sealcast_using_subcommand watch" -l relay -d 'Relays that have the camera\'s stream, as for `publish`: they are heard instead of the camera, which is asked only to enrol this viewer. When one falls silent, the next one is heard' -r -f
complete -c sealcast -n "__fish_sealcast_using_subcommand watch" -l data -d 'Data channels of the publisher (docs/data.md): NAME=udp:127.0.0.1:14550, where a program of this machine waits. What it answers goes to the publisher, if that lets this viewer (--may-control). Options: ?newest, hear, listen, from=ADDRESS' -r -f
complete -c sealcast -n "__fish_sealcast_using_subcommand watch" -l suite -d 'Suites in order of preference [default: aes-256-gcm, aes-128-gcm, aegis-128x4, chacha20-poly1305]' -r -f -a "aes-256-gcm\t''
aes-128-gcm\t''
aegis-128x4\t''
chacha20-poly1305\t''"
complete -c sealcast -n "__fish_sealcast_using_subcommand watch" -l mech -d 'Key mechanisms in order of preference [default: x25519-mlkem768]' -r -f
complete -c sealcast -n "__fish_sealcast_using_subcommand watch" -l identity -d 'Identity file, which only you can read. Each end has a default file of its own, which is created if it is missing. Ends with the same identity refuse each other' -r -F
complete -c sealcast -n "__fish_sealcast_using_subcommand watch" -l report -d 'Write a JSON summary at exit' -r -F
complete -c sealcast -n "__fish_sealcast_using_subcommand watch" -l log-dir -d 'Write CSV logs into this folder: handshake.csv, steady_stream.csv, frames_latency.csv and, at a viewer gateway, network_latency.csv and picture_latency.csv, from a probe probe_events.csv and probe_frames.csv, or with --beside probe_beside.csv alone' -r -f -a "(__fish_complete_directories)"
complete -c sealcast -n "__fish_sealcast_using_subcommand watch" -l metrics -d 'Serve Prometheus metrics, such as 127.0.0.1:9464' -r -f
complete -c sealcast -n "__fish_sealcast_using_subcommand watch" -l meter -d 'Energy meter: auto, none, rapl[:FOLDER], hwmon[:NAME], ina219:/dev/i2c-1@0x40[,shunt=0.1,amps=2] in ohms and amperes, or serial:/dev/ttyUSB0[,baud=115200]. docs/meters.md explains them [default: auto]' -r -f
complete -c sealcast -n "__fish_sealcast_using_subcommand watch" -l config -d 'Configuration file (TOML)' -r -F
complete -c sealcast -n "__fish_sealcast_using_subcommand watch" -l seconds -d 'Stop after so long, as in 90s or 10m; in seconds without a unit' -r
complete -c sealcast -n "__fish_sealcast_using_subcommand watch" -l insecure-study-suite -d 'Seal with this cipher of the laboratory instead of a suite: for measurements, never for secrets' -r
complete -c sealcast -n "__fish_sealcast_using_subcommand watch" -l no-sound -d 'Leave out the sound'
complete -c sealcast -n "__fish_sealcast_using_subcommand watch" -l no-reconnect -d 'End when the connection breaks'
complete -c sealcast -n "__fish_sealcast_using_subcommand watch" -l without-session -d 'Show and record what comes through a relay although the camera itself was never heard. It may be years old'
complete -c sealcast -n "__fish_sealcast_using_subcommand watch" -s v -l verbose -d 'Log more; -vv logs each picture, too'
complete -c sealcast -n "__fish_sealcast_using_subcommand watch" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c sealcast -n "__fish_sealcast_using_subcommand devices" -l json -d 'Print JSON'
complete -c sealcast -n "__fish_sealcast_using_subcommand devices" -s v -l verbose -d 'Log more; -vv logs each picture, too'
complete -c sealcast -n "__fish_sealcast_using_subcommand devices" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c sealcast -n "__fish_sealcast_using_subcommand clock" -l page -d 'Where to serve the page that shows events [default: http://127.0.0.1:9882]' -r -f
complete -c sealcast -n "__fish_sealcast_using_subcommand clock" -l events -d 'Where to tell probes by UDP what was shown when [default: 127.0.0.1:9556]' -r -f
complete -c sealcast -n "__fish_sealcast_using_subcommand clock" -l advertise -d 'Address for the ticket, in place of this machine\'s' -r -f
complete -c sealcast -n "__fish_sealcast_using_subcommand clock" -l ticket-file -d 'Write the ticket to a new file; - is standard output' -r -F
complete -c sealcast -n "__fish_sealcast_using_subcommand clock" -l period -d 'Mean time between events, 100ms to 1m [default: 1s]' -r -f
complete -c sealcast -n "__fish_sealcast_using_subcommand clock" -l config -d 'Configuration file (TOML)' -r -F
complete -c sealcast -n "__fish_sealcast_using_subcommand clock" -l seconds -d 'Stop after so long, as in 90s or 10m; in seconds without a unit' -r
complete -c sealcast -n "__fish_sealcast_using_subcommand clock" -l window -d 'Show events in a window, and serve no page'
complete -c sealcast -n "__fish_sealcast_using_subcommand clock" -s v -l verbose -d 'Log more; -vv logs each picture, too'
complete -c sealcast -n "__fish_sealcast_using_subcommand clock" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c sealcast -n "__fish_sealcast_using_subcommand probe" -l latency -d 'How long a picture may wait for what was lost: 0 to 10s, in milliseconds without a unit' -r
complete -c sealcast -n "__fish_sealcast_using_subcommand probe" -l camera -d 'Which camera, if the publisher has several' -r -f
complete -c sealcast -n "__fish_sealcast_using_subcommand probe" -l events -d 'File with the ticket of `sealcast clock`, as @FILE' -r -f
complete -c sealcast -n "__fish_sealcast_using_subcommand probe" -l beside -d 'Another way to the same camera: tell by how much it is later' -r -f
complete -c sealcast -n "__fish_sealcast_using_subcommand probe" -l pair-by -d 'With --beside: auto, clock, event or content [default: auto]' -r -f -a "auto\t''
clock\t''
event\t''
content\t''"
complete -c sealcast -n "__fish_sealcast_using_subcommand probe" -l alarm -d 'With --beside: tell when it is later than this, or stands still; exit code 10' -r -f
complete -c sealcast -n "__fish_sealcast_using_subcommand probe" -l suite -d 'Suites in order of preference [default: aes-256-gcm, aes-128-gcm, aegis-128x4, chacha20-poly1305]' -r -f -a "aes-256-gcm\t''
aes-128-gcm\t''
aegis-128x4\t''
chacha20-poly1305\t''"
complete -c sealcast -n "__fish_sealcast_using_subcommand probe" -l mech -d 'Key mechanisms in order of preference [default: x25519-mlkem768]' -r -f
complete -c sealcast -n "__fish_sealcast_using_subcommand probe" -l identity -d 'Identity file, which only you can read. Each end has a default file of its own, which is created if it is missing. Ends with the same identity refuse each other' -r -F
complete -c sealcast -n "__fish_sealcast_using_subcommand probe" -l report -d 'Write a JSON summary at exit' -r -F
complete -c sealcast -n "__fish_sealcast_using_subcommand probe" -l log-dir -d 'Write CSV logs into this folder: handshake.csv, steady_stream.csv, frames_latency.csv and, at a viewer gateway, network_latency.csv and picture_latency.csv, from a probe probe_events.csv and probe_frames.csv, or with --beside probe_beside.csv alone' -r -f -a "(__fish_complete_directories)"
complete -c sealcast -n "__fish_sealcast_using_subcommand probe" -l metrics -d 'Serve Prometheus metrics, such as 127.0.0.1:9464' -r -f
complete -c sealcast -n "__fish_sealcast_using_subcommand probe" -l meter -d 'Energy meter: auto, none, rapl[:FOLDER], hwmon[:NAME], ina219:/dev/i2c-1@0x40[,shunt=0.1,amps=2] in ohms and amperes, or serial:/dev/ttyUSB0[,baud=115200]. docs/meters.md explains them [default: auto]' -r -f
complete -c sealcast -n "__fish_sealcast_using_subcommand probe" -l config -d 'Configuration file (TOML)' -r -F
complete -c sealcast -n "__fish_sealcast_using_subcommand probe" -l seconds -d 'Stop after so long, as in 90s or 10m; in seconds without a unit' -r
complete -c sealcast -n "__fish_sealcast_using_subcommand probe" -l insecure-study-suite -d 'Seal with this cipher of the laboratory instead of a suite: for measurements, never for secrets' -r
complete -c sealcast -n "__fish_sealcast_using_subcommand probe" -s v -l verbose -d 'Log more; -vv logs each picture, too'
complete -c sealcast -n "__fish_sealcast_using_subcommand probe" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c sealcast -n "__fish_sealcast_using_subcommand gateway; and not __fish_seen_subcommand_from camera viewer help" -s v -l verbose -d 'Log more; -vv logs each picture, too'
complete -c sealcast -n "__fish_sealcast_using_subcommand gateway; and not __fish_seen_subcommand_from camera viewer help" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c sealcast -n "__fish_sealcast_using_subcommand gateway; and not __fish_seen_subcommand_from camera viewer help" -f -a "camera" -d 'Run beside the cameras: encrypt their packets, and print the ticket for the viewer gateway'
complete -c sealcast -n "__fish_sealcast_using_subcommand gateway; and not __fish_seen_subcommand_from camera viewer help" -f -a "viewer" -d 'Run beside the players: serve them the cameras of a camera gateway by RTSP'
complete -c sealcast -n "__fish_sealcast_using_subcommand gateway; and not __fish_seen_subcommand_from camera viewer help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c sealcast -n "__fish_sealcast_using_subcommand gateway; and __fish_seen_subcommand_from camera" -l camera -d 'A camera, [PATH=]rtsp://HOST[:PORT]/…; may be repeated, with a PATH each' -r
complete -c sealcast -n "__fish_sealcast_using_subcommand gateway; and __fish_seen_subcommand_from camera" -l listen -d 'Where viewers connect, such as udp://0.0.0.0:9553 [default: tcp://[::]:9553]' -r -f
complete -c sealcast -n "__fish_sealcast_using_subcommand gateway; and __fish_seen_subcommand_from camera" -l advertise -d 'Addresses for the ticket, in place of this machine\'s' -r -f
complete -c sealcast -n "__fish_sealcast_using_subcommand gateway; and __fish_seen_subcommand_from camera" -l name -d 'Name of this publisher, if the account has several' -r -f
complete -c sealcast -n "__fish_sealcast_using_subcommand gateway; and __fish_seen_subcommand_from camera" -l allow -d 'File with the peer ids to admit, one per line. It is read again on SIGHUP' -r -F
complete -c sealcast -n "__fish_sealcast_using_subcommand gateway; and __fish_seen_subcommand_from camera" -l invite-uses -d 'How many viewers one ticket lets in [default: 1]' -r -f
complete -c sealcast -n "__fish_sealcast_using_subcommand gateway; and __fish_seen_subcommand_from camera" -l invite-hours -d 'How long the ticket lets new viewers in [default: 24h]' -r -f
complete -c sealcast -n "__fish_sealcast_using_subcommand gateway; and __fish_seen_subcommand_from camera" -l ticket-file -d 'Write the ticket to a file of its own; - is standard output' -r -F
complete -c sealcast -n "__fish_sealcast_using_subcommand gateway; and __fish_seen_subcommand_from camera" -l max-viewers -d 'How many may watch at once [default: 16]' -r -f
complete -c sealcast -n "__fish_sealcast_using_subcommand gateway; and __fish_seen_subcommand_from camera" -l rekey-seconds -d 'Begin a new epoch of keys after so long, 1s to 10m; in seconds without a unit [default: 10m]' -r -f
complete -c sealcast -n "__fish_sealcast_using_subcommand gateway; and __fish_seen_subcommand_from camera" -l rekey-records -d 'Begin a new epoch of keys after this many records, 16 to 1048576 [default: 1048576]' -r -f
complete -c sealcast -n "__fish_sealcast_using_subcommand gateway; and __fish_seen_subcommand_from camera" -l encrypt -d 'What to encrypt: all, none or rate:PERCENT; `publish` also takes keyframes, headers, headers+keyframes, and the levels of SECMPEG level:1 (headers), level:2 (and the begin of intra pictures), level:3 (and all intra macroblocks) and level:4 (everything). The rest is authenticated, but anybody on the network can see it: for measurements only [default: all]' -r -f -a "all\t''
none\t''
headers\t''
keyframes\t''
headers+keyframes\t''"
complete -c sealcast -n "__fish_sealcast_using_subcommand gateway; and __fish_seen_subcommand_from camera" -l encrypt-seed -d 'Seed that makes the random choice of rate:PERCENT repeatable: a whole number from 0 to 9223372036854775807' -r -f
complete -c sealcast -n "__fish_sealcast_using_subcommand gateway; and __fish_seen_subcommand_from camera" -l unit -d 'The part of a frame that one record holds: frame, packet, or chunk:BYTES with 16 to 65535 bytes' -r -f -a "frame\t''
packet\t''"
complete -c sealcast -n "__fish_sealcast_using_subcommand gateway; and __fish_seen_subcommand_from camera" -l control -d 'Where to create the socket for `sealcast control`, `invite` and `peers`, which takes commands of you and root alone. Only if you give it, `control encrypt` can leave something in clear' -r -F
complete -c sealcast -n "__fish_sealcast_using_subcommand gateway; and __fish_seen_subcommand_from camera" -l camera-file -d 'File with one camera a line: PATH=URL, or a URL alone' -r -F
complete -c sealcast -n "__fish_sealcast_using_subcommand gateway; and __fish_seen_subcommand_from camera" -l suite -d 'Suites in order of preference [default: aes-256-gcm, aes-128-gcm, aegis-128x4, chacha20-poly1305]' -r -f -a "aes-256-gcm\t''
aes-128-gcm\t''
aegis-128x4\t''
chacha20-poly1305\t''"
complete -c sealcast -n "__fish_sealcast_using_subcommand gateway; and __fish_seen_subcommand_from camera" -l mech -d 'Key mechanisms in order of preference [default: x25519-mlkem768]' -r -f
complete -c sealcast -n "__fish_sealcast_using_subcommand gateway; and __fish_seen_subcommand_from camera" -l identity -d 'Identity file, which only you can read. Each end has a default file of its own, which is created if it is missing. Ends with the same identity refuse each other' -r -F
complete -c sealcast -n "__fish_sealcast_using_subcommand gateway; and __fish_seen_subcommand_from camera" -l report -d 'Write a JSON summary at exit' -r -F
complete -c sealcast -n "__fish_sealcast_using_subcommand gateway; and __fish_seen_subcommand_from camera" -l log-dir -d 'Write CSV logs into this folder: handshake.csv, steady_stream.csv, frames_latency.csv and, at a viewer gateway, network_latency.csv and picture_latency.csv, from a probe probe_events.csv and probe_frames.csv, or with --beside probe_beside.csv alone' -r -f -a "(__fish_complete_directories)"
complete -c sealcast -n "__fish_sealcast_using_subcommand gateway; and __fish_seen_subcommand_from camera" -l metrics -d 'Serve Prometheus metrics, such as 127.0.0.1:9464' -r -f
complete -c sealcast -n "__fish_sealcast_using_subcommand gateway; and __fish_seen_subcommand_from camera" -l meter -d 'Energy meter: auto, none, rapl[:FOLDER], hwmon[:NAME], ina219:/dev/i2c-1@0x40[,shunt=0.1,amps=2] in ohms and amperes, or serial:/dev/ttyUSB0[,baud=115200]. docs/meters.md explains them [default: auto]' -r -f
complete -c sealcast -n "__fish_sealcast_using_subcommand gateway; and __fish_seen_subcommand_from camera" -l config -d 'Configuration file (TOML)' -r -F
complete -c sealcast -n "__fish_sealcast_using_subcommand gateway; and __fish_seen_subcommand_from camera" -l seconds -d 'Stop after so long, as in 90s or 10m; in seconds without a unit' -r
complete -c sealcast -n "__fish_sealcast_using_subcommand gateway; and __fish_seen_subcommand_from camera" -l insecure-study-suite -d 'Seal with this cipher of the laboratory instead of a suite: for measurements, never for secrets' -r
complete -c sealcast -n "__fish_sealcast_using_subcommand gateway; and __fish_seen_subcommand_from camera" -l open -d 'Admit every peer, whatever its identity: anybody who reaches this end can watch'
complete -c sealcast -n "__fish_sealcast_using_subcommand gateway; and __fish_seen_subcommand_from camera" -l no-invite -d 'Print a ticket without an invite: only listed viewers are admitted'
complete -c sealcast -n "__fish_sealcast_using_subcommand gateway; and __fish_seen_subcommand_from camera" -s v -l verbose -d 'Log more; -vv logs each picture, too'
complete -c sealcast -n "__fish_sealcast_using_subcommand gateway; and __fish_seen_subcommand_from camera" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c sealcast -n "__fish_sealcast_using_subcommand gateway; and __fish_seen_subcommand_from viewer" -l latency -d 'How long a picture may wait for what was lost: 0 to 10s, in milliseconds without a unit' -r
complete -c sealcast -n "__fish_sealcast_using_subcommand gateway; and __fish_seen_subcommand_from viewer" -l peer -d 'Ticket of the camera gateway; @FILE keeps it secret' -r -f
complete -c sealcast -n "__fish_sealcast_using_subcommand gateway; and __fish_seen_subcommand_from viewer" -l rtsp -d 'Where players connect [default: 127.0.0.1:9554]' -r -f
complete -c sealcast -n "__fish_sealcast_using_subcommand gateway; and __fish_seen_subcommand_from viewer" -l rtsp-user -d 'User name that players need, instead of one made here' -r -f
complete -c sealcast -n "__fish_sealcast_using_subcommand gateway; and __fish_seen_subcommand_from viewer" -l rtsp-password-file -d 'File with the players\' password in its first line' -r -F
complete -c sealcast -n "__fish_sealcast_using_subcommand gateway; and __fish_seen_subcommand_from viewer" -l suite -d 'Suites in order of preference [default: aes-256-gcm, aes-128-gcm, aegis-128x4, chacha20-poly1305]' -r -f -a "aes-256-gcm\t''
aes-128-gcm\t''
aegis-128x4\t''
chacha20-poly1305\t''"
complete -c sealcast -n "__fish_sealcast_using_subcommand gateway; and __fish_seen_subcommand_from viewer" -l mech -d 'Key mechanisms in order of preference [default: x25519-mlkem768]' -r -f
complete -c sealcast -n "__fish_sealcast_using_subcommand gateway; and __fish_seen_subcommand_from viewer" -l identity -d 'Identity file, which only you can read. Each end has a default file of its own, which is created if it is missing. Ends with the same identity refuse each other' -r -F
complete -c sealcast -n "__fish_sealcast_using_subcommand gateway; and __fish_seen_subcommand_from viewer" -l report -d 'Write a JSON summary at exit' -r -F
complete -c sealcast -n "__fish_sealcast_using_subcommand gateway; and __fish_seen_subcommand_from viewer" -l log-dir -d 'Write CSV logs into this folder: handshake.csv, steady_stream.csv, frames_latency.csv and, at a viewer gateway, network_latency.csv and picture_latency.csv, from a probe probe_events.csv and probe_frames.csv, or with --beside probe_beside.csv alone' -r -f -a "(__fish_complete_directories)"
complete -c sealcast -n "__fish_sealcast_using_subcommand gateway; and __fish_seen_subcommand_from viewer" -l metrics -d 'Serve Prometheus metrics, such as 127.0.0.1:9464' -r -f
complete -c sealcast -n "__fish_sealcast_using_subcommand gateway; and __fish_seen_subcommand_from viewer" -l meter -d 'Energy meter: auto, none, rapl[:FOLDER], hwmon[:NAME], ina219:/dev/i2c-1@0x40[,shunt=0.1,amps=2] in ohms and amperes, or serial:/dev/ttyUSB0[,baud=115200]. docs/meters.md explains them [default: auto]' -r -f
complete -c sealcast -n "__fish_sealcast_using_subcommand gateway; and __fish_seen_subcommand_from viewer" -l config -d 'Configuration file (TOML)' -r -F
complete -c sealcast -n "__fish_sealcast_using_subcommand gateway; and __fish_seen_subcommand_from viewer" -l seconds -d 'Stop after so long, as in 90s or 10m; in seconds without a unit' -r
complete -c sealcast -n "__fish_sealcast_using_subcommand gateway; and __fish_seen_subcommand_from viewer" -l insecure-study-suite -d 'Seal with this cipher of the laboratory instead of a suite: for measurements, never for secrets' -r
complete -c sealcast -n "__fish_sealcast_using_subcommand gateway; and __fish_seen_subcommand_from viewer" -l rtsp-open -d 'Serve players without a password'
complete -c sealcast -n "__fish_sealcast_using_subcommand gateway; and __fish_seen_subcommand_from viewer" -s v -l verbose -d 'Log more; -vv logs each picture, too'
complete -c sealcast -n "__fish_sealcast_using_subcommand gateway; and __fish_seen_subcommand_from viewer" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c sealcast -n "__fish_sealcast_using_subcommand gateway; and __fish_seen_subcommand_from help" -f -a "camera" -d 'Run beside the cameras: encrypt their packets, and print the ticket for the viewer gateway'
complete -c sealcast -n "__fish_sealcast_using_subcommand gateway; and __fish_seen_subcommand_from help" -f -a "viewer" -d 'Run beside the players: serve them the cameras of a camera gateway by RTSP'
complete -c sealcast -n "__fish_sealcast_using_subcommand gateway; and __fish_seen_subcommand_from help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c sealcast -n "__fish_sealcast_using_subcommand cameras" -l suite -d 'Suites in order of preference [default: aes-256-gcm, aes-128-gcm, aegis-128x4, chacha20-poly1305]' -r -f -a "aes-256-gcm\t''
aes-128-gcm\t''
aegis-128x4\t''
chacha20-poly1305\t''"
complete -c sealcast -n "__fish_sealcast_using_subcommand cameras" -l mech -d 'Key mechanisms in order of preference [default: x25519-mlkem768]' -r -f
complete -c sealcast -n "__fish_sealcast_using_subcommand cameras" -l identity -d 'Identity file, which only you can read. Each end has a default file of its own, which is created if it is missing. Ends with the same identity refuse each other' -r -F
complete -c sealcast -n "__fish_sealcast_using_subcommand cameras" -l report -d 'Write a JSON summary at exit' -r -F
complete -c sealcast -n "__fish_sealcast_using_subcommand cameras" -l log-dir -d 'Write CSV logs into this folder: handshake.csv, steady_stream.csv, frames_latency.csv and, at a viewer gateway, network_latency.csv and picture_latency.csv, from a probe probe_events.csv and probe_frames.csv, or with --beside probe_beside.csv alone' -r -f -a "(__fish_complete_directories)"
complete -c sealcast -n "__fish_sealcast_using_subcommand cameras" -l metrics -d 'Serve Prometheus metrics, such as 127.0.0.1:9464' -r -f
complete -c sealcast -n "__fish_sealcast_using_subcommand cameras" -l meter -d 'Energy meter: auto, none, rapl[:FOLDER], hwmon[:NAME], ina219:/dev/i2c-1@0x40[,shunt=0.1,amps=2] in ohms and amperes, or serial:/dev/ttyUSB0[,baud=115200]. docs/meters.md explains them [default: auto]' -r -f
complete -c sealcast -n "__fish_sealcast_using_subcommand cameras" -l config -d 'Configuration file (TOML)' -r -F
complete -c sealcast -n "__fish_sealcast_using_subcommand cameras" -l seconds -d 'Stop after so long, as in 90s or 10m; in seconds without a unit' -r
complete -c sealcast -n "__fish_sealcast_using_subcommand cameras" -l insecure-study-suite -d 'Seal with this cipher of the laboratory instead of a suite: for measurements, never for secrets' -r
complete -c sealcast -n "__fish_sealcast_using_subcommand cameras" -s v -l verbose -d 'Log more; -vv logs each picture, too'
complete -c sealcast -n "__fish_sealcast_using_subcommand cameras" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c sealcast -n "__fish_sealcast_using_subcommand invite" -l name -d 'The publisher or camera gateway of this name. Without it: that of the configuration, camera, or the only one' -r
complete -c sealcast -n "__fish_sealcast_using_subcommand invite" -l listen -d 'With --viewer: the lists of that which listens at this URL and has no --name' -r
complete -c sealcast -n "__fish_sealcast_using_subcommand invite" -l config -d 'Configuration file (TOML) of the publisher: its name and allow list' -r -F
complete -c sealcast -n "__fish_sealcast_using_subcommand invite" -l label -d 'Who it is for: the peer that comes by it is called so in the list' -r
complete -c sealcast -n "__fish_sealcast_using_subcommand invite" -l camera -d 'The camera that it is for, of several; may be repeated, up to 8 times. Without it, all' -r
complete -c sealcast -n "__fish_sealcast_using_subcommand invite" -l uses -d 'How many it lets in, 1 to 12288' -r
complete -c sealcast -n "__fish_sealcast_using_subcommand invite" -l expires -d 'Time after which it expires, such as 90m, 24h or 7d: at most a year; in hours without a unit' -r
complete -c sealcast -n "__fish_sealcast_using_subcommand invite" -l ticket-file -d 'Write the ticket to a new file that only you can read, or to standard output if FILE is -. By default it is printed only on a terminal: whoever reads it is admitted' -r -F
complete -c sealcast -n "__fish_sealcast_using_subcommand invite" -l socket -d 'The socket of a running program that was given it as --control' -r -F
complete -c sealcast -n "__fish_sealcast_using_subcommand invite" -l viewer -d 'The lists of a `watch --listen` instead of a publisher\'s'
complete -c sealcast -n "__fish_sealcast_using_subcommand invite" -l qr -d 'Also draw a QR code on the terminal: of the link to the page, if there is one, or else of the ticket'
complete -c sealcast -n "__fish_sealcast_using_subcommand invite" -s v -l verbose -d 'Log more; -vv logs each picture, too'
complete -c sealcast -n "__fish_sealcast_using_subcommand invite" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c sealcast -n "__fish_sealcast_using_subcommand status" -l name -d 'The publisher or camera gateway of this name. Without it: that of the configuration, camera, or the only one' -r
complete -c sealcast -n "__fish_sealcast_using_subcommand status" -l listen -d 'With --viewer: the lists of that which listens at this URL and has no --name' -r
complete -c sealcast -n "__fish_sealcast_using_subcommand status" -l config -d 'Configuration file (TOML) of the publisher: its name and allow list' -r -F
complete -c sealcast -n "__fish_sealcast_using_subcommand status" -l socket -d 'The socket of a running program that was given it as --control' -r -F
complete -c sealcast -n "__fish_sealcast_using_subcommand status" -l viewer -d 'The lists of a `watch --listen` instead of a publisher\'s'
complete -c sealcast -n "__fish_sealcast_using_subcommand status" -l watch -d 'Show it again each second, until Ctrl-C'
complete -c sealcast -n "__fish_sealcast_using_subcommand status" -l json -d 'Print JSON; with --watch, a line each second'
complete -c sealcast -n "__fish_sealcast_using_subcommand status" -s v -l verbose -d 'Log more; -vv logs each picture, too'
complete -c sealcast -n "__fish_sealcast_using_subcommand status" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c sealcast -n "__fish_sealcast_using_subcommand peers; and not __fish_seen_subcommand_from list allow rename remove withdraw restored help" -l name -d 'The publisher or camera gateway of this name. Without it: that of the configuration, camera, or the only one' -r
complete -c sealcast -n "__fish_sealcast_using_subcommand peers; and not __fish_seen_subcommand_from list allow rename remove withdraw restored help" -l listen -d 'With --viewer: the lists of that which listens at this URL and has no --name' -r
complete -c sealcast -n "__fish_sealcast_using_subcommand peers; and not __fish_seen_subcommand_from list allow rename remove withdraw restored help" -l config -d 'Configuration file (TOML) of the publisher: its name and allow list' -r -F
complete -c sealcast -n "__fish_sealcast_using_subcommand peers; and not __fish_seen_subcommand_from list allow rename remove withdraw restored help" -l viewer -d 'The lists of a `watch --listen` instead of a publisher\'s'
complete -c sealcast -n "__fish_sealcast_using_subcommand peers; and not __fish_seen_subcommand_from list allow rename remove withdraw restored help" -s v -l verbose -d 'Log more; -vv logs each picture, too'
complete -c sealcast -n "__fish_sealcast_using_subcommand peers; and not __fish_seen_subcommand_from list allow rename remove withdraw restored help" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c sealcast -n "__fish_sealcast_using_subcommand peers; and not __fish_seen_subcommand_from list allow rename remove withdraw restored help" -f -a "list" -d 'Show the peers that are admitted, who of them is here and since when, and the invites'
complete -c sealcast -n "__fish_sealcast_using_subcommand peers; and not __fish_seen_subcommand_from list allow rename remove withdraw restored help" -f -a "allow" -d 'Admit a peer without an invite'
complete -c sealcast -n "__fish_sealcast_using_subcommand peers; and not __fish_seen_subcommand_from list allow rename remove withdraw restored help" -f -a "rename" -d 'Call a peer something else'
complete -c sealcast -n "__fish_sealcast_using_subcommand peers; and not __fish_seen_subcommand_from list allow rename remove withdraw restored help" -f -a "remove" -d 'Admit a peer no more'
complete -c sealcast -n "__fish_sealcast_using_subcommand peers; and not __fish_seen_subcommand_from list allow rename remove withdraw restored help" -f -a "withdraw" -d 'Withdraw an invite'
complete -c sealcast -n "__fish_sealcast_using_subcommand peers; and not __fish_seen_subcommand_from list allow rename remove withdraw restored help" -f -a "restored" -d 'The folder of a publisher was restored from an old copy: leave out the keys that it may have used since'
complete -c sealcast -n "__fish_sealcast_using_subcommand peers; and not __fish_seen_subcommand_from list allow rename remove withdraw restored help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c sealcast -n "__fish_sealcast_using_subcommand peers; and __fish_seen_subcommand_from list" -l name -d 'The publisher or camera gateway of this name. Without it: that of the configuration, camera, or the only one' -r
complete -c sealcast -n "__fish_sealcast_using_subcommand peers; and __fish_seen_subcommand_from list" -l listen -d 'With --viewer: the lists of that which listens at this URL and has no --name' -r
complete -c sealcast -n "__fish_sealcast_using_subcommand peers; and __fish_seen_subcommand_from list" -l config -d 'Configuration file (TOML) of the publisher: its name and allow list' -r -F
complete -c sealcast -n "__fish_sealcast_using_subcommand peers; and __fish_seen_subcommand_from list" -l json -d 'Print JSON'
complete -c sealcast -n "__fish_sealcast_using_subcommand peers; and __fish_seen_subcommand_from list" -l viewer -d 'The lists of a `watch --listen` instead of a publisher\'s'
complete -c sealcast -n "__fish_sealcast_using_subcommand peers; and __fish_seen_subcommand_from list" -s v -l verbose -d 'Log more; -vv logs each picture, too'
complete -c sealcast -n "__fish_sealcast_using_subcommand peers; and __fish_seen_subcommand_from list" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c sealcast -n "__fish_sealcast_using_subcommand peers; and __fish_seen_subcommand_from allow" -l name -d 'The publisher or camera gateway of this name. Without it: that of the configuration, camera, or the only one' -r
complete -c sealcast -n "__fish_sealcast_using_subcommand peers; and __fish_seen_subcommand_from allow" -l listen -d 'With --viewer: the lists of that which listens at this URL and has no --name' -r
complete -c sealcast -n "__fish_sealcast_using_subcommand peers; and __fish_seen_subcommand_from allow" -l config -d 'Configuration file (TOML) of the publisher: its name and allow list' -r -F
complete -c sealcast -n "__fish_sealcast_using_subcommand peers; and __fish_seen_subcommand_from allow" -l viewer -d 'The lists of a `watch --listen` instead of a publisher\'s'
complete -c sealcast -n "__fish_sealcast_using_subcommand peers; and __fish_seen_subcommand_from allow" -s v -l verbose -d 'Log more; -vv logs each picture, too'
complete -c sealcast -n "__fish_sealcast_using_subcommand peers; and __fish_seen_subcommand_from allow" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c sealcast -n "__fish_sealcast_using_subcommand peers; and __fish_seen_subcommand_from rename" -l name -d 'The publisher or camera gateway of this name. Without it: that of the configuration, camera, or the only one' -r
complete -c sealcast -n "__fish_sealcast_using_subcommand peers; and __fish_seen_subcommand_from rename" -l listen -d 'With --viewer: the lists of that which listens at this URL and has no --name' -r
complete -c sealcast -n "__fish_sealcast_using_subcommand peers; and __fish_seen_subcommand_from rename" -l config -d 'Configuration file (TOML) of the publisher: its name and allow list' -r -F
complete -c sealcast -n "__fish_sealcast_using_subcommand peers; and __fish_seen_subcommand_from rename" -l viewer -d 'The lists of a `watch --listen` instead of a publisher\'s'
complete -c sealcast -n "__fish_sealcast_using_subcommand peers; and __fish_seen_subcommand_from rename" -s v -l verbose -d 'Log more; -vv logs each picture, too'
complete -c sealcast -n "__fish_sealcast_using_subcommand peers; and __fish_seen_subcommand_from rename" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c sealcast -n "__fish_sealcast_using_subcommand peers; and __fish_seen_subcommand_from remove" -l camera -d 'Only of this camera; may watch the others as before' -r
complete -c sealcast -n "__fish_sealcast_using_subcommand peers; and __fish_seen_subcommand_from remove" -l name -d 'The publisher or camera gateway of this name. Without it: that of the configuration, camera, or the only one' -r
complete -c sealcast -n "__fish_sealcast_using_subcommand peers; and __fish_seen_subcommand_from remove" -l listen -d 'With --viewer: the lists of that which listens at this URL and has no --name' -r
complete -c sealcast -n "__fish_sealcast_using_subcommand peers; and __fish_seen_subcommand_from remove" -l config -d 'Configuration file (TOML) of the publisher: its name and allow list' -r -F
complete -c sealcast -n "__fish_sealcast_using_subcommand peers; and __fish_seen_subcommand_from remove" -l viewer -d 'The lists of a `watch --listen` instead of a publisher\'s'
complete -c sealcast -n "__fish_sealcast_using_subcommand peers; and __fish_seen_subcommand_from remove" -s v -l verbose -d 'Log more; -vv logs each picture, too'
complete -c sealcast -n "__fish_sealcast_using_subcommand peers; and __fish_seen_subcommand_from remove" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c sealcast -n "__fish_sealcast_using_subcommand peers; and __fish_seen_subcommand_from withdraw" -l name -d 'The publisher or camera gateway of this name. Without it: that of the configuration, camera, or the only one' -r
complete -c sealcast -n "__fish_sealcast_using_subcommand peers; and __fish_seen_subcommand_from withdraw" -l listen -d 'With --viewer: the lists of that which listens at this URL and has no --name' -r
complete -c sealcast -n "__fish_sealcast_using_subcommand peers; and __fish_seen_subcommand_from withdraw" -l config -d 'Configuration file (TOML) of the publisher: its name and allow list' -r -F
complete -c sealcast -n "__fish_sealcast_using_subcommand peers; and __fish_seen_subcommand_from withdraw" -l with-peers -d 'Also remove the peers that it enrolled; with `all`, every peer that an invite enrolled'
complete -c sealcast -n "__fish_sealcast_using_subcommand peers; and __fish_seen_subcommand_from withdraw" -l viewer -d 'The lists of a `watch --listen` instead of a publisher\'s'
complete -c sealcast -n "__fish_sealcast_using_subcommand peers; and __fish_seen_subcommand_from withdraw" -s v -l verbose -d 'Log more; -vv logs each picture, too'
complete -c sealcast -n "__fish_sealcast_using_subcommand peers; and __fish_seen_subcommand_from withdraw" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c sealcast -n "__fish_sealcast_using_subcommand peers; and __fish_seen_subcommand_from restored" -l starts -d 'At least so many times it was started since the copy was made' -r
complete -c sealcast -n "__fish_sealcast_using_subcommand peers; and __fish_seen_subcommand_from restored" -l name -d 'The publisher or camera gateway of this name. Without it: that of the configuration, camera, or the only one' -r
complete -c sealcast -n "__fish_sealcast_using_subcommand peers; and __fish_seen_subcommand_from restored" -l listen -d 'With --viewer: the lists of that which listens at this URL and has no --name' -r
complete -c sealcast -n "__fish_sealcast_using_subcommand peers; and __fish_seen_subcommand_from restored" -l config -d 'Configuration file (TOML) of the publisher: its name and allow list' -r -F
complete -c sealcast -n "__fish_sealcast_using_subcommand peers; and __fish_seen_subcommand_from restored" -l viewer -d 'The lists of a `watch --listen` instead of a publisher\'s'
complete -c sealcast -n "__fish_sealcast_using_subcommand peers; and __fish_seen_subcommand_from restored" -s v -l verbose -d 'Log more; -vv logs each picture, too'
complete -c sealcast -n "__fish_sealcast_using_subcommand peers; and __fish_seen_subcommand_from restored" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c sealcast -n "__fish_sealcast_using_subcommand peers; and __fish_seen_subcommand_from help" -f -a "list" -d 'Show the peers that are admitted, who of them is here and since when, and the invites'
complete -c sealcast -n "__fish_sealcast_using_subcommand peers; and __fish_seen_subcommand_from help" -f -a "allow" -d 'Admit a peer without an invite'
complete -c sealcast -n "__fish_sealcast_using_subcommand peers; and __fish_seen_subcommand_from help" -f -a "rename" -d 'Call a peer something else'
complete -c sealcast -n "__fish_sealcast_using_subcommand peers; and __fish_seen_subcommand_from help" -f -a "remove" -d 'Admit a peer no more'
complete -c sealcast -n "__fish_sealcast_using_subcommand peers; and __fish_seen_subcommand_from help" -f -a "withdraw" -d 'Withdraw an invite'
complete -c sealcast -n "__fish_sealcast_using_subcommand peers; and __fish_seen_subcommand_from help" -f -a "restored" -d 'The folder of a publisher was restored from an old copy: leave out the keys that it may have used since'
complete -c sealcast -n "__fish_sealcast_using_subcommand peers; and __fish_seen_subcommand_from help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c sealcast -n "__fish_sealcast_using_subcommand control" -l name -d 'The publisher or camera gateway of this name. Without it: camera, or the only one' -r
complete -c sealcast -n "__fish_sealcast_using_subcommand control" -l socket -d 'The socket that it was given as --control' -r -F
complete -c sealcast -n "__fish_sealcast_using_subcommand control" -s v -l verbose -d 'Log more; -vv logs each picture, too'
complete -c sealcast -n "__fish_sealcast_using_subcommand control" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c sealcast -n "__fish_sealcast_using_subcommand print-config" -l json -d 'Print JSON'
complete -c sealcast -n "__fish_sealcast_using_subcommand print-config" -l compare -d 'Also measure the speed without the processor\'s AES instructions'
complete -c sealcast -n "__fish_sealcast_using_subcommand print-config" -s v -l verbose -d 'Log more; -vv logs each picture, too'
complete -c sealcast -n "__fish_sealcast_using_subcommand print-config" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c sealcast -n "__fish_sealcast_using_subcommand doctor" -l config -d 'Configuration file (TOML)' -r -F
complete -c sealcast -n "__fish_sealcast_using_subcommand doctor" -l json -d 'Print JSON'
complete -c sealcast -n "__fish_sealcast_using_subcommand doctor" -s v -l verbose -d 'Log more; -vv logs each picture, too'
complete -c sealcast -n "__fish_sealcast_using_subcommand doctor" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c sealcast -n "__fish_sealcast_using_subcommand config; and not __fish_seen_subcommand_from check example help" -s v -l verbose -d 'Log more; -vv logs each picture, too'
complete -c sealcast -n "__fish_sealcast_using_subcommand config; and not __fish_seen_subcommand_from check example help" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c sealcast -n "__fish_sealcast_using_subcommand config; and not __fish_seen_subcommand_from check example help" -f -a "check" -d 'Check the file and print the options in force'
complete -c sealcast -n "__fish_sealcast_using_subcommand config; and not __fish_seen_subcommand_from check example help" -f -a "example" -d 'Print a file that shows every option and sets none'
complete -c sealcast -n "__fish_sealcast_using_subcommand config; and not __fish_seen_subcommand_from check example help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c sealcast -n "__fish_sealcast_using_subcommand config; and __fish_seen_subcommand_from check" -l config -d 'Configuration file (TOML)' -r -F
complete -c sealcast -n "__fish_sealcast_using_subcommand config; and __fish_seen_subcommand_from check" -s v -l verbose -d 'Log more; -vv logs each picture, too'
complete -c sealcast -n "__fish_sealcast_using_subcommand config; and __fish_seen_subcommand_from check" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c sealcast -n "__fish_sealcast_using_subcommand config; and __fish_seen_subcommand_from example" -s v -l verbose -d 'Log more; -vv logs each picture, too'
complete -c sealcast -n "__fish_sealcast_using_subcommand config; and __fish_seen_subcommand_from example" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c sealcast -n "__fish_sealcast_using_subcommand config; and __fish_seen_subcommand_from help" -f -a "check" -d 'Check the file and print the options in force'
complete -c sealcast -n "__fish_sealcast_using_subcommand config; and __fish_seen_subcommand_from help" -f -a "example" -d 'Print a file that shows every option and sets none'
complete -c sealcast -n "__fish_sealcast_using_subcommand config; and __fish_seen_subcommand_from help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c sealcast -n "__fish_sealcast_using_subcommand completions" -s v -l verbose -d 'Log more; -vv logs each picture, too'
complete -c sealcast -n "__fish_sealcast_using_subcommand completions" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c sealcast -n "__fish_sealcast_using_subcommand archive; and not __fish_seen_subcommand_from keygen list check record key help" -s v -l verbose -d 'Log more; -vv logs each picture, too'
complete -c sealcast -n "__fish_sealcast_using_subcommand archive; and not __fish_seen_subcommand_from keygen list check record key help" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c sealcast -n "__fish_sealcast_using_subcommand archive; and not __fish_seen_subcommand_from keygen list check record key help" -f -a "keygen" -d 'Create the identity of someone who may open archives, and print its recipient for `watch --to archive:`'
complete -c sealcast -n "__fish_sealcast_using_subcommand archive; and not __fish_seen_subcommand_from keygen list check record key help" -f -a "list" -d 'Show the segments of an archive and their times'
complete -c sealcast -n "__fish_sealcast_using_subcommand archive; and not __fish_seen_subcommand_from keygen list check record key help" -f -a "check" -d 'Tell what is missing, altered or moved'
complete -c sealcast -n "__fish_sealcast_using_subcommand archive; and not __fish_seen_subcommand_from keygen list check record key help" -f -a "record" -d 'Record what a camera seals for its group, on a machine that can open nothing of it'
complete -c sealcast -n "__fish_sealcast_using_subcommand archive; and not __fish_seen_subcommand_from keygen list check record key help" -f -a "key" -d 'Print a segment\'s key as it is encrypted for the recipients: `age --decrypt -i FILE` opens it'
complete -c sealcast -n "__fish_sealcast_using_subcommand archive; and not __fish_seen_subcommand_from keygen list check record key help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c sealcast -n "__fish_sealcast_using_subcommand archive; and __fish_seen_subcommand_from keygen" -s v -l verbose -d 'Log more; -vv logs each picture, too'
complete -c sealcast -n "__fish_sealcast_using_subcommand archive; and __fish_seen_subcommand_from keygen" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c sealcast -n "__fish_sealcast_using_subcommand archive; and __fish_seen_subcommand_from list" -s v -l verbose -d 'Log more; -vv logs each picture, too'
complete -c sealcast -n "__fish_sealcast_using_subcommand archive; and __fish_seen_subcommand_from list" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c sealcast -n "__fish_sealcast_using_subcommand archive; and __fish_seen_subcommand_from check" -l identity -d 'Also open all records with this identity, and verify the camera\'s signatures' -r -F
complete -c sealcast -n "__fish_sealcast_using_subcommand archive; and __fish_seen_subcommand_from check" -l camera -d 'Also verify the signatures of this camera over what is not opened: its peer id. That needs no identity' -r
complete -c sealcast -n "__fish_sealcast_using_subcommand archive; and __fish_seen_subcommand_from check" -l groups -d 'Also list the signatures of groups of pictures, and how many frames each of them proves'
complete -c sealcast -n "__fish_sealcast_using_subcommand archive; and __fish_seen_subcommand_from check" -s v -l verbose -d 'Log more; -vv logs each picture, too'
complete -c sealcast -n "__fish_sealcast_using_subcommand archive; and __fish_seen_subcommand_from check" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c sealcast -n "__fish_sealcast_using_subcommand archive; and __fish_seen_subcommand_from record" -l camera -d 'Which camera, if the publisher has several' -r -f
complete -c sealcast -n "__fish_sealcast_using_subcommand archive; and __fish_seen_subcommand_from record" -l suite -d 'Suites in order of preference [default: aes-256-gcm, aes-128-gcm, aegis-128x4, chacha20-poly1305]' -r -f -a "aes-256-gcm\t''
aes-128-gcm\t''
aegis-128x4\t''
chacha20-poly1305\t''"
complete -c sealcast -n "__fish_sealcast_using_subcommand archive; and __fish_seen_subcommand_from record" -l mech -d 'Key mechanisms in order of preference [default: x25519-mlkem768]' -r -f
complete -c sealcast -n "__fish_sealcast_using_subcommand archive; and __fish_seen_subcommand_from record" -l identity -d 'Identity file, which only you can read. Each end has a default file of its own, which is created if it is missing. Ends with the same identity refuse each other' -r -F
complete -c sealcast -n "__fish_sealcast_using_subcommand archive; and __fish_seen_subcommand_from record" -l report -d 'Write a JSON summary at exit' -r -F
complete -c sealcast -n "__fish_sealcast_using_subcommand archive; and __fish_seen_subcommand_from record" -l log-dir -d 'Write CSV logs into this folder: handshake.csv, steady_stream.csv, frames_latency.csv and, at a viewer gateway, network_latency.csv and picture_latency.csv, from a probe probe_events.csv and probe_frames.csv, or with --beside probe_beside.csv alone' -r -f -a "(__fish_complete_directories)"
complete -c sealcast -n "__fish_sealcast_using_subcommand archive; and __fish_seen_subcommand_from record" -l metrics -d 'Serve Prometheus metrics, such as 127.0.0.1:9464' -r -f
complete -c sealcast -n "__fish_sealcast_using_subcommand archive; and __fish_seen_subcommand_from record" -l meter -d 'Energy meter: auto, none, rapl[:FOLDER], hwmon[:NAME], ina219:/dev/i2c-1@0x40[,shunt=0.1,amps=2] in ohms and amperes, or serial:/dev/ttyUSB0[,baud=115200]. docs/meters.md explains them [default: auto]' -r -f
complete -c sealcast -n "__fish_sealcast_using_subcommand archive; and __fish_seen_subcommand_from record" -l config -d 'Configuration file (TOML)' -r -F
complete -c sealcast -n "__fish_sealcast_using_subcommand archive; and __fish_seen_subcommand_from record" -l seconds -d 'Stop after so long, as in 90s or 10m; in seconds without a unit' -r
complete -c sealcast -n "__fish_sealcast_using_subcommand archive; and __fish_seen_subcommand_from record" -l insecure-study-suite -d 'Seal with this cipher of the laboratory instead of a suite: for measurements, never for secrets' -r
complete -c sealcast -n "__fish_sealcast_using_subcommand archive; and __fish_seen_subcommand_from record" -l no-reconnect -d 'End when the connection breaks, instead of connecting again'
complete -c sealcast -n "__fish_sealcast_using_subcommand archive; and __fish_seen_subcommand_from record" -s v -l verbose -d 'Log more; -vv logs each picture, too'
complete -c sealcast -n "__fish_sealcast_using_subcommand archive; and __fish_seen_subcommand_from record" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c sealcast -n "__fish_sealcast_using_subcommand archive; and __fish_seen_subcommand_from key" -s v -l verbose -d 'Log more; -vv logs each picture, too'
complete -c sealcast -n "__fish_sealcast_using_subcommand archive; and __fish_seen_subcommand_from key" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c sealcast -n "__fish_sealcast_using_subcommand archive; and __fish_seen_subcommand_from help" -f -a "keygen" -d 'Create the identity of someone who may open archives, and print its recipient for `watch --to archive:`'
complete -c sealcast -n "__fish_sealcast_using_subcommand archive; and __fish_seen_subcommand_from help" -f -a "list" -d 'Show the segments of an archive and their times'
complete -c sealcast -n "__fish_sealcast_using_subcommand archive; and __fish_seen_subcommand_from help" -f -a "check" -d 'Tell what is missing, altered or moved'
complete -c sealcast -n "__fish_sealcast_using_subcommand archive; and __fish_seen_subcommand_from help" -f -a "record" -d 'Record what a camera seals for its group, on a machine that can open nothing of it'
complete -c sealcast -n "__fish_sealcast_using_subcommand archive; and __fish_seen_subcommand_from help" -f -a "key" -d 'Print a segment\'s key as it is encrypted for the recipients: `age --decrypt -i FILE` opens it'
complete -c sealcast -n "__fish_sealcast_using_subcommand archive; and __fish_seen_subcommand_from help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c sealcast -n "__fish_sealcast_using_subcommand replay" -l identity -d 'The identity that opens it' -r -F
complete -c sealcast -n "__fish_sealcast_using_subcommand replay" -l from -d 'Begin here: 2026-11-26T20:00:00Z, +90s after the beginning, or -10m before the end' -r
complete -c sealcast -n "__fish_sealcast_using_subcommand replay" -l to -d 'End here, in the same forms' -r
complete -c sealcast -n "__fish_sealcast_using_subcommand replay" -l into -d 'Where the frames go: file:OUT.mp4[?overwrite], http://ADDRESS:PORT, null:, or -[?format=mkv|ts]' -r
complete -c sealcast -n "__fish_sealcast_using_subcommand replay" -l fast -d 'Play as fast as the sink takes it, to export'
complete -c sealcast -n "__fish_sealcast_using_subcommand replay" -s v -l verbose -d 'Log more; -vv logs each picture, too'
complete -c sealcast -n "__fish_sealcast_using_subcommand replay" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c sealcast -n "__fish_sealcast_using_subcommand help; and not __fish_seen_subcommand_from demo keygen publish watch devices clock probe gateway cameras invite status peers control print-config doctor config completions archive replay help" -f -a "demo" -d 'Run camera, stream and viewer on this machine, and show what encryption costs'
complete -c sealcast -n "__fish_sealcast_using_subcommand help; and not __fish_seen_subcommand_from demo keygen publish watch devices clock probe gateway cameras invite status peers control print-config doctor config completions archive replay help" -f -a "keygen" -d 'Create an identity and print its peer id'
complete -c sealcast -n "__fish_sealcast_using_subcommand help; and not __fish_seen_subcommand_from demo keygen publish watch devices clock probe gateway cameras invite status peers control print-config doctor config completions archive replay help" -f -a "publish" -d 'Publish a camera or a file to viewers, and print the ticket that lets them in'
complete -c sealcast -n "__fish_sealcast_using_subcommand help; and not __fish_seen_subcommand_from demo keygen publish watch devices clock probe gateway cameras invite status peers control print-config doctor config completions archive replay help" -f -a "watch" -d 'Watch a publisher'
complete -c sealcast -n "__fish_sealcast_using_subcommand help; and not __fish_seen_subcommand_from demo keygen publish watch devices clock probe gateway cameras invite status peers control print-config doctor config completions archive replay help" -f -a "devices" -d 'List the cameras of this machine, and what they offer'
complete -c sealcast -n "__fish_sealcast_using_subcommand help; and not __fish_seen_subcommand_from demo keygen publish watch devices clock probe gateway cameras invite status peers control print-config doctor config completions archive replay help" -f -a "clock" -d 'Show events to a camera, and tell probes when it did'
complete -c sealcast -n "__fish_sealcast_using_subcommand help; and not __fish_seen_subcommand_from demo keygen publish watch devices clock probe gateway cameras invite status peers control print-config doctor config completions archive replay help" -f -a "probe" -d 'Measure the latency of video as a viewer sees it'
complete -c sealcast -n "__fish_sealcast_using_subcommand help; and not __fish_seen_subcommand_from demo keygen publish watch devices clock probe gateway cameras invite status peers control print-config doctor config completions archive replay help" -f -a "gateway" -d 'Connect RTSP cameras to RTSP players over an encrypted link'
complete -c sealcast -n "__fish_sealcast_using_subcommand help; and not __fish_seen_subcommand_from demo keygen publish watch devices clock probe gateway cameras invite status peers control print-config doctor config completions archive replay help" -f -a "cameras" -d 'List the cameras of a publisher that you may watch, for `watch --camera NAME`'
complete -c sealcast -n "__fish_sealcast_using_subcommand help; and not __fish_seen_subcommand_from demo keygen publish watch devices clock probe gateway cameras invite status peers control print-config doctor config completions archive replay help" -f -a "invite" -d 'Invite one more to what publishes or listens here, also while it runs'
complete -c sealcast -n "__fish_sealcast_using_subcommand help; and not __fish_seen_subcommand_from demo keygen publish watch devices clock probe gateway cameras invite status peers control print-config doctor config completions archive replay help" -f -a "status" -d 'Show how what runs here is: its cameras, who watches, and its keys'
complete -c sealcast -n "__fish_sealcast_using_subcommand help; and not __fish_seen_subcommand_from demo keygen publish watch devices clock probe gateway cameras invite status peers control print-config doctor config completions archive replay help" -f -a "peers" -d 'Show who is admitted, and change it'
complete -c sealcast -n "__fish_sealcast_using_subcommand help; and not __fish_seen_subcommand_from demo keygen publish watch devices clock probe gateway cameras invite status peers control print-config doctor config completions archive replay help" -f -a "control" -d 'Send a command to a running publisher or camera gateway'
complete -c sealcast -n "__fish_sealcast_using_subcommand help; and not __fish_seen_subcommand_from demo keygen publish watch devices clock probe gateway cameras invite status peers control print-config doctor config completions archive replay help" -f -a "print-config" -d 'Print versions, ciphers, key exchanges, and the processor features in use'
complete -c sealcast -n "__fish_sealcast_using_subcommand help; and not __fish_seen_subcommand_from demo keygen publish watch devices clock probe gateway cameras invite status peers control print-config doctor config completions archive replay help" -f -a "doctor" -d 'Look for what would keep a stream from running well here, and say what to do'
complete -c sealcast -n "__fish_sealcast_using_subcommand help; and not __fish_seen_subcommand_from demo keygen publish watch devices clock probe gateway cameras invite status peers control print-config doctor config completions archive replay help" -f -a "config" -d 'Check the configuration file, or print an example of it'
complete -c sealcast -n "__fish_sealcast_using_subcommand help; and not __fish_seen_subcommand_from demo keygen publish watch devices clock probe gateway cameras invite status peers control print-config doctor config completions archive replay help" -f -a "completions" -d 'Print what makes a shell complete commands and options'
complete -c sealcast -n "__fish_sealcast_using_subcommand help; and not __fish_seen_subcommand_from demo keygen publish watch devices clock probe gateway cameras invite status peers control print-config doctor config completions archive replay help" -f -a "archive" -d 'Make keys for archives, list what they have, and check them'
complete -c sealcast -n "__fish_sealcast_using_subcommand help; and not __fish_seen_subcommand_from demo keygen publish watch devices clock probe gateway cameras invite status peers control print-config doctor config completions archive replay help" -f -a "replay" -d 'Play an archive, or export it'
complete -c sealcast -n "__fish_sealcast_using_subcommand help; and not __fish_seen_subcommand_from demo keygen publish watch devices clock probe gateway cameras invite status peers control print-config doctor config completions archive replay help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c sealcast -n "__fish_sealcast_using_subcommand help; and __fish_seen_subcommand_from gateway" -f -a "camera" -d 'Run beside the cameras: encrypt their packets, and print the ticket for the viewer gateway'
complete -c sealcast -n "__fish_sealcast_using_subcommand help; and __fish_seen_subcommand_from gateway" -f -a "viewer" -d 'Run beside the players: serve them the cameras of a camera gateway by RTSP'
complete -c sealcast -n "__fish_sealcast_using_subcommand help; and __fish_seen_subcommand_from peers" -f -a "list" -d 'Show the peers that are admitted, who of them is here and since when, and the invites'
complete -c sealcast -n "__fish_sealcast_using_subcommand help; and __fish_seen_subcommand_from peers" -f -a "allow" -d 'Admit a peer without an invite'
complete -c sealcast -n "__fish_sealcast_using_subcommand help; and __fish_seen_subcommand_from peers" -f -a "rename" -d 'Call a peer something else'
complete -c sealcast -n "__fish_sealcast_using_subcommand help; and __fish_seen_subcommand_from peers" -f -a "remove" -d 'Admit a peer no more'
complete -c sealcast -n "__fish_sealcast_using_subcommand help; and __fish_seen_subcommand_from peers" -f -a "withdraw" -d 'Withdraw an invite'
complete -c sealcast -n "__fish_sealcast_using_subcommand help; and __fish_seen_subcommand_from peers" -f -a "restored" -d 'The folder of a publisher was restored from an old copy: leave out the keys that it may have used since'
complete -c sealcast -n "__fish_sealcast_using_subcommand help; and __fish_seen_subcommand_from config" -f -a "check" -d 'Check the file and print the options in force'
complete -c sealcast -n "__fish_sealcast_using_subcommand help; and __fish_seen_subcommand_from config" -f -a "example" -d 'Print a file that shows every option and sets none'
complete -c sealcast -n "__fish_sealcast_using_subcommand help; and __fish_seen_subcommand_from archive" -f -a "keygen" -d 'Create the identity of someone who may open archives, and print its recipient for `watch --to archive:`'
complete -c sealcast -n "__fish_sealcast_using_subcommand help; and __fish_seen_subcommand_from archive" -f -a "list" -d 'Show the segments of an archive and their times'
complete -c sealcast -n "__fish_sealcast_using_subcommand help; and __fish_seen_subcommand_from archive" -f -a "check" -d 'Tell what is missing, altered or moved'
complete -c sealcast -n "__fish_sealcast_using_subcommand help; and __fish_seen_subcommand_from archive" -f -a "record" -d 'Record what a camera seals for its group, on a machine that can open nothing of it'
complete -c sealcast -n "__fish_sealcast_using_subcommand help; and __fish_seen_subcommand_from archive" -f -a "key" -d 'Print a segment\'s key as it is encrypted for the recipients: `age --decrypt -i FILE` opens it'
