//! When to visit a known page again: the change rate of each page, learnt from its visits, and the visits that a budget
//! allows. Without I/O and without a clock.
//!
//! A page's text is a Poisson process of changes with an unknown rate. A visit reports only whether the text has changed
//! since the last one, so the observations are censored: [`RateBelief`] is the posterior on a grid of rates. A [`Pace`]
//! turns a belief into the time until the next visit. [`Pace::fit`] finds the pace that a budget allows.
//!
//! # References
//! - J. Cho, H. Garcia-Molina, "Effective page refresh policies for web crawlers", TODS 2003: a page that changes too
//!   often deserves few visits.
//! - J. Cho, H. Garcia-Molina, "Estimating frequency of change", TOIT 2003: censored observations.

mod belief;
mod budget;
mod grid;
mod pace;
mod sighting;
mod trust;

pub use self::belief::{RateBelief, VisitValue};
pub use self::budget::Quota;
pub use self::pace::Pace;
pub use self::sighting::{Sighting, VISIT};
pub use self::trust::Trust;
