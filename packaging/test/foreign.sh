#!/bin/sh
# Tries a program that was built for another machine, or otherwise, beside this machine's: what it says of the processor, a clip
# over each carrier in both directions, whose pictures must arrive bit for bit. Arguments: the program of this machine, and
# the other one, which starts here by itself (emulated.sh).
set -eu
# The decoder's process starts in another folder.
native=$(realpath "$1")
foreign=$(realpath "$2")
folder=$(mktemp -d)
publisher=
end() {
    [ -z "$publisher" ] || kill "$publisher" 2>/dev/null || true
    rm -rf "$folder"
}
trap end EXIT
say() { echo "-- $*"; }
fail() {
    echo "FAILED: $*" >&2
    tail -n 20 "$folder"/*.log >&2 || true
    exit 1
}

"$foreign" --version
"$foreign" print-config >"$folder/config.log" || fail "print-config"
cat "$folder/config.log"
uses() { grep -E "^ +$1 +$2\$" "$folder/config.log" >/dev/null || fail "print-config does not say that $1 uses $2"; }
# The emulator's processor has all extensions.
fence='.*'
case $(LC_ALL=C readelf --file-header "$foreign" | grep Machine:) in
*AArch64)
    uses AES-GCM 'aes pmull'
    uses AEGIS aes
    uses SHA-256 sha2
    uses ChaCha20-Poly1305 neon
    uses 'H.264 codec' neon
    ;;
*ARM)
    fence='.*no list of system calls'
    uses ChaCha20-Poly1305 neon
    uses 'H.264 codec' neon
    ;;
*) uses AES-GCM '.*' ;;
esac

say "doctor"
SEALCAST_HOME=$folder/doctor "$foreign" doctor >"$folder/doctor.log" 2>&1 || true
cat "$folder/doctor.log"
grep -q '^ok *codec' "$folder/doctor.log" || fail "its codecs do not work"
grep -q "^[a-z]* *fence *$fence" "$folder/doctor.log" || fail "the doctor does not say what the fence lacks"
# The emulator has neither landlock nor seccomp: there the fence is a warning. A port may be another program's.
if grep '^wrong' "$folder/doctor.log" | grep -v '^wrong *port '; then fail "the doctor finds something wrong"; fi

ffmpeg -v error -f lavfi -i testsrc2=size=320x240:rate=25:duration=4 -c:v libx264 -profile:v baseline -g 25 \
    -pix_fmt yuv420p "$folder/clip.mp4"
pictures() { ffmpeg -v error -i "$1" -map 0:v -c copy -f streamhash -hash sha256 -; }
expected=$(pictures "$folder/clip.mp4")

# Who publishes, who watches, and where it listens.
stream() {
    rm -f "$folder/ticket" "$folder/out.mp4"
    SEALCAST_HOME=$folder/publisher "$1" publish "file:$folder/clip.mp4" --listen "$3" --ticket-file "$folder/ticket" \
        2>"$folder/publisher.log" &
    publisher=$!
    for _ in $(seq 600); do
        if [ -s "$folder/ticket" ]; then break; fi
        kill -0 $publisher 2>/dev/null || fail "the publisher ended"
        sleep 0.1
    done
    SEALCAST_HOME=$folder/viewer "$2" watch "@$folder/ticket" --to "file:$folder/out.mp4" --no-reconnect --latency 10000 \
        2>"$folder/viewer.log" || return 1
    wait $publisher || fail "the publisher ended with $?"
    publisher=
    [ "$(pictures "$folder/out.mp4")" = "$expected" ]
}
# A session may break where a process stands still for seconds: not three times.
arrives() {
    for _ in 1 2 3; do
        if stream "$@"; then
            say "$4: every picture arrived bit for bit"
            return
        fi
        [ -z "$publisher" ] || kill $publisher 2>/dev/null || true
        publisher=
        tail -n 5 "$folder/viewer.log"
    done
    fail "$4: other pictures arrived"
}
for carrier in tcp udp quic; do
    url="$carrier://127.0.0.1:0?latency=10000"
    arrives "$foreign" "$native" "$url" "$carrier, published by the other program"
    arrives "$native" "$foreign" "$url" "$carrier, watched by the other program"
done
