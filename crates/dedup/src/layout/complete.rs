//! Whether a set of tables misses nothing: a search for the placement of errors that escapes.

use super::{LayoutError, Lead};

/// The most kinds of bits: with 7 errors, about two million placements.
const MAX_KINDS: usize = 24;

/// Bits that are in the same leads are alike: only how many of them are wrong matters.
struct Kind {
    bits: u64,
    /// Bit `t`: these bits are in the lead of table `t`.
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

/// A set of `left` wrong bits among `kinds` that pushes every table above its radius.
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

/// The lowest `count` set bits.
fn lowest(mut bits: u64, count: u32) -> u64 {
    let mut picked = 0;
    for _ in 0..count {
        picked |= bits & bits.wrapping_neg();
        bits &= bits.wrapping_sub(1);
    }
    picked
}
