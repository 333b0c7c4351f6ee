//! How far the dates of a site are believed: those of sitemaps, feeds and HTTP headers.

/// Weight of earlier observations at each new one: a site may be repaired.
const MEMORY: f32 = 0.99;
/// Share of right claims from which a claim is believed.
const BELIEVED: f32 = 0.8;
/// Right claims that are assumed of a new site, and wrong ones: a site must prove its claims.
const ASSUMED: [f32; 2] = [1.0, 1.0];

/// What the visits of a site showed about its claims that pages have changed or have not.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Trust {
    /// Pages that were claimed to have changed and had, and those that had not.
    changed: [f32; 2],
    /// Pages that were claimed to be unchanged and were, and those that were not.
    same: [f32; 2],
}

impl Trust {
    /// Learns whether a page has changed, after a claim that it has (`claimed`) or has not.
    pub fn observe(&mut self, claimed: bool, changed: bool) {
        let counts = if claimed { &mut self.changed } else { &mut self.same };
        for count in counts.iter_mut() {
            *count *= MEMORY;
        }
        let at = usize::from(claimed != changed);
        if let Some(count) = counts.get_mut(at) {
            *count += 1.0;
        }
    }

    fn share([right, wrong]: [f32; 2]) -> f32 {
        (right + ASSUMED[0]) / (right + wrong + ASSUMED[0] + ASSUMED[1])
    }

    /// Returns whether a claim is believed: that a page has changed, or that it has not.
    pub fn believes(&self, claimed: bool) -> bool {
        Self::share(if claimed { self.changed } else { self.same }) >= BELIEVED
    }

    /// Encodes the counts in 16 bytes.
    pub fn encode(&self) -> Vec<u8> {
        let counts = [self.changed, self.same].concat();
        counts.into_iter().flat_map(f32::to_le_bytes).collect()
    }

    /// Decodes the output of [`encode`](Self::encode); `None` if it is not valid.
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let [a, b, c, d] = bytes.as_chunks::<4>().0 else { return None };
        let counts = [a, b, c, d].map(|bytes| f32::from_le_bytes(*bytes));
        let [a, b, c, d] = counts;
        let is_valid = bytes.len() == 16 && counts.iter().all(|count| (0.0..1e6).contains(count));
        is_valid.then_some(Self { changed: [a, b], same: [c, d] })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_site_is_believed_as_far_as_its_claims_proved_right() {
        let mut trust = Trust::default();
        assert!(!trust.believes(true) && !trust.believes(false));
        (0..5).for_each(|_| trust.observe(true, true));
        assert!(trust.believes(true) && !trust.believes(false));
        (0..5).for_each(|_| trust.observe(false, false));
        assert!(trust.believes(false));
        // A sitemap that gives the current date for each page.
        (0..5).for_each(|_| trust.observe(true, false));
        assert!(!trust.believes(true) && trust.believes(false));
        assert_eq!(Trust::decode(&trust.encode()), Some(trust));
        assert_eq!(Trust::decode(&[255; 16]), None);
        assert_eq!(Trust::decode(&[0; 15]), None);
        (0..200).for_each(|_| trust.observe(true, true));
        assert!(trust.believes(true));
    }
}
