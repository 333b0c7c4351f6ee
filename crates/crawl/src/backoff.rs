//! The wait before a URL is requested again.

use std::time::Duration;

use hapax_url::url_key;
use url::Url;

const MAX_DOUBLINGS: u8 = 6;

/// Returns the wait before the next attempt. It doubles each time and is multiplied by 0.75 to 1.25, so that URLs
/// that failed together are not requested together again.
pub(super) fn backoff(first: Duration, attempts: u8, url: &Url) -> Duration {
    let doublings = u32::from(attempts.min(MAX_DOUBLINGS));
    // Each attempt uses other bits of the URL's key.
    let jitter = (url_key(url.as_str()) >> (16 * doublings)) as u32 % 1000;
    (first * (1 << doublings)).mul_f64(0.75 + f64::from(jitter) / 2000.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tries_wait_twice_as_long_each_time_and_not_all_together() {
        let first = Duration::from_secs(1);
        for attempts in 0..9 {
            let doubled = f64::from(1 << attempts.min(MAX_DOUBLINGS));
            let waits: Vec<f64> = (0..100)
                .map(|number| Url::parse(&format!("http://a.example/{number}")).unwrap())
                .map(|url| backoff(first, attempts, &url).as_secs_f64() / doubled)
                .collect();
            assert!(waits.iter().all(|wait| (0.75..1.25).contains(wait)), "{waits:?}");
            let least = waits.iter().copied().fold(2.0, f64::min);
            let most = waits.iter().copied().fold(0.0, f64::max);
            assert!(least < 0.8 && most > 1.2, "{least} {most}");
        }
        let url = Url::parse("http://a.example/").unwrap();
        let factor = |n: u8| backoff(first, n, &url).as_secs_f64() / f64::from(1 << n);
        assert!(factor(0) != factor(1), "each try has a place of its own");
    }
}
