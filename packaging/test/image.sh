#!/bin/sh
# Streams between containers of an image over each carrier, with read-only roots and no privileges, and sends commands to
# the one that publishes. `cargo xtask image` calls it with the image and the words that run a container here: `podman`, perhaps with options.
set -eu
image=$1
shift
name=sealcast-image-test-$$
folder=$(mktemp -d)

fail() { echo "FAILED: $*" >&2; "$podman" logs "$name" >&2 || true; exit 1; }
podman=$1
limits="--ulimit nofile=1024:1024 --ulimit nproc=1024:1024 --read-only --read-only-tmpfs=false --cap-drop=all
    --security-opt=no-new-privileges"
end() {
    "$podman" rm --force --volumes "$name" >/dev/null 2>&1 || true
    rm -rf "$folder"
}
trap end EXIT

user=$("$podman" image inspect --format '{{.Config.User}}' "$image")
[ "$user" = 65534:65534 ] || fail "it runs as $user"
"$@" run --rm $limits --network=none "$image" --version
# Only the state can be written.
if "$@" run --rm $limits --network=none "$image" keygen /identity 2>"$folder/refused"; then fail "the root can be written"; fi
grep -i 'read-only' "$folder/refused" || fail "$(cat "$folder/refused")"

"$@" run --detach --name "$name" $limits --network=none "$image" publish test:640x480@25 --listen tcp://127.0.0.1:9553 \
    --also-listen udp://127.0.0.1:9554 --also-listen quic://127.0.0.1:9555 --ticket-file /var/lib/sealcast/tickets >/dev/null
state=$("$podman" inspect --format '{{range .Mounts}}{{.Source}}{{end}}' "$name")
for _ in $(seq 600); do
    if [ -s "$state/tickets" ]; then break; fi
    sleep 0.1
done
[ "$(wc -l <"$state/tickets")" = 3 ] || fail "no tickets"
chown 65534:65534 "$folder"
chmod 700 "$folder"
for carrier in 1 2 3; do
    sed -n "${carrier}p" "$state/tickets" >"$folder/ticket"
    chown 65534:65534 "$folder/ticket"
    chmod 600 "$folder/ticket"
    "$@" run --rm $limits --network="container:$name" --volume "$folder:/var/lib/sealcast" "$image" \
        watch @/var/lib/sealcast/ticket --to file:/var/lib/sealcast/out.mp4 --seconds 6 2>"$folder/log" ||
        fail "the viewer ended with $?: $(cat "$folder/log")"
    size=$(stat -c %s "$folder/out.mp4")
    [ "$size" -gt 20000 ] || fail "the recording has $size bytes"
    echo "carrier $carrier of TCP, UDP, QUIC: $size bytes recorded"
    rm "$folder/out.mp4" "$folder/ticket"
done

# Commands to the container that runs, by its control socket: how it is, and a further viewer, who is let in.
commands="$podman exec $name /usr/bin/sealcast"
$commands control status >"$folder/log" 2>&1 || fail "control status: $(cat "$folder/log")"
grep '^ok encrypt=all ' "$folder/log" || fail "control status said $(cat "$folder/log")"
$commands invite --label second --ticket-file - >"$folder/ticket" 2>"$folder/log" || fail "invite: $(cat "$folder/log")"
chown 65534:65534 "$folder/ticket"
chmod 600 "$folder/ticket"
"$@" run --rm $limits --network="container:$name" --volume "$folder:/var/lib/sealcast" "$image" \
    watch @/var/lib/sealcast/ticket --to null: --seconds 2 2>"$folder/log" ||
    fail "the invited viewer ended with $?: $(cat "$folder/log")"
$commands peers list >"$folder/log" 2>&1 || fail "peers list: $(cat "$folder/log")"
grep second "$folder/log" || fail "nobody is called second: $(cat "$folder/log")"
pid=$("$podman" inspect --format '{{.State.Pid}}' "$name")
grep -E 'VmHWM|VmRSS' "/proc/$pid/status" | tr -s '\t\n ' ' '
echo
"$podman" stop --time 20 "$name" >/dev/null
code=$("$podman" inspect --format '{{.State.ExitCode}}' "$name")
[ "$code" = 0 ] || fail "the publisher ended with $code"
