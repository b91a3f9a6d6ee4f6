#!/bin/sh
# Runs a command where programs for another machine start as those of this one do, through QEMU's user-mode emulator, also
# when a program starts itself again: in a user namespace with formats of programs of its own, which Linux has since 6.7.
# Nothing of it is seen outside. Arguments: the emulator (qemu-aarch64 or qemu-arm), the folder with the other machine's
# libraries, a folder for a file, and the command.
set -eu

if [ "$1" != inside ]; then
    exec unshare --user --map-root-user --mount --propagation=private sh "$0" inside "$@"
fi
emulator=$2
libraries=$3
folder=$4
shift 4
# The first bytes of an ELF program for the machine, and which of them count.
case $emulator in
qemu-aarch64)
    magic='\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\xb7\x00'
    ;;
qemu-arm)
    magic='\x7fELF\x01\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\x28\x00'
    ;;
*)
    echo "emulated.sh knows no $emulator" >&2
    exit 2
    ;;
esac
mask='\xff\xff\xff\xff\xff\xff\xff\x00\xff\xff\xff\xff\xff\xff\xff\xff\xfe\xff\xff\xff'
# The kernel gives it the program's path, the name by which it was called, and the arguments. It finds the emulator whatever
# the caller's PATH is.
start=$folder/$emulator.sh
# Another that runs beside this one may be starting a program with it, so it is replaced as a whole.
printf '#!/bin/sh\npath=$1\nname=$2\nshift 2\nexec %s -L %s -0 "$name" "$path" "$@"\n' "$(command -v "$emulator")" "$libraries" >"$start.$$"
chmod 755 "$start.$$"
mv "$start.$$" "$start"
mount -t binfmt_misc binfmt_misc /proc/sys/fs/binfmt_misc || {
    echo "no formats of programs can be set up here: that needs Linux 6.7 or newer" >&2
    exit 77
}
printf '%s' ":$emulator:M::$magic:$mask:$start:P" >/proc/sys/fs/binfmt_misc/register
exec "$@"
