//! Fails when files or folders of one of our crates import each other in a circle.
//!
//! Imports are read from `use` lines and from paths in the text. Re-exported names (`pub use`) count as imports from
//! their origin. Tests may import anything.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};

const ROOTS: [&str; 17] = [
    "crates/cli/main.rs",
    "crates/cluster/src/lib.rs",
    "crates/crawl/src/lib.rs",
    "crates/data/src/lib.rs",
    "crates/dedup/src/lib.rs",
    "crates/extract/src/lib.rs",
    "crates/fetch/src/lib.rs",
    "crates/frontier/src/lib.rs",
    "crates/index/src/lib.rs",
    "crates/output/src/lib.rs",
    "crates/page/src/lib.rs",
    "crates/passages/src/lib.rs",
    "crates/report/src/lib.rs",
    "crates/url/src/lib.rs",
    "crates/warc/src/lib.rs",
    "python/src/lib.rs",
    "xtask/src/main.rs",
];

type Module = Vec<String>;

/// A crate: its files and their texts by module, and the re-exports of each.
#[derive(Debug, Default)]
struct Crate {
    files: BTreeMap<Module, PathBuf>,
    texts: BTreeMap<Module, String>,
    handed_on: BTreeMap<Module, Vec<(Module, String)>>,
}

/// Fails if there is a circle.
pub(crate) fn run() -> Result<()> {
    let mut found = Vec::new();
    for root in ROOTS {
        found.extend(circles_below(Path::new(root))?);
    }
    for circle in &found {
        println!("a circle:\n  {}", circle.join("\n  "));
    }
    ensure!(found.is_empty(), "{} circles of imports", found.len());
    println!("no file imports in a circle, and no folder");
    Ok(())
}

fn circles_below(root: &Path) -> Result<Vec<Vec<String>>> {
    let mut krate = Crate::default();
    krate.read(root, Vec::new())?;
    let modules: Vec<Module> = krate.texts.keys().cloned().collect();
    for module in &modules {
        krate.note_handed_on(module);
    }
    let mut arrows: BTreeMap<Module, BTreeSet<Module>> = BTreeMap::new();
    for module in &modules {
        arrows.insert(module.clone(), krate.imports(module));
    }
    let mut found: BTreeSet<Vec<String>> = BTreeSet::new();
    // Merge the modules of each folder, at each depth; at the greatest depth they are single files.
    let deepest = modules.iter().map(Vec::len).max().unwrap_or(0);
    for depth in 1..=deepest {
        let room = |module: &Module| -> Module { module.iter().take(depth).cloned().collect() };
        let mut rooms: BTreeMap<Module, BTreeSet<Module>> = BTreeMap::new();
        for (from, to) in &arrows {
            let of = rooms.entry(room(from)).or_default();
            of.extend(to.iter().map(room).filter(|to| *to != room(from)));
        }
        for circle in circles(&rooms) {
            let mut lines = Vec::new();
            for from in &circle {
                let to = rooms[from].iter().filter(|to| circle.contains(to));
                let to: Vec<String> = to.map(|to| to.join("::")).collect();
                lines.push(format!("{} {} <- {}", root.display(), from.join("::"), to.join(", ")));
            }
            found.insert(lines);
        }
    }
    Ok(found.into_iter().collect())
}

impl Crate {
    /// Reads a file and the modules that it declares.
    fn read(&mut self, path: &Path, module: Module) -> Result<()> {
        let whole = std::fs::read_to_string(path).with_context(|| path.display().to_string())?;
        let text = without_tests(&whole);
        let folder = match path.file_name().and_then(|name| name.to_str()) {
            Some("main.rs" | "lib.rs" | "mod.rs") => path.parent().unwrap_or(path).to_owned(),
            _ => path.with_extension(""),
        };
        let mut own_path = None;
        for line in text.lines() {
            let line = line.trim();
            if let Some(path) = line.strip_prefix("#[path = \"") {
                own_path = path.strip_suffix("\"]").map(|path| path.to_owned());
                continue;
            }
            let declared = line.strip_suffix(';').and_then(|line| {
                let name = line.strip_prefix("pub ").or_else(|| line.strip_prefix("pub(crate) "));
                name.unwrap_or(line).strip_prefix("mod ")
            });
            if let Some(name) = declared {
                let beside = path.parent().unwrap_or(path);
                let file = match own_path.take() {
                    Some(own) => beside.join(own),
                    None if folder.join(format!("{name}.rs")).exists() => {
                        folder.join(format!("{name}.rs"))
                    }
                    None => folder.join(name).join("mod.rs"),
                };
                self.read(&file, [&module[..], &[name.to_owned()]].concat())?;
            } else if !line.starts_with("#[") && !line.starts_with("//") {
                own_path = None;
            }
        }
        self.files.insert(module.clone(), path.to_owned());
        self.texts.insert(module, text);
        Ok(())
    }

    /// Records the names that a module re-exports, each with its origin.
    fn note_handed_on(&mut self, module: &Module) {
        let mut names = Vec::new();
        for (is_public, path) in uses(&self.texts[module]) {
            let Some(name) = path.last().cloned().filter(|_| is_public) else { continue };
            if let Some(from) = self.resolve(module, &path) {
                names.push((from, name));
            }
        }
        self.handed_on.insert(module.clone(), names);
    }

    /// The modules from which a module imports.
    fn imports(&self, module: &Module) -> BTreeSet<Module> {
        let text = &self.texts[module];
        let mut found = BTreeSet::new();
        let mut take = |path: &[String]| {
            let Some(mut target) = self.resolve(module, path) else { return };
            // Follow re-exports to the file that defines the name.
            for _ in 0..8 {
                let next = self.handed_on.get(&target).and_then(|names| {
                    let wanted = path.iter().rev().find(|part| !target.contains(part))?;
                    let mut after = names.iter().filter(|(_, name)| name == wanted);
                    after.next().map(|(from, _)| from.clone())
                });
                match next {
                    Some(next) if next != target => target = next,
                    _ => break,
                }
            }
            if target != *module {
                found.insert(target);
            }
        };
        for (is_public, path) in uses(text) {
            // A re-export is not an import.
            if !is_public {
                take(&path);
            }
        }
        for path in paths(text) {
            take(&path);
        }
        found
    }

    /// The deepest module on a path.
    fn resolve(&self, module: &Module, path: &[String]) -> Option<Module> {
        let mut at = match path.first()?.as_str() {
            "crate" => Vec::new(),
            "self" => module.clone(),
            "super" => module.split_last()?.1.to_vec(),
            first if self.files.contains_key(&[&module[..], &[first.to_owned()]].concat()) => {
                [&module[..], &[first.to_owned()]].concat()
            }
            _ => return None,
        };
        for part in path.iter().skip(1) {
            if part == "super" {
                at.pop();
                continue;
            }
            let next = [&at[..], std::slice::from_ref(part)].concat();
            if !self.files.contains_key(&next) {
                break;
            }
            at = next;
        }
        Some(at)
    }
}

/// A text without its tests, comments and inline modules, which see the file's own names.
fn without_tests(text: &str) -> String {
    let mut out = String::new();
    let mut lines = text.lines().peekable();
    let mut is_test = false;
    while let Some(line) = lines.next() {
        let trimmed = line.trim_start();
        if trimmed.starts_with("//") {
            continue;
        }
        if trimmed.starts_with("#[cfg(") {
            is_test = trimmed.contains("test");
            if is_test {
                continue;
            }
        }
        let in_place = trimmed.split("mod ").nth(1).is_some_and(|rest| {
            trimmed.ends_with('{') && rest.split(' ').count() == 2 && !trimmed.starts_with("use")
        });
        if in_place || is_test && (trimmed.ends_with('{') || trimmed.ends_with(';')) {
            let mut depth = balance(line);
            while depth > 0
                && let Some(line) = lines.next()
            {
                depth += balance(line);
            }
            is_test = false;
            continue;
        }
        if is_test {
            // Another attribute, or the beginning of a longer item.
            continue;
        }
        out.push_str(line);
        out.push('\n');
    }
    out
}

fn balance(line: &str) -> i64 {
    let count = |c: char| line.matches(c).count() as i64;
    count('{') - count('}')
}

/// All paths of `use` lines, each with whether it is re-exported.
fn uses(text: &str) -> Vec<(bool, Module)> {
    let mut found = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find("use ") {
        let before = rest[..at].rsplit('\n').next().unwrap_or_default().trim();
        let is_use = before.is_empty() || before.starts_with("pub");
        let line = &rest[at + 4..];
        let end = line.find(';').unwrap_or(line.len());
        let is_path = |c: char| c.is_alphanumeric() || c.is_whitespace() || "_:{},*".contains(c);
        if is_use && line[..end].chars().all(is_path) {
            let mut paths = Vec::new();
            expand(&line[..end], &[], &mut paths);
            found.extend(paths.into_iter().map(|path| (before.starts_with("pub"), path)));
        }
        rest = &line[end.min(line.len())..];
    }
    found
}

/// The paths of a tree such as `a::{b, c::{self, d}}`.
fn expand(tree: &str, before: &[String], paths: &mut Vec<Module>) {
    let tree = tree.trim();
    let Some(brace) = tree.find('{') else {
        let path = tree.split(" as ").next().unwrap_or_default();
        let mut whole = before.to_vec();
        whole.extend(path.split("::").map(|part| part.trim().to_owned()));
        whole.retain(|part| !part.is_empty() && part != "*");
        if whole.len() > 1 && whole.last().is_some_and(|part| part == "self") {
            whole.pop();
        }
        paths.push(whole);
        return;
    };
    let mut inner = before.to_vec();
    inner.extend(
        tree[..brace].split("::").map(|part| part.trim().to_owned()).filter(|p| !p.is_empty()),
    );
    let list = tree[brace + 1..].trim_end().trim_end_matches('}');
    let list = &tree[brace + 1..tree.rfind('}').unwrap_or(brace + 1 + list.len())];
    let (mut depth, mut start) = (0, 0);
    for (at, c) in list.char_indices().chain([(list.len(), ',')]) {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 0 => {
                if !list[start..at].trim().is_empty() {
                    expand(&list[start..at], &inner, paths);
                }
                start = at + 1;
            }
            _ => {}
        }
    }
}

/// Paths in the text that begin with `crate` or `super`.
fn paths(text: &str) -> Vec<Module> {
    let mut found = Vec::new();
    for line in text.lines().filter(|line| !line.trim_start().starts_with("use ")) {
        for start in ["crate::", "super::"] {
            for (at, _) in line.match_indices(start) {
                let is_word = |c: char| c.is_alphanumeric() || c == '_';
                if line[..at]
                    .chars()
                    .next_back()
                    .is_some_and(|c| is_word(c) || c == ':' || c == '$')
                {
                    continue;
                }
                let end = line[at..].find(|c: char| !is_word(c) && c != ':');
                let path = &line[at..end.map_or(line.len(), |end| at + end)];
                found.push(path.split("::").filter(|p| !p.is_empty()).map(str::to_owned).collect());
            }
        }
    }
    found
}

/// The modules that reach themselves, grouped by circle.
fn circles(arrows: &BTreeMap<Module, BTreeSet<Module>>) -> Vec<Vec<Module>> {
    let reach = |from: &Module| -> BTreeSet<Module> {
        let mut seen = BTreeSet::new();
        let mut open: Vec<&Module> = arrows.get(from).into_iter().flatten().collect();
        while let Some(next) = open.pop() {
            if seen.insert(next.clone()) {
                open.extend(arrows.get(next).into_iter().flatten());
            }
        }
        seen
    };
    let all: BTreeMap<&Module, BTreeSet<Module>> =
        arrows.keys().map(|module| (module, reach(module))).collect();
    let mut told: BTreeSet<&Module> = BTreeSet::new();
    let mut found = Vec::new();
    for (module, reached) in &all {
        if told.contains(module) || !reached.contains(*module) {
            continue;
        }
        let circle: Vec<&Module> = all
            .iter()
            .filter(|(other, back)| reached.contains(**other) && back.contains(*module))
            .map(|(other, _)| *other)
            .collect();
        told.extend(circle.iter().copied());
        if circle.len() > 1 {
            found.push(circle.into_iter().cloned().collect());
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(folder: &Path, files: &[(&str, &str)]) -> PathBuf {
        for (name, text) in files {
            let path = folder.join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        folder.join("lib.rs")
    }

    #[test]
    fn import_cycles_are_found_and_reexports_make_none() {
        let folder = tempfile::tempdir().unwrap();
        let sound = [
            ("lib.rs", "mod a;\nmod b;\nmod c;\npub use a::A;\npub use b::{B, inner::C};\n"),
            ("a.rs", "pub struct A;\n#[cfg(test)]\nmod tests {\n    use crate::b::B;\n}\n"),
            ("b/mod.rs", "pub mod inner;\nuse crate::A;\npub struct B(A);\n"),
            ("b/inner.rs", "pub struct C(crate::a::A);\n"),
            ("c.rs", "use crate::{A, b::{self, inner::C}};\n"),
        ];
        let root = write(folder.path(), &sound);
        assert_eq!(circles_below(&root).unwrap(), Vec::<Vec<String>>::new());
        for (file, text, circles) in [
            ("a.rs", "use crate::b::inner::C;\n", 2),
            ("a.rs", "pub fn a() { super::c::x() }\n", 2),
            ("b/inner.rs", "use super::B;\n", 0),
            ("b/mod.rs", "pub mod inner;\nuse self::inner::C;\npub struct B;\n", 0),
        ] {
            let folder = tempfile::tempdir().unwrap();
            let root = write(folder.path(), &sound);
            std::fs::write(folder.path().join(file), text).unwrap();
            let found = circles_below(&root).unwrap();
            assert_eq!(
                found.len() >= circles.min(1),
                circles > 0 || found.is_empty(),
                "{file}: {found:?}"
            );
        }
        let both = [
            ("b/mod.rs", "pub mod inner;\nuse self::inner::C;\npub struct B;\n"),
            ("b/inner.rs", "pub struct C(super::B);\n"),
        ];
        let folder = tempfile::tempdir().unwrap();
        let root = write(folder.path(), &sound);
        write(folder.path(), &both);
        assert_eq!(circles_below(&root).unwrap().len(), 1);
    }
}
