//! Ways to log in at cameras, and what cameras make of them.

use super::camera::{Call, Came, Camera, watch};
use super::redirects::refer;
use super::{plays, status};
use crate::rtsp::auth::AuthError;
use crate::rtsp::challenge;
use crate::rtsp::client::CameraError;
use crate::rtsp::credentials::Credentials;
use crate::rtsp::digest::{Algorithm, Proof, Protection};
use crate::rtsp::message::{Method, Request, Response};

/// True if a request proves the password `pw` of `admin` for the realm `cam, era`, as a camera judges by the
/// parameters that are given back.
fn proves(request: &Request, nonce: &str) -> bool {
    let answers = request
        .headers
        .get("Authorization")
        .map(challenge::parse)
        .unwrap_or_default();
    let Some(answer) = answers.first().filter(|answer| answer.is("Digest")) else {
        return false;
    };
    let get = |name: &str| answer.get(name).unwrap_or_default();
    let qop = Protection::parse(answer.get("qop")).unwrap();
    let proof = Proof {
        algorithm: Algorithm::named(answer.get("algorithm")).unwrap(),
        realm: "cam, era",
        nonce,
        method: request.method.name(),
        url: &request.url,
        body: &request.body,
        cnonce: get("cnonce"),
        counted: qop.map(|qop| (get("nc"), qop)),
    };
    let expected = proof.response(&Credentials::new("admin", "pw".to_owned()));
    get("response") == expected.as_str() && get("nonce") == nonce && get("uri") == request.url
}

fn refused(asked: &Request, challenges: &[String]) -> Vec<u8> {
    let mut response = status(asked, 401);
    for challenge in challenges {
        response.headers.add("WWW-Authenticate", challenge.clone());
    }
    response.to_bytes()
}

/// Watches a camera that offers these ways, and lets in whom `admits` admits.
fn offered(challenges: &[&str], admits: fn(&Request) -> bool) -> Came {
    let challenges: Vec<String> = challenges.iter().map(|challenge| (*challenge).to_owned()).collect();
    let camera = Camera::new(move |_: &mut Camera, asked: &Request, right: Response| {
        if admits(asked) {
            right.to_bytes()
        } else {
            refused(asked, &challenges)
        }
    });
    watch(camera, Call::default())
}

#[test]
fn each_algorithm_is_answered_with_each_quality() {
    for algorithm in [
        "",
        "MD5",
        "MD5-sess",
        "SHA-256",
        "sha-256-SESS",
        "SHA-512-256",
        "SHA-512-256-sess",
    ] {
        for qop in ["", "auth", "auth-int", "auth,auth-int", "auth-int, auth"] {
            let mut challenge =
                "Digest realm=\"cam, era\", nonce=\"n,0\", opaque=\"o=\\\"1\\\"\", charset=UTF-8".to_owned();
            if !algorithm.is_empty() {
                challenge += &format!(", algorithm={algorithm}");
            }
            if !qop.is_empty() {
                challenge += &format!(", qop=\"{qop}\"");
            }
            let came = offered(&[&challenge], |request| proves(request, "n,0"));
            println!("{challenge}");
            plays(&came);
            let first = came.asked(Method::Describe).next().unwrap();
            let answer = first.headers.get("Authorization").unwrap();
            assert_eq!(answer.contains("algorithm="), !algorithm.is_empty(), "{answer}");
            assert!(answer.contains("opaque=\"o=\\\"1\\\"\""), "{answer}");
            assert_eq!(came.asked(Method::Options).count(), 2, "it is asked for once");
        }
    }
}

/// Name, challenges, whom the camera lets in, and the ways that are tried.
type WaysRow<'a> = (&'a str, &'a [&'a str], fn(&Request) -> bool, &'a [&'a str]);

const MD5: &str = "Digest realm=\"cam, era\", nonce=\"n\", algorithm=\"MD5\"";
const SHA: &str = "Digest realm=\"cam, era\", nonce=\"n\", algorithm=\"SHA-256\", qop=\"auth\"";
const BASIC: &str = "Basic realm=\"cam, era\"";

fn is_basic(request: &Request) -> bool {
    request.headers.get("Authorization") == Some("Basic YWRtaW46cHc=")
}

#[test]
fn the_strongest_way_is_tried_first_and_then_the_next() {
    let says = |request: &Request, word: &str| {
        request
            .headers
            .get("Authorization")
            .is_some_and(|said| said.contains(word))
    };
    let ways = |came: &Came| -> Vec<&'static str> {
        let first = came.asked.iter().filter(|request| request.method == Method::Options);
        let way = |request| {
            let known = [("SHA-256", "SHA"), ("MD5", "MD5"), ("Basic", "Basic")];
            known
                .into_iter()
                .find(|(word, _)| says(request, word))
                .map_or("", |(_, way)| way)
        };
        first.map(way).collect()
    };
    let all_in_one = format!("{BASIC}, {MD5}, {SHA}");
    let unknown = "Digest realm=\"cam, era\", nonce=\"n\", algorithm=SHA3-512";
    let token = "Digest realm=\"cam, era\", nonce=\"n\", qop=\"token\"";
    let md5_works: fn(&Request) -> bool = |request| {
        proves(request, "n")
            && !request
                .headers
                .get("Authorization")
                .is_some_and(|said| said.contains("SHA"))
    };
    let any_works: fn(&Request) -> bool = |request| proves(request, "n");
    let rows: [WaysRow<'_>; 6] = [
        ("the strongest", &[BASIC, MD5, SHA], any_works, &["", "SHA"]),
        ("all in one header", &[&all_in_one], any_works, &["", "SHA"]),
        ("the next", &[SHA, MD5], md5_works, &["", "SHA", "MD5"]),
        ("the last", &[MD5, BASIC, SHA], is_basic, &["", "SHA", "MD5", "Basic"]),
        (
            "unknown ones are skipped",
            &["Bearer", unknown, token, MD5],
            any_works,
            &["", "MD5"],
        ),
        ("Basic alone", &[BASIC], is_basic, &["", "Basic"]),
    ];
    for (name, challenges, admits, expected) in rows {
        println!("{name}");
        let came = offered(challenges, admits);
        plays(&came);
        assert_eq!(ways(&came), expected, "{name}");
        assert!(came.asked(Method::Setup).all(admits), "what works is kept");
    }
    let came = offered(&[MD5, BASIC, SHA], |_| false);
    assert_eq!(came.error, Some(CameraError::Auth(AuthError::Refused)));
    assert_eq!(
        ways(&came),
        ["", "SHA", "MD5", "Basic"],
        "each once: cameras lock accounts"
    );
    let came = offered(&["Bearer"], |_| false);
    assert_eq!(came.error, Some(CameraError::Auth(AuthError::UnknownScheme)));
}

#[test]
fn a_nonce_is_renewed_as_often_as_a_camera_likes() {
    for (name, more, others) in [
        ("says so", ", stale=true", ""),
        ("does not say so", "", ""),
        (
            "and offers what it cannot do",
            "",
            ", Digest realm=\"cam, era\", nonce=\"x\", algorithm=SHA-256",
        ),
    ] {
        let camera = Camera::new(move |camera: &mut Camera, asked: &Request, right: Response| {
            let nonce = format!("n{}", camera.count);
            if proves(asked, &nonce) {
                camera.count += 1;
                return right.to_bytes();
            }
            let challenge = format!("Digest realm=\"cam, era\", nonce=\"{nonce}\"{more}{others}");
            refused(asked, &[challenge])
        });
        println!("{name}");
        let came = watch(camera, Call::default());
        plays(&came);
        assert_eq!(
            came.asked(Method::Play).count(),
            2,
            "with the old one and with the new one"
        );
    }
}

#[test]
fn after_a_redirect_no_password_is_sent_in_clear() {
    for (challenge, error) in [(BASIC, Some(CameraError::Auth(AuthError::Clear))), (MD5, None)] {
        let camera = Camera::new(move |_: &mut Camera, asked: &Request, right: Response| {
            if proves(asked, "n") || is_basic(asked) {
                return right.to_bytes();
            }
            if asked.url.contains("/there") {
                return refused(asked, &[challenge.to_owned()]);
            }
            refer(asked, &right, 302, "/there")
        });
        let came = watch(camera, Call::default());
        assert_eq!(came.error, error);
        assert!(!came.asked.iter().any(is_basic));
    }
}
