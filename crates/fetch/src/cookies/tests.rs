use super::*;

fn url(text: &str) -> Url {
    Url::parse(text).unwrap()
}

fn now() -> SystemTime {
    httpdate::parse_http_date("Tue, 24 Nov 2026 12:00:00 GMT").unwrap()
}

/// Returns a jar with these cookies, each set by its host.
fn jar(set: &[(&str, &str)]) -> Jar {
    let jar = Jar::default();
    for (by, header) in set {
        jar.set(header, &url(by), now());
    }
    jar
}

fn sent(jar: &Jar, to: &str) -> Option<String> {
    jar.of(&url(to), now())
}

#[test]
fn a_cookie_goes_back_to_its_own_host_whatever_domain_it_names() {
    let jar = jar(&[
        ("http://evil.co.uk/", "all=1; Domain=co.uk"),
        ("http://a.example/", "above=2; Domain=example"),
        ("http://a.example/", "stranger=3; Domain=bank.example"),
    ]);
    assert_eq!(sent(&jar, "http://evil.co.uk/x").as_deref(), Some("all=1"));
    assert_eq!(sent(&jar, "http://a.example/").as_deref(), Some("above=2; stranger=3"));
    for other in ["http://bank.co.uk/", "http://www.evil.co.uk/", "http://bank.example/"] {
        assert_eq!(sent(&jar, other), None, "{other}");
    }
}

#[test]
fn secure_ones_are_for_https_alone() {
    let jar = jar(&[
        ("https://a.example/", "key=private; secure"),
        // An attacker on an insecure connection can set none of these.
        ("http://a.example/", "key=planted"),
        ("http://a.example/", "other=planted; Secure"),
        ("http://a.example/", "open=1"),
    ]);
    assert_eq!(sent(&jar, "http://a.example/").as_deref(), Some("open=1"));
    assert_eq!(sent(&jar, "https://a.example/").as_deref(), Some("key=private; open=1"));
}

#[test]
fn paths_are_honoured_and_longer_ones_come_first() {
    let jar = jar(&[
        ("http://a.example/shop/list", "folder=1"),
        ("http://a.example/shop/list", "root=2; Path=/"),
        ("http://a.example/", "named=3; path=/shop/cart"),
        ("http://a.example/", "odd=4; path=shop"),
    ]);
    for (path, expected) in [
        ("/", "root=2; odd=4"),
        ("/shop", "folder=1; root=2; odd=4"),
        ("/shopping", "root=2; odd=4"),
        ("/shop/cart/x", "named=3; folder=1; root=2; odd=4"),
    ] {
        let found = sent(&jar, &format!("http://a.example{path}"));
        assert_eq!(found.as_deref(), Some(expected), "{path}");
    }
}

#[test]
fn expired_cookies_are_not_sent_and_delete_the_cookie_of_their_name() {
    let jar = jar(&[
        ("http://a.example/", "short=1; Max-Age=60; Expires=Wed, 21 Oct 2099 07:28:00 GMT"),
        ("http://a.example/", "dated=2; Expires=Tue, 24-Nov-2026 12:01:00 GMT"),
        ("http://a.example/", "past=3; expires=Tue, 24-Nov-26 11:59:59 GMT"),
        ("http://a.example/", "odd=4; max-age=soon; expires=whenever"),
        ("http://a.example/", "long=5; max-age=99999999999999999999999"),
        ("http://a.example/", "gone=6"),
        ("http://a.example/", "gone=7; Max-Age=-1"),
    ]);
    let later = |seconds| jar.of(&url("http://a.example/"), now() + Duration::from_secs(seconds));
    assert_eq!(later(59).as_deref(), Some("short=1; dated=2; odd=4; long=5"));
    assert_eq!(later(60).as_deref(), Some("odd=4; long=5"));
    assert_eq!(later(401 * 86_400).as_deref(), Some("odd=4"));
    // A host whose last cookie expired is removed.
    jar.set("only=1", &url("http://b.example/"), now());
    jar.set("only=; Max-Age=0", &url("http://b.example/"), now());
    let held = jar.held.lock().unwrap();
    assert_eq!((held.hosts.len(), held.order.len()), (1, 1));
}

#[test]
fn a_host_has_few_cookies_and_none_that_is_large() {
    let jar = Jar::default();
    let host = url("http://a.example/");
    for number in 0..MAX_COOKIES + 3 {
        jar.set(&format!("c{number}=x"), &host, now());
    }
    let all = sent(&jar, "http://a.example/").unwrap();
    assert_eq!(all.split("; ").count(), MAX_COOKIES);
    assert!(all.starts_with("c3=x; ") && all.ends_with("c52=x"), "{all}");
    let largest = "y".repeat(MAX_COOKIE - 2);
    jar.set(&format!("n={largest}"), &host, now());
    jar.set(&format!("m={largest}y"), &host, now());
    let all = sent(&jar, "http://a.example/").unwrap();
    assert!(all.contains("; n=y") && !all.contains("m="), "{}", all.len());
    for none in ["", "=x", "no pair", "; Path=/"] {
        jar.set(none, &url("http://b.example/"), now());
    }
    assert_eq!(sent(&jar, "http://b.example/"), None);
}

#[test]
fn the_oldest_hosts_go_first_by_number_and_by_bytes() {
    assert_eq!((Jar::default().max_hosts, Jar::default().max_bytes), (10_000, 64 << 20));
    let jar = Jar { max_hosts: 3, max_bytes: 1000, ..Jar::default() };
    let set = |host: &str, header: &str| jar.set(header, &url(&format!("http://{host}/")), now());
    for host in ["a", "b", "c", "a", "d"] {
        set(host, "n=1");
    }
    let known = || {
        let has = |host: &&str| sent(&jar, &format!("http://{host}/")).is_some();
        ["a", "b", "c", "d", "e"].into_iter().filter(has).collect::<String>()
    };
    assert_eq!(known(), "bcd");
    assert_eq!(jar.held.lock().unwrap().bytes, 9);
    set("d", &format!("n={}", "x".repeat(990)));
    assert_eq!((known().as_str(), jar.held.lock().unwrap().bytes), ("bcd", 998));
    set("c", "nn=2");
    assert_eq!((known().as_str(), jar.held.lock().unwrap().bytes), ("cd", 999));
    set("e", &format!("n={}", "x".repeat(900)));
    assert_eq!((known().as_str(), jar.held.lock().unwrap().bytes), ("e", 902));
}

#[test]
fn dates_are_read_in_every_form() {
    let expected = httpdate::parse_http_date("Sun, 06 Nov 1994 08:49:37 GMT").ok();
    for text in [
        "Sun, 06 Nov 1994 08:49:37 GMT",
        "Sunday, 06-Nov-94 08:49:37 GMT",
        "Sun Nov  6 08:49:37 1994",
        "Sun, 6-November-1994 08:49:37",
        "08:49:37 6 NOV 94",
    ] {
        assert_eq!(date(text), expected, "{text}");
    }
    for none in ["", "tomorrow", "Sun, 32 Nov 1994 08:49:37 GMT", "6 Nov 1994", "1:2 6 Nov 94"] {
        assert_eq!(date(none), None, "{none}");
    }
}
