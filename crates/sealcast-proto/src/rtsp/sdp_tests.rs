use super::*;

fn rewritten(sdp: &str, base: &str, host: &str) -> (String, Description) {
    let description = rewrite(sdp.as_bytes(), base, host).unwrap();
    (String::from_utf8(description.sdp.clone()).unwrap(), description)
}

/// A description as Hikvision cameras send it: absolute control URLs with queries.
#[test]
fn absolute_urls_and_addresses_do_not_cross() {
    let base = "rtsp://192.168.5.106:554/Streaming/Channels/101/";
    let query = "?transportmode=unicast&profile=Profile_1";
    let sdp = format!(
        "v=0\r\no=- 1620251477190769 1620251477190769 IN IP4 192.168.5.106\r\ns=Media Presentation\r\ne=NONE\r\n\
         b=AS:5050\r\nt=0 0\r\na=control:{base}{query}\r\n\
         m=video 0 RTP/AVP 96\r\nc=IN IP4 0.0.0.0\r\nb=AS:5000\r\na=recvonly\r\n\
         a=control:{base}trackID=1{query}\r\na=rtpmap:96 H264/90000\r\n\
         a=fmtp:96 profile-level-id=420029; sprop-parameter-sets=Z00AKZpkA8ARPyzU,aO48gA==\r\n\
         m=application 0 RTP/AVP 107\r\nc=IN IP4 0.0.0.0\r\na=control:{base}trackID=3{query}\r\n"
    );
    let expected = "v=0\r\no=- 1620251477190769 1620251477190769 IN IP4 0.0.0.0\r\ns=Media Presentation\r\ne=NONE\r\n\
         b=AS:5050\r\nt=0 0\r\na=control:*\r\nm=video 0 RTP/AVP 96\r\nc=IN IP4 0.0.0.0\r\nb=AS:5000\r\na=recvonly\r\n\
         a=control:track0\r\na=rtpmap:96 H264/90000\r\n\
         a=fmtp:96 profile-level-id=420029; sprop-parameter-sets=Z00AKZpkA8ARPyzU,aO48gA==\r\n\
         m=application 0 RTP/AVP 107\r\nc=IN IP4 0.0.0.0\r\na=control:track1\r\n";
    let (crossing, description) = rewritten(&sdp, base, "192.168.5.106");
    assert_eq!(crossing, expected);
    assert_eq!(description.aggregate, format!("{base}{query}"));
    assert_eq!(description.tracks[1], format!("{base}trackID=3{query}"));
}

#[test]
fn wherever_a_camera_says_its_address_it_does_not_cross() {
    let sdp = "v=0\no=x 1 1 IN IP4 10.9.8.7\ns=Session streamed by 10.9.8.7\ni=front door\nu=http://10.9.8.7/\n\
         c=IN IP4 239.1.2.3/16\na=x-info:http://10.9.8.7/a\na=source-filter: incl IN IP4 239.1.2.3 10.9.8.7\n\
         k=clear:key\n\
         m=video 5004 RTP/AVP 26\na=rtcp:5005 IN IP4 10.9.8.7\n";
    let expected = "v=0\no=x 1 1 IN IP4 0.0.0.0\ns=-\ni=front door\nc=IN IP4 0.0.0.0\na=control:*\n\
         m=video 0 RTP/AVP 26\na=control:track0\n";
    assert_eq!(rewritten(sdp, "rtsp://10.9.8.7/cam", "10.9.8.7").0, expected);
}

/// A description as VStarcam cameras send it: no control URL of the session, relative ones of the tracks, whitespace at
/// the end of a line.
#[test]
fn a_missing_control_url_is_the_base() {
    let sdp = "v=0\r\ns=x\r\nm=video 0 RTP/AVP 96\r\na=control:track7\r\nm=audio 0 RTP/AVP 8\t \r\na=ptime:20";
    let (crossing, description) = rewritten(sdp, "rtsp://cam/live", "cam");
    assert_eq!(
        crossing,
        "v=0\r\ns=x\r\na=control:*\r\nm=video 0 RTP/AVP 96\r\na=control:track0\r\n\
         m=audio 0 RTP/AVP 8\t \r\na=ptime:20\r\na=control:track1\r\n"
    );
    assert_eq!(description.aggregate, "rtsp://cam/live");
    assert_eq!(description.tracks, ["rtsp://cam/live/track7", "rtsp://cam/live"]);
}

/// Lines as short and as crooked as cameras write them.
#[test]
fn short_and_crooked_lines_are_read_as_far_as_they_go() {
    let sdp = "m=video  0 RTP/AVP 96\no=\no=- 1001 1 IN\nc=IN\nt=\n a=Control: trackID=1\na=\na\nm=audio\n";
    let (crossing, description) = rewritten(sdp, "rtsp://cam/", "cam");
    assert_eq!(
        crossing,
        "a=control:*\nm=video 0 RTP/AVP 96\no=- 0 0 IN IP4 0.0.0.0\no=- 1001 1 IN IP4 0.0.0.0\nc=IN IP4 0.0.0.0\nt=\n\
         a=control:track0\na=\na\nm=audio 0 \na=control:track1\n"
    );
    assert_eq!(description.tracks, ["rtsp://cam/trackID=1", "rtsp://cam/"]);
    assert_eq!(description.pictures.bits(), 0b01);
}

#[test]
fn what_crosses_would_cross_again_unchanged() {
    let sdp = "v=0\no=x\ns=x\nm=video 1 RTP/AVP 96\na=control:a\na=control:b\nm=\nnonsense\n\n";
    let (crossing, description) = rewritten(sdp, "rtsp://cam/", "cam");
    assert_eq!(rewritten(&crossing, "rtsp://gateway/", "gateway").0, crossing);
    assert_eq!(description.tracks.len(), 2);
    assert_eq!(description.tracks[0], "rtsp://cam/a", "the first of two counts");
}

#[test]
fn tracks_are_found_as_media_are() {
    let regular = "v=0\r\na=control:*\r\nm=video 0 RTP/AVP 26\r\na=control:track0\r\n\
         m=audio 0 RTP/AVP 0\r\na=control:track1\r\n";
    for odd in [
        "v=0\r\n m=video 5004 RTP/AVP 26\r\n\tm=audio  5006\tRTP/AVP 0\r\n",
        "V=0\r\nM=video 5004 RTP/AVP 26\r\nm=audio 0 RTP/AVP 0\r\n",
        "v=0\rm=video 5004 RTP/AVP 26\rm=audio 0 RTP/AVP 0",
    ] {
        let (crossing, description) = rewritten(odd, "rtsp://cam/", "cam");
        assert_eq!(crossing, regular, "{odd:?}");
        assert_eq!(
            description.tracks.len(),
            MediaDescription::parse(odd.as_bytes()).media.len()
        );
    }
}

#[test]
fn a_description_has_one_track_to_sixteen() {
    let refused = |sdp: &[u8]| rewrite(sdp, "rtsp://cam/", "cam").err();
    assert_eq!(refused(b""), Some(DescriptionError::NoTracks));
    assert_eq!(refused(b"v=0\r\na=control:*\r\n"), Some(DescriptionError::NoTracks));
    let tracks = |count: usize| "m=video 0 RTP/AVP 96\n".repeat(count);
    assert_eq!(refused(tracks(16).as_bytes()), None);
    assert_eq!(refused(tracks(17).as_bytes()), Some(DescriptionError::ManyTracks));
}

#[test]
fn descriptions_are_of_the_same_media_whatever_they_say_about_the_session() {
    let one = b"v=0\r\no=- 1 1 IN IP4 0.0.0.0\r\ns=-\r\nm=video 0 RTP/AVP 96\r\na=rtpmap:96 H264/90000\r\n";
    let later = b"v=0\no=- 2 2 IN IP4 0.0.0.0\ns=booted\na=tool:x\nm=video 0 RTP/AVP 96\na=rtpmap:96 H264/90000\n";
    assert!(same_media(one, later));
    for other in [
        &b"m=video 0 RTP/AVP 96\na=rtpmap:96 H265/90000\n"[..],
        b"m=video 0 RTP/AVP 97\na=rtpmap:96 H264/90000\n",
        b"m=video 0 RTP/AVP 96\na=rtpmap:96 H264/90000\na=fmtp:96 packetization-mode=1\n",
        b"m=video 0 RTP/AVP 96\na=rtpmap:96 H264/90000\nm=audio 0 RTP/AVP 0\n",
        b"",
    ] {
        assert!(!same_media(one, other), "{}", String::from_utf8_lossy(other));
    }
}

#[test]
fn a_description_that_breaks_off_after_a_carriage_return_crosses_unchanged_a_second_time() {
    for broken in ["\r", "\r\r", "a=x\r", ":\n\r"] {
        let sdp = format!("v=0\nm=video 0 RTP/AVP 26\n{broken}");
        let (once, _) = rewritten(&sdp, "rtsp://192.0.2.7/cam", "192.0.2.7");
        let (twice, _) = rewritten(&once, "rtsp://192.0.2.7/cam", "192.0.2.7");
        assert_eq!(once, twice, "{broken:?}");
    }
}
