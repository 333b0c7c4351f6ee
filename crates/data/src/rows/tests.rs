use super::*;

#[test]
fn a_host_without_a_port_is_meant_with_all_of_its_ports() {
    for known in ["a.example", "a.example:443", "a.example:8080", "A.example"] {
        assert!(is_of_host(known, "a.Example"), "{known}");
    }
    assert!(is_of_host("a.example:8080", "a.example:8080"));
    assert!(
        !is_of_host("a.example:8080", "a.example:80") && !is_of_host("b.a.example", "a.example")
    );
    assert!(is_of_host("[::1]:8080", "[::1]") && is_of_host("[::1]", "[::1]"));
}

fn line(id: u64, url: &str) -> String {
    format!(
        "{{\"time\":\"2026-11-20T19:16:34Z\",\"id\":{id},\"url\":\"{url}\",\"kind\":\"near\",\"of\":{{\"id\":1,\"url\":\"http://a/\"}},\
         \"fingerprint\":null,\"of_fingerprint\":null,\"distance\":2,\"threshold\":3,\"similarity\":0.97,\"table\":5,\
         \"title\":\"t\",\"language\":\"zh\",\"host\":\"h{}\",\"bytes\":9}}\n",
        id % 3
    )
}

#[test]
fn rows_are_the_same_from_the_file_beside_and_after_the_log_was_cut() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("discarded.jsonl");
    let write = |range: std::ops::Range<u64>, name: &str| {
        let text: String = range.map(|id| line(id, &format!("http://{name}/{id}"))).collect();
        std::fs::write(&log, text).unwrap();
    };
    write(0..3000, "a");
    let first = Rows::open(folder.path()).unwrap();
    let beside = folder.path().join("discarded.index");
    assert!(beside.exists());
    let second = Rows::open(folder.path()).unwrap();
    assert_eq!((first.all(), &first.hosts), (second.all(), &second.hosts));
    assert_eq!(second.find("http://a/2999").unwrap().1.id, 2999);
    assert_eq!(second.find("7").unwrap().1.url, "http://a/7");
    assert_eq!(second.find("HTTP://A/./7").unwrap().1.id, 7);
    assert!(second.find("http://nowhere/").is_err());
    let row = second.all()[2999];
    assert_eq!((row.distance, row.similarity, row.language), (2, 970, *b"zh"));
    assert_eq!(second.host(&row), "h2");
    // Truncated and grown again, with other offsets and pages.
    let mut text = std::fs::read_to_string(&log).unwrap();
    text.truncate(text.find("http://a/2500").unwrap());
    text.truncate(text.rfind('\n').unwrap() + 1);
    (2500..4000).for_each(|id| text.push_str(&line(id, &format!("http://b/{id}"))));
    std::fs::write(&log, &text).unwrap();
    let third = Rows::open(folder.path()).unwrap();
    assert_eq!(third.all().len(), 4000);
    assert_eq!(third.find("2999").unwrap().1.url, "http://b/2999");
    // The log was parsed again and the cache file rewritten, so the next open uses it.
    assert!(Rows::open(folder.path()).unwrap().is_cached);
    // An open instance, while the log is truncated and grows to the same number of other rows.
    let mut open = third;
    assert_eq!(open.by_id(3999).unwrap().offset, open.all()[3999].offset);
    let cut = open.all()[3990].offset as usize;
    std::fs::write(&log, &text[..cut]).unwrap();
    open.catch_up().unwrap();
    assert_eq!(open.all().len(), 3990);
    let others: String = (3990..4000).rev().map(|id| line(id, &format!("http://e{id}/"))).collect();
    std::fs::write(&log, [&text[..cut], &others].concat()).unwrap();
    open.catch_up().unwrap();
    let row = open.by_id(3999).unwrap();
    assert_eq!((open.all().len(), open.line(&row).unwrap().url.as_str()), (4000, "http://e3999/"));
    std::fs::write(&log, &text).unwrap();
    let third = Rows::open(folder.path()).unwrap();
    // A damaged cache file, or one of another log, loses nothing.
    for at in [0, 20, 50, 1000] {
        let mut bytes = std::fs::read(&beside).unwrap();
        bytes[at] ^= 1;
        std::fs::write(&beside, bytes).unwrap();
        assert_eq!(Rows::open(folder.path()).unwrap().all(), third.all());
    }
    write(0..10, "c");
    assert_eq!(Rows::open(folder.path()).unwrap().all().len(), 10);
    // Half a line is being written.
    std::fs::write(&log, format!("{}{}", line(1, "http://d/"), "{\"time\":")).unwrap();
    assert_eq!(Rows::open(folder.path()).unwrap().all().len(), 1);
}

#[test]
fn a_line_without_the_text_is_known_without_parsing_it_whatever_is_escaped() {
    let folder = tempfile::tempdir().unwrap();
    let titles =
        ["Plain River", r#"with \"quotes\" and \\ more"#, r"escaped \u00c9tude", "ÉTUDE 北京", ""];
    let text: String = (0u64..)
        .zip(titles)
        .map(|(id, title)| {
            line(id, &format!("http://a/{id}"))
                .replace("\"title\":\"t\"", &format!("\"title\":\"{title}\""))
        })
        .collect();
    std::fs::write(folder.path().join("discarded.jsonl"), text).unwrap();
    let rows = Rows::open(folder.path()).unwrap();
    assert_eq!(rows.all().len(), titles.len());
    for text in ["river", "étude", "\"quotes\"", "\\ more", "北京", "a/3", "nowhere", "e"] {
        for row in rows.all() {
            let entry = rows.entry(row).unwrap();
            let has = entry.title.to_lowercase().contains(text) || entry.url.contains(text);
            let may = rows.may_contain(row, text).unwrap();
            assert!(may || !has, "{text} in {entry:?}");
            assert!(text != "nowhere" || !may || entry.id == 1 || entry.id == 2, "{entry:?}");
        }
    }
}
