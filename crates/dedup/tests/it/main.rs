//! The store as a whole: on a real disk, with crashes, with failures, and against a model.
#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "a test may panic and talk")]

mod common;
mod concurrency;
mod corruption;
mod crash;
mod digests;
mod edges;
mod golden;
mod golden_packed;
mod hooked;
#[cfg(feature = "sled")]
mod idmap;
mod model;
mod peers;
mod recording;
mod segments;
mod store;
#[path = "../suite/mod.rs"]
mod suite;

#[test]
fn the_suite_of_stores_passes() {
    let open = || {
        let options = hapax_dedup::Options { policy: suite::policy(), ..Default::default() };
        hapax_dedup::Store::in_memory(options).unwrap()
    };
    suite::verdicts_come_with_their_evidence(&open());
    suite::a_batch_is_decided_in_its_order(&open());
    suite::decisions_can_be_taken_back(&open());
    let store = open();
    let writers: Vec<&dyn hapax_dedup::DocumentStore> = vec![&store; 4];
    suite::of_two_at_once_exactly_one_is_new(&writers, 5_000);
}
