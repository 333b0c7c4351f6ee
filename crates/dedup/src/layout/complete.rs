//! Checks that a set of tables is complete: searches for a placement of errors that every table misses.

use super::{LayoutError, Lead};

/// The most kinds of bits: with 7 errors, about two million placements.
const MAX_KINDS: usize = 24;

/// Bits that are in the same leads. Only the number of wrong bits among them matters.
struct Kind {
    bits: u64,
    /// Bit `t`: table `t` has these bits in its lead.
    tables: u64,
}

pub(super) fn check(leads: &[Lead], distance: u32) -> Result<(), LayoutError> {
    let mut kinds: Vec<Kind> = Vec::new();
    for bit in 0..64 {
        let tables = leads
            .iter()
            .enumerate()
            .fold(0, |set, (t, lead)| set | (lead.mask >> bit & 1) << t.min(63));
        match kinds.iter_mut().find(|kind| kind.tables == tables) {
            Some(kind) => kind.bits |= 1 << bit,
            None => kinds.push(Kind { bits: 1 << bit, tables }),
        }
    }
    if kinds.len() > MAX_KINDS {
        return Err(LayoutError::TooFine);
    }
    let mut errors = vec![0; leads.len()];
    match escape(&kinds, distance, leads, &mut errors) {
        Some(bits) => Err(LayoutError::Incomplete(bits)),
        None => Ok(()),
    }
}

/// Returns a set of `left` wrong bits among `kinds` that exceeds the radius of every table.
fn escape(kinds: &[Kind], left: u32, leads: &[Lead], errors: &mut [u32]) -> Option<u64> {
    let Some((kind, rest)) = kinds.split_first() else {
        let out = leads.iter().zip(errors.iter()).all(|(lead, wrong)| *wrong > lead.radius);
        return out.then_some(0);
    };
    for here in (0..=left.min(kind.bits.count_ones())).rev() {
        add(errors, kind.tables, here);
        let found = escape(rest, left - here, leads, errors);
        for (table, wrong) in errors.iter_mut().enumerate() {
            if kind.tables >> table & 1 == 1 {
                *wrong -= here;
            }
        }
        if let Some(bits) = found {
            return Some(bits | lowest(kind.bits, here));
        }
    }
    None
}

fn add(errors: &mut [u32], tables: u64, count: u32) {
    for (table, wrong) in errors.iter_mut().enumerate() {
        if tables >> table & 1 == 1 {
            *wrong += count;
        }
    }
}

fn lowest(mut bits: u64, count: u32) -> u64 {
    let mut picked = 0;
    for _ in 0..count {
        picked |= bits & bits.wrapping_neg();
        bits &= bits.wrapping_sub(1);
    }
    picked
}
