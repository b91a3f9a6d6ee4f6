#!/bin/sh
# Makes the streams of this folder again, with ffmpeg and libx264 (7:5.1 and 164 made those in the repository).
# For each stream NAME.h264 the file NAME.types has one line per picture in the order of presentation, with one letter per
# macroblock: what ffmpeg's `-debug mb_type` says, an independent opinion (it decodes the first pictures twice: `tail`). P is PCM, i intra in blocks, I intra as a whole,
# s skipped, x inter.
# plans.txt has what levels 1 to 3 encrypt of each stream, and a checksum of the plans of damaged copies. The tests of both
# implementations compare it with their own; the one in TypeScript wrote it, so new streams need new lines from there.
set -eu
cd "$(dirname "$0")"

make() { # name, source, frames, x264 options
    ffmpeg -nostdin -y -loglevel error -f lavfi -i "$2" -frames:v "$3" -pix_fmt "${5:-yuv420p}" -c:v libx264 \
        -threads 1 -x264-params "keyint=4:no-scenecut=1:$4" -bsf:v filter_units=remove_types=6 -f h264 "$1.h264"
    [ "$1" = cabac ] || [ "$1" = interlaced ] || ffmpeg -nostdin -hide_banner -threads 1 -debug mb_type -i "$1.h264" \
        -fps_mode passthrough -f null - 2>&1 | tr '\r' '\n' | sed 's/^.*\[h264 @ [^]]*\] //' | awk '
        /^New frame, type:/ { if (line) print line; line = ""; on = 1; next }
        on && /^([PAiIdDgGS<>X][ +|?-][ =?])+$/ { for (at = 1; at <= length($0); at += 3) line = line substr($0, at, 1); next }
        { on = 0 }
        END { if (line) print line }' | tr 'dSDgG<>X' 'ssxxxxxx' | tail -n "$3" > "$1.types"
}

small=testsrc2=size=96x64:rate=25
noise='color=gray:size=64x48:rate=25,noise=alls=60:allf=t+u'
make baseline "$small" 6 cabac=0:bframes=0:8x8dct=0:ref=1:qp=34
make slices "$small" 4 cabac=0:bframes=0:8x8dct=0:ref=2:slices=3:qp=34
make bframes "$small" 6 cabac=0:bframes=2:b-adapt=0:8x8dct=0:ref=3:weightp=2:weightb=1:partitions=all:qp=34
make high "$small" 6 cabac=0:bframes=2:b-adapt=0:8x8dct=1:ref=3:partitions=all:qp=30
make pcm 'nullsrc=size=32x32:rate=25,geq=lum=random(1)*255:cb=random(2)*255:cr=random(3)*255' 2 cabac=0:bframes=0:8x8dct=0:qp=1:no-psy=1
make noise "$noise" 3 cabac=0:bframes=1:b-adapt=0:8x8dct=1:partitions=all:qp=20
make grey "$small" 4 cabac=0:bframes=1:b-adapt=0:8x8dct=1:qp=34 gray
make cabac "$small" 3 cabac=1:bframes=0:qp=38
make interlaced "$small" 3 cabac=0:bframes=0:qp=38:tff=1
