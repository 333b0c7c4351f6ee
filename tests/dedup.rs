//! `crawl dedup`, as programs in other languages use it.

use crate::helpers::pipe;
use crate::support::{Bench, json_lines, prose};

#[test]
fn dedup_answers_in_order_remembers_and_survives_bad_lines() {
    let bench = Bench::new();
    let (a, b) = (prose(1, 10), prose(2, 10));
    let line = |id: &str, text: &str| serde_json::json!({"id": id, "text": text}).to_string();
    let input = [
        line("a", &a),
        "{\"id\": \"x\"}".to_owned(),
        line("b", &b),
        "nonsense".to_owned(),
        line("a2", &format!("{a} And one more word.")),
        line("a", &b),
        line("empty", ""),
        serde_json::json!({"id": "h", "html": format!("<nav><a href=1>Home</a></nav><p>{b}</p>")})
            .to_string(),
    ]
    .join("\n");
    let (exit, out, err) = pipe(&["dedup"], Some(&bench.data()), &input);
    assert_eq!(exit, 7, "{err}");
    let rows = json_lines(out.as_bytes());
    let verdicts: Vec<&str> =
        rows.iter().map(|r| r["verdict"].as_str().unwrap_or("error")).collect();
    assert_eq!(
        verdicts,
        ["new", "error", "new", "error", "duplicate", "known", "new", "duplicate"]
    );
    assert_eq!((&rows[1]["id"], &rows[3]["line"]), (&"x".into(), &4.into()));
    assert_eq!((&rows[4]["of"]["id"], &rows[7]["of"]["id"]), (&"a".into(), &"b".into()));
    let (exit, out, _) = pipe(&["dedup"], Some(&bench.data()), &line("later", &a));
    assert_eq!(exit, 0);
    assert_eq!(json_lines(out.as_bytes())[0]["of"]["id"], "a");
    assert_eq!(bench.log("discarded.jsonl").len(), 3);
}

#[test]
fn dedup_names_the_address_of_the_other_document_where_it_has_one() {
    let bench = Bench::new();
    let line = |id: &str, url: Option<&str>, seed: u64| {
        let mut item = serde_json::json!({"id": id, "text": prose(seed, 10)});
        if let Some(url) = url {
            item["url"] = url.into();
        }
        item.to_string() + "\n"
    };
    let of = |input: &str| -> Vec<serde_json::Value> {
        let (exit, out, err) = pipe(&["dedup"], Some(&bench.data()), input);
        assert_eq!(exit, 0, "{err}");
        json_lines(out.as_bytes()).into_iter().map(|row| row["of"].clone()).collect()
    };
    let named = serde_json::json!({"id": "a", "url": "http://a.example/1"});
    let input = line("a", Some("http://a.example/1"), 1) + &line("b", None, 2);
    let input = input + &line("a2", Some("http://a.example/2"), 1) + &line("b2", None, 2);
    assert_eq!(of(&input)[2..], [named.clone(), serde_json::json!({"id": "b"})]);
    // Documents of an earlier run count too.
    let input =
        line("c", Some("http://c.example/"), 3) + &line("a3", None, 1) + &line("c2", None, 3);
    assert_eq!(
        of(&input)[1..],
        [named, serde_json::json!({"id": "c", "url": "http://c.example/"})]
    );
    bench.checked();
}

#[test]
fn dedup_with_all_matches_lists_every_one() {
    let bench = Bench::new();
    let text = prose(1, 12);
    let input: String = (0..4)
        .map(|i| {
            serde_json::json!({"id": i.to_string(), "text": format!("{text} Number {i} of them.")})
                .to_string()
                + "\n"
        })
        .collect();
    let (exit, out, _) = pipe(&["dedup", "--all-matches"], Some(&bench.data()), &input);
    assert_eq!(exit, 0);
    let last = json_lines(out.as_bytes()).pop().unwrap();
    assert_eq!(last["matches"].as_array().unwrap().len(), 3, "{last}");
}

#[test]
fn a_damaged_id_cache_is_set_aside_and_reported_once_without_other_effects() {
    let bench = Bench::new();
    let line = |id: &str, seed: u64| {
        serde_json::json!({"id": id, "text": prose(seed, 10)}).to_string() + "\n"
    };
    let dedup = |input: &str| {
        let (exit, out, err) = pipe(&["dedup"], Some(&bench.data()), input);
        let rows = json_lines(out.as_bytes());
        let verdicts: Vec<_> = rows.iter().map(|row| row["verdict"].clone()).collect();
        (exit, verdicts, err.matches("ids.damaged").count())
    };
    assert_eq!(dedup(&line("a", 1)), (0, vec!["new".into()], 0));
    let ids = bench.data().join("dedup/ids");
    crate::support::write(&ids.join("conf"), "segment_size: noise");
    let input = line("a", 1) + &line("b", 1);
    assert_eq!(dedup(&input), (0, vec!["known".into(), "duplicate".into()], 1));
    assert!(ids.with_extension("damaged").exists());
    assert_eq!(dedup(&line("b", 1)), (0, vec!["known".into()], 0));
}
