use super::*;
use crate::rtsp::message::Method;

fn credentials(user: &str, password: &str) -> Credentials {
    Credentials::new(user, password.to_owned())
}

fn unauthorized(challenges: &[&str]) -> Response {
    let mut response = Response::new(401);
    for challenge in challenges {
        response.headers.add("WWW-Authenticate", *challenge);
    }
    response
}

/// The response parameter, or the whole value for Basic.
fn answer(authenticator: &mut Authenticator, method: Method, url: &str) -> String {
    let mut request = Request::new(method, url);
    assert!(authenticator.authorize(&mut request));
    let value = request.headers.get("Authorization").unwrap();
    let digest = challenge::parse(value).remove(0);
    digest.get("response").unwrap_or(value).to_owned()
}

/// The responses that ffmpeg sent to GStreamer's server.
#[test]
fn digest_without_qop_is_that_of_a_recorded_player() {
    let mut authenticator = Authenticator::new(Some(credentials("viewer", "sesame")), [0; 16]);
    let challenge = "Digest realm=\"GStreamer RTSP Server\", nonce=\"6d55735c1afefcdb\"";
    authenticator.challenged(&unauthorized(&[challenge]), false).unwrap();
    let url = "rtsp://127.0.0.1:18601/cam";
    assert_eq!(
        answer(&mut authenticator, Method::Describe, url),
        "3e6ff7b5e2b1d92b3fa549f5e3f65729"
    );
    let url = "rtsp://127.0.0.1:18601/cam/stream=0";
    assert_eq!(
        answer(&mut authenticator, Method::Setup, url),
        "8dfd4315b1500bbfd1f969f00a274991"
    );
}

#[test]
fn the_strongest_challenge_is_answered_wherever_it_stands() {
    let basic = "Basic realm=\"cam, era\"";
    let md5 = "Digest realm=\"c\", nonce=\"n1\", algorithm=MD5, qop=\"auth-int,auth\"";
    let sha = "Digest realm=\"c\",nonce=\"n2\",algorithm=SHA-256,qop=auth,opaque=\"o\"";
    let both = format!("{basic}, {md5}");
    for (challenges, parts) in [
        (vec![basic], vec!["Basic dXNlcjpwYXNz"]),
        (
            vec![sha, md5, basic],
            vec!["algorithm=SHA-256", "opaque=\"o\"", "nc=00000001", "nonce=\"n2\""],
        ),
        (vec![&both], vec!["nonce=\"n1\"", "qop=auth"]),
    ] {
        let mut authenticator = Authenticator::new(Some(credentials("user", "pass")), [0; 16]);
        authenticator.challenged(&unauthorized(&challenges), false).unwrap();
        let mut request = Request::new(Method::Describe, "rtsp://camera/");
        assert!(authenticator.authorize(&mut request));
        let value = request.headers.get("Authorization").unwrap();
        for part in parts {
            assert!(value.contains(part), "{part} in {value}");
        }
    }
}

#[test]
fn a_wrong_password_is_told_from_a_nonce_that_ran_out() {
    let mut authenticator = Authenticator::new(Some(credentials("user", "pass")), [0; 16]);
    let challenge = |nonce: &str| unauthorized(&[&format!("Digest realm=\"c\", nonce=\"{nonce}\"")]);
    assert_eq!(authenticator.challenged(&challenge("1"), false), Ok(()));
    assert_eq!(authenticator.challenged(&challenge("2"), true), Ok(()));
    assert_eq!(authenticator.challenged(&challenge("2"), true), Err(AuthError::Refused));
}

#[test]
fn what_cannot_be_answered_is_said() {
    let mut nobody = Authenticator::new(None, [0; 16]);
    assert_eq!(
        nobody.challenged(&unauthorized(&["Basic"]), false),
        Err(AuthError::NoCredentials)
    );
    for challenge in [
        "",
        "Bearer",
        "Digest realm=\"c\"",
        "Digest realm=c, nonce=n, algorithm=SHA-512",
        "\"",
        "=,=",
    ] {
        let mut authenticator = Authenticator::new(Some(credentials("user", "pass")), [0; 16]);
        let refused = authenticator.challenged(&unauthorized(&[challenge]), false);
        assert_eq!(refused, Err(AuthError::UnknownScheme), "{challenge}");
    }
}

#[test]
fn a_verifier_admits_who_knows_the_password_and_nobody_twice() {
    for algorithm in [DigestAlgorithm::Md5, DigestAlgorithm::Sha256] {
        let mut verifier = Verifier::new(credentials("viewer", "se\"same"), algorithm, [7; 16]);
        let url = "rtsp://127.0.0.1/cam";
        let ask = |password: &str| {
            let mut player = Authenticator::new(Some(credentials("viewer", password)), [1; 16]);
            let challenge = Verifier::new(credentials("viewer", ""), algorithm, [7; 16]).challenge();
            player.challenged(&unauthorized(&[&challenge]), false).unwrap();
            let mut request = Request::new(Method::Describe, url);
            player.authorize(&mut request);
            request
        };
        assert!(!verifier.admits(&Request::new(Method::Describe, url)));
        assert!(!verifier.admits(&ask("other")));
        let request = ask("se\"same");
        let mut elsewhere = request.clone();
        elsewhere.url = "rtsp://127.0.0.1/other".into();
        assert!(!verifier.admits(&elsewhere));
        assert!(verifier.admits(&request));
        assert!(!verifier.admits(&request), "the same again");
    }
}

#[test]
fn a_player_of_the_old_kind_is_admitted() {
    let mut verifier = Verifier::new(credentials("viewer", "sesame"), DigestAlgorithm::Md5, [7; 16]);
    let mut player = Authenticator::new(Some(credentials("viewer", "sesame")), [1; 16]);
    let challenge = verifier.challenge().replace(", qop=\"auth\"", "");
    player.challenged(&unauthorized(&[&challenge]), false).unwrap();
    for method in [Method::Describe, Method::Setup] {
        let mut request = Request::new(method, "rtsp://127.0.0.1/cam");
        player.authorize(&mut request);
        assert!(verifier.admits(&request));
    }
}
