//! Files of rules about addresses (`--rules`).

use std::io::Read;
use std::path::Path;

use hapax_url::GivenRules;

use crate::error::{Error, Result};
use crate::files::open_stored;

/// Maximum size of a file of rules, in bytes.
const MAX_RULES_FILE: u64 = 4 << 20;

/// Reads a file of rules. It must be a regular file, because every run reads it again.
///
/// # Errors
/// The file cannot be read or is too large; [`Error::Invalid`] with file and line of the first line that is no rule.
pub fn read_rules(path: &Path) -> Result<GivenRules> {
    let mut bytes = Vec::new();
    let read = open_stored(path).and_then(|file| match file.metadata()?.is_file() {
        true => file.take(MAX_RULES_FILE + 1).read_to_end(&mut bytes),
        false => Err(std::io::Error::other("not a regular file; every run reads it again")),
    });
    let unreadable =
        |error| Error::Invalid(format!("--rules: cannot read {}: {error}", path.display()));
    read.map_err(unreadable)?;
    let name = path.display();
    if bytes.len() as u64 > MAX_RULES_FILE {
        return Err(Error::Invalid(format!("{name}: larger than 4 MiB. Give a file of rules")));
    }
    let text = String::from_utf8(bytes).map_err(|_| {
        Error::Invalid(format!("{name}: not a text file in UTF-8. Save it as UTF-8"))
    })?;
    GivenRules::parse(&text).map_err(|error| Error::Invalid(format!("{name}:{error}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_of_rules_is_read_or_refused_with_its_line() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("rules.txt");
        let read = |bytes: &[u8]| {
            std::fs::write(&path, bytes).unwrap();
            read_rules(&path).map(|rules| rules.lines().len()).map_err(|error| error.to_string())
        };
        assert_eq!(read(b"# x\n\ndrop-parameter sid\nskip a.example/print/\n"), Ok(2));
        let error = read(b"skip a.example/x\nskp y\n").unwrap_err();
        assert!(error.contains("rules.txt:2: not a rule"), "{error}");
        assert!(read(b"\xff").unwrap_err().contains("UTF-8"));
        assert!(read(&vec![b'#'; MAX_RULES_FILE as usize + 1]).unwrap_err().contains("4 MiB"));
        for other in [folder.path().join("none"), folder.path().to_owned()] {
            let error = read_rules(&other).unwrap_err().to_string();
            assert!(error.starts_with("--rules: cannot read "), "{error}");
        }
    }
}
