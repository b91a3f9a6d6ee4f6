//! Relays that let in whoever has a token: JWTs that the reference server of `moq-auth` checks for the relay.

use std::net::TcpListener;
use std::path::Path;
use std::time::{Duration, SystemTime};

use moq_auth::serve::{Keys, Policy, Server};
use moq_auth::{Algorithm, Claims, Key};

use crate::client::{CONNECTED, Client, DISCONNECTED, Message, PRESENT, VIDEO};
use crate::relay::Relay;
use crate::sessions::{exchange, open};

/// A relay that asks a server who may do what, and the key that signs tokens for it.
struct Guarded {
    relay: Relay,
    key: Key,
}

impl Guarded {
    fn start(test: &str) -> Self {
        let key = Key::generate(Algorithm::ES256, None).unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/", listener.local_addr().unwrap());
        let relay = Relay::start_guarded(test, &url);
        let file = relay.folder().join("public.jwk");
        key.to_public().unwrap().to_file(&file).unwrap();
        answer(listener, &file);
        Self { relay, key }
    }

    /// The relay's URL with a token for these broadcasts.
    fn url(&self, publish: &[&str], subscribe: &[&str], lasts: Duration) -> String {
        let patterns = |names: &[&str]| names.iter().map(|name| name.parse().unwrap()).collect::<Vec<_>>();
        let claims = Claims::default()
            .with_publish(patterns(publish))
            .with_subscribe(patterns(subscribe))
            .with_expires(SystemTime::now() + lasts);
        format!("{}?jwt={}", self.relay.url("door"), self.key.sign(&claims).unwrap())
    }

    /// That of the camera, and that of a viewer.
    fn urls(&self) -> [String; 2] {
        let hour = Duration::from_secs(3600);
        [
            self.url(&["door"], &["door/viewers/**"], hour),
            self.url(&["door/viewers/**"], &["door"], hour),
        ]
    }

    fn client(&self, role: &str, url: &str) -> Client {
        Client::open(role, url, self.relay.sha256())
    }
}

/// Answers the relay, from another thread for as long as the tests run.
fn answer(listener: TcpListener, key: &Path) {
    let mut policy = Policy::default();
    policy.keys = Some(Keys::File(key.to_owned()));
    let server = Server::new(policy).unwrap();
    listener.set_nonblocking(true).unwrap();
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        runtime.block_on(async {
            let listener = tokio::net::TcpListener::from_std(listener).unwrap();
            server.serve(listener).await.unwrap();
        });
    });
}

#[test]
fn tokens_that_allow_no_more_than_is_needed_carry_pictures_and_sessions() {
    let guarded = Guarded::start("tokens");
    let [camera, viewer] = guarded.urls();
    let mut camera = guarded.client("publish", &camera);
    camera.wait_for(CONNECTED);
    let mut viewer = guarded.client("watch", &viewer);
    viewer.wait_for(PRESENT);
    camera.send_group(VIDEO, 1);
    camera.send_object(VIDEO, b"sealed");
    viewer.expect(&[Message::Group(VIDEO, 1), Message::Object(VIDEO, b"sealed".to_vec())]);
    let at_camera = open(&mut camera, &mut viewer, 1);
    exchange(&mut camera, at_camera, &mut viewer, 1);
}

#[test]
fn a_viewers_token_is_of_no_use_to_who_would_be_the_camera() {
    let guarded = Guarded::start("tokens-viewer");
    let [camera, viewer] = guarded.urls();
    let mut forger = guarded.client("publish", &viewer);
    forger.wait_for(CONNECTED);
    forger.send_group(VIDEO, 1);
    forger.send_object(VIDEO, b"forged");
    let mut watcher = guarded.client("watch", &viewer);
    watcher.wait_for(CONNECTED);
    let mut camera = guarded.client("publish", &camera);
    camera.wait_for(CONNECTED);
    camera.send_group(VIDEO, 1);
    camera.send_object(VIDEO, b"the camera's");
    let (before, _) = watcher.collect_until(PRESENT);
    assert!(
        before.iter().all(|message| matches!(message, Message::State(..))),
        "{before:?}"
    );
    watcher.expect(&[
        Message::Group(VIDEO, 1),
        Message::Object(VIDEO, b"the camera's".to_vec()),
    ]);
}

#[test]
fn who_has_no_token_or_an_old_one_or_anothers_is_refused_in_words_without_the_token() {
    let (guarded, other) = (Guarded::start("tokens-none"), Guarded::start("tokens-other"));
    let old = guarded.url(&["door"], &["door"], Duration::ZERO);
    let foreign = format!("{}?{}", guarded.relay.url("door"), query(&other.urls()[0]));
    for url in [guarded.relay.url("door"), old, foreign] {
        let mut client = guarded.client("publish", &url);
        let words = client.wait_for(DISCONNECTED);
        assert!(words.contains("refuses access"), "{words}");
        let (_, log) = client.end();
        let token = query(&url);
        for said in [words, log] {
            assert!(token.is_empty() || !said.contains(token), "{said}");
        }
    }
}

fn query(url: &str) -> &str {
    url.split_once('?').map_or("", |(_, query)| query)
}
