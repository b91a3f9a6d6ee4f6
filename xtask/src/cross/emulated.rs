//! Programs of other machines, which start here as if they were this one's.

use std::fs;

use crate::shell::{command, output, root, target_dir};

/// Words before a command within which programs for the emulator's machine start.
pub(super) fn prefix((emulator, libraries): (&str, &str)) -> Result<Vec<String>, String> {
    let folder = target_dir().join("cross");
    fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let script = root().join("packaging/test/emulated.sh");
    let words = [
        "sh".into(),
        script.into_os_string(),
        emulator.into(),
        libraries.into(),
        folder.into_os_string(),
    ];
    let words = words.map(|word| word.to_string_lossy().into_owned());
    let tried = output(command(&words[0], &[]).args(&words[1..]).arg("true"));
    match tried {
        Some(_) => Ok(words.to_vec()),
        None => Err(format!(
            "programs for {emulator} cannot be started here: that needs Linux 6.7 or newer with user namespaces"
        )),
    }
}
