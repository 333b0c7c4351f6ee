//! Elements of an entry that are read.

#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Field {
    #[default]
    None,
    Location,
    Changed,
    /// The identifier of an RSS item.
    Guid,
}

impl Field {
    pub(super) fn of(name: &[u8]) -> Self {
        match name {
            b"loc" | b"link" => Self::Location,
            b"lastmod" | b"updated" | b"published" | b"pubdate" => Self::Changed,
            b"guid" => Self::Guid,
            _ => Self::None,
        }
    }

    /// Returns the field of an element with another prefix than its entry: `dc:date`, `atom:updated` in RSS.
    pub(super) fn of_other(name: &[u8]) -> Self {
        match name {
            b"date" | b"modified" | b"updated" => Self::Changed,
            _ => Self::None,
        }
    }
}
