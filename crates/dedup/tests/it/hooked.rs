//! A folder in memory that calls a hook of the test before each operation.

use std::fmt;
use std::io;
use std::path::Path;
use std::sync::Arc;

use hapax_dedup::{Contents, Directory, Guard, MemDirectory, Output};

pub(crate) enum Op<'a> {
    Create(&'a str),
    Sync,
    Contents(&'a str),
}

type Hook = Arc<dyn Fn(Op<'_>) + Send + Sync>;

#[derive(Clone)]
pub(crate) struct Hooked {
    pub(crate) memory: MemDirectory,
    hook: Hook,
}

impl Hooked {
    pub(crate) fn new(hook: impl Fn(Op<'_>) + Send + Sync + 'static) -> Self {
        Self::on(MemDirectory::new(), hook)
    }

    pub(crate) fn on(memory: MemDirectory, hook: impl Fn(Op<'_>) + Send + Sync + 'static) -> Self {
        Self { memory, hook: Arc::new(hook) }
    }

    fn output(&self, out: Box<dyn Output>) -> Box<dyn Output> {
        Box::new(HookedOutput(out, Arc::clone(&self.hook)))
    }
}

impl fmt::Debug for Hooked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.memory.fmt(f)
    }
}

struct HookedOutput(Box<dyn Output>, Hook);

impl fmt::Debug for HookedOutput {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl Output for HookedOutput {
    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.0.write(bytes)
    }
    fn sync(&mut self) -> io::Result<()> {
        (self.1)(Op::Sync);
        self.0.sync()
    }
}

impl Directory for Hooked {
    fn path(&self) -> &Path {
        self.memory.path()
    }
    fn lock(&self) -> io::Result<Option<Guard>> {
        self.memory.lock()
    }
    fn list(&self) -> io::Result<Vec<String>> {
        self.memory.list()
    }
    fn create(&self, name: &str) -> io::Result<Box<dyn Output>> {
        (self.hook)(Op::Create(name));
        Ok(self.output(self.memory.create(name)?))
    }
    fn append(&self, name: &str, length: u64) -> io::Result<Box<dyn Output>> {
        Ok(self.output(self.memory.append(name, length)?))
    }
    fn contents(&self, name: &str) -> io::Result<Contents> {
        (self.hook)(Op::Contents(name));
        self.memory.contents(name)
    }
    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        self.memory.rename(from, to)
    }
    fn remove(&self, name: &str) -> io::Result<()> {
        self.memory.remove(name)
    }
    fn sync(&self) -> io::Result<()> {
        self.memory.sync()
    }
}
