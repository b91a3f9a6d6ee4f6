use super::*;

const FRIEND: PeerId = PeerId([1; 32]);
const STRANGER: PeerId = PeerId([2; 32]);

fn cameras(named: &[(&str, &[PeerId])]) -> Cameras {
    let camera = |&(text, allow): &(&str, &[PeerId])| {
        let allow = (!allow.is_empty()).then(|| AllowList::of(allow.iter().copied()));
        CameraAt {
            allow,
            ..text.parse().expect("a camera")
        }
    };
    Cameras::new(named.iter().map(camera).collect()).expect("no two at one path")
}

/// The registry for the new cameras, the number of cameras started for it, and the changes.
fn renewed(registry: &Registry, named: &[(&str, &[PeerId])]) -> (Registry, usize, Changes) {
    let mut started = 0;
    let (next, changes) = registry.renewed(cameras(named), |_, _| started += 1);
    (next, started, changes)
}

fn snapshot(registry: Registry) -> Snapshot {
    Snapshot::new(watch::Sender::new(registry).subscribe())
}

#[test]
fn only_what_changed_is_started_and_everything_is_told() {
    let (first, started, changes) = renewed(
        &Registry::default(),
        &[("a=rtsp://h/1", &[]), ("b=rtsp://h/2", &[]), ("c=rtsp://h/3", &[])],
    );
    assert_eq!((started, changes.added.join(" ")), (3, "a b c".to_owned()));
    let (second, started, changes) = renewed(
        &first,
        &[
            ("rtsp://h/0", &[]),
            ("b=rtsp://h/2?transport=udp", &[]),
            ("a=rtsp://h/1", &[FRIEND]),
        ],
    );
    assert_eq!(started, 2);
    let words = |list: &[&str]| list.iter().map(|&word| word.to_owned()).collect::<Vec<_>>();
    let expected = Changes {
        added: words(&["every path"]),
        removed: words(&["c"]),
        changed: words(&["b"]),
        unchanged: words(&["a"]),
        allow_changed: words(&["a"]),
    };
    assert_eq!(changes, expected);
    let camera = |registry: &Registry, path| Arc::clone(&registry.at(path, |_| true).expect("it is there").camera);
    let [a, b, c] = ["a", "b", "c"].map(|path| camera(&first, path));
    assert!(Arc::ptr_eq(&a, &camera(&second, "a")) && !Arc::ptr_eq(&b, &camera(&second, "b")));
    let snapshot = snapshot(second);
    let lost =
        [(&a, FRIEND), (&a, STRANGER), (&b, FRIEND), (&c, FRIEND)].map(|(camera, peer)| snapshot.lost(camera, &peer));
    let status = |code| Some(CarriedStatus::of_camera(code));
    assert_eq!(lost, [None, status(404), status(503), status(404)]);
}

#[test]
fn a_camera_that_a_peer_may_not_see_does_not_exist_for_it() {
    let (registry, ..) = renewed(
        &Registry::default(),
        &[("a=rtsp://h/1", &[FRIEND]), ("b=rtsp://h/2", &[])],
    );
    let mut snapshot = snapshot(registry);
    for (path, peer, seen) in [
        ("a", FRIEND, true),
        ("a", STRANGER, false),
        ("b", STRANGER, true),
        ("c", FRIEND, false),
    ] {
        assert_eq!(snapshot.camera(path, &peer).is_some(), seen, "{path}");
    }
    let said: Vec<_> = snapshot.denied.into_iter().collect();
    assert_eq!(said, [Some("a".to_owned())], "what is not there is not hidden");
}

#[test]
fn where_a_camera_is_hidden_the_one_of_every_other_path_is_seen() {
    let (registry, ..) = renewed(
        &Registry::default(),
        &[("a=rtsp://h/1", &[FRIEND]), ("rtsp://h/2", &[])],
    );
    let mut snapshot = snapshot(registry);
    let path = |peer| snapshot.camera("a", &peer).expect("one of them").path.clone();
    assert_eq!([FRIEND, STRANGER].map(path), [Some("a".to_owned()), None]);
}
