//! Measures of quality: PSNR and SSIM by ffmpeg's filters; MS-SSIM and VMAF by an ffmpeg with libvmaf, if there is one.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::process::Command;
use std::sync::{Arc, OnceLock};

use sealcast::failure::{Failure, FailureKind, Result};
use sealcast::media::Picture;

use super::measures::{MS_SSIM, PSNR, SSIM, Scores, VMAF};
use crate::attack::ffmpeg::{Lent, VMAF_PROGRAM, raw};

/// PSNR of equal pictures, which is infinite, in dB.
const EQUAL: f64 = 100.0;

fn failed(why: &str) -> Failure {
    let what = format!("ffmpeg could not compare pictures ({why})");
    Failure::new(FailureKind::Usage, what, "see whether ffmpeg is installed")
}

/// The ffmpeg with libvmaf: the one that the environment names, or that of the system if it has it.
pub(crate) fn vmaf_program() -> Option<&'static OsStr> {
    static FOUND: OnceLock<Option<OsString>> = OnceLock::new();
    let found = FOUND.get_or_init(|| {
        let named = std::env::var_os(VMAF_PROGRAM);
        let mut candidates = named.into_iter().chain([OsString::from("ffmpeg")]);
        candidates.find(|program| {
            let asked = Command::new(program).args(["-hide_banner", "-filters"]).output();
            asked.is_ok_and(|asked| String::from_utf8_lossy(&asked.stdout).contains(" libvmaf "))
        })
    });
    found.as_deref()
}

pub(super) fn scores(originals: &[Arc<Picture>], shown: &[Arc<Picture>]) -> Result<Scores> {
    let mut scores: Scores = BTreeMap::new();
    let Some(first) = originals.first() else {
        return Ok(scores);
    };
    let folder = tempfile::tempdir().map_err(|error| failed(&error.to_string()))?;
    let written = [("original", originals), ("shown", shown)].map(|(name, pictures)| {
        let lent: Vec<Lent<'_>> = pictures.iter().map(|picture| Lent(picture)).collect();
        std::fs::write(folder.path().join(name), raw(&lent))
    });
    written
        .into_iter()
        .collect::<std::io::Result<()>>()
        .map_err(|error| failed(&error.to_string()))?;
    let size = format!("{}x{}", first.width, first.height);
    let compared = "[0][1]psnr=stats_file=psnr.txt[a];[a][1]ssim=stats_file=ssim.txt";
    // The second filter must not see what the first made of it, but psnr passes its first input on unchanged.
    compare(OsStr::new("ffmpeg"), folder.path(), &size, compared)?;
    scores.insert(PSNR, values(&folder.path().join("psnr.txt"), " psnr_y:")?);
    scores.insert(SSIM, values(&folder.path().join("ssim.txt"), " Y:")?);
    if let Some(program) = vmaf_program() {
        let filter = "[1][0]libvmaf=log_fmt=csv:log_path=vmaf.csv:feature=name=float_ms_ssim";
        compare(program, folder.path(), &size, filter)?;
        let table = folder.path().join("vmaf.csv");
        scores.insert(MS_SSIM, column(&table, "float_ms_ssim")?);
        scores.insert(VMAF, column(&table, "vmaf")?);
    }
    Ok(scores)
}

fn compare(program: &OsStr, folder: &Path, size: &str, filter: &str) -> Result<()> {
    let mut command = Command::new(program);
    command
        .current_dir(folder)
        .args(["-hide_banner", "-nostdin", "-loglevel", "error"]);
    for name in ["original", "shown"] {
        command.args(["-f", "rawvideo", "-pix_fmt", "yuv420p", "-s", size, "-i", name]);
    }
    let ran = command.args(["-lavfi", filter, "-f", "null", "-"]).output();
    let ran = ran.map_err(|error| failed(&error.to_string()))?;
    match ran.status.success() {
        true => Ok(()),
        false => Err(failed(String::from_utf8_lossy(&ran.stderr).trim())),
    }
}

/// The values after a name in each line.
fn values(file: &Path, name: &str) -> Result<Vec<f64>> {
    let text = std::fs::read_to_string(file).map_err(|error| failed(&error.to_string()))?;
    let value = |line: &str| -> Option<f64> {
        let word = line.split_once(name)?.1.split_whitespace().next()?;
        if word == "inf" { Some(EQUAL) } else { word.parse().ok() }
    };
    Ok(text.lines().filter_map(value).collect())
}

/// A column of a table, by its name.
fn column(file: &Path, name: &str) -> Result<Vec<f64>> {
    let refused = |error: csv::Error| failed(&error.to_string());
    let mut reader = csv::ReaderBuilder::new()
        .flexible(true)
        .from_path(file)
        .map_err(refused)?;
    let at = reader.headers().map_err(refused)?.iter().position(|head| head == name);
    let at = at.ok_or_else(|| failed(&format!("its table has no {name}")))?;
    let values = reader
        .records()
        .map(|record| Ok(record.map_err(refused)?.get(at).and_then(|word| word.parse().ok())));
    Ok(values
        .collect::<Result<Vec<Option<f64>>>>()?
        .into_iter()
        .flatten()
        .collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::attack::picture::grey;

    #[test]
    fn equal_pictures_have_the_best_marks_and_other_pictures_have_lower_ones() {
        let (one, other) = (Arc::new(grey(64, 48)), Arc::new(Picture::black(64, 48)));
        let scores = scores(&[Arc::clone(&one), Arc::clone(&one)], &[one, other]).expect("ffmpeg");
        assert_eq!((scores[PSNR][0], scores[SSIM][0]), (EQUAL, 1.0));
        // The luma differs by 110 everywhere: 10 log10(255² / 110²) dB.
        assert!((scores[PSNR][1] - 7.30).abs() < 0.01, "{scores:?}");
        assert!(scores[SSIM][1] < 0.5);
    }
}
