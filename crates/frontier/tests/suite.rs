//! Runs the suite for all frontiers on the one in a folder.
#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic")]

#[path = "suite/mod.rs"]
mod suite;

use std::time::Duration;

use hapax_frontier::{DiskFrontier, Frontier};

fn on_disk(delay_ms: u64, per_host: usize, test: impl Fn(&dyn Frontier)) {
    let folder = tempfile::tempdir().unwrap();
    let options = suite::options(Duration::from_millis(delay_ms), per_host);
    test(&DiskFrontier::open(folder.path(), options).unwrap());
}

#[test]
fn the_frontier_in_a_folder_passes() {
    on_disk(0, 1, suite::each_url_is_handed_out_once_in_order);
    on_disk(200, 2, suite::a_host_is_asked_no_faster_than_its_delay);
    on_disk(500, 1, suite::a_refusal_costs_no_delay_and_forgives_no_failure);
    on_disk(0, 2, suite::no_more_requests_at_a_time_than_are_allowed);
    on_disk(20, 1, suite::what_fails_is_tried_again_and_a_dead_host_is_given_up);
    on_disk(0, 1, suite::who_wants_to_be_left_alone_three_times_is_given_up);
    on_disk(20, 1, suite::marks_refusals_and_notes_are_remembered);
}
