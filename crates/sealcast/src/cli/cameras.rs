//! The cameras of a configuration, as `publish` and `gateway camera` have them alike, and what is read again on SIGHUP.

use std::path::PathBuf;

use sealcast_proto::keys::PeerId;
use zeroize::Zeroizing;

use super::gateway;
use crate::config::camera::{Allow, Camera};
use crate::config::{Config, Settings};
use crate::failure::{Failure, FailureKind, Result};
use crate::keys::allow::AllowList;
use crate::keys::peers::check_camera_name;
use crate::private_file::read_secret_line;
use crate::run::{Configured, distinct};
use crate::source::SourceUrl;

/// Place where the source of a camera is said.
#[derive(Clone)]
pub(super) enum SourceText {
    /// Here.
    Said(String),
    /// In the first line of a file, which may have a password in it.
    InFile(PathBuf),
}

impl SourceText {
    /// The source that is said here or there; `None` if there is none.
    pub(super) fn of(said: Option<&String>, file: Option<&PathBuf>) -> Option<Self> {
        let said = said.cloned().map(Self::Said);
        said.or_else(|| file.cloned().map(Self::InFile))
    }

    /// The source as it is said now.
    ///
    /// # Errors
    /// The file cannot be read, or others can read it.
    pub(super) fn read(&self) -> Result<Zeroizing<String>> {
        match self {
            Self::Said(source) => Ok(Zeroizing::new(source.clone())),
            Self::InFile(path) => Ok(Zeroizing::new(read_secret_line(path)?.trim().to_owned())),
        }
    }
}

/// The name and the source of `NAME=SOURCE`, or of a source alone: what has other characters than a name before the `=`
/// is none.
pub(super) fn name_and_source(text: &str) -> (Option<&str>, &str) {
    match text.split_once('=') {
        Some((name, source)) if check_camera_name(name).is_ok() => (Some(name), source),
        _ => (None, text),
    }
}

/// As [`name_and_source`], for what was typed.
///
/// # Errors
/// Kind `Usage`: a source follows the `=`, and what stands before it is neither a name nor the beginning of a source.
pub(super) fn typed_name_and_source(text: &str) -> Result<(Option<&str>, &str)> {
    let of_no_source = |(name, source): &(&str, &str)| !name.contains([':', '/', '?']) && source.contains(':');
    match text.split_once('=').filter(of_no_source) {
        Some((name, source)) => check_camera_name(name).map(|()| (Some(name), source)),
        None => Ok(name_and_source(text)),
    }
}

/// The source of `publish` in the configuration or as it was typed, without a name, and those of `[[camera]]`.
pub(super) fn all_sources(config: &Config) -> Vec<SourceText> {
    let publish = &config.publish;
    let said = publish.source.as_deref().map(|text| name_and_source(text).1.to_owned());
    let first = SourceText::of(said.as_ref(), publish.source_file.as_ref());
    let sections = config.camera.iter();
    let further = sections.filter_map(|camera| SourceText::of(camera.source.as_ref(), camera.source_file.as_ref()));
    first.into_iter().chain(further).collect()
}

/// Check the cameras of a configuration, whichever command will have them.
///
/// # Errors
/// One cannot be used; the failure names it and where it stands.
pub(super) fn check(settings: &Settings) -> Result<()> {
    let config = &settings.config;
    if let Some(source) = &config.publish.source {
        let source = name_and_source(source).1.parse::<SourceUrl>();
        source.map_err(|failure| settings.placed("publish.source", failure))?;
    }
    if config.gateway.camera_file.is_some() {
        gateway::configured_cameras(settings)?;
    }
    let sections = configured(settings, |_, source| source.read()?.parse::<SourceUrl>().map(drop))?;
    match sections.is_empty() {
        true => Ok(()),
        false => distinct(sections)
            .map(drop)
            .map_err(|failure| settings.placed("camera", failure)),
    }
}

/// The cameras of `[[camera]]`, each made by `make` of its section and its source.
///
/// # Errors
/// One cannot be used; the failure names it and where it stands.
pub(super) fn configured<D>(
    settings: &Settings,
    mut make: impl FnMut(&Camera, SourceText) -> Result<D>,
) -> Result<Vec<Configured<D>>> {
    let mut one = |camera: &Camera| {
        let source = SourceText::of(camera.source.as_ref(), camera.source_file.as_ref());
        let source = source.ok_or_else(|| usage("it has no source", "add source, or source_file"))?;
        Ok(Configured {
            name: camera.name.as_ref().map(|name| name.trim_matches('/').to_owned()),
            definition: make(camera, source)?,
            allow: camera.allow.as_ref().map(peers).transpose()?,
            control: camera.control.as_ref().map_or(Ok(AllowList::default()), peers)?,
        })
    };
    let mut named = |(number, camera): (usize, &Camera)| {
        one(camera).map_err(|mut failure: Failure| {
            let name = camera.name.as_deref().unwrap_or("every path");
            failure.what = format!("the camera at {name}: {}", failure.what);
            settings.placed_at_camera(number, failure)
        })
    };
    settings.config.camera.iter().enumerate().map(&mut named).collect()
}

/// Refuse what a section says that this command does not know: what is not `None` of these.
///
/// # Errors
/// Kind `Usage`, with the key.
pub(super) fn refuse(keys: &[(&str, bool)], command: &str) -> Result<()> {
    match keys.iter().find(|(_, is_set)| *is_set) {
        None => Ok(()),
        Some((key, _)) => Err(usage(
            &format!("{command} knows no key `{key}` of a camera"),
            "leave it out",
        )),
    }
}

/// The peers of a list.
fn peers(list: &Allow) -> Result<AllowList> {
    match list {
        Allow::File(path) => AllowList::read(path),
        Allow::Peers(peers) => Ok(AllowList::of(peers.iter().map(peer).collect::<Result<Vec<_>>>()?)),
    }
}

fn peer(text: &String) -> Result<PeerId> {
    PeerId::parse(text).ok_or_else(|| {
        let what = format!("\"{text}\" in a list of a camera is no peer id");
        Failure::new(FailureKind::Config, what, "write it as `sealcast keygen` prints it")
    })
}

/// Settings that a running program reads again, besides its sections of cameras.
const RENEWED: [&str; 6] = [
    "gateway.camera_file",
    "publish.source",
    "publish.source_file",
    "publish.allow",
    "publish.open",
    "publish.may_control",
];

/// Say which other settings have changed than those that a running program reads again.
pub(super) fn warn_of_fixed(now: &Config, first: &Config) {
    let mut fixed = now.differing(first);
    fixed.retain(|path| !RENEWED.contains(path));
    if !fixed.is_empty() {
        let settings = fixed.join(", ");
        tracing::warn!(settings, "settings have changed that wait for a restart");
    }
}

fn usage(what: &str, hint: &str) -> Failure {
    Failure::new(FailureKind::Usage, what, hint)
}
