//! The found runs, on disk: their places, and the same places by document.

use std::path::Path;

use crate::error::Result;
use crate::parts::{PARTS, Parts};
use crate::scratch::Scratch;
use crate::types::{Passage, Place};

/// All runs of at least `seed_words`, and where to find them.
#[derive(Debug)]
pub(crate) struct Runs {
    pub(crate) runs: Vec<Passage>,
    pub(crate) places: Scratch,
    /// For each place: document and start, length and number of the run; partitioned by documents.
    pub(crate) by_document: Parts,
}

impl Runs {
    pub(crate) fn create(folder: &Path) -> Result<Self> {
        Ok(Self {
            runs: Vec::new(),
            places: Scratch::create(folder)?,
            by_document: Parts::create(folder)?,
        })
    }

    /// Makes all runs readable.
    pub(crate) fn flush(&mut self) -> Result<()> {
        self.places.flush()?;
        self.by_document.flush()
    }

    /// Adds a run with its sorted places; there are `documents` in all.
    pub(crate) fn push(&mut self, words: u32, places: &[Place], documents: usize) -> Result<()> {
        let number = self.runs.len() as u64;
        self.runs.push(Passage {
            words,
            places: u32::try_from(places.len()).unwrap_or(u32::MAX),
            documents: places
                .chunk_by(|a, b| a.document == b.document)
                .fold(0, |count, _| count + 1),
            at: self.places.len(),
        });
        self.places.push(places.iter().map(|place| place.packed()))?;
        for place in places {
            let part = place.document as usize * PARTS / documents.max(1);
            self.by_document.push(part, [place.packed(), u64::from(words) << 32 | number])?;
        }
        Ok(())
    }
}
