//! A virtual machine with the kernel's test drivers, and the program in it.
//!
//! The kernel is Debian's, unpacked into the folder that `SEALCAST_GUEST_KERNEL` names (`cargo xtask cameras
//! --install`). It is emulated, so it needs no rights and is slow: nothing in it measures.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{ChildStdin, Command, Stdio};

use sealcast_testkit::media::path;
use sealcast_testkit::program::{PATIENCE, Program, free_port};
use sealcast_testkit::skips::skipped;
use tempfile::TempDir;

/// The first program of the machine: it loads the modules, and is a shell on the serial line after that.
const INIT: &str = "#!/bin/busybox sh
/bin/busybox --install -s /bin
dmesg -n 1
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs dev /dev
for module in $(cat /modules/order); do insmod /modules/$module $(cat /modules/$module.options); done
ip link set lo up
ip addr add 10.0.2.15/24 dev eth0
ip link set eth0 up
export SEALCAST_HOME=/keys PATH=/bin LD_LIBRARY_PATH=/lib PS1=
stty -echo
echo the guest is up
exec sh
";

/// Users of the guest: one without rights beside the first.
const USERS: &str = "root:x:0:0::/:/bin/sh\nsomebody:x:1000:1000::/tmp:/bin/sh\n";

/// True if there is a kernel; without one there is nothing to test.
pub(crate) fn has_kernel() -> bool {
    let named = std::env::var_os("SEALCAST_GUEST_KERNEL").is_some();
    if !named {
        skipped("no kernel for the virtual machine: cargo xtask cameras --install");
    }
    named
}

/// A running virtual machine.
pub(crate) struct Guest {
    machine: Program,
    input: ChildStdin,
    commands: usize,
    /// A TCP port of this machine that leads to the same one of the guest.
    pub(crate) port: u16,
    _folder: TempDir,
}

impl Guest {
    /// Boots with these modules and their options, the modules that they need, more programs of this machine, and a
    /// folder `/given` of these files.
    pub(crate) fn boot(modules: &[(&str, &str)], programs: &[&str], given: &BTreeMap<String, Vec<u8>>) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let kernel = PathBuf::from(
            std::env::var_os("SEALCAST_GUEST_KERNEL")
                .expect("SEALCAST_GUEST_KERNEL names no folder with a kernel: cargo xtask cameras"),
        );
        let (image, files) = (folder.path().join("image"), folder.path().join("files"));
        fill(&files, &Modules::of(&kernel), modules);
        for program in programs {
            let program = Path::new("/usr/bin").join(program);
            let to = files.join("bin").join(program.file_name().unwrap_or_default());
            fs::copy(&program, to).unwrap_or_else(|error| panic!("{}: {error}", program.display()));
            copy_libraries(&program, &files);
        }
        for (name, content) in given {
            let file = files.join("given").join(name);
            fs::create_dir_all(file.parent().expect("it is in the folder")).expect("space");
            fs::write(file, content).expect("space");
        }
        pack(&files, &image);
        let port = free_port();
        let mut qemu = Command::new("qemu-system-x86_64");
        qemu.args([
            "-accel",
            "tcg",
            "-cpu",
            "max",
            "-m",
            "2048",
            "-no-reboot",
            "-display",
            "none",
        ]);
        qemu.args(["-monitor", "none", "-serial", "stdio"]);
        qemu.args(["-kernel", path(&vmlinuz(&kernel)), "-initrd", path(&image)]);
        qemu.args(["-append", "console=ttyS0 panic=-1 random.trust_cpu=on"]);
        let forward = format!("user,model=e1000,restrict=on,hostfwd=tcp:127.0.0.1:{port}-:{port}");
        qemu.args(["-nic", &forward]);
        let (machine, input) = Program::run_fed("the guest", qemu);
        // What the kernel says shows that it goes on: on a busy machine all of it takes longer than a line may.
        while machine.line().trim_end() != "the guest is up" {}
        Self {
            machine,
            input,
            commands: 0,
            port,
            _folder: folder,
        }
    }

    /// Runs a command in the guest's shell; returns what it printed, and its exit code.
    pub(crate) fn shell(&mut self, command: &str) -> (String, i32) {
        self.commands += 1;
        // The parts are apart in what the shell may repeat.
        let number = self.commands;
        writeln!(self.input, "{command}\necho \"end of \"{number} $?").expect("the guest runs");
        let end = format!("end of {number} ");
        let mut said = String::new();
        loop {
            let line = self.machine.line();
            let line = line.trim_end();
            if let Some((before, code)) = line.split_once(&end) {
                said += before;
                return (said, code.parse().expect("an exit code"));
            }
            said = said + line + "\n";
        }
    }

    /// Runs a command until what it prints contains `words`; returns that.
    pub(crate) fn until(&mut self, command: &str, words: &str) -> String {
        let began = std::time::Instant::now();
        loop {
            let (said, _) = self.shell(command);
            if said.contains(words) {
                return said;
            }
            assert!(began.elapsed() < 2 * PATIENCE, "waited for \"{words}\":\n{said}");
            std::thread::sleep(std::time::Duration::from_millis(200));
        }
    }
}

/// The modules of a kernel, by name.
struct Modules(BTreeMap<String, PathBuf>);

impl Modules {
    fn of(kernel: &Path) -> Self {
        let mut found = BTreeMap::new();
        let mut folders = vec![kernel.join("lib/modules")];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(&folder).expect("the kernel's folder").flatten() {
                let file = entry.path();
                if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                    folders.push(file);
                } else if file.extension().is_some_and(|end| end == "ko") {
                    let name = file.file_stem().unwrap_or_default().to_string_lossy().replace('-', "_");
                    found.insert(name, file);
                }
            }
        }
        Self(found)
    }

    /// Appends a module behind those that it needs.
    fn order(&self, name: &str, into: &mut Vec<String>) {
        let name = name.replace('-', "_");
        let file = self
            .0
            .get(&name)
            .unwrap_or_else(|| panic!("the kernel has no module {name}"));
        let content = fs::read(file).expect("a module");
        let key = b"\0depends=";
        let begin = content
            .windows(key.len())
            .position(|window| window == key)
            .expect("it says what it needs");
        let needs = content[begin + key.len()..]
            .split(|byte| *byte == 0)
            .next()
            .unwrap_or_default();
        for needed in String::from_utf8_lossy(needs)
            .split(',')
            .filter(|needed| !needed.is_empty())
        {
            self.order(needed, into);
        }
        if !into.contains(&name) {
            into.push(name);
        }
    }
}

fn vmlinuz(kernel: &Path) -> PathBuf {
    let files = fs::read_dir(kernel.join("boot"))
        .expect("the kernel's folder")
        .flatten();
    let mut images = files.filter(|file| file.file_name().to_string_lossy().starts_with("vmlinuz-"));
    images.next().expect("a kernel").path()
}

/// Writes the files of the guest.
fn fill(root: &Path, modules: &Modules, wanted: &[(&str, &str)]) {
    for folder in [
        "bin", "etc", "lib", "lib64", "proc", "sys", "dev", "tmp", "modules", "keys",
    ] {
        fs::create_dir_all(root.join(folder)).expect("space");
    }
    let copy = |from: &Path, to: &str| {
        fs::copy(from, root.join(to)).unwrap_or_else(|error| panic!("{}: {error}", from.display()));
    };
    copy(Path::new("/bin/busybox"), "bin/busybox");
    let program = sealcast_testkit::built::built("sealcast");
    let strip = Command::new("strip")
        .arg("-o")
        .arg(root.join("bin/sealcast"))
        .arg(&program)
        .status();
    assert!(strip.is_ok_and(|status| status.success()), "strip (binutils) fails");
    copy_libraries(&program, root);
    // From the package v4l-utils: changes settings of a device.
    let control = Path::new("/usr/bin/v4l2-ctl");
    copy(control, "bin/v4l2-ctl");
    copy_libraries(control, root);
    fs::write(root.join("etc/passwd"), USERS).expect("space");
    let mut order = Vec::new();
    for (name, _) in wanted {
        modules.order(name, &mut order);
    }
    for name in &order {
        copy(&modules.0[name], &format!("modules/{name}"));
        let options = wanted.iter().find(|(wanted, _)| wanted == name);
        let options = options.map_or("", |(_, options)| options);
        fs::write(root.join(format!("modules/{name}.options")), options).expect("space");
    }
    fs::write(root.join("modules/order"), order.join("\n")).expect("space");
    let init = root.join("init");
    fs::write(&init, INIT).expect("space");
    let executable = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    fs::set_permissions(&init, executable).expect("our own file");
}

/// Copies the libraries of a program, and the loader.
fn copy_libraries(program: &Path, root: &Path) {
    let libraries = Command::new("ldd").arg(program).output().expect("ldd");
    for word in String::from_utf8_lossy(&libraries.stdout).split_whitespace() {
        if let Some(name) = word.starts_with('/').then(|| word.rsplit('/').next()).flatten() {
            let folder = if name.starts_with("ld-") { "lib64" } else { "lib" };
            let to = root.join(folder).join(name);
            fs::copy(word, &to).unwrap_or_else(|error| panic!("{word}: {error}"));
        }
    }
}

/// Packs the files into the archive that the kernel unpacks into its memory.
fn pack(root: &Path, image: &Path) {
    let archive = fs::File::create(image).expect("space");
    let status = Command::new("sh")
        .args(["-c", "find . | busybox cpio -o -H newc"])
        .current_dir(root)
        .stdout(archive)
        .stderr(Stdio::null())
        .status();
    assert!(status.is_ok_and(|status| status.success()), "busybox packs no archive");
}
