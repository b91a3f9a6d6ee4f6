//! Certificates of the web listener: an authority's from files, or ones that are made here, for the page and for
//! WebTransport.
//!
//! The page's own lasts for a year: people click a warning away for it, and shall not learn to do so. A browser opens
//! WebTransport without an authority only to a certificate whose hash it was told, which is valid for less than 14 days
//! and has a key of P-256 (W3C WebTransport, `serverCertificateHashes`). So certificates for that are made for periods
//! that are fixed, one ahead, and kept in files: the hashes in a ticket stay right across restarts, until the end of
//! the next period.

use std::fmt;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use aws_lc_rs::digest::{SHA256, digest};
use rcgen::{CertificateParams, DistinguishedName, DnType, KeyPair, PKCS_ECDSA_P256_SHA256, date_time_ymd};
use rustls::client::verify_server_name;
use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::server::{ClientHello, ParsedCertificate, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use sealcast_proto::wire::CertHash;
use tempfile::Builder;
use zeroize::Zeroizing;

use crate::failure::{Failure, FailureKind, Result};
use crate::private_file::{create_folder, read_secret};

const DAY: u64 = 24 * 60 * 60;
/// Length of a period, seconds since 1970: a new certificate is used for WebTransport in each.
const PERIOD: u64 = 10 * DAY;
/// Length of the period of a page's certificate, which begins on the day on which it is made.
const YEAR: u64 = 365 * DAY;
/// Time before and after its period for which a certificate is valid, for clocks that are wrong: 13 days in all for
/// WebTransport.
const EARLY: u64 = DAY;
const LATE: u64 = 2 * DAY;
/// Interval between looks at the files of a given certificate.
const LOOK_INTERVAL: Duration = Duration::from_secs(60);

/// Origin of certificates.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Origin {
    /// An authority's: the chain, and its key, both in PEM.
    Given {
        /// The certificate, and those between it and the authority.
        chain: PathBuf,
        /// The private key, which only its owner may read.
        key: PathBuf,
    },
    /// Made here, and kept in this folder.
    Made {
        /// The folder, which is created if it is missing.
        folder: PathBuf,
        /// Names and addresses by which browsers reach this machine.
        names: Vec<String>,
    },
}

/// A certificate that is made here: its file, and the period in which it is presented.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Term {
    kind: &'static str,
    /// Number of the period's first unit since 1970, in the file's name.
    number: u64,
    /// Length of a unit, and of the period, in seconds.
    unit: u64,
    length: u64,
}

impl Term {
    /// One for WebTransport.
    const fn short(number: u64) -> Self {
        Self {
            kind: "certificate",
            number,
            unit: PERIOD,
            length: PERIOD,
        }
    }

    /// One for the page, which begins on this day since 1970.
    const fn page(number: u64) -> Self {
        Self {
            kind: "page",
            number,
            unit: DAY,
            length: YEAR,
        }
    }

    /// The page's that is in the folder and in force, or one that begins today.
    fn of_page(folder: &Path, now: SystemTime) -> Self {
        let kept = numbers(folder, "page").map(Self::page).filter(|term| term.holds(now));
        kept.max_by_key(|term| term.number)
            .unwrap_or_else(|| Self::page(seconds(now) / DAY))
    }

    const fn begin(self) -> u64 {
        self.number * self.unit
    }

    fn holds(self, now: SystemTime) -> bool {
        (self.begin()..self.begin() + self.length).contains(&seconds(now))
    }

    fn file(self, folder: &Path) -> PathBuf {
        folder.join(format!("{}-{}.pem", self.kind, self.number))
    }
}

/// The numbers of the certificates of a kind that are in the folder.
fn numbers(folder: &Path, kind: &'static str) -> impl Iterator<Item = u64> {
    let names = fs::read_dir(folder).into_iter().flatten().flatten();
    names.filter_map(move |entry| {
        let name = entry.file_name();
        let number = name.to_str()?.strip_prefix(kind)?.strip_prefix('-')?;
        number.strip_suffix(".pem")?.parse().ok()
    })
}

/// The certificates of a listener. Which one is presented depends on the time, and on what is opened.
pub(super) struct Certificates {
    origin: Origin,
    provider: Arc<CryptoProvider>,
    present: Mutex<Present>,
}

struct Present {
    /// For WebTransport; that of an authority is for the page too.
    key: Arc<CertifiedKey>,
    /// The period of a certificate that was made.
    period: u64,
    /// For the page, where it was made, and its term.
    page: Option<(Arc<CertifiedKey>, Term)>,
    /// When the files of a given certificate were looked at, and when they had changed last.
    looked: SystemTime,
    changed: Option<SystemTime>,
}

impl fmt::Debug for Certificates {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Certificates").finish_non_exhaustive()
    }
}

impl ResolvesServerCert for Certificates {
    fn resolve(&self, hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        let mut protocols = hello.alpn().into_iter().flatten();
        let now = SystemTime::now();
        Some(
            match protocols.any(|name| name == web_transport_quinn::ALPN.as_bytes()) {
                true => self.at(now),
                false => self.page_at(now),
            },
        )
    }
}

impl Certificates {
    /// Reads the given certificate, or reads or makes that of the present period.
    ///
    /// # Errors
    /// Kind `Keys`: a file cannot be read or written, or is no certificate or not its key.
    pub(super) fn open(origin: Origin, provider: Arc<CryptoProvider>, now: SystemTime) -> Result<Arc<Self>> {
        let period = period_at(now);
        let (key, page) = match &origin {
            Origin::Given { chain, key } => (given(&provider, chain, key)?, None),
            Origin::Made { folder, names } => {
                let key = made(&provider, folder, names, Term::short(period))?;
                (key, Some(page(&provider, folder, names, now)?))
            }
        };
        let changed = origin.changed();
        let present = Mutex::new(Present {
            key: Arc::new(key),
            period,
            page,
            looked: now,
            changed,
        });
        Ok(Arc::new(Self {
            origin,
            provider,
            present,
        }))
    }

    /// The hashes for a ticket that is handed out at `now`: of this period's certificate and the next one's. None where
    /// an authority vouches for the certificate: a browser takes either hashes or an authority.
    ///
    /// # Errors
    /// The next period's certificate cannot be made.
    pub(super) fn hashes(&self, now: SystemTime) -> Result<Vec<CertHash>> {
        let Origin::Made { folder, names } = &self.origin else {
            return Ok(Vec::new());
        };
        let period = period_at(now);
        let hash = |period| {
            let key = made(&self.provider, folder, names, Term::short(period))?;
            Ok(hash_of(&key))
        };
        [period, period + 1].into_iter().map(hash).collect()
    }

    /// True if the present certificate is for this name.
    pub(super) fn vouch_for(&self, name: &str) -> bool {
        covers(&self.page_at(SystemTime::now()), name)
    }

    /// The certificate to present to who opens the page.
    fn page_at(&self, now: SystemTime) -> Arc<CertifiedKey> {
        let mut present = self.present.lock().unwrap_or_else(PoisonError::into_inner);
        let (Origin::Made { folder, names }, Some((key, term))) = (&self.origin, &mut present.page) else {
            drop(present);
            return self.at(now);
        };
        if !term.holds(now) {
            match page(&self.provider, folder, names, now) {
                Ok(new) => (*key, *term) = new,
                Err(failure) => tracing::error!("the page keeps its old certificate: {failure}"),
            }
        }
        Arc::clone(key)
    }

    /// The certificate to present to who opens WebTransport. Where a new one cannot be had, the old one goes on, and
    /// browsers say what is wrong.
    fn at(&self, now: SystemTime) -> Arc<CertifiedKey> {
        let mut present = self.present.lock().unwrap_or_else(PoisonError::into_inner);
        match &self.origin {
            Origin::Made { folder, names } => {
                let period = period_at(now);
                if period != present.period {
                    present.period = period;
                    replace(
                        &mut present.key,
                        made(&self.provider, folder, names, Term::short(period)),
                    );
                }
            }
            Origin::Given { chain, key } => {
                let waited = now.duration_since(present.looked);
                if waited.map_or(true, |waited| waited > LOOK_INTERVAL) {
                    present.looked = now;
                    let changed = self.origin.changed();
                    if changed != present.changed {
                        present.changed = changed;
                        replace(&mut present.key, given(&self.provider, chain, key));
                    }
                }
            }
        }
        Arc::clone(&present.key)
    }
}

fn replace(key: &mut Arc<CertifiedKey>, new: Result<CertifiedKey>) {
    match new {
        Ok(new) => {
            tracing::info!("the page has a new certificate");
            *key = Arc::new(new);
        }
        Err(failure) => tracing::error!("the page keeps its old certificate: {failure}"),
    }
}

impl Origin {
    /// When the files of a given certificate were changed last.
    fn changed(&self) -> Option<SystemTime> {
        let Self::Given { chain, key } = self else {
            return None;
        };
        let changed = |path: &Path| fs::metadata(path).and_then(|found| found.modified()).ok();
        changed(chain).max(changed(key))
    }
}

fn seconds(now: SystemTime) -> u64 {
    now.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}

fn period_at(now: SystemTime) -> u64 {
    seconds(now) / PERIOD
}

/// True if the certificate is for this name.
fn covers(key: &CertifiedKey, name: &str) -> bool {
    let certificate = key.cert.first().and_then(|own| ParsedCertificate::try_from(own).ok());
    let name = ServerName::try_from(name.to_owned()).ok();
    certificate
        .zip(name)
        .is_some_and(|(certificate, name)| verify_server_name(&certificate, &name).is_ok())
}

fn hash_of(key: &CertifiedKey) -> CertHash {
    let mut bytes = [0; 32];
    // There is always one: both ways to make a `CertifiedKey` here check its first certificate.
    bytes.copy_from_slice(digest(&SHA256, key.cert.first().map_or(&[], |first| first.as_ref())).as_ref());
    CertHash::new(bytes)
}

fn unusable(path: &Path, why: impl fmt::Display, hint: &str) -> Failure {
    let what = format!("{} cannot be used for the page ({why})", path.display());
    Failure::new(FailureKind::Keys, what, hint)
}

/// An authority's certificate and its key.
fn given(provider: &CryptoProvider, chain: &Path, key: &Path) -> Result<CertifiedKey> {
    let form = "name the certificate with those between it and the authority, in PEM";
    let certificates = CertificateDer::pem_file_iter(chain).and_then(Iterator::collect);
    let certificates: Vec<_> = certificates.map_err(|error| unusable(chain, error, form))?;
    if certificates.is_empty() {
        return Err(unusable(chain, "it has no certificate", form));
    }
    let text = read_secret(key)?;
    let form = "name the certificate's private key, in PEM and without a password";
    let secret = PrivateKeyDer::from_pem_slice(text.as_bytes()).map_err(|error| unusable(key, error, form))?;
    CertifiedKey::from_der(certificates, secret, provider)
        .map_err(|error| unusable(key, error, "name the key that belongs to the certificate"))
}

/// The page's certificate: as kept in the folder, or a new one where none is in force or a name is new.
fn page(
    provider: &CryptoProvider,
    folder: &Path,
    names: &[String],
    now: SystemTime,
) -> Result<(Arc<CertifiedKey>, Term)> {
    let term = Term::of_page(folder, now);
    let key = made(provider, folder, names, term)?;
    if names.iter().all(|name| covers(&key, name)) {
        return Ok((Arc::new(key), term));
    }
    let path = term.file(folder);
    fs::remove_file(&path).map_err(|error| unusable(&path, error, "remove it: it lacks a name of this machine"))?;
    let term = Term::of_page(folder, now);
    Ok((Arc::new(made(provider, folder, names, term)?), term))
}

/// The certificate of a period: as kept in the folder, or a new one.
fn made(provider: &CryptoProvider, folder: &Path, names: &[String], term: Term) -> Result<CertifiedKey> {
    let path = term.file(folder);
    if path.exists() {
        return kept(provider, &path);
    }
    let text = make(names, term).map_err(|error| {
        let what = format!("no certificate can be made for the page ({error})");
        Failure::new(FailureKind::Internal, what, "please report this")
    })?;
    let hint = "choose a place you may write to with SEALCAST_HOME";
    create_folder(folder).map_err(|error| unusable(folder, error, hint))?;
    // Two programs may make it at once: one wins, and both use what is there.
    let written = Builder::new()
        .prefix(".sealcast")
        .tempfile_in(folder)
        .and_then(|mut file| {
            file.write_all(text.as_bytes())?;
            file.as_file().sync_all()?;
            match file.persist_noclobber(&path) {
                Err(refused) if refused.error.kind() != io::ErrorKind::AlreadyExists => Err(refused.error),
                _ => Ok(()),
            }
        });
    written.map_err(|error| unusable(&path, error, hint))?;
    forget_before(folder, term);
    kept(provider, &path)
}

/// Reads a certificate that was made here: the key, then the certificate.
fn kept(provider: &CryptoProvider, path: &Path) -> Result<CertifiedKey> {
    let hint = "remove the file: a new certificate is made, and tickets for pages must be made anew";
    let text = read_secret(path)?;
    let key = PrivateKeyDer::from_pem_slice(text.as_bytes()).map_err(|error| unusable(path, error, hint))?;
    let certificate = CertificateDer::from_pem_slice(text.as_bytes()).map_err(|error| unusable(path, error, hint))?;
    CertifiedKey::from_der(vec![certificate], key, provider).map_err(|error| unusable(path, error, hint))
}

fn make(names: &[String], term: Term) -> std::result::Result<Zeroizing<String>, rcgen::Error> {
    let key = KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256)?;
    let mut params = CertificateParams::new(names)?;
    params.distinguished_name = DistinguishedName::new();
    params.distinguished_name.push(DnType::CommonName, "sealcast");
    let begin = term.begin();
    let since_1970 = |seconds| date_time_ymd(1970, 1, 1) + Duration::from_secs(seconds);
    params.not_before = since_1970(begin.saturating_sub(EARLY));
    params.not_after = since_1970(begin + term.length + LATE);
    let certificate = params.self_signed(&key)?;
    let secret = Zeroizing::new(key.serialize_pem());
    Ok(Zeroizing::new(format!("{}{}", *secret, certificate.pem())))
}

/// Removes certificates whose period has ended. What cannot be removed stays: it does no harm.
fn forget_before(folder: &Path, term: Term) {
    for number in numbers(folder, term.kind) {
        let old = Term { number, ..term };
        // The period before this one is kept: its certificate is valid for two more days.
        if old.begin() + 2 * term.length <= term.begin() {
            let _ = fs::remove_file(old.file(folder));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use rustls::crypto::aws_lc_rs::default_provider;

    use super::*;

    const NOW: u64 = 2_000 * PERIOD + 5;

    fn at(seconds: u64) -> SystemTime {
        UNIX_EPOCH + Duration::from_secs(seconds)
    }

    fn open(folder: &Path, seconds: u64) -> Arc<Certificates> {
        let origin = Origin::Made {
            folder: folder.to_owned(),
            names: vec!["localhost".into(), "127.0.0.1".into()],
        };
        Certificates::open(origin, Arc::new(default_provider()), at(seconds)).expect("made")
    }

    #[test]
    fn a_ticket_s_hashes_hold_across_restarts_and_periods() {
        let home = tempfile::tempdir().expect("a temporary directory");
        let folder = home.path().join("web");
        let hashes = open(&folder, NOW).hashes(at(NOW)).expect("made");
        assert_eq!(hashes.len(), 2);
        let again = open(&folder, NOW + DAY);
        assert_eq!(again.hashes(at(NOW + DAY)).expect("kept"), hashes);
        for (seconds, known) in [(NOW, 0), (NOW + PERIOD - DAY, 0), (NOW + PERIOD, 1)] {
            assert!(hash_of(&again.at(at(seconds))) == hashes[known], "{seconds}");
        }
        let later = hash_of(&again.at(at(NOW + 2 * PERIOD)));
        assert!(!hashes.contains(&later));
        let first = folder.join("certificate-2000.pem");
        assert!(!first.exists(), "what is out of date is removed");
    }

    #[test]
    fn a_made_certificate_is_one_that_browsers_accept_by_its_hash() {
        let home = tempfile::tempdir().expect("a temporary directory");
        open(home.path(), NOW);
        let path = home.path().join("certificate-2000.pem");
        assert_eq!(fs::metadata(&path).expect("exists").permissions().mode() & 0o777, 0o600);
        let words = ["x509", "-noout", "-text", "-in", path.to_str().expect("UTF-8")];
        let shown = std::process::Command::new("openssl")
            .args(words)
            .output()
            .expect("openssl runs");
        let shown = String::from_utf8_lossy(&shown.stdout).into_owned();
        for part in [
            "Version: 3",
            "ecdsa-with-SHA256",
            "prime256v1",
            "DNS:localhost, IP Address:127.0.0.1",
            "Not Before: Oct  3 00:00:00 2024",
            "Not After : Oct 16 00:00:00 2024",
        ] {
            assert!(shown.contains(part), "{part}: {shown}");
        }
    }

    #[test]
    fn the_page_s_own_certificate_lasts_a_year_and_names_that_are_new_have_another() {
        let home = tempfile::tempdir().expect("a temporary directory");
        let opened = open(home.path(), NOW);
        let first = hash_of(&opened.page_at(at(NOW)));
        assert!(hash_of(&opened.at(at(NOW))) != first, "WebTransport has its own");
        for seconds in [NOW + 11 * DAY, NOW + 364 * DAY] {
            assert!(hash_of(&opened.page_at(at(seconds))) == first, "{seconds}");
            assert!(
                hash_of(&open(home.path(), seconds).page_at(at(seconds))) == first,
                "{seconds}, after a restart"
            );
        }
        assert!(hash_of(&opened.page_at(at(NOW + 366 * DAY))) != first, "a year later");

        let other = tempfile::tempdir().expect("a temporary directory");
        let before = hash_of(&open(other.path(), NOW).page_at(at(NOW)));
        let origin = Origin::Made {
            folder: other.path().to_owned(),
            names: vec!["localhost".into(), "camera.example".into()],
        };
        let named = Certificates::open(origin, Arc::new(default_provider()), at(NOW + DAY)).expect("made");
        let key = named.page_at(at(NOW + DAY));
        assert!(hash_of(&key) != before && covers(&key, "camera.example"));
    }

    #[test]
    fn a_given_certificate_is_read_again_when_it_was_renewed() {
        let home = tempfile::tempdir().expect("a temporary directory");
        let (chain, key) = (home.path().join("chain.pem"), home.path().join("key.pem"));
        let give = |period| {
            let text = make(&["camera.example".to_owned()], Term::short(period)).expect("made");
            for path in [&chain, &key] {
                let _ = fs::remove_file(path);
                fs::write(path, text.as_bytes()).expect("written");
                fs::set_permissions(path, fs::Permissions::from_mode(0o600)).expect("our own");
            }
        };
        give(1);
        let origin = Origin::Given {
            chain: chain.clone(),
            key: key.clone(),
        };
        let opened = Certificates::open(origin.clone(), Arc::new(default_provider()), at(NOW)).expect("read");
        assert!(opened.hashes(at(NOW)).expect("nothing to make").is_empty());
        let first = hash_of(&opened.at(at(NOW)));
        give(2);
        let file = fs::File::options().write(true).open(&chain).expect("our own");
        file.set_modified(at(NOW + 10)).expect("set");
        assert!(hash_of(&opened.at(at(NOW + 30))) == first, "not looked at yet");
        assert!(hash_of(&opened.at(at(NOW + 90))) != first);

        fs::write(&key, "-----BEGIN NONSENSE-----\n").expect("written");
        let file = fs::File::options().write(true).open(&key).expect("our own");
        file.set_modified(at(NOW + 200)).expect("set");
        let before = hash_of(&opened.at(at(NOW + 91)));
        assert!(hash_of(&opened.at(at(NOW + 900))) == before, "the old one goes on");
        let failure = Certificates::open(origin, Arc::new(default_provider()), at(NOW)).expect_err("refused");
        assert!(failure.to_string().contains("key.pem"), "{failure}");
    }
}
