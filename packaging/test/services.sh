#!/bin/sh
# Uses the services of the package, within a system that systemd has booted (boot.sh).
set -eu
export DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8

say() { echo "-- $*"; }
fail() {
    echo "FAILED: $*" >&2
    journalctl --no-pager -o cat -n 40 >&2
    exit 1
}
AS_USER="setpriv --reuid=sealcast --regid=sealcast --init-groups --no-new-privs env HOME=/nonexistent"
is() {
    state=$(systemctl is-active "$1") || true
    [ "$state" = "$2" ] || fail "$1 is $state, not $2"
}
# Waits for a unit to be in this state.
becomes() {
    for _ in $(seq 600); do
        if [ "$(systemctl show --property "$2" --value "$1")" = "$3" ]; then return; fi
        sleep 0.1
    done
    fail "$1: $2 is $(systemctl show --property "$2" --value "$1"), not $3"
}

dpkg --install /packages/first/*.deb >/tmp/dpkg.log 2>&1 || { cat /tmp/dpkg.log; fail "it cannot be installed"; }
[ -z "$(systemctl list-units --plain --no-legend 'sealcast-*.service')" ] || fail "installing started something"

say "publish: ready when it listens, a stream, reload, stop"
systemctl start sealcast-publish@test-card || fail "sealcast-publish@test-card does not start"
is sealcast-publish@test-card active
ticket=/run/sealcast/publish-test-card/ticket
[ "$(stat -c '%a %U' $ticket)" = "600 sealcast" ] || fail "the ticket is $(stat -c '%a %U' $ticket)"
mkdir /tmp/viewer && chown sealcast /tmp/viewer
$AS_USER SEALCAST_HOME=/tmp/viewer sealcast watch @$ticket --to file:/tmp/viewer/out.mp4 --seconds 8 2>/tmp/viewer/log ||
    { cat /tmp/viewer/log; fail "nobody can watch"; }
[ "$(stat -c %s /tmp/viewer/out.mp4)" -gt 20000 ] || fail "the recording is short"
systemctl reload sealcast-publish@test-card || fail "no reload"
$AS_USER sealcast control --socket /run/sealcast/publish-test-card/control status | grep '^ok' || fail "no control socket"
is sealcast-publish@test-card active
pid=$(systemctl show --property MainPID --value sealcast-publish@test-card)
grep -q '^Seccomp:.2' "/proc/$pid/status" || fail "no filter of system calls"
grep -q '^CapBnd:.0000000000000000' "/proc/$pid/status" || fail "capabilities are left"
systemctl stop sealcast-publish@test-card
becomes sealcast-publish@test-card Result success
[ ! -e $ticket ] || fail "the ticket outlived the service"

say "a wrong configuration is not tried again, and a camera that is off is waited for"
printf '[publish]\nlisten = 5\n' >/etc/sealcast/publish/wrong.toml
systemctl start sealcast-publish@wrong 2>/dev/null && fail "a wrong configuration starts"
becomes sealcast-publish@wrong SubState failed
printf '[publish]\nsource = "rtsp://127.0.0.1:9/x"\nlisten = "tcp://[::1]:9600"\n' >/etc/sealcast/publish/off.toml
systemctl start sealcast-publish@off || fail "a camera that is off keeps the service from starting"
$AS_USER SEALCAST_HOME=/var/lib/sealcast/publish-off sealcast status | grep ' off since ' || fail "the status does not say off"
is sealcast-publish@off active
systemctl stop sealcast-publish@off
[ "$(systemctl show --property NRestarts --value sealcast-publish@wrong)" = 0 ] || fail "it was tried again"

say "gateways, linked, with the ticket as a credential that stays root's"
sed 's#udp://\[::\]:9553#tcp://[::1]:9653#; s#camera.example#localhost#' \
    /usr/share/doc/sealcast/examples/gateway-camera.toml >/etc/sealcast/gateway-camera/site.toml
systemctl start sealcast-gateway-camera@site || fail "no camera gateway"
systemctl reload sealcast-gateway-camera@site || fail "no reload"
sed 's#localhost#[::1]#' /run/sealcast/gateway-camera-site/ticket >/etc/sealcast/secrets/site
echo secret >/etc/sealcast/secrets/site-player
chmod 600 /etc/sealcast/secrets/*
chown sealcast: /etc/sealcast/secrets/site-player
credential=/run/credentials/sealcast-gateway-viewer@site.service/ticket
sed "s#/etc/sealcast/secrets/site-ticket#$credential#" \
    /usr/share/doc/sealcast/examples/gateway-viewer.toml >/etc/sealcast/gateway-viewer/site.toml
drop_in=/etc/systemd/system/sealcast-gateway-viewer@site.service.d
mkdir -p $drop_in
printf '[Service]\nLoadCredential=ticket:/etc/sealcast/secrets/site\n' >$drop_in/ticket.conf
systemctl daemon-reload
systemctl start sealcast-gateway-viewer@site || fail "no viewer gateway"
for _ in $(seq 600); do
    if journalctl --no-pager -o cat -u sealcast-gateway-viewer@site | grep -q 'linked to the camera gateway'; then break; fi
    sleep 0.1
done
journalctl --no-pager -o cat -u sealcast-gateway-viewer@site | grep -q 'linked to the camera gateway' || fail "not linked"
is sealcast-gateway-camera@site active
is sealcast-gateway-viewer@site active
for end in camera viewer; do
    pid=$(systemctl show --property MainPID --value sealcast-gateway-$end@site)
    say "gateway $end, idle: $(grep VmRSS "/proc/$pid/status" | tr -s '\t ' ' ')"
done

say "an archive's node records what a camera seals, and cannot open it"
node_home=/var/lib/sealcast/archive-front
mkdir -p $node_home && chown sealcast: $node_home && chmod 700 $node_home
node=$($AS_USER SEALCAST_HOME=$node_home sealcast keygen --for archive) || fail "no identity for the node"
mkdir /tmp/owner
sealcast archive keygen /tmp/owner/key >/tmp/owner/recipient || fail "no key for the archive"
printf '[publish]\nsource = "test:640x480@25"\nlisten = "tcp://[::1]:9700"\nticket_file = "%s"\n' \
    /run/sealcast/publish-front/ticket >/etc/sealcast/publish/front.toml
printf 'group = true\narchive_node = ["%s"]\narchive_to = ["%s"]\n' "$node" "$(cat /tmp/owner/recipient)" \
    >>/etc/sealcast/publish/front.toml
systemctl start sealcast-publish@front || fail "no camera with a node"
install -m 600 -o sealcast -g sealcast /run/sealcast/publish-front/ticket /etc/sealcast/secrets/front-ticket
cp /usr/share/doc/sealcast/examples/archive.toml /etc/sealcast/archive/front.toml
systemctl start sealcast-archive@front || fail "no archive's node"
is sealcast-archive@front active
recorded() { sealcast archive list $node_home/recordings 2>/dev/null | wc -l; }
for _ in $(seq 600); do
    if [ "$(recorded)" -ge 3 ]; then break; fi
    sleep 0.1
done
[ "$(recorded)" -ge 3 ] || fail "nothing is recorded"
systemctl stop sealcast-archive@front
becomes sealcast-archive@front Result success
sealcast archive check $node_home/recordings --identity /tmp/owner/key >/tmp/owner/checked || fail "$(cat /tmp/owner/checked)"
tail -2 /tmp/owner/checked
systemctl stop sealcast-publish@front

say "the decoder's fence stands within the sandbox"
drop_in=/etc/systemd/system/sealcast-publish@doctor.service.d
mkdir -p $drop_in
cp /etc/sealcast/publish/test-card.toml /etc/sealcast/publish/doctor.toml
printf '[Service]\nType=oneshot\nRestart=no\nExecStart=\nExecStart=/usr/bin/sealcast doctor --config %s\n' \
    /etc/sealcast/publish/doctor.toml >$drop_in/doctor.conf
systemctl daemon-reload
systemctl start sealcast-publish@doctor || fail "the doctor finds something wrong"
journalctl --no-pager -o cat -u sealcast-publish@doctor | grep -E '^(ok|warning|wrong) +(fence|codec|entropy)' || true
journalctl --no-pager -o cat -u sealcast-publish@doctor | grep -q '^ok  *fence .*landlock and seccomp' || fail "no fence"
say "services were started, used, reloaded and stopped"
