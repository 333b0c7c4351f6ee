//! Endless sites whose links redirect, and redirects that look like one and are none.

use std::sync::Arc;

use crate::helpers::plain;
use crate::support::{Bench, Page, Server, code, html, missing, prose, redirect, text};
use crate::traps::{ANSWER, ended, fresh, number, page};

fn site(answer: impl Fn(&str) -> Option<Page> + Send + Sync + 'static) -> Server {
    let answer = move |path: &str| match path {
        "/robots.txt" => Some(plain("")),
        path => answer(path),
    };
    Server::answering(Arc::new(move |path, _| answer(path).unwrap_or_else(missing)), ANSWER)
}

#[test]
fn random_links_that_redirect_end() {
    type Form = (&'static str, fn(u64) -> String, bool);
    let forms: [Form; 3] = [
        ("parameter", |to| format!("/go/p{to}?k={}", fresh()), false),
        ("segment", |to| format!("/{}/go/p{to}", fresh()), false),
        ("to a random parameter", |to| format!("/go/p{to}?k={}", fresh()), true),
    ];
    for (name, link, to_random) in forms {
        let server = site(move |path| {
            let path = path.split('?').next()?;
            match path.split_once("go/") {
                Some((_, to)) => {
                    let session = if to_random { format!("?s={}", fresh()) } else { String::new() };
                    number(to).map(|to| redirect(&format!("/p{to}{session}")))
                }
                None if path == "/" => Some(page(0, |to| format!("/go/p{to}"))),
                None => Some(page(number(path.strip_prefix('/')?)?, link)),
            }
        });
        let bench = Bench::new();
        let flags = ["--max-pages", "1000", "--concurrency", "8"];
        let output = bench.crawl(&[server.url("/")], &flags);
        ended(name, &bench, &server, &output);
    }
}

#[test]
fn pages_beside_those_that_redirect_to_a_form_are_all_requested() {
    // Two of three items are for members. The form has one address, or one for each item.
    for form in ["/login", "/login?next="] {
        let server = site(move |path| {
            let items = |from: u64| -> String {
                (from..from + 40).map(|id| format!("<a href=/item?id={id}>{id}</a> ")).collect()
            };
            if path == "/" {
                return Some(html(format!("<p>{}</p>{}", prose(1, 9), items(0))));
            }
            if path.starts_with("/login") {
                return Some(html("<h1>Log in</h1><p>Only members can see this.</p>".to_owned()));
            }
            let id: u64 = path.strip_prefix("/item?id=")?.parse().ok()?;
            Some(match id.is_multiple_of(3) && id >= 30 {
                false if form.ends_with('=') => redirect(&format!("{form}{id}")),
                false => redirect(form),
                true => html(format!(
                    "<h1>Item {id}</h1><p>{}</p>{}",
                    prose(id + 10, 12),
                    if id < 160 { items(id) } else { String::new() }
                )),
            })
        });
        let bench = Bench::new();
        let output = bench.crawl(&[server.url("/")], &["--max-pages", "1000"]);
        assert_eq!(code(&output), 0, "{form}: {}", text(&output.stdout));
        let asked = server.asked_all();
        let lost: Vec<u64> =
            (30..190).filter(|id| !asked.contains(&format!("/item?id={id}"))).collect();
        assert!(lost.is_empty(), "{form}: {lost:?} were not requested");
    }
}
