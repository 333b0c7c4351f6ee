//! Causes of addresses, on three small sites with the known cause of every duplicate.

use std::collections::{BTreeMap, HashMap};

use serde_json::Value;

use crate::helpers::{stored, titled};
use crate::support::{Bench, Page, Server, code, crawl, prose, text, write};

/// A site, and the cause of each address that has the text of another one.
#[derive(Default)]
pub(crate) struct Site {
    pages: HashMap<String, Page>,
    causes: BTreeMap<String, &'static str>,
    next: u64,
}

impl Site {
    /// Adds a page with a unique text and these links.
    fn page(&mut self, path: &str, links: &[String]) {
        self.next += 1;
        let seed = 1000 * (1 + self.pages.len() as u64) + self.next;
        let links: String = links.iter().map(|to| format!("<a href='{to}'>more</a> ")).collect();
        let body = prose(seed, 14);
        self.pages.insert(path.to_owned(), titled(&title(seed), &body, &links));
    }

    /// Adds a page with second addresses, which it links to: each with its cause.
    fn with_copies(&mut self, path: &str, copies: &[(String, &'static str)]) {
        let links: Vec<String> = copies.iter().map(|(copy, _)| copy.clone()).collect();
        self.page(path, &links);
        let page = self.pages[path].clone();
        for (copy, cause) in copies {
            self.pages.insert(copy.clone(), page.clone());
            self.causes.insert(copy.clone(), cause);
        }
    }

    fn serve(self) -> (Server, BTreeMap<String, &'static str>) {
        (Server::start(self.pages), self.causes)
    }
}

/// Words that no other page's title has.
fn title(seed: u64) -> String {
    let words = prose(seed ^ 0x5555, 2);
    words.split(' ').filter(|word| word.len() > 5).take(4).collect::<Vec<_>>().join(" ")
        + &format!(" {seed}")
}

/// A shop: parameters of filters and visits, print pages, spellings; `size` makes unique pages.
pub(crate) fn shop() -> Site {
    let mut site = Site::default();
    let mut items = Vec::new();
    for item in 0..24 {
        let path = format!("/shop/item-{item}");
        let size = format!("{path}?size=large");
        site.page(&size, &[]);
        site.with_copies(
            &path,
            &[
                (format!("{path}?sort=price"), "parameter:sort"),
                (format!("{path}?sort=name"), "parameter:sort"),
                (format!("{path}?ref=home&sort=name"), "parameter:ref"),
                (format!("{path}?sid=4f{item:04}"), "session-id"),
                (format!("/print/item-{item}"), "print"),
                (format!("{path}?view=print"), "print"),
                (format!("/Shop/Item-{item}"), "case"),
            ],
        );
        items.extend([path, size]);
    }
    let path = "/shop/filter?brand=1&year=2";
    site.with_copies(path, &[("/shop/filter?year=2&brand=1".into(), "parameter:brand")]);
    items.push(path.to_owned());
    site.with_copies(
        "/shop/",
        &[("/shop/index.php".into(), "index-file"), ("/shop".into(), "trailing-slash")],
    );
    items.push("/shop/".to_owned());
    site.page("/", &items);
    site
}

/// A magazine in two languages: pages that are not translated, for phones, AMP, tags, dates and series.
pub(crate) fn magazine() -> Site {
    let mut site = Site::default();
    let mut stories = Vec::new();
    for story in 0..20 {
        let path = format!("/en/story-{story}");
        site.with_copies(
            &path,
            &[
                (format!("/de/story-{story}"), "language"),
                (format!("{path}/amp"), "amp"),
                (format!("{path}?amp=1"), "amp"),
                (format!("/en/m/story-{story}"), "mobile"),
                (format!("{path}?page=1"), "pagination"),
                (format!("{path}?lang=en"), "language"),
                (format!("{path}?print=yes"), "print"),
            ],
        );
        stories.push(path);
        // Translated: a unique page.
        let own = format!("/de/bericht-{story}");
        site.page(&own, &[]);
        stories.push(own);
    }
    for story in 20..28 {
        // The only story with this tag, and of this month.
        let path = format!("/en/story-{story}");
        let tag = (format!("/en/tag/subject-{story}"), "archive");
        site.with_copies(&path, &[tag, (format!("/en/2024/{:02}/", story - 19), "archive")]);
        stories.push(path);
    }
    site.page("/", &stories);
    site
}

/// A documentation: versions with the same text (which have the cause `other`) and with changed texts.
pub(crate) fn documentation() -> Site {
    let mut site = Site::default();
    let mut pages = Vec::new();
    for page in 0..24 {
        let path = format!("/docs/now/part-{page}");
        let mut copies = vec![
            (format!("{path}?highlight=word"), "parameter:highlight"),
            (format!("{path}/print"), "print"),
            (format!("{path}/index.html"), "index-file"),
            (format!("/docs/1.0.0/part-{page}"), "other"),
            (format!("{path}/"), "trailing-slash"),
        ];
        // Every third page was rewritten for version 2.
        let second = format!("/docs/2.0.0/part-{page}");
        match page % 3 {
            0 => {
                site.page(&second, &[]);
                pages.push(second);
            }
            _ => copies.push((second, "other")),
        }
        site.with_copies(&path, &copies);
        pages.push(path);
    }
    site.page("/", &pages);
    site
}

/// Crawls a site into a new directory.
pub(crate) fn crawled(server: &Server, flags: &[&str]) -> Bench {
    let bench = Bench::new();
    let output = bench.crawl(&[server.url("/")], &[&["--concurrency", "1"], flags].concat());
    assert_eq!(code(&output), 0, "{}", text(&output.stderr));
    bench
}

pub(crate) fn sites() -> [(&'static str, Site); 3] {
    [("shop", shop()), ("magazine", magazine()), ("documentation", documentation())]
}

/// Causes of one of two addresses, whichever was kept: the address that is not the site's plain one decides.
fn expected<'a>(
    causes: &BTreeMap<String, &'a str>,
    row: &Value,
    server: &Server,
) -> Option<&'a str> {
    let path =
        |url: &Value| url.as_str().unwrap().strip_prefix(&server.url("")).unwrap().to_owned();
    let (own, of) = (path(&row["url"]), path(&row["of"]["url"]));
    causes.get(&own).or_else(|| causes.get(&of)).copied()
}

fn has_cause(row: &Value, cause: &str) -> bool {
    row["cause"].as_array().unwrap().iter().any(|own| own == cause)
}

#[test]
fn the_causes_of_nearly_all_duplicates_of_three_sites_are_right() {
    for (name, site) in sites() {
        let (server, causes) = site.serve();
        let bench = crawled(&server, &[]);
        let rows = bench.rows(&[]);
        // The crawl learns rules and requests only a part of the copies.
        assert!(rows.len() * 2 > causes.len(), "{name}: {} of {}", rows.len(), causes.len());
        let is_right = |row: &&Value| {
            let cause = expected(&causes, row, &server).unwrap();
            let found = row["cause"].as_array().unwrap();
            found.iter().any(|found| found == cause)
                && (cause == "other" || found.iter().all(|found| found != "other"))
        };
        let wrong: Vec<_> = rows
            .iter()
            .filter(|row| !is_right(row))
            .map(|row| (&row["url"], &row["cause"]))
            .collect();
        assert!(wrong.len() * 100 <= rows.len() * 3, "{name}: {wrong:?} of {}", rows.len());
        // The log has the same values as the list.
        for line in bench.log("discarded.jsonl") {
            assert!(!line["cause"].as_array().unwrap().is_empty(), "{line}");
        }
    }
}

#[test]
fn causes_say_which_parameter_never_made_a_new_page_and_which_did() {
    let (server, _) = shop().serve();
    let bench = crawled(&server, &[]);
    let causes = bench.run(&["duplicates", "causes", "--json"]);
    let causes: Vec<Value> =
        causes.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let of = |name: &str| causes.iter().find(|row| row["cause"] == name).unwrap().clone();
    let rows = bench.rows(&[]);
    let count = |cause: &str| rows.iter().filter(|row| has_cause(row, cause)).count() as u64;
    let sort = of("parameter:sort");
    let sorted = count("parameter:sort");
    assert!(sorted > 8 && sort["duplicates"] == sorted && sort["requests"] == sorted, "{sort}");
    assert_eq!(
        (&sort["pages"], &sort["kept"], &sort["new_pages"]),
        (&sorted.into(), &0.into(), &0.into())
    );
    let host = format!("127.0.0.1:{}", server.port);
    assert_eq!(
        sort["text"],
        format!(
            "parameter `sort` made {sorted} of {sorted} pages of {host}/shop/ duplicates; it never made a new one"
        )
    );
    assert_eq!(of("print")["text"], format!("print pages: {}", count("print")));
    assert!(sort["bytes"].as_u64() > Some(sorted * 500), "{sort}");
    assert_eq!(sort["examples"].as_array().unwrap().len(), 3);
    assert!(causes.iter().all(|row| row["cause"] != "parameter:size"));
    let shown = bench.run(&["duplicates", "causes"]);
    assert!(
        shown.contains("print pages: ") && shown.contains("it never made a new one"),
        "{shown}"
    );
}

#[test]
fn rows_are_filtered_by_cause_and_the_table_has_a_column_for_it() {
    let (server, _) = shop().serve();
    let bench = crawled(&server, &[]);
    let all = bench.rows(&[]);
    for cause in ["print", "parameter:sort", "parameter:ref", "case", "session-id", "amp"] {
        let expected: Vec<&Value> = all.iter().filter(|row| has_cause(row, cause)).collect();
        assert_eq!(expected.is_empty(), cause == "amp", "{cause}");
        assert_eq!(bench.rows(&["--cause", cause]).iter().collect::<Vec<_>>(), expected, "{cause}");
    }
    let parameters = bench.rows(&["--cause", "parameter"]).len();
    assert!(parameters > bench.rows(&["--cause", "parameter:sort"]).len());
    let wrong = crawl()
        .args(["duplicates", "list", "--cause", "prnt", "--data"])
        .arg(bench.data())
        .output()
        .unwrap();
    assert_eq!(code(&wrong), 1);
    assert!(text(&wrong.stderr).contains("did you mean print?"), "{}", text(&wrong.stderr));
    let table = bench.run(&["duplicates", "list", "--csv", "--cause", "case"]);
    assert!(table.lines().next().unwrap().ends_with(",against,cause,canonical"), "{table}");
    let causes = |row: &str| row.rsplit(',').nth(1).unwrap_or_default().to_owned();
    let has_case = |row: &str| causes(row).split(' ').any(|cause| cause == "case");
    assert!(table.lines().skip(1).all(has_case), "{table}");
    let stats: Value =
        serde_json::from_str(&bench.run(&["duplicates", "stats", "--json"])).unwrap();
    assert_eq!(stats["causes"]["print"], bench.rows(&["--cause", "print"]).len());
}

#[test]
fn causes_of_a_log_of_before_are_computed_when_it_is_read() {
    let (server, _) = shop().serve();
    let bench = crawled(&server, &[]);
    let before = bench.rows(&["--cause", "print"]);
    let stats = bench.run(&["duplicates", "stats", "--json"]);
    let log = bench.data().join("discarded.jsonl");
    let mut old = String::new();
    for mut line in bench.log("discarded.jsonl") {
        line.as_object_mut().unwrap().remove("cause");
        old.push_str(&format!("{line}\n"));
    }
    // The committed length is that of the log with causes: the last line ends with spaces.
    let committed = std::fs::metadata(&log).unwrap().len() as usize;
    let rest = committed - old.len();
    old.insert_str(old.len() - 1, &" ".repeat(rest));
    let copy = Bench::new();
    crate::helpers::copy(&bench.data(), &copy.data());
    write(&copy.data().join("discarded.jsonl"), old);
    let _ = std::fs::remove_file(copy.data().join("discarded.index"));
    assert_eq!(copy.rows(&["--cause", "print"]), before);
    assert_eq!(copy.run(&["duplicates", "stats", "--json"]), stats);
}

#[test]
fn redirects_stored_pages_and_documents_have_causes_too() {
    let mut site = shop();
    site.pages.insert("/shop/old?ref=x".into(), crate::support::redirect("/shop/item-1"));
    site.page("/", &["/shop/old?ref=x".into(), "/shop/item-1?utm_source=x&PHPSESSID=1".into()]);
    let (server, _) = site.serve();
    let bench = crawled(&server, &[]);
    let rows = bench.rows(&["--kind", "alias"]);
    assert_eq!(rows.len(), 1);
    assert_eq!(rows[0]["cause"], serde_json::json!(["parameter:ref", "other"]));
    let causes = bench.run(&["duplicates", "causes"]);
    for rule in
        ["drop-parameter utm_source: 1 (dust-rule)", "drop-parameter PHPSESSID: 1 (dust-rule)"]
    {
        assert!(causes.contains(rule), "{causes}");
    }
    let bench = Bench::new();
    let body = format!("<p>{}</p>", prose(7, 14));
    let pages = [("https://a.example/7", body.clone()), ("http://www.a.example/7?print=1", body)];
    stored(&bench, &pages, &[]);
    let rows = bench.rows(&[]);
    assert_eq!(rows[0]["cause"], serde_json::json!(["scheme", "www", "parameter:print", "print"]));
}

/// The texts of kept pages.
fn texts(bench: &Bench) -> std::collections::BTreeSet<String> {
    let pages = bench.run(&["export"]);
    let pages = pages.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    pages.map(|page| page["text"].as_str().unwrap().to_owned()).collect()
}

fn advice(bench: &Bench, whom: &str) -> String {
    bench.run(&["duplicates", "advise", "--for", whom])
}

#[test]
fn a_crawl_by_the_advised_rules_keeps_every_text_with_fewer_requests() {
    for (name, site) in sites() {
        let (server, _) = site.serve();
        let bench = crawled(&server, &[]);
        let before = server.asked().len();
        let rules = advice(&bench, "crawl");
        let advised = rules.lines().filter(|line| !line.starts_with('#')).count();
        assert!(advised >= 3, "{name}: {rules}");
        let file = bench.path("rules.txt");
        write(&file, &rules);
        let again = crawled(&server, &["--rules", file.to_str().unwrap()]);
        let after = server.asked().len() - before;
        assert!(after < before, "{name}: {after} of {before} requests: {rules}");
        assert_eq!(texts(&again), texts(&bench), "{name}: {rules}");
        again.checked();
        // Rules that only save what is saved already are not repeated.
        let once_more = advice(&again, "crawl");
        let kept = rules.lines().filter(|line| !line.starts_with('#') && once_more.contains(line));
        assert!(kept.count() <= advised, "{once_more}");
    }
}

#[test]
fn pages_that_only_a_duplicate_links_to_make_its_rule_unsafe() {
    let mut site = Site::default();
    let mut items = Vec::new();
    for item in 0..12 {
        let path = format!("/item-{item}");
        site.with_copies(&path, &[(format!("/print/item-{item}"), "print")]);
        items.push(path);
    }
    // The only link to this page is on a print page.
    site.page("/hidden", &[]);
    let print = site.pages.get_mut("/print/item-3").unwrap();
    print.body.extend(b"<a href='/hidden'>more</a>");
    site.page("/", &items);
    let (server, _) = site.serve();
    let bench = crawled(&server, &[]);
    let rules = advice(&bench, "crawl");
    let skip = format!("skip 127.0.0.1:{}/print/", server.port);
    assert!(!rules.lines().any(|line| line == skip), "{rules}");
    let why = format!(
        "#   {skip} (12 duplicates): it would lose 1 unique page, such as {}",
        server.url("/hidden")
    );
    assert!(rules.lines().any(|line| line == why), "{rules}");
}

#[test]
fn the_owner_of_a_site_gets_lines_of_robots_txt_and_canonical_addresses() {
    let (server, _) = shop().serve();
    let bench = crawled(&server, &[]);
    let lines = advice(&bench, "site");
    assert!(lines.contains("User-agent: *\n") && lines.contains("\nClean-param: sort"), "{lines}");
    assert!(lines.contains(": <link rel=\"canonical\" href=\"http://127.0.0.1:"), "{lines}");
    // The archive shows which pages link where: without it nothing is verified.
    std::fs::remove_dir_all(bench.data().join("pages")).unwrap();
    let rules = advice(&bench, "crawl");
    assert!(rules.lines().all(|line| line.starts_with('#')), "{rules}");
    assert!(
        rules.contains("No rule is advised: the links of the pages could not be read"),
        "{rules}"
    );
}

#[test]
fn lines_of_excluded_links_name_the_rule_and_another_file_admits_them_again() {
    let (server, _) = shop().serve();
    let bench = Bench::new();
    let file = bench.path("rules.txt");
    let host = format!("127.0.0.1:{}", server.port);
    write(&file, format!("drop-parameter sort\nskip {host}/print/ \n"));
    let rules = ["--rules", file.to_str().unwrap(), "--concurrency", "1"];
    let run = |flags: &[&str]| {
        let output = bench.crawl(&[server.url("/")], flags);
        assert_eq!(code(&output), 0, "{}", text(&output.stderr));
    };
    run(&rules);
    let asked = server.asked();
    assert!(asked.iter().all(|path| !path.contains("sort=") && !path.starts_with("/print/")));
    let lines = bench.log("skipped.jsonl");
    let of = |url: String| lines.iter().find(|line| line["url"] == url).unwrap().clone();
    let line = of(server.url("/shop/item-1?sort=name"));
    assert_eq!(
        (&line["reason"], &line["rule"]),
        (&"dust-rule".into(), &"drop-parameter sort".into())
    );
    assert_eq!(line["flag"], "--rules");
    let line = of(server.url("/print/item-1"));
    assert_eq!((&line["reason"], &line["flag"]), (&"exclude".into(), &"--rules".into()));
    assert_eq!(line["rule"], format!("skip {host}/print/"));
    // The rules hold for further runs, until other ones are given.
    run(&[]);
    assert_eq!(server.asked().len(), asked.len());
    write(&file, "# none\n");
    run(&rules);
    let more = server.asked();
    assert!(more.iter().any(|path| path.starts_with("/print/")), "{more:?}");
    assert!(more.iter().any(|path| path.contains("sort=")), "{more:?}");
}

#[test]
fn rules_apply_to_what_an_earlier_run_left_in_the_queue() {
    let (server, _) = shop().serve();
    let bench = Bench::new();
    let output = bench.crawl(&[server.url("/")], &["--concurrency", "1", "--max-pages", "6"]);
    assert_eq!(code(&output), 3);
    let before = server.asked();
    let file = bench.path("rules.txt");
    write(&file, "drop-parameter sort\ndrop-parameter view\nskip */print/\n");
    let flags = ["--rules", file.to_str().unwrap(), "--max-pages", "none"];
    assert_eq!(code(&bench.crawl(&[server.url("/")], &flags)), 0);
    let after = &server.asked()[before.len()..];
    let is_excluded = |path: &String| {
        path.contains("sort=") || path.contains("view=") || path.starts_with("/print/")
    };
    assert!(!after.iter().any(is_excluded), "{after:?}");
    assert_eq!(bench.kept().len(), 51, "24 items of two sizes, filter, list, and home page");
}

#[test]
fn rules_that_would_discard_unique_pages_or_cannot_be_read_are_refused() {
    let (server, _) = shop().serve();
    let bench = crawled(&server, &[]);
    let asked = server.asked().len();
    let file = bench.path("rules.txt");
    let tried = |rules: &str| {
        write(&file, rules);
        let output = bench.crawl(&[server.url("/")], &["--rules", file.to_str().unwrap()]);
        (code(&output), text(&output.stderr))
    };
    let (status, error) = tried("# sizes\ndrop-parameter size\n");
    assert_eq!(status, 1, "{error}");
    assert!(error.contains("these rules would discard 24 unique pages"), "{error}");
    assert!(
        error.contains(&format!("{} (drop-parameter size)", server.url("/shop/item-1?size=large"))),
        "{error}"
    );
    assert!(error.contains("and 4 more"), "{error}");
    let (status, error) = tried("drop-parameter sort\nskp /x\n");
    assert_eq!(status, 1);
    assert!(error.contains("rules.txt:2: not a rule: \"skp /x\""), "{error}");
    assert_eq!(server.asked().len(), asked, "nothing was requested");
    // Refused rules are not those of the next run.
    assert_eq!(code(&bench.crawl(&[server.url("/")], &[])), 0);
    let (status, error) = tried("drop-parameter sort\n");
    assert_eq!(status, 0, "{error}");
    let missing = bench.crawl(&[server.url("/")], &["--rules", "/nowhere/rules.txt"]);
    assert_eq!(code(&missing), 1);
    assert!(
        text(&missing.stderr).contains("cannot read /nowhere/rules.txt"),
        "{}",
        text(&missing.stderr)
    );
}
