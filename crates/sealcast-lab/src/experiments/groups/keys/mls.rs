//! The operations under MLS (RFC 9420): OpenMLS with X-Wing, which is X25519 and ML-KEM-768 together.

use std::fmt::Debug;

use aws_lc_rs::signature::{Ed25519KeyPair, KeyPair as _};
use openmls::prelude::tls_codec::{Deserialize as _, Serialize as _};
use openmls::prelude::{
    BasicCredential, Ciphersuite, CredentialWithKey, KeyPackage, LeafNodeIndex, LeafNodeParameters, MlsGroup,
    MlsGroupCreateConfig, MlsMessageBodyIn, MlsMessageIn, MlsMessageOut, PURE_PLAINTEXT_WIRE_FORMAT_POLICY,
    ProcessedMessageContent, StagedWelcome,
};
use openmls_libcrux_crypto::Provider;
use openmls_traits::signatures::{Signer, SignerError};
use openmls_traits::types::SignatureScheme;

use super::cost::{Cost, Operations, mean, timed};

const SUITE: Ciphersuite = Ciphersuite::MLS_256_XWING_CHACHA20POLY1305_SHA256_Ed25519;
/// Number of viewers whose side is computed: each holds the whole tree, so not all of them fit.
const SAMPLED: usize = 2;

/// Result whose error says in words what went wrong.
type Result<T> = std::result::Result<T, String>;

/// A key for signatures: Ed25519 of the library that also signs our sheets.
struct Key(Ed25519KeyPair);

impl Signer for Key {
    fn sign(&self, payload: &[u8]) -> std::result::Result<Vec<u8>, SignerError> {
        Ok(self.0.sign(payload).as_ref().to_vec())
    }

    fn signature_scheme(&self) -> SignatureScheme {
        SUITE.signature_algorithm()
    }
}

/// Somebody with keys of their own.
struct Person {
    provider: Provider,
    signer: Key,
    credential: CredentialWithKey,
}

impl Person {
    fn new(number: usize) -> Result<Self> {
        let signer = Key(Ed25519KeyPair::generate().map_err(words)?);
        let credential = BasicCredential::new(number.to_be_bytes().to_vec());
        Ok(Self {
            provider: Provider::new().map_err(words)?,
            credential: CredentialWithKey {
                credential: credential.into(),
                signature_key: signer.0.public_key().as_ref().to_vec().into(),
            },
            signer,
        })
    }

    fn key_package(&self) -> Result<KeyPackage> {
        let made = KeyPackage::builder().build(SUITE, &self.provider, &self.signer, self.credential.clone());
        Ok(made.map_err(words)?.key_package().clone())
    }

    /// Joins the group of a welcome as it is on the wire.
    fn join(&self, welcome: &[u8]) -> Result<MlsGroup> {
        let MlsMessageBodyIn::Welcome(welcome) = parse(welcome)?.extract() else {
            return Err("the welcome is none".to_owned());
        };
        let staged = StagedWelcome::new_from_welcome(&self.provider, config().join_config(), welcome, None);
        staged.map_err(words)?.into_group(&self.provider).map_err(words)
    }

    /// Takes a commit as it is on the wire.
    fn take(&self, group: &mut MlsGroup, commit: &[u8]) -> Result<()> {
        let message = parse(commit)?.try_into_protocol_message().map_err(words)?;
        let processed = group.process_message(&self.provider, message).map_err(words)?;
        let ProcessedMessageContent::StagedCommitMessage(staged) = processed.into_content() else {
            return Err("the commit is none".to_owned());
        };
        group.merge_staged_commit(&self.provider, *staged).map_err(words)
    }
}

/// The camera's group: it makes all commits.
struct Camera {
    person: Person,
    group: MlsGroup,
}

impl Camera {
    fn new() -> Result<Self> {
        let person = Person::new(0)?;
        let group = MlsGroup::new(&person.provider, &person.signer, &config(), person.credential.clone());
        let group = group.map_err(words)?;
        Ok(Self { person, group })
    }

    /// Returns the commit and the welcome, as they are on the wire.
    fn add(&mut self, packages: &[KeyPackage]) -> Result<(Vec<u8>, Vec<u8>)> {
        let Person { provider, signer, .. } = &self.person;
        let (commit, welcome, _) = self.group.add_members(provider, signer, packages).map_err(words)?;
        self.group.merge_pending_commit(provider).map_err(words)?;
        Ok((bytes(&commit)?, bytes(&welcome)?))
    }

    fn remove(&mut self, leaf: LeafNodeIndex) -> Result<Vec<u8>> {
        let Person { provider, signer, .. } = &self.person;
        let (commit, ..) = self.group.remove_members(provider, signer, &[leaf]).map_err(words)?;
        self.group.merge_pending_commit(provider).map_err(words)?;
        bytes(&commit)
    }

    fn rekey(&mut self) -> Result<Vec<u8>> {
        let Person { provider, signer, .. } = &self.person;
        let made = self.group.self_update(provider, signer, LeafNodeParameters::default());
        let commit = made.map_err(words)?.into_commit();
        self.group.merge_pending_commit(provider).map_err(words)?;
        bytes(&commit)
    }
}

/// All operations in a group of `viewers`.
pub(super) fn operations(viewers: usize) -> Result<Operations> {
    let people = (1..=viewers).map(Person::new).collect::<Result<Vec<_>>>()?;
    let (packages, packing) = timed(|| people.iter().map(Person::key_package).collect::<Result<Vec<_>>>());
    let packages = packages?;
    let mut camera = Camera::new()?;
    let (added, time) = timed(|| camera.add(&packages));
    let (_, welcome) = added?;
    let (mut members, mut joining) = (Vec::new(), Vec::new());
    for person in people.iter().take(SAMPLED) {
        let (joined, time) = timed(|| person.join(&welcome));
        members.push((person, joined?));
        joining.push(time);
    }
    let packed = u32::try_from(viewers).map_or(packing, |viewers| packing / viewers);
    let create = Cost {
        camera: time,
        member: None,
        joiner: mean(&joining).map(|time| time + packed),
        sent: welcome.len(),
        received: packages.iter().map(length).sum::<Result<usize>>()?,
    };
    let add = add(&mut camera, &mut members, viewers + 1)?;
    let last = LeafNodeIndex::new(u32::try_from(viewers).map_err(words)?);
    let (commit, time) = timed(|| camera.remove(last));
    let remove = committed(&mut members, &commit?, time)?;
    let (commit, time) = timed(|| camera.rekey());
    let rekey = committed(&mut members, &commit?, time)?;
    Ok(Operations {
        create,
        add,
        remove,
        rekey,
    })
}

/// One more joins: a commit for who is there, and a welcome for who comes.
fn add(camera: &mut Camera, members: &mut [(&Person, MlsGroup)], number: usize) -> Result<Cost> {
    let person = Person::new(number)?;
    let (package, packing) = timed(|| person.key_package());
    let package = package?;
    let (added, time) = timed(|| camera.add(std::slice::from_ref(&package)));
    let (commit, welcome) = added?;
    let (joined, joining) = timed(|| person.join(&welcome));
    joined?;
    let cost = committed(members, &commit, time)?;
    Ok(Cost {
        joiner: Some(joining + packing),
        sent: cost.sent + welcome.len(),
        received: length(&package)?,
        ..cost
    })
}

/// Cost of a commit that the camera made in `camera`; its members take it.
fn committed(members: &mut [(&Person, MlsGroup)], commit: &[u8], camera: std::time::Duration) -> Result<Cost> {
    let mut taking = Vec::new();
    for (person, group) in members {
        let (taken, time) = timed(|| person.take(group, commit));
        taken?;
        taking.push(time);
    }
    Ok(Cost {
        camera,
        member: mean(&taking),
        sent: commit.len(),
        ..Cost::default()
    })
}

/// Welcomes carry the tree, as where nobody else can be asked for it. Commits are not encrypted, which is less work.
fn config() -> MlsGroupCreateConfig {
    MlsGroupCreateConfig::builder()
        .ciphersuite(SUITE)
        .wire_format_policy(PURE_PLAINTEXT_WIRE_FORMAT_POLICY)
        .use_ratchet_tree_extension(true)
        .build()
}

fn parse(message: &[u8]) -> Result<MlsMessageIn> {
    MlsMessageIn::tls_deserialize_exact(message).map_err(words)
}

fn bytes(message: &MlsMessageOut) -> Result<Vec<u8>> {
    message.tls_serialize_detached().map_err(words)
}

fn length(package: &KeyPackage) -> Result<usize> {
    Ok(package.tls_serialize_detached().map_err(words)?.len())
}

fn words(error: impl Debug) -> String {
    format!("OpenMLS refused: {error:?}")
}
