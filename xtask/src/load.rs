//! Load during the tests: no result may depend on how busy the machine is.

use std::fs::{self, File};
use std::hint;
use std::io::Write;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use crate::shell::target_dir;

/// Number of threads that spin.
const BUSY: usize = 2;
/// Bytes that the disk writer writes between two syncs.
const WRITTEN: usize = 32 << 20;

/// Runs `work` together with two spinning threads and a disk writer.
pub(crate) fn beside<T>(work: impl FnOnce() -> T) -> T {
    let over = AtomicBool::new(false);
    let file = target_dir().join("load.tmp");
    let done = thread::scope(|scope| {
        for _ in 0..BUSY {
            scope.spawn(|| {
                while !over.load(Ordering::Relaxed) {
                    hint::spin_loop();
                }
            });
        }
        scope.spawn(|| write(&file, &over));
        let done = work();
        over.store(true, Ordering::Relaxed);
        done
    });
    // The file does not exist if the disk was full from the beginning.
    let _ = fs::remove_file(&file);
    done
}

fn write(file: &PathBuf, over: &AtomicBool) {
    let bytes = vec![0x5A; WRITTEN];
    while !over.load(Ordering::Relaxed) {
        let written = File::create(file).and_then(|mut file| {
            file.write_all(&bytes)?;
            file.sync_all()
        });
        if let Err(error) = written {
            println!("the disk writer stops: {}: {error}", file.display());
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_load_ends_with_the_work_and_leaves_no_file() {
        assert_eq!(beside(|| 7), 7);
        assert!(!target_dir().join("load.tmp").exists());
    }
}
