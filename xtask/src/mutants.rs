//! Planted bugs: each is put into a copy of the sources, and the tests of its crate must fail.

use std::collections::BTreeSet;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail, ensure};

/// No limit.
pub(crate) const ALL: u64 = 1000;
/// The folder of the program, which belongs to the root package.
const PROGRAM: &str = "cli";

/// One planted bug: a file of a crate (`FILE`, or `FILE --features NAMES` where the tests need them), what
/// stands there, and what is put in its place.
struct Mutant {
    /// The folder of the crate, and the name of the file that describes the bug.
    name: String,
    krate: String,
    features: String,
    file: PathBuf,
    sound: String,
    planted: String,
}

/// Plants every bug whose name contains `only`, at most `limit` of them, evenly chosen; others by another
/// `from`. Those of the program itself, for each of which it is built, only where no limit is set.
pub(crate) fn run(only: &str, limit: u64, from: u64) -> Result<()> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().context("no parent")?;
    let mut mutants = Vec::new();
    for krate in fs::read_dir(root.join("crates"))? {
        let krate = krate?.file_name().to_string_lossy().into_owned();
        let folder = root.join("crates").join(&krate).join("tests/mutants");
        for entry in fs::read_dir(&folder).into_iter().flatten() {
            let path = entry?.path();
            let mutant = read(&krate, &path).with_context(|| path.display().to_string())?;
            if mutant.name.contains(only) && (krate != PROGRAM || limit >= ALL) {
                mutants.push(mutant);
            }
        }
    }
    mutants.sort_by(|a, b| a.name.cmp(&b.name));
    let step = mutants.len().div_ceil(usize::try_from(limit)?.max(1)).max(1);
    let copy = root.join("target/mutants");
    let sources = copy.join("sources");
    let _ = fs::remove_dir_all(&sources);
    copy_sources(root, &sources)?;
    let (mut caught, mut planted) = (0, 0);
    let (mut missed, mut tested) = (Vec::new(), BTreeSet::new());
    for mutant in mutants.iter().skip(usize::try_from(from)? % step).step_by(step) {
        let (krate, features) = (&mutant.krate, &mutant.features);
        if tested.insert((krate, features)) {
            let fails = fails(&copy, krate, features)?;
            ensure!(!fails, "the tests of {krate} fail without a planted bug");
        }
        let path = sources.join("crates").join(&mutant.krate).join(&mutant.file);
        let sound = fs::read_to_string(&path)?;
        fs::write(&path, sound.replacen(&mutant.sound, &mutant.planted, 1))?;
        let noticed = fails(&copy, krate, features)?;
        fs::write(&path, sound)?;
        planted += 1;
        caught += u64::from(noticed);
        if !noticed {
            missed.push(mutant.name.as_str());
        }
        let word = if noticed { "caught" } else { "MISSED" };
        writeln!(std::io::stdout(), "{word}  {}", mutant.name)?;
    }
    ensure!(planted > 0, "no planted bug has {only:?} in its name");
    writeln!(std::io::stdout(), "{caught} of {planted} planted bugs were caught")?;
    if !missed.is_empty() {
        bail!("no test noticed: {}", missed.join(", "));
    }
    Ok(())
}

fn read(krate: &str, path: &Path) -> Result<Mutant> {
    let text = fs::read_to_string(path)?;
    let (file, rest) = text.split_once("\n<<<<<<< sound\n").context("no sound part")?;
    let (sound, rest) = rest.split_once("\n=======\n").context("no planted part")?;
    let (planted, _) = rest.split_once(">>>>>>> planted").context("no end")?;
    let planted = planted.strip_suffix('\n').unwrap_or(planted);
    let name = format!("{krate}/{}", path.file_stem().context("no name")?.to_string_lossy());
    let (file, features) = file.split_once(" --features ").unwrap_or((file, ""));
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates").join(krate).join(file);
    let here = fs::read_to_string(&source).with_context(|| source.display().to_string())?;
    let times = here.matches(sound).count();
    ensure!(times == 1, "what it replaces stands {times} times in {file}: bring it up to date");
    let (sound, planted) = (sound.to_owned(), planted.to_owned());
    let (krate, features) = (krate.to_owned(), features.to_owned());
    Ok(Mutant { name, krate, features, file: file.into(), sound, planted })
}

/// Whether a crate's tests do not pass; sources that do not compile are no planted bug.
fn fails(copy: &Path, krate: &str, features: &str) -> Result<bool> {
    let cargo = |args: &[&str]| {
        let mut command = Command::new(env!("CARGO"));
        command.current_dir(copy.join("sources")).env("CARGO_TARGET_DIR", copy.join("target"));
        command.env("PROPTEST_CASES", "64").args(["test", "--release", "-p"]);
        match krate {
            PROGRAM => command.args(["hapax", "--bins", "--tests"]),
            krate => command.arg(format!("hapax-{krate}")).args(["--lib", "--tests"]),
        };
        command.args(["--features", features]).args(args);
        command.stdout(Stdio::null()).stderr(Stdio::null()).status()
    };
    ensure!(cargo(&["--no-run"])?.success(), "it does not compile");
    Ok(!cargo(&[])?.success())
}

/// Everything that a build needs.
fn copy_sources(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let name = entry.file_name();
        let hidden = name.to_string_lossy().starts_with('.') && name != ".cargo";
        if name == "target" || hidden {
            continue;
        }
        if entry.file_type()?.is_dir() {
            copy_sources(&entry.path(), &to.join(&name))?;
        } else if entry.file_type()?.is_file() {
            fs::copy(entry.path(), to.join(&name))?;
        }
    }
    Ok(())
}
