#!/bin/sh
# Runs a static program where there is nothing else: in an empty root with the file alone, with a network of its own; then
# with what host names are looked up by. Then /proc and /dev/null are there as well, which the decoder's process needs, and
# the doctor must find nothing wrong.
# Argument: the program.
set -eu
if [ "$1" != inside ]; then
    folder=$(mktemp -d)
    trap 'rm -rf "$folder"' EXIT
    mkdir "$folder/root"
    cp "$1" "$folder/root/sealcast"
    unshare --user --map-root-user --mount --net --pid --fork --kill-child sh "$0" inside "$folder/root"
    exit
fi
root=$2
fail() {
    echo "FAILED: $*" >&2
    tail -n 20 "$root"/*.log >&2 || true
    exit 1
}
ip link set lo up
alone() { SEALCAST_HOME=$home chroot "$root" /sealcast "$@"; }

home=/doctor
alone --version
alone print-config >"$root/config.log" || fail "print-config"
[ "$(ls "$root" | grep -v 'log$')" = sealcast ] || fail "there is more than the file"

# No function: that would be a process of its own in the background, which signals do not go through.
SEALCAST_HOME=/publisher chroot "$root" /sealcast publish test:320x240@25 --listen tcp://127.0.0.1:9553 \
    --also-listen udp://127.0.0.1:9554 --also-listen quic://127.0.0.1:9555 --invite-uses 2 --ticket-file /tickets 2>"$root/publisher.log" &
publisher=$!
for _ in $(seq 600); do
    if [ -s "$root/tickets" ]; then break; fi
    kill -0 $publisher 2>/dev/null || fail "the publisher ended"
    sleep 0.1
done
[ "$(wc -l <"$root/tickets")" = 3 ] || fail "not three tickets"
home=/viewer
watch() {
    chmod 600 "$root/ticket"
    alone watch @/ticket --to file:/out.mp4 --seconds 5 2>"$root/viewer.log" || fail "the viewer ended with $?"
    size=$(stat -c %s "$root/out.mp4")
    [ "$size" -gt 20000 ] || fail "the recording has $size bytes"
    rm "$root/out.mp4"
}
for carrier in 1 2 3; do
    sed -n "${carrier}p" "$root/tickets" >"$root/ticket"
    watch
    echo "-- carrier $carrier of TCP, UDP, QUIC: $size bytes recorded, with no file but the program"
done
mkdir "$root/etc"
named() {
    sed -n "1s/127\.0\.0\.1/$1/p" "$root/tickets" >"$root/ticket"
    grep -q "$1" "$root/ticket" || fail "no name in the ticket"
    watch
    echo "-- a camera by its name $2: $size bytes recorded"
}
echo '127.0.0.1 camera.test' >"$root/etc/hosts"
home=/another
named camera.test 'in /etc/hosts'
# A name server that knows one name.
python3 -c '
import socket, sys
server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
server.bind(("127.0.0.1", 53))
open(sys.argv[1], "w")
while True:
    query, client = server.recvfrom(512)
    end = query.index(0, 12) + 5
    question = query[12:end]
    known = question == b"\6camera\7example\0\0\1\0\1"
    answer = b"\xc0\x0c\0\1\0\1\0\0\0\x3c\0\4\x7f\0\0\1" if known else b""
    server.sendto(query[:2] + b"\x81\x80\0\1\0" + bytes([known]) + b"\0\0\0\0" + question + answer, client)
' "$root/answers" &
names=$!
for _ in $(seq 600); do
    if [ -e "$root/answers" ]; then break; fi
    kill -0 $names 2>/dev/null || fail "the name server ended"
    sleep 0.1
done
echo 'nameserver 127.0.0.1' >"$root/etc/resolv.conf"
named camera.example 'with a name server'
kill $names
kill $publisher
wait $publisher || fail "the publisher ended with $?"

home=/doctor
mkdir "$root/proc" "$root/dev"
mount -t proc proc "$root/proc"
touch "$root/dev/null"
mount --bind /dev/null "$root/dev/null"
alone doctor >"$root/doctor.log" 2>&1 || fail "the doctor finds something wrong"
grep -q '^ok *codec' "$root/doctor.log" || fail "its codecs do not work as they should"
grep '^ok *fence .*landlock and seccomp' "$root/doctor.log" || fail "no fence around the decoder"
