//! Tracks `<template>`: its contents are not in the document (WHATWG HTML, 4.12.3).

/// The open templates.
#[derive(Default)]
pub(crate) struct Templates {
    open: usize,
    /// Number of templates around the outermost one whose contents are not in the document.
    around: Option<usize>,
}

impl Templates {
    /// Returns whether the next tag is not in the document.
    pub(crate) const fn is_inside(&self) -> bool {
        self.around.is_some()
    }

    /// Reads a start tag. With a valid `shadowrootmode`, browsers show the contents as a shadow tree.
    pub(crate) fn open(&mut self, shadowrootmode: Option<&str>) {
        let is_shown = shadowrootmode.is_some_and(|mode| {
            mode.eq_ignore_ascii_case("open") || mode.eq_ignore_ascii_case("closed")
        });
        if !is_shown && self.around.is_none() {
            self.around = Some(self.open);
        }
        self.open += 1;
    }

    /// Reads an end tag.
    pub(crate) fn close(&mut self) {
        self.open = self.open.saturating_sub(1);
        self.around = self.around.filter(|around| self.open > *around);
    }
}
