//! Plants each bug in a copy of the sources; a test of its crate must fail.

use std::collections::BTreeSet;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context, Result, bail, ensure};

pub(crate) const ALL: u64 = 1000;
/// The folder of the program, whose package is the root package.
const PROGRAM: &str = "cli";

/// Runs of a bug's named test when no other test runs: a race does not fail each time.
const TRIES: u32 = 3;

/// Lines of cargo's messages to print when sources do not compile.
const ERROR_LINES: usize = 40;

/// One planted bug. Its file contains a line `FILE`, then the sound source and its replacement. `FILE` may be
/// followed by `--features NAMES` (features that the tests need), `--test NAME` (the test to run first) and `--slow`
/// (that test takes long without optimisation).
#[derive(Debug)]
struct Mutant {
    /// The crate's folder and the name of the file that describes the bug.
    name: String,
    krate: String,
    features: String,
    /// Part of the name of the test that fails soonest; empty if the file names no test.
    first: String,
    slow: bool,
    file: PathBuf,
    sound: String,
    planted: String,
}

/// Plants bugs whose name contains `only`: at most `limit`, evenly chosen from offset `from`. With a limit, only bugs
/// with a named test are planted, and only that test runs. Bugs of the program are then excluded, because each needs a
/// build of it.
pub(crate) fn run(only: &str, limit: u64, from: u64) -> Result<()> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().context("no parent")?;
    let mut mutants = all(root)?;
    mutants.retain(|mutant| {
        let quick = mutant.krate != PROGRAM && !mutant.first.is_empty();
        mutant.name.contains(only) && (quick || limit >= ALL)
    });
    let step = mutants.len().div_ceil(usize::try_from(limit)?.max(1)).max(1);
    let copy = Sources::new(root, limit < ALL)?;
    let (mut caught, mut planted) = (0, 0);
    let (mut missed, mut tested) = (Vec::new(), BTreeSet::new());
    for mutant in mutants.iter().skip(usize::try_from(from)? % step).step_by(step) {
        // Without a name, all tests of the crate run, and must pass without the bug.
        let asked = mutant.first.as_str();
        if tested.insert((&mutant.krate, &mutant.features, asked)) {
            let fails = copy.fails(mutant, asked)?;
            ensure!(fails.is_none(), "without a planted bug {} fails", fails.unwrap_or_default());
        }
        let started = Instant::now();
        let path = copy.folder.join("crates").join(&mutant.krate).join(&mutant.file);
        let sound = fs::read_to_string(&path)?;
        fs::write(&path, sound.replacen(&mutant.sound, &mutant.planted, 1))?;
        let noticed = copy.notices(mutant);
        fs::write(&path, sound)?;
        let noticed = noticed?;
        planted += 1;
        caught += u64::from(noticed.is_some());
        let (word, by) = match &noticed {
            Some(test) => ("caught", format!("by {test}")),
            None => ("MISSED", String::new()),
        };
        if noticed.is_none() {
            missed.push(mutant.name.as_str());
        }
        let seconds = started.elapsed().as_secs();
        writeln!(std::io::stdout(), "{word}  {} {by} ({seconds} s)", mutant.name)?;
    }
    ensure!(planted > 0, "no planted bug that may be planted has {only:?} in its name");
    writeln!(std::io::stdout(), "{caught} of {planted} planted bugs were caught")?;
    if !missed.is_empty() {
        bail!("no test noticed: {}", missed.join(", "));
    }
    Ok(())
}

fn all(root: &Path) -> Result<Vec<Mutant>> {
    let mut mutants = Vec::new();
    for krate in fs::read_dir(root.join("crates"))? {
        let krate = krate?.file_name().to_string_lossy().into_owned();
        let folder = root.join("crates").join(&krate).join("tests/mutants");
        for entry in fs::read_dir(&folder).into_iter().flatten() {
            let path = entry?.path();
            mutants.push(read(&krate, &path).with_context(|| path.display().to_string())?);
        }
    }
    mutants.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(mutants)
}

fn read(krate: &str, path: &Path) -> Result<Mutant> {
    let text = fs::read_to_string(path)?;
    let (file, rest) = text.split_once("\n<<<<<<< sound\n").context("no sound part")?;
    let (sound, rest) = rest.split_once("\n=======\n").context("no planted part")?;
    let (planted, _) = rest.split_once(">>>>>>> planted").context("no end")?;
    let planted = planted.strip_suffix('\n').unwrap_or(planted);
    let name = format!("{krate}/{}", path.file_stem().context("no name")?.to_string_lossy());
    let (file, slow) = file.strip_suffix(" --slow").map_or((file, false), |file| (file, true));
    let (file, first) = file.split_once(" --test ").unwrap_or((file, ""));
    let (file, features) = file.split_once(" --features ").unwrap_or((file, ""));
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates").join(krate).join(file);
    let here = fs::read_to_string(&source).with_context(|| source.display().to_string())?;
    let times = here.matches(sound).count();
    ensure!(times == 1, "what it replaces stands {times} times in {file}: bring it up to date");
    Ok(Mutant {
        name,
        krate: krate.to_owned(),
        features: features.to_owned(),
        first: first.to_owned(),
        slow,
        file: file.into(),
        sound: sound.to_owned(),
        planted: planted.to_owned(),
    })
}

#[derive(Debug)]
struct Sources {
    folder: PathBuf,
    /// Separate from other builds: cargo identifies a crate in another copy of a workspace with the original, so it
    /// would reuse a build that contains a bug.
    target: PathBuf,
    /// Runs only the named tests, without optimisation where possible.
    quick: bool,
}

impl Sources {
    fn new(root: &Path, quick: bool) -> Result<Self> {
        let own = root.join("target/mutants");
        let folder = own.join("sources");
        let _ = fs::remove_dir_all(&folder);
        copy_sources(root, &folder)?;
        Ok(Self { folder, target: own.join("target"), quick })
    }

    /// Returns the test that fails because of a bug: the named test, otherwise any test of the crate unless `quick`.
    fn notices(&self, mutant: &Mutant) -> Result<Option<String>> {
        for _ in 0..TRIES {
            let failed = self.fails(mutant, &mutant.first)?;
            if failed.is_some() || mutant.first.is_empty() {
                return Ok(failed);
            }
        }
        if self.quick { Ok(None) } else { self.fails(mutant, "") }
    }

    /// Returns a failing test of the bug's crate, of those whose name contains `only`. Sources that do not compile
    /// are an error.
    fn fails(&self, mutant: &Mutant, only: &str) -> Result<Option<String>> {
        let cargo = |args: &[&str]| {
            let mut command = crate::cargo();
            command.current_dir(&self.folder).env("CARGO_TARGET_DIR", &self.target);
            // The changed crate is mostly unchanged.
            command.env("CARGO_INCREMENTAL", "1").env("PROPTEST_CASES", "64");
            // Most tests end sooner than an optimised build.
            let profile = if mutant.slow { "release" } else { "dev" };
            command.args(["test", "--profile", profile, "-p"]);
            match mutant.krate.as_str() {
                PROGRAM => command.args(["hapax", "--bins", "--tests"]),
                // Errors in the engine appear in whole crawls by the program.
                "crawl" | "data" => {
                    command.arg(format!("hapax-{}", mutant.krate));
                    command.args(["-p", "hapax", "--lib", "--bins", "--tests"])
                }
                krate => command.arg(format!("hapax-{krate}")).args(["--lib", "--tests"]),
            };
            command.args(["--features", &mutant.features]).args(args);
            command.output()
        };
        let built = cargo(&["--no-run"])?;
        if !built.status.success() {
            let errors = errors(&String::from_utf8_lossy(&built.stderr));
            bail!("{}: cargo test --no-run ended with {}:\n{errors}", mutant.name, built.status);
        }
        let done = cargo(&[only])?;
        let said = String::from_utf8_lossy(&done.stdout);
        Ok((!done.status.success()).then(|| failed(&said)))
    }
}

/// The end of the messages of a failed build.
fn errors(messages: &str) -> String {
    let lines: Vec<&str> =
        messages.lines().filter(|line| !line.trim_start().starts_with("Compiling")).collect();
    lines[lines.len().saturating_sub(ERROR_LINES)..].join("\n")
}

/// The first failed test in the output of `cargo test`.
fn failed(output: &str) -> String {
    let name =
        |line: &str| Some(line.strip_prefix("test ")?.strip_suffix(" ... FAILED")?.to_owned());
    output.lines().find_map(name).unwrap_or_else(|| "no test by its name".to_owned())
}

/// Copies all files that a build needs.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_build_shows_the_end_of_its_messages() {
        let messages = format!("   Compiling a v1\n{}error: x\n", "note: y\n".repeat(60));
        let shown = errors(&messages);
        assert!(shown.ends_with("note: y\nerror: x"), "{shown}");
        assert_eq!(shown.lines().count(), ERROR_LINES);
        assert_eq!(errors("   Compiling a v1\nerror: x"), "error: x");
    }

    #[test]
    fn the_test_that_failed_is_named() {
        let output = "test a::b ... ok\ntest c::d ... FAILED\ntest e ... FAILED\n\nfailures:\n";
        assert_eq!(failed(output), "c::d");
        assert_eq!(failed("killed"), "no test by its name");
    }

    /// Fails when code was moved or changed and its planted bug was not.
    #[test]
    fn every_planted_bug_finds_its_place() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
        assert!(all(root).unwrap().len() > 50);
    }

    /// A renamed test would never run, and the bug would seem unnoticed.
    #[test]
    fn every_named_test_is_there() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
        for mutant in all(root).unwrap().iter().filter(|mutant| !mutant.first.is_empty()) {
            let (module, test) = mutant.first.rsplit_once("::").unwrap_or(("", &mutant.first));
            let folder = root.join("crates").join(&mutant.krate);
            let here = [folder, root.join("tests")].iter().any(|folder| names(folder, test));
            assert!(here, "{}: no test is named {module} {test}", mutant.name);
        }
    }

    /// Returns whether a function or file in the folder has this part of a name.
    fn names(folder: &Path, part: &str) -> bool {
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).any(|path| {
            let stem = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            let is_source = path.extension().is_some_and(|end| end == "rs");
            let has = |line: &str| {
                let line = line.trim_start();
                line.strip_prefix("async ").unwrap_or(line).starts_with("fn ")
                    && line.contains(part)
            };
            path.is_dir() && names(&path, part)
                || is_source
                    && (stem.contains(part) || fs::read_to_string(&path).unwrap().lines().any(has))
        })
    }

    #[test]
    fn a_description_names_features_and_the_test_that_is_asked_first() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("01-a.txt");
        let described = |head: &str| {
            let planted = "\n<<<<<<< sound\nmod hash;\n=======\n>>>>>>> planted\n";
            fs::write(&path, format!("{head}{planted}")).unwrap();
            let mutant = read("dedup", &path).unwrap();
            (mutant.file.display().to_string(), mutant.features, mutant.first)
        };
        let of = |file: &str, features: &str, first: &str| {
            (file.to_owned(), features.to_owned(), first.to_owned())
        };
        assert_eq!(described("src/lib.rs"), of("src/lib.rs", "", ""));
        assert_eq!(described("src/lib.rs --features sled"), of("src/lib.rs", "sled", ""));
        assert_eq!(described("src/lib.rs --test a::b"), of("src/lib.rs", "", "a::b"));
        let both = described("src/lib.rs --features sled --test a::b");
        assert_eq!(both, of("src/lib.rs", "sled", "a::b"));
        assert_eq!(described("src/lib.rs --test a::b --slow"), of("src/lib.rs", "", "a::b"));
    }
}
