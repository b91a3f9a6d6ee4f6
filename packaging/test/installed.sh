#!/bin/sh
# Installs, upgrades, removes and purges the package, and streams with the installed program. `cargo xtask install-test`
# runs it as root of a fresh Debian system without an init, in namespaces of its own: /packages holds the package twice,
# the second with a higher version.
set -eu
export DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8

say() { echo "-- $*"; }
fail() { echo "FAILED: $*" >&2; exit 1; }
files() { find / -xdev \( -path /proc -o -path /sys -o -path /packages -o -path /tmp \) -prune -o -print | sort; }
# A word for each part: a function in the background would be a process of its own, which signals do not go through.
AS_USER="setpriv --reuid=sealcast --regid=sealcast --init-groups --no-new-privs env HOME=/nonexistent"
install() { dpkg --force-confdef --force-confold --install "$1" >/tmp/dpkg.log 2>&1 || { cat /tmp/dpkg.log; fail "$1 cannot be installed"; }; }
mode() { stat -c '%a %U %G' "$1"; }

first=$(ls /packages/first/*.deb)
second=$(ls /packages/second/*.deb)
files >/tmp/before

say "install $(basename "$first")"
install "$first"
[ "$(id -un "$(id -u sealcast)")" = sealcast ] || fail "no user sealcast"
for expected in "750 root sealcast /etc/sealcast" "750 root sealcast /etc/sealcast/secrets" "755 root root /var/lib/sealcast"; do
    place=${expected##* }
    [ "$(mode "$place")" = "${expected% *}" ] || fail "$place is $(mode "$place"), not ${expected% *}"
done
sealcast --version
sealcast print-config >/tmp/print-config || fail "print-config"
grep -i -E 'aes|neon' /tmp/print-config | head -3
man_page=$(zcat /usr/share/man/man1/sealcast-publish.1.gz | head -3)
[ -n "$man_page" ] || fail "no manual page"

say "configurations and units"
$AS_USER sealcast config check --config /etc/sealcast/publish/test-card.toml >/dev/null
for file in /usr/share/doc/sealcast/examples/*.toml; do
    $AS_USER sealcast config check --config "$file" >/dev/null || fail "$file"
done
for kind in publish gateway-camera gateway-viewer archive; do
    unit=/usr/lib/systemd/system/sealcast-$kind@.service
    systemd-analyze verify "/usr/lib/systemd/system/sealcast-$kind@test-card.service" >/tmp/verify 2>&1 || true
    # There may be complaints about other units; about ours there must be none, but that this system has no `man`.
    if grep sealcast /tmp/verify | grep -v "Command 'man "; then fail "$unit"; fi
    systemd-analyze security --offline=true --threshold=20 "$unit" >/tmp/security || { cat /tmp/security; fail "$unit"; }
    tail -1 /tmp/security
done

say "a stream, as the services run it: the test card to a file"
state=/var/lib/sealcast/publish-test-card
run=/run/sealcast/publish-test-card
install_folder() { mkdir -p "$1" && chown sealcast:sealcast "$1" && chmod 700 "$1"; }
install_folder $state
install_folder $run
install_folder /tmp/viewer
stream() {
    rm -f $run/* /tmp/viewer/out.mp4
    $AS_USER SEALCAST_HOME=$state sealcast publish --config /etc/sealcast/publish/test-card.toml 2>/tmp/publisher &
    publisher=$!
    for _ in $(seq 600); do
        if [ -s $run/ticket ]; then break; fi
        kill -0 $publisher 2>/dev/null || { cat /tmp/publisher; fail "the publisher ended"; }
        sleep 0.1
    done
    $AS_USER SEALCAST_HOME=/tmp/viewer sealcast watch @$run/ticket --to file:/tmp/viewer/out.mp4 --seconds 5 \
        --report /tmp/viewer/report.json 2>/tmp/watcher || { cat /tmp/watcher; fail "the viewer ended with $?"; }
    grep VmHWM /proc/$publisher/status
    kill $publisher
    wait $publisher || fail "the publisher ended with $?"
    size=$(stat -c %s /tmp/viewer/out.mp4)
    [ "$size" -gt 20000 ] || fail "the recording has $size bytes"
    say "the recording has $size bytes"
    rm -f /tmp/viewer/report.json
}
stream
first_id=$(cksum <$state/publishers/test-card/identity)

say "upgrade to $(basename "$second"), with a configuration that was changed"
sed -i 's/1280x720@30/640x480@25/' /etc/sealcast/publish/test-card.toml
install "$second"
grep -q 640x480@25 /etc/sealcast/publish/test-card.toml || fail "the upgrade threw a change away"
[ "$(cksum <$state/publishers/test-card/identity)" = "$first_id" ] || fail "the upgrade changed the identity"
stream

say "remove"
dpkg --remove sealcast >/dev/null
[ ! -e /usr/bin/sealcast ] || fail "the program stayed"
[ -e /etc/sealcast/publish/test-card.toml ] || fail "remove took the configuration"
[ -e $state/publishers/test-card/identity ] || fail "remove took the identity"

say "purge"
echo kept >/etc/sealcast/publish/own.toml
dpkg --purge sealcast >/dev/null
[ ! -e /var/lib/sealcast ] || fail "purge left identities"
[ -e /etc/sealcast/publish/own.toml ] || fail "purge took a file of the administrator"
rm -r /etc/sealcast /run/sealcast
files >/tmp/after
# Users stay, and dpkg and systemd keep notes.
diff /tmp/before /tmp/after | grep '^[<>]' | grep -v -E ' /(var/lib/dpkg|var/log|var/cache|run/|etc/(passwd|group|shadow|gshadow|subuid|subgid|\.pwd))' \
    && fail "purge left or took these files"
say "installed, upgraded, removed and purged"
