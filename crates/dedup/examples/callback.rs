//! A crawler that calls back with each page, from several threads.
//!
//!   cargo run -p hapax-dedup --example callback
#![expect(clippy::print_stdout, reason = "an example talks")]

use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use hapax_dedup::{Options, PLAIN_RECIPE, Plain, Store, Verdict};

thread_local! {
    static PLAIN: RefCell<Plain> = RefCell::new(Plain::default());
}

/// The callback of such a crawler: a function of URL and text.
type OnPage = Arc<dyn Fn(&str, &str) -> hapax_dedup::Result<()> + Send + Sync>;

fn callback(store: Arc<Store>, kept: Arc<AtomicU64>) -> OnPage {
    Arc::new(move |url, text| {
        let verdict =
            PLAIN.with_borrow_mut(|plain| store.offer(&plain.document(url.as_bytes(), text)))?;
        match verdict {
            Verdict::New(_) => {
                kept.fetch_add(1, Ordering::Relaxed);
            }
            Verdict::Known(_) => {}
            Verdict::Duplicate { of, .. } => println!("{url} is like number {}", of.id),
        }
        Ok(())
    })
}

fn main() -> hapax_dedup::Result<()> {
    let options = Options { recipe: PLAIN_RECIPE.into(), ..Options::default() };
    let store = Arc::new(Store::in_memory(options)?); // Store::open("seen", options) keeps it
    let kept = Arc::new(AtomicU64::new(0));
    let on_page = callback(Arc::clone(&store), Arc::clone(&kept));

    // A crawler of four threads that all find the same three pages.
    let pages =
        ["the river rose in the spring", "a baker shapes the loaves", "snow fell on the pass"];
    let pages: Vec<String> =
        pages.iter().map(|page| format!("{page} and this was told ").repeat(12)).collect();
    let results: Vec<hapax_dedup::Result<()>> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..4)
            .map(|mirror| {
                let (on_page, pages) = (&on_page, &pages);
                scope.spawn(move || {
                    pages.iter().zip(1..).try_for_each(|(page, number)| {
                        on_page(&format!("http://mirror{mirror}.example/{number}"), page)
                    })
                })
            })
            .collect();
        threads
            .into_iter()
            .map(|thread| thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
            .collect()
    });
    results.into_iter().collect::<hapax_dedup::Result<()>>()?;
    store.commit(b"")?;
    println!("{} of {} pages kept", kept.load(Ordering::Relaxed), store.len());
    Ok(())
}
